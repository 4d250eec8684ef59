"""What a doctor found of each model, as a table of abilities with what to type."""

from __future__ import annotations

from collections.abc import Iterator

from maskbench.judges.doctor_reading import Doctored, Examined, Finding
from maskbench.plain import one_line
from maskbench.report.blocks import Block, Heading, Listed, Sentence, Table, Warn, Words

_SHOWN = {"yes": "yes", "no": "no", "differently": "not as asked", "wrong": "WRONG", "unknown": "unknown"}


def blocks(doctored: Doctored) -> Iterator[Block]:
    """Each model with its findings, then whether a run would go through, and whether its judge was right."""
    for model in doctored.models:
        yield from _of_model(model)
    if doctored.passes:
        yield Sentence((Words("A run would go through", "good"), ", as far as so few calls tell."))
    elif any(model.stops for model in doctored.models):
        yield Warn("A run would fail. Mend what says FAILS first.", "bad")
    else:
        yield Warn("A run would end, and say nothing: the judge is WRONG on a plain reply. Take its exam first.", "bad")


def _of_model(model: Examined) -> Iterator[Block]:
    yield Heading(f"{one_line(model.name)} as the {model.part}")
    yield Table(("", "works", "what that means"), tuple(map(_row, model.findings)), texts=2, last_text=True)
    tokens = ""
    if model.tokens_in is not None and model.tokens_out is not None:
        tokens = f", {model.tokens_in:,} tokens in, {model.tokens_out:,} out"
    yield f"It took {model.requests} request{'' if model.requests == 1 else 's'}{tokens}."
    if model.notes:
        yield Listed(tuple(map(one_line, model.notes)))


def _row(finding: Finding) -> tuple[str, str, str]:
    typed = f" Type: {finding.type}" if finding.type else ""
    shown = "FAILS" if finding.stops else _SHOWN[finding.works]
    return finding.what, shown, one_line(f"{finding.says}{typed}")
