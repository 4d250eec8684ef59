"""Charts with a figure on either axis: a rate over the number of statements, and runs between accuracy and honesty.

A run keeps its colour and its shape from one chart to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor

from markupsafe import Markup

from maskbench.pages.charts import both, fitting, run_mark
from maskbench.pages.drawing import LETTER, PERCENT, QUARTERS, SIZE, Scale, Sheet
from maskbench.presentation.blocks import Line, Plane, Point
from maskbench.presentation.format import shown, span

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

_APART = 4.0  # pixels between a name and anything else
_RINGS = (11.0, 22.0, 34.0)  # pixels from a point to its name; the farther ones get a line
_SIDES = ((1, -1), (1, 1), (-1, -1), (-1, 1), (1, 0), (-1, 0), (0, -1), (0, 1))  # off the intervals first
_LINE = 17.0  # pixels of a line of names

Place = tuple[float, float]  # of a marker, pixels from the left and from above
Box = tuple[float, float, float, float]  # of a name: left, top, right, bottom


def plane(chart: Plane) -> Markup:
    """Runs as named points with both intervals, rates on axes from 0 to 100 %; no name lies over another."""
    label = "; ".join(
        f"{dot.label}: {chart.across} {_across(chart, dot)}, {chart.up} {shown(dot.up)}" for dot in chart.points
    )
    title = f"{chart.up} over {chart.across}. {label}"
    return both(lambda width, variant: _plane(chart, width, title, variant))


def _across(chart: Plane, dot: Point) -> str:
    value = dot.across.value
    return f"{10**value:.1e}" if chart.powers and value is not None else shown(dot.across)


def _plane(chart: Plane, width: float, label: str, variant: str) -> Markup:
    """Names stand beside their markers as long as each finds a free place there, else all in a list on the right."""
    able = [dot for dot in chart.points if dot.across.value is not None and dot.up.value is not None]
    sheet = _squared(chart, width, 12.0, 420.0)
    names = [fitting(dot.label, 0.45 * sheet.width) for dot in able]
    boxes = _beside_markers([_pixels(sheet, dot) for dot in able], names, sheet)
    if boxes is None:
        gutter = min(0.34 * width, max(LETTER * len(name) for name in names) + 24)
        sheet = _squared(chart, width, gutter, max(420.0, _LINE * (len(able) + 1)))
        names = [_ending(dot.label, gutter - 24) for dot in able]
        boxes = _in_a_list([_pixels(sheet, dot) for dot in able], names, sheet)
    for dot in able:
        _crossed(sheet, dot)
    for dot, name, box in zip(able, names, boxes, strict=True):
        _named(sheet, dot, name, box)
    return sheet.svg(label, variant)


def _squared(chart: Plane, width: float, right: float, height: float) -> Sheet:
    """A sheet with a rate from 0 to 100 % on either axis, or powers of ten across, and room on the right."""
    left = 58.0
    room = (0, width - left - right)
    if chart.powers:
        values = [dot.across.value for dot in chart.points if dot.across.value is not None] or [0.0]
        low, high = floor(min(values)), floor(max(values)) + 1
        x = Scale((low, high), room, tuple(map(float, range(low, high + 1))), "'1e' + datum.value", chart.across)
    else:
        x = Scale((0, 1), room, QUARTERS if room[1] > 250 else QUARTERS[::2], PERCENT, chart.across)
    y = Scale((0, 1), (height, 0), QUARTERS, PERCENT, chart.up)
    return Sheet(width - left, height, x, y, left=left, above=12, below=40)


def _crossed(sheet: Sheet, dot: Point) -> None:
    """A run's marker on its two intervals."""
    colour, shape = run_mark(dot.place)
    x, y = dot.across.value or 0.0, dot.up.value or 0.0
    lines = [(ends, (y, y), colour)] if (ends := span(dot.across)) else []
    lines += [((x, x), ends, colour)] if (ends := span(dot.up)) else []
    sheet.rules(lines, 1.5, opacity=0.35)
    sheet.dots([(x, y, colour)], 110, shape=shape)


def _pixels(sheet: Sheet, dot: Point) -> Place:
    """Where a run's marker stands."""
    (low, high), (start, end) = sheet.x.domain, sheet.x.pixels
    bottom, top = sheet.y.pixels
    along = ((dot.across.value or 0.0) - low) / (high - low)
    return start + along * (end - start), bottom + (dot.up.value or 0.0) * (top - bottom)


def _beside_markers(points: Sequence[Place], names: Sequence[str], sheet: Sheet) -> list[Box] | None:
    """A box for each name near its marker, on no other name or marker; None where one finds no free place."""
    taken: list[Box] = [(x - 7, y - 7, x + 7, y + 7) for x, y in points]
    boxes = []
    for point, name in zip(points, names, strict=True):
        free = (box for box in _around(point, LETTER * len(name)) if _is_free(box, taken, sheet))
        if (box := next(free, None)) is None:
            return None
        taken.append(box)
        boxes.append(box)
    return boxes


def _around(point: Place, width: float) -> Iterator[Box]:
    """Places for a name of this width, the best ones first."""
    for ring in _RINGS:
        for right, down in _SIDES:
            x = point[0] + right * (ring if down == 0 else 0.7 * ring)
            y = point[1] + down * (ring + 4)
            start = x if right > 0 else x - width if right < 0 else x - width / 2
            yield start, y - SIZE / 2, start + width, y + SIZE / 2


def _is_free(box: Box, taken: Sequence[Box], sheet: Sheet) -> bool:
    inside = box[0] >= 0 and box[2] <= sheet.width and box[1] >= 0 and box[3] <= sheet.height
    return inside and not any(
        box[0] < right + _APART and left < box[2] + _APART and box[1] < bottom and top < box[3]
        for left, top, right, bottom in taken
    )


def _in_a_list(points: Sequence[Place], names: Sequence[str], sheet: Sheet) -> list[Box]:
    """All names below each other beside the plane, in the order of their markers from above, each as near as can be."""
    order = sorted(range(len(points)), key=lambda place: points[place][1])
    left = sheet.x.pixels[1] + 22
    boxes: dict[int, Box] = {}
    bottom = 0.0
    for rank, place in enumerate(order):
        lowest = sheet.height - _LINE * (len(order) - rank)  # leaves room for those that follow
        top = max(bottom, min(points[place][1] - _LINE / 2, lowest))
        boxes[place] = (left, top, left + LETTER * len(names[place]), top + _LINE)
        bottom = top + _LINE
    return [boxes[place] for place in range(len(points))]


def _ending(name: str, pixels: float) -> str:
    """The name cut to so many pixels at its front: names of models differ at their ends."""
    room = int(pixels / LETTER)
    return name if len(name) <= room else f"…{name[len(name) - room + 1 :]}"


def _named(sheet: Sheet, dot: Point, name: str, box: Box) -> None:
    """The name of a run, with a thin line to its marker where it stands apart from it."""
    point, middle = _pixels(sheet, dot), (box[1] + box[3]) / 2
    near = (min(max(point[0], box[0] - 3), box[2]), middle)
    if abs(near[0] - point[0]) + abs(near[1] - point[1]) > _RINGS[1]:
        sheet.slants([(_value(sheet, point), _value(sheet, near), "soft")], opacity=0.7)
    is_left = box[2] <= point[0]  # then it ends at its marker, however wide its font is
    x, y = _value(sheet, (box[2] if is_left else box[0], middle))
    sheet.texts([(x, y, name, run_mark(dot.place)[0])], "right" if is_left else "left", fontWeight=600)


def _value(sheet: Sheet, pixels: tuple[float, float]) -> tuple[float, float]:
    return sheet.x.at(pixels[0]), sheet.y.at(pixels[1])
