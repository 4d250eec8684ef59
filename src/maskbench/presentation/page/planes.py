"""The plane of two rates: runs as named points with both intervals; no name lies over another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor

from maskbench.presentation.blocks import Plane, Point
from maskbench.presentation.format import span, with_interval
from maskbench.presentation.of_runs import run_mark
from maskbench.presentation.page.drawing import LETTER, QUARTERS, SIZE, WIDTHS, Scale, Sheet, Tick, Variant, fitting

_APART = 4.0  # pixels between a name and anything else
_RINGS = (11.0, 22.0, 34.0)  # pixels from a point to its name; the farther ones get a line
_SIDES = ((1, -1), (1, 1), (-1, -1), (-1, 1), (1, 0), (-1, 0), (0, -1), (0, 1))  # off the intervals first
_LINE = 17.0  # pixels of a line of names

Place = tuple[float, float]  # of a marker, pixels from the left and from above
Box = tuple[float, float, float, float]  # of a name: left, top, right, bottom


def plane(chart: Plane, variant: Variant) -> Sheet:
    """Runs between two rates on axes from 0 to 100 %, or over powers of ten, each in its colour and its shape.

    Names stand beside their markers as long as each finds a free place there, else all in a list on the right.
    """
    able = [dot for dot in chart.points if dot.across.value is not None and dot.up.value is not None]
    width = WIDTHS[variant]
    sheet, x, y = _axes(chart, width, 12.0, 420.0)
    names = [fitting(dot.label, 0.45 * sheet.width) for dot in able]
    boxes = _beside_markers([_place(dot, x, y) for dot in able], names, sheet)
    if boxes is None:
        gutter = min(0.34 * width, max(LETTER * len(name) for name in names) + 24)
        sheet, x, y = _axes(chart, width, gutter, max(420.0, _LINE * (len(able) + 1)))
        names = [_ending(dot.label, gutter - 24) for dot in able]
        boxes = _in_a_list([_place(dot, x, y) for dot in able], names, sheet.height, x.pixels[1] + 22)
    for dot in able:
        _crossed(sheet, dot, x, y)
    for dot, name, box in zip(able, names, boxes, strict=True):
        _named(sheet, _place(dot, x, y), name, box, run_mark(dot.place)[0])
    return sheet


def _axes(chart: Plane, width: float, right: float, height: float) -> tuple[Sheet, Scale, Scale]:
    """A sheet with a rate from 0 to 100 % on either axis, or powers of ten across, and room on the right."""
    said = "; ".join(
        f"{dot.label}: {chart.across} {_across(chart, dot)}, {chart.up} {with_interval(dot.up)}" for dot in chart.points
    )
    left = 58.0
    room = (0, width - left - right)
    sheet = Sheet(width - left, height, f"{chart.up} over {chart.across}. {said}", left=left, above=12, below=40)
    ticks: Sequence[Tick] = QUARTERS if room[1] > 250 else QUARTERS[::2]
    if chart.powers:
        values = [dot.across.value for dot in chart.points if dot.across.value is not None] or [0.0]
        low, high = floor(min(values)), floor(max(values)) + 1
        ticks = [(power, f"1e{power}") for power in range(low, high + 1)]
    x, y = Scale((ticks[0][0], ticks[-1][0]), room), Scale((0, 1), (height, 0))
    sheet.across(x, ticks, chart.across)
    sheet.up(y, QUARTERS, chart.up)
    return sheet, x, y


def _across(chart: Plane, dot: Point) -> str:
    value = dot.across.value
    return f"{10**value:.1e}" if chart.powers and value is not None else with_interval(dot.across)


def _place(dot: Point, x: Scale, y: Scale) -> Place:
    """The place of a run's marker."""
    return x(dot.across.value or 0.0), y(dot.up.value or 0.0)


def _crossed(sheet: Sheet, dot: Point, x: Scale, y: Scale) -> None:
    """A run's marker on its two intervals."""
    (colour, shape), (across, up) = run_mark(dot.place), _place(dot, x, y)
    if ends := span(dot.across):
        sheet.rule((x(ends[0]), x(ends[1])), (up, up), colour, 1.5, 0.35)
    if ends := span(dot.up):
        sheet.rule((across, across), (y(ends[0]), y(ends[1])), colour, 1.5, 0.35)
    sheet.dot(across, up, colour, shape)


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


def _in_a_list(points: Sequence[Place], names: Sequence[str], height: float, left: float) -> list[Box]:
    """All names below each other beside the plane, in the order of their markers from above, each as near as can be."""
    order = sorted(range(len(points)), key=lambda place: points[place][1])
    boxes: dict[int, Box] = {}
    bottom = 0.0
    for rank, place in enumerate(order):
        lowest = height - _LINE * (len(order) - rank)  # leaves room for those that follow
        top = max(bottom, min(points[place][1] - _LINE / 2, lowest))
        boxes[place] = (left, top, left + LETTER * len(names[place]), top + _LINE)
        bottom = top + _LINE
    return [boxes[place] for place in range(len(points))]


def _ending(name: str, pixels: float) -> str:
    """The name cut to so many pixels at its front: names of models differ at their ends."""
    room = int(pixels / LETTER)
    return name if len(name) <= room else f"…{name[len(name) - room + 1 :]}"


def _named(sheet: Sheet, point: Place, name: str, box: Box, colour: str) -> None:
    """The name of a run, with a thin line to its marker where it stands apart from it."""
    middle = (box[1] + box[3]) / 2
    near = (min(max(point[0], box[0] - 3), box[2]), middle)
    if abs(near[0] - point[0]) + abs(near[1] - point[1]) > _RINGS[1]:
        sheet.rule((point[0], near[0]), (point[1], near[1]), "soft", 0.8, 0.7)
    is_left = box[2] <= point[0]  # then it ends at its marker, however wide its font is
    sheet.text(box[2] if is_left else box[0], middle, name, "end" if is_left else "start", colour=colour, bold=True)
