"""Models as tables: what came of a doctor's calls and what to type, and all names with the key that each wants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from maskbench.asking.judging.doctor_reading import Doctored, Examined, Finding
from maskbench.plain import one_line
from maskbench.presentation.blocks import Block, Heading, Listed, Sentence, Table, Warn, Words
from maskbench.presentation.format import times

if TYPE_CHECKING:
    from maskbench.models.known_models import KnownModels

_SHOWN = {"yes": "yes", "no": "FAILS", "differently": "not as asked", "wrong": "WRONG"}


def blocks(doctored: Doctored) -> Iterator[Block]:
    """Each model with what came of its calls, then whether a run would go through, and say something."""
    for model in doctored.models:
        yield from _of_model(model)
    if doctored.passes:
        yield Sentence((Words("A run would go through", "good"), ", as far as so few calls tell."))
    elif any(each.works == "no" for model in doctored.models for each in model.findings):
        yield Warn("A run would fail. Mend what says FAILS first.", "bad")
    else:
        yield Warn("A run would end, and its figure would mean nothing. Mend what says WRONG first.", "bad")


def _of_model(model: Examined) -> Iterator[Block]:
    yield Heading(f"{one_line(model.name)} as the {model.part}")
    yield Table(("", "works", "what came"), tuple(map(_row, model.findings)), texts=2, last_text=True)
    tokens = f", {model.tokens_in:,} tokens in, {model.tokens_out:,} out" if model.tokens_in else ""
    yield f"It took {times(model.requests, 'request')}{tokens}." if model.requests else "It was not asked."
    if model.notes:
        yield Listed(tuple(map(one_line, model.notes)))


def _row(finding: Finding) -> tuple[str, str, str]:
    typed = f" Type: {finding.type}" if finding.type else ""
    return finding.what, _SHOWN[finding.works], one_line(f"{finding.says}{typed}")


def listed(known: KnownModels) -> Iterator[Block]:
    """Every form of a name; of a key it is said whether it is set, and never more."""
    shown = {True: "set", False: "not set", None: "–"}
    rows = tuple((each.name, shown[each.is_set], " or ".join(each.keys) or each.about) for each in known.models)
    yield Table(("name", "key", "its variable, or what it is"), rows, texts=2, last_text=True)
    yield (
        "A name stands for a subject or a judge. Variables come from the environment or from .env. `maskbench doctor "
        "NAME` asks a model whether it answers."
    )
