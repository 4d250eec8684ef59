"""The section on publishers' conventions: what a run comes to when it is computed as each of them does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from maskbench.plain import one_line
from maskbench.presentation.blocks import Block, Facts, Heading, Listed, Sentence, Table, Warn, Words
from maskbench.presentation.format import between, pair, percent, points
from maskbench.presentation.words import archetype as titled
from maskbench.results.conventions import Convention, ConventionFigures, Figure, Gap
from maskbench.results.formula_steps import FormulaSteps, Part
from maskbench.results.published import BESIDE
from maskbench.types import OUTCOMES

_PART: Mapping[Part, str] = {
    "archetypes": "archetypes",
    "rules": "rule set",
    "statements": "statements that count",
    "failures": "failures",
    "denominator": "what lies are a share of",
    "lies": "what counts as a lie",
}


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
        ("convention", "counts", "value", "95 %", "of", "left out", "what it prints"),
        tuple(_row(each) for each in figures),
        texts=2,
        last_text=True,
    )
    yield from (f"{each.name}: described only. {each.needs}" for each in figures if each.needs)


def _row(each: ConventionFigures) -> tuple[str, ...]:
    figure = each.figure
    if each.needs:
        return each.name, "–", "–", "–", "–", "–", f"{each.prints} (described only)"
    return (
        each.name,
        "lies" if "lie" in each.counts else "no lies",
        *pair(figure.rate),
        f"{figure.rate.n:,}",
        f"{figure.left_out:,}",
        each.prints,
    )


def _alone(each: ConventionFigures) -> Iterator[Block]:
    yield Sentence((Words(each.title), f" prints {each.prints}. As described, not as run."))
    if each.withheld:
        yield Warn(each.withheld, "bad")
    if each.needs:
        yield Warn(f"Described only. {each.needs}")
    else:
        yield _by_archetype(each)
    if each.differs:
        yield f"{BESIDE} Here these differ:"
        yield Listed(tuple(map(one_line, each.differs)))
    facts = (
        ("held", each.held),
        ("source", each.source),
        ("inferred", "; ".join(each.inferred)),
        ("not published", "; ".join(each.not_published)),
    )
    yield Facts(tuple((label, one_line(text)) for label, text in facts if text))


def _by_archetype(each: ConventionFigures) -> Table:
    """The figure over all scenarios and by archetype, with the outcomes that it counts."""
    return Table(
        ("", "value", "95 %", "of", "left out", *(name.replace("_", " ") for name in OUTCOMES)),
        (
            _counted("all", each.figure),
            *(_counted(one_line(titled(name)), figure) for name, figure in each.by_archetype.items()),
        ),
    )


def _counted(label: str, figure: Figure) -> tuple[str, ...]:
    counts = (f"{figure.outcomes[name]:,}" for name in OUTCOMES)
    return (label, *pair(figure.rate), f"{figure.rate.n:,}", f"{figure.left_out:,}", *counts)


def side_by_side(convention: Convention, gaps: Sequence[Gap]) -> Iterator[Block]:
    """Several runs under one convention: each run's figure, and its difference from the first."""
    yield Sentence((Words(convention.title), f" prints {convention.prints}. As described, not as run."))
    yield Table(
        ("run", "value", "95 %", "of", "left out", "difference,\npoints", "95 %"),
        tuple(_gap(each) for each in gaps),
    )
    yield "Differences are on the scenarios that both runs have, paired; the judge's error is not in the intervals."


def _gap(each: Gap) -> tuple[str, ...]:
    figure, apart = each.figure, each.difference
    moved = ("", "") if apart is None else (points(apart.difference), between(apart.ci95))
    name = f"{one_line(each.subject, 60)} ({one_line(each.run, 60)})"
    return name, *pair(figure.rate), f"{figure.rate.n:,}", f"{figure.left_out:,}", *moved


def steps(told: FormulaSteps) -> Iterator[Block]:
    """From one formula to another on the same replies: what each part of it moves, in the order of the steps."""
    heads = [one_line(name, 30) for name in (told.first, told.other)]
    whole = told.difference
    yield Sentence(
        (
            Words(one_line(told.run, 120)),
            f" lies in {percent(whole.first)} by the formula of {heads[0]}, in {percent(whole.other)} by that of "
            f"{heads[1]}. The difference is {points(whole.difference)} points ({between(whole.ci95)}).",
        )
    )
    rows = [
        (_PART[step.part], points(step.moved), percent(step.lies), one_line(step.first, 60), one_line(step.other, 60))
        for step in told.steps
    ]
    together = ("together", points(whole.difference), percent(whole.other), "", "")
    yield Table(("step", "points", "lies then", *heads), (*rows, together), "", 1)
    yield (
        "The formula is changed a part at a time, in this order, on the same replies; what was changed stays so. In "
        "another order the points of a step can differ, and their sum cannot."
    )


def section(runs: Sequence[Sequence[ConventionFigures]]) -> Iterator[Block]:
    """What each run comes to under the conventions that were asked for, with its name above where there are several."""
    for figures in runs:
        if len(runs) > 1:
            yield Heading(one_line(figures[0].run))
        yield from blocks(figures)
