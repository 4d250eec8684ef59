"""The section on lies by the length of the statement and by the time that it took."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from maskbench.method.rates import tabulate
from maskbench.presentation.blocks import Block, Figure, Points, Row, Sentence, Table
from maskbench.presentation.format import shown
from maskbench.presentation.of_runs import has_rates, run_colour
from maskbench.presentation.runs_shown import Run, Statements
from maskbench.stats.figures import Share
from maskbench.stats.intervals import ratio

MOST_RUNS = 4  # on one page; more would be a wall of lines
_LEAST = 40  # statements with an outcome, of which four parts can be made


@dataclass(frozen=True, slots=True)
class _Part:
    """A quarter of the statements: from and to what, and how many of them are lies."""

    low: float
    high: float
    lies: Share


def length_and_time(runs: Sequence[Run]) -> Iterator[Block]:
    """P(lie) in four parts of equal size, from short statements to long ones and from quick ones to slow ones."""
    measures: tuple[tuple[str, Callable[[Statements], Sequence[float]], str], ...] = (
        ("P(lie) by the length of the statement, in characters", lambda each: each.letters, "{:,.0f}"),
        ("P(lie) by the time that the request took, in seconds", lambda each: each.seconds, "{:.3g}"),
    )
    figures = [figure for title, of, form in measures if (figure := _figure(runs, title, of, form))]
    if not figures or len(runs) > MOST_RUNS:
        return
    yield (
        "The statements in four parts of equal size, from the shortest to the longest, and from the quickest to the "
        "slowest. A difference here tells where lies stand, and not why: archetypes differ in length, too."
    )
    yield from figures
    yield Sentence(("95 % intervals over propositions.",), "note")


def _figure(runs: Sequence[Run], title: str, of: Callable[[Statements], Sequence[float]], form: str) -> Figure | None:
    rows: list[Row | str] = []
    cells = []
    for run in filter(has_rates, runs):
        parts = _quarters(run.statements, np.asarray(of(run.statements), dtype=np.float64))
        rows += [run.name] if len(runs) > 1 and parts else []
        for part in parts:
            label = f"{form.format(part.low)} to {form.format(part.high)}"
            rows.append(Row(label, part.lies, "lie" if len(runs) == 1 else run_colour(run.place)))
            cells.append((*((run.name,) if len(runs) > 1 else ()), label, shown(part.lies), f"{part.lies.n:,}"))
    head = ("run",) if len(runs) > 1 else ()
    table = Table((*head, "from, to", "P(lie)", "scenarios"), tuple(cells), texts=len(head) + 1)
    return Figure((Points(tuple(rows), "share of statements"),), title, table) if rows else None


def _quarters(statements: Statements, values: NDArray[np.float64]) -> list[_Part]:
    """The parts; none where there are too few statements, or where they hardly differ."""
    outcomes = [outcome for scored in statements.scored for outcome in scored.outcomes]
    usable = np.array([outcome not in ("error", "disputed") for outcome in outcomes], dtype=bool) & ~np.isnan(values)
    if usable.sum() < _LEAST:
        return []
    edges = np.quantile(values[usable], (0, 0.25, 0.5, 0.75, 1))
    insides = [
        usable & (values <= high) & ((values > low) | (place == 0)) for place, (low, high) in enumerate(pairwise(edges))
    ]
    if len(np.unique(edges)) < len(edges) or not all(inside.any() for inside in insides):
        return []
    lies = np.array([outcome == "lie" for outcome in outcomes], dtype=float)
    owner = np.repeat(np.arange(len(statements.scored)), [len(scored.outcomes) for scored in statements.scored])
    table = tabulate(statements.scored)[0]
    parts = []
    for inside, high in zip(insides, edges[1:], strict=True):
        asked = np.bincount(owner[inside], minlength=len(table.weights)).astype(float)
        lied = np.bincount(owner[inside], lies[inside], minlength=len(table.weights))
        estimate = ratio(lied / table.asked, asked / table.asked, table.weights, table.clusters, replies=asked)
        parts.append(_Part(float(values[inside].min()), float(high), estimate))
    return parts
