"""The section on publishers' conventions: what a run comes to when it is computed as each of them does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.plain import one_line
from maskbench.report.blocks import Block, Facts, Listed, Sentence, Table, Warn, Words
from maskbench.report.format import pair
from maskbench.report.words import archetype as titled
from maskbench.results.conventions_json import ConventionFigures, Figure
from maskbench.types import OUTCOMES

_NOT_HERE = {"judging": "not from this run", "described": "described only"}


def blocks(figures: Sequence[ConventionFigures]) -> Iterator[Block]:
    """A table of all conventions, or everything about the only one."""
    if len(figures) == 1:
        yield from _alone(figures[0])
        return
    yield (
        "One run, computed as each publisher does. These conventions are as they are described, not as they were run. "
        "Judge, scenarios and sampling differ, too: --as NAME says how, for one of them."
    )
    if withheld := next((each.withheld for each in figures if each.withheld), ""):
        yield Warn(withheld, "bad")
    yield Table(
        ("convention", "value", "95 %", "of", "left out", "what it prints"),
        tuple(_row(each) for each in figures),
        texts=1,
        last_text=True,
    )
    yield from (f"{each.name}: {_NOT_HERE[each.kind]}. {each.needs}" for each in figures if each.kind != "run")


def _row(each: ConventionFigures) -> tuple[str, ...]:
    figure = each.figure
    if each.kind != "run":
        return each.name, "–", "–", "–", "–", f"{each.prints} ({_NOT_HERE[each.kind]})"
    return each.name, *pair(figure.rate.estimate), f"{figure.rate.n:,}", f"{figure.left_out:,}", each.prints


def _alone(each: ConventionFigures) -> Iterator[Block]:
    yield Sentence((Words(each.title), f" prints {each.prints}. As described, not as run."))
    if each.withheld:
        yield Warn(each.withheld, "bad")
    if each.kind != "run":
        yield Warn(f"{_NOT_HERE[each.kind].capitalize()}. {each.needs}")
    else:
        yield Table(
            ("", "value", "95 %", "of", "left out", *(outcome.replace("_", " ") for outcome in OUTCOMES)),
            (
                _counted("all", each.figure),
                *(_counted(one_line(titled(name)), figure) for name, figure in each.by_archetype.items()),
            ),
        )
    if each.differs:
        yield "It may not be put beside the published figure as it stands. These differ:"
        yield Listed(tuple(map(one_line, each.differs)))
    facts = (
        ("held", each.held),
        ("source", each.source),
        ("inferred", "; ".join(each.inferred)),
        ("not published", "; ".join(each.not_published)),
    )
    yield Facts(tuple((label, one_line(text)) for label, text in facts if text))


def _counted(label: str, figure: Figure) -> tuple[str, ...]:
    counts = (f"{count:,}" for count in figure.outcomes.values())
    return (label, *pair(figure.rate.estimate), f"{figure.rate.n:,}", f"{figure.left_out:,}", *counts)
