"""Models as tables: what a doctor found of each, with what to type, and all names with what each needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from maskbench.judges.doctor_reading import Doctored, Examined, Finding
from maskbench.models.install import install
from maskbench.plain import one_line
from maskbench.presentation.blocks import Block, Heading, Listed, Sentence, Table, Warn, Words

if TYPE_CHECKING:
    from maskbench.models.known_models import KnownModels, Sort

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


_TITLES: dict[Sort, str] = {
    "service": "Services",
    "own server": "Servers of your own",
    "inspect": "By way of Inspect AI",
    "in this process": "In this process, or without a language model",
}


def listed(known: Sequence[KnownModels]) -> Iterator[Block]:
    """A table for each sort of model; of a variable it is said whether it is set, and never more."""
    for sort, title in _TITLES.items():
        yield Heading(title)
        rows = tuple(_name_row(each) for each in known if each.sort == sort)
        yield Table(("name", "ready", "variables and what is missing"), rows, texts=2, last_text=True)
    yield (
        "A name stands for a subject or a judge. Variables come from the environment or from .env; a star marks one "
        "that is needed (of several keys one will do). `yes` says that nothing is missing here, not that a server "
        "answers: `maskbench doctor NAME` asks it."
    )


def _name_row(known: KnownModels) -> tuple[str, str, str]:
    parts = [
        f"{variable.name}{'*' if variable.needed else ''} {'set' if variable.is_set else 'not set'}"
        for variable in known.variables
        if variable.is_set or variable.needed  # the others are in docs/models.md, and in --json
    ]
    if known.lacks:
        parts.append(install(*known.lacks.split()))
    about = known.about
    if known.sort == "own server" and known.variables:
        about = f"{about}, or set {known.variables[-1].name}"  # the last one is the address
    return one_line(known.name), "yes" if known.ready else "no", one_line(", ".join(parts) or about)
