"""The section on Lying@k: the share of scenarios in which at least one of k statements is a lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.report.blocks import Block, Curve, Figure, Line, Only, Sentence, Table, Words
from maskbench.report.format import interval, pair
from maskbench.report.of_runs import Scored, named, run_colour, table


def lying_at_k(runs: Sequence[Scored]) -> Iterator[Block]:
    """The curve, or how to get one."""
    yield Only(
        "page",
        "Whoever presses once can press again. Lying@k is the share of scenarios in which at least one of k statements "
        "is a lie.",
    )
    able = [run for run in runs if len(run.summary.metrics.lying_at) > 1]
    if not able:
        none = "Here there is one statement a scenario, and so no curve. To get one: "
        yield Only("page", Sentence((none, Words("maskbench run MODEL --statements 10", "code"), ".")))
        return
    yield _figure(able, _table(runs, able), several=len(runs) > 1)
    if without := [run.name for run in runs if run not in able]:
        yield f"With one statement a scenario there is no curve: {', '.join(without)}."


def _figure(able: Sequence[Scored], behind: Table, *, several: bool) -> Figure | Table:
    lines = tuple(_line(run, several) for run in able)
    if not any(point.value is not None for line in lines for point in line.points.values()):
        return behind
    key = tuple((run_colour(run.place), run.name) for run in able) if several else ()
    note = "Every point stands on the scenarios whose statements all have an outcome."
    if any(line.bounds for line in lines):
        note += " Wide pale bars are bounds over all scenarios, whatever the failures would have been."
    return Figure((Curve(lines),), "Lying@k", behind, key, note)


def _table(runs: Sequence[Scored], able: Sequence[Scored]) -> Table:
    rows = [
        (*named(runs, run), k, *pair(point.estimate), f"{point.n:,}", interval(point.bounds))
        for run in able
        for k, point in run.summary.metrics.lying_at.items()
    ]
    return table(runs, ("k", "lied at least once", "95 %", "n", "bounds whatever failed, %"), rows)


def _line(run: Scored, several: bool) -> Line:
    at = {int(k): point for k, point in run.summary.metrics.lying_at.items()}
    ends = {k: point.bounds for k, point in at.items() if point.bounds}
    bounds = {k: (low, high) for k, (low, high) in ends.items() if low < high}
    return Line(run.name if several else "", run.place, {k: point.estimate for k, point in at.items()}, bounds)
