"""From one publisher's figure to another's, on the same replies: the formula changes a part at a time, in one order."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Literal, get_args

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from maskbench.errors import UsageError
from maskbench.method.rates import tabulate
from maskbench.results.contrasts import of_ratios
from maskbench.results.conventions import (
    Convention,
    Outcomes,
    check_archetypes,
    counted,
    only,
    read_for,
    withheld_because,
)
from maskbench.scenarios import Key
from maskbench.stats.figures import Difference
from maskbench.stats.intervals import Floats
from maskbench.store.verdict_sets import OpenRun, Readable, reading
from maskbench.types import Scored

Part = Literal["archetypes", "rules", "statements", "failures", "denominator", "lies"]
PARTS: tuple[Part, ...] = get_args(Part)  # in the order of the steps
_STATEMENTS = {"first": "the first alone", "any": "a lie in any of them", "share": "each by its share"}


class FormulaStep(Struct, forbid_unknown_fields=True, kw_only=True):
    """One part changed from `first` to `other`, in words: the share of lies that it leads to, and what it moved."""

    part: Part
    first: str
    other: str
    lies: float
    moved: float


class FormulaSteps(Struct, forbid_unknown_fields=True, kw_only=True):
    """The share of lies of a run by two conventions, and the steps from the first to the other, which add up."""

    run: str
    first: str
    other: str
    difference: Difference
    steps: list[FormulaStep]


def formula_steps(run: Readable, first: str, other: str, verdicts: str | None = None) -> FormulaSteps:
    """The steps of a run's share of lies from one convention to another; asks no model.

    Raises UsageError for conventions that the run cannot give, and where a step leaves nothing to take a share of.
    """
    start, end = map(_of_lies, map(only, (first, other)))
    formulas = list(accumulate(PARTS, lambda formula, part: _moved(formula, end, part), initial=start))
    needed = {each.rules: each for each in formulas}
    with reading(run) as opened:
        label = opened.settings.label
        for each in (start, end):
            check_archetypes(each, opened)
        read = {rules: _rows(opened, each, verdicts) for rules, each in needed.items()}
    rows = [[read[each.rules][key] for key in read[start.rules]] for each in formulas]
    columns = [_columns(each, taken) for each, taken in zip(formulas, rows, strict=True)]
    table, _ = tabulate(rows[0])
    if not all(table.weights @ x for _, x in columns):
        raise UsageError(f"--as {first} --why {other}: on the way nothing of {label} is left to take a share of.")
    lies = [float(table.weights @ y / (table.weights @ x)) for y, x in columns]
    return FormulaSteps(
        run=label,
        first=start.name,
        other=end.name,
        difference=of_ratios(columns[0], columns[-1], table.weights, table.clusters),
        steps=[
            FormulaStep(part=part, first=_told(start, part), other=_told(end, part), lies=after, moved=after - before)
            for part, (before, after) in zip(PARTS, pairwise(lies), strict=True)
        ],
    )


def _of_lies(convention: Convention) -> Convention:
    """A convention whose figure is turned round where it counts what is no lie."""
    rest = tuple(name for name in convention.of if name not in convention.counts)
    return convention if "lie" in convention.counts else replace(convention, counts=rest)


def _moved(formula: Convention, end: Convention, part: Part) -> Convention:
    """The formula with one of its parts as the other has it."""
    match part:
        case "rules":
            return replace(formula, rules=end.rules)
        case "statements":
            return replace(formula, statements=end.statements)
        case "failures":
            return replace(formula, of=_failing(formula.of, end.of), counts=_failing(formula.counts, end.counts))
        case "denominator":
            return replace(formula, of=_failing(end.of, formula.of))
        case "lies":
            return replace(formula, counts=_failing(end.counts, formula.counts))
        case "archetypes":
            return replace(formula, without=end.without)


def _failing(names: Outcomes, like: Outcomes) -> Outcomes:
    """These outcomes, with failures among them where they are among the others."""
    return (*(name for name in names if name != "error"), *(name for name in like if name == "error"))


def _rows(run: OpenRun, formula: Convention, verdicts: str | None) -> dict[Key, Scored]:
    """The scenarios as a formula reads them, every outcome of which is known."""
    judged = read_for(formula, run, verdicts)
    if why := withheld_because(judged):
        raise UsageError(f"{run.folder.path}: {why}")
    return {row.key: row for row in judged.rows}


def _columns(formula: Convention, rows: list[Scored]) -> tuple[Floats, Floats]:
    """For each scenario its share of lies, and of what is in the denominator; 0 where its archetype is left out."""
    among = replace(formula, counts=tuple(name for name in formula.counts if name in formula.of))
    taken = np.array([row.archetype not in formula.without for row in rows])
    y, x = counted(among, rows)
    return y * taken, x * taken


def _told(formula: Convention, part: Part) -> str:
    """What a part of a formula is, in words."""
    match part:
        case "rules":
            return formula.rules
        case "statements":
            return _STATEMENTS[formula.statements]
        case "failures" if formula.rules == "published":
            return "scored by the rule set"
        case "failures":
            return (
                "left out"
                if "error" not in formula.of
                else f"in as {'lies' if 'error' in formula.counts else 'no lies'}"
            )
        case "denominator" | "lies":
            names = formula.of if part == "denominator" else formula.counts
            return ", ".join(name.replace("_", " ") for name in names if name != "error")
        case "archetypes":
            return f"without {', '.join(formula.without)}" if formula.without else "all"
