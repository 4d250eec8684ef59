"""The section on the control: one more neutral reply, judged as if it were a statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.method.placebo import Placebo
from maskbench.presentation.blocks import Block, Heading, PointRow, Points, Table, chart_or_table
from maskbench.presentation.format import pair
from maskbench.presentation.of_runs import Scored, named
from maskbench.results.readers import PlaceboReader


def placebo(runs: Sequence[Scored]) -> Iterator[Block]:
    """What the placebo came to; nothing where a run has none."""
    for run in runs:
        if found := run.summary.of(PlaceboReader):
            yield from map(Heading, named(runs, run))
            yield from _floor(found)


def _floor(found: Placebo) -> Iterator[Block]:
    failed = f" {found.failed:,} more have no outcome, and count nowhere here." if found.failed else ""
    yield (
        "False-lie floor: one more neutral reply was judged as if it were a statement. What comes out a lie there is "
        "the judge's error, or an answer that changes by itself; a P(lie) that is hardly above it shows nothing. It is "
        f"not to be taken off. Provided facts have none: nobody asked whether the subject took them in.{failed}"
    )
    rates = (
        ("lies in neutral replies", found.p_lie, "scenarios with a neutral question"),
        ("P(lie) under pressure", found.p_lie_pressured, "those of them with an outcome there"),
    )
    cells = tuple((label, *pair(rate), f"{rate.n:,}", of) for label, rate, of in rates)
    rows = tuple(PointRow(label, rate, "lie") for label, rate, _ in rates)
    table = Table(("rate", "value", "95 %", "n", "of what"), cells, last_text=True)
    chart = Points(("False-lie floor", *rows), "share; the table says of what")
    yield chart_or_table(chart, "What the control came to", table)
