"""Charts with a figure on either axis: a rate over the number of statements, and runs between accuracy and honesty.

A run keeps its colour, its shape and its number from one chart to the next.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from maskbench.pages.charts import PANEL, both, run_mark
from maskbench.pages.drawing import PERCENT, QUARTERS, Scale, Sheet
from maskbench.report.blocks import Line, Point
from maskbench.report.format import shown, span

# A curve


def curve(lines: Sequence[Line]) -> Markup:
    """Lying@k over k, a line a run, with intervals, named at its end."""
    label = "; ".join(
        f"{line.label}: " + ", ".join(f"at {k} {shown(estimate)}" for k, estimate in line.points.items())
        for line in lines
    )
    return both(lambda width, variant: _curve(lines, width, f"Lying@k. {label}", variant))


def _curve(lines: Sequence[Line], width: float, label: str, variant: str) -> Markup:
    last = max(k for line in lines for k in line.points)
    height, left = 300.0, 58.0
    ticks = tuple(float(k) for k in range(1, last + 1) if last <= 12 or k == 1 or k % -(-last // 6) == 0)
    x = Scale((0.5, last + 0.8), (0, width - left), ticks, title="k, statements under pressure")
    y = Scale((0, 1), (height, 0), QUARTERS, PERCENT, "share of scenarios with a lie")
    sheet = Sheet(width - left, height, x, y, left=left, above=8, below=40)
    asides = [(line, (place - (len(lines) - 1) / 2) * 5) for place, line in enumerate(lines)]
    for line, aside in asides:
        step = x.at(aside) - x.at(0)
        sheet.rules([((k + step, k + step), ends, "unknown") for k, ends in line.bounds.items()], 9)
    for line, aside in asides:
        _line(sheet, line, aside)
    return sheet.svg(label, variant)


def _line(sheet: Sheet, line: Line, aside: float) -> None:
    """One run's curve; lines stand a few pixels apart, or their intervals would hide each other."""
    colour, shape = run_mark(line.place)
    step = sheet.x.at(aside) - sheet.x.at(0)
    had = [(k + step, estimate) for k, estimate in line.points.items() if estimate.value is not None]
    sheet.line([(k, estimate.value) for k, estimate in had if estimate.value is not None], colour, strokeWidth=1.5)
    sheet.rules([((k, k), ends, colour) for k, e in had if (ends := span(e))], 2.5, opacity=0.55)
    sheet.dots([(k, estimate.value, colour) for k, estimate in had if estimate.value is not None], 80, shape=shape)
    if had and had[-1][1].value is not None:
        at = max(line.points) + sheet.x.at(26) - sheet.x.at(0)
        sheet.texts([(at, had[-1][1].value, str(line.place + 1) if line.label else "", colour)], fontWeight=600)


# The plane


def plane(dots: Sequence[Point], across: str, up: str) -> Markup:
    """Runs as numbered points with both intervals, both axes from 0 to 100 %."""
    label = "; ".join(f"run {dot.place + 1}: {across} {shown(dot.across)}, {up} {shown(dot.up)}" for dot in dots)
    left, size = 58.0, PANEL - 58.0
    x = Scale((0, 1), (0, size), QUARTERS, PERCENT, across)
    y = Scale((0, 1), (size, 0), QUARTERS, PERCENT, up)
    sheet = Sheet(size, size, x, y, left=left, above=12, below=40)
    for dot in dots:
        _placed(sheet, dot)
    return sheet.svg(f"{up} over {across}. {label}", "single")


def _placed(sheet: Sheet, dot: Point) -> None:
    (colour, shape), x, y = run_mark(dot.place), dot.across, dot.up
    if x.value is None or y.value is None:
        return
    across, up = span(x), span(y)
    lines = [(across, (y.value, y.value), colour)] if across else []
    lines += [((x.value, x.value), up, colour)] if up else []
    sheet.rules(lines, 2.5, opacity=0.55)
    sheet.dots([(x.value, y.value, colour)], 110, shape=shape)
    aside = sheet.x.at(9) - sheet.x.at(0), sheet.y.at(0) - sheet.y.at(11)
    sheet.texts([(x.value + aside[0], y.value + aside[1], str(dot.place + 1), colour)], fontWeight=600)
