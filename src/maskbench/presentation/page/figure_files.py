"""The values that a figure of a report shows, as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import chain

from maskbench.plain import unformula, visible
from maskbench.presentation.blocks import (
    Bars,
    Chart,
    Curve,
    Figure,
    Flow,
    Panels,
    Plane,
    Points,
)
from maskbench.stats.figures import Share

_HEAD = ("label", "what", "value", "low95", "high95", "n")


def values(figure: Figure | Panels) -> str:
    """The values that a figure shows as CSV, one a line, with 95 % intervals; a share stands between 0 and 1."""
    lines: list[Sequence[object]] = []
    if isinstance(figure, Figure):
        lines += chain.from_iterable(map(_lines, figure.charts))
    else:
        for panel in figure.panels:
            lines += [(_under(panel.title, label), *rest) for chart in panel.charts for label, *rest in _lines(chart)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEAD)
    writer.writerows([[unformula(cell) if isinstance(cell, str) else cell for cell in line] for line in lines])
    return text.getvalue()


def _lines(chart: Chart) -> Iterator[tuple[object, ...]]:
    """The values of a chart as the lines of its CSV."""
    match chart:
        case Bars():
            yield from (_line(mix.label, part.name, part.share) for mix in chart.mixes for part in mix.parts)
        case Points():
            heading = ""
            for row in chart.rows:
                if isinstance(row, str):
                    heading = row
                else:
                    yield _line(
                        _under(heading, row.label), "difference" if chart.differences else chart.axis, row.estimate
                    )
        case Curve():
            yield from (
                _line(line.label, f"{chart.across.partition(',')[0]} = {at:g}", rate)
                for line in chart.lines
                for at, rate in line.points.items()
            )
        case Plane():
            for point in chart.points:
                yield _line(point.label, chart.across, point.across)
                yield _line(point.label, chart.up, point.up)
        case Flow():
            yield from (
                (f"{before} to {after}".replace("_", " "), "scenarios", count, None, None, sum(into.values()))
                for before, into in chart.counts.items()
                for after, count in into.items()
            )


def _line(label: str, what: str, estimate: Share) -> tuple[object, ...]:
    """One value; csv leaves the cells of what is None empty."""
    return visible(label), visible(what), estimate.value, estimate.low, estimate.high, estimate.n


def _under(heading: str, label: object) -> str:
    return ": ".join(filter(None, (heading, str(label))))
