"""The forms of a model's name as a table: what each needs, and whether that is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.models.install import install
from maskbench.models.known_models import KnownModels, Sort
from maskbench.plain import one_line
from maskbench.report.blocks import Block, Heading, Table

_TITLES: dict[Sort, str] = {
    "service": "Services",
    "own server": "Servers of your own",
    "inspect": "By way of Inspect AI",
    "in this process": "In this process, or without a language model",
}


def blocks(known: Sequence[KnownModels]) -> Iterator[Block]:
    """A table for each sort of model; of a variable it is said whether it is set, and never more."""
    for sort, title in _TITLES.items():
        yield Heading(title)
        rows = tuple(_row(each) for each in known if each.sort == sort)
        yield Table(("name", "ready", "variables and what is missing"), rows, texts=2, last_text=True)
    yield (
        "A name stands for a subject or a judge. Variables come from the environment or from .env; a star marks one "
        "that is needed (of several keys one will do). `yes` says that nothing is missing here, not that a server "
        "answers: `maskbench doctor NAME` asks it."
    )


def _row(known: KnownModels) -> tuple[str, str, str]:
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
