"""The charts of a page: outcomes as bars, rates and differences as points with intervals, flows; a table behind each.

Rates stand on axes from 0 to 100 %, differences on axes with 0 in the middle, and every interval is drawn. A chart
comes in two widths, of which page.css shows the one that fits, so that text keeps its size on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from unicodedata import east_asian_width

from markupsafe import Markup

from maskbench.pages.drawing import COLOURS, LETTER, PERCENT, QUARTERS, Scale, Sheet, Span
from maskbench.presentation.blocks import Flow, Mix, Part, Row
from maskbench.presentation.format import between, interval, percent, shown, span
from maskbench.presentation.format import points as written
from maskbench.presentation.of_runs import ORDER, colour_of, run_colour
from maskbench.stats.figures import Share
from maskbench.types import OutcomeName

WIDE, NARROW, PANEL = 704, 342, 336  # pixels
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right")


def both(draw: Callable[[float, str], Markup]) -> Markup:
    """A drawing in both widths, one of which shows."""
    return draw(WIDE, "wide") + draw(NARROW, "narrow")


def run_mark(place: int) -> tuple[str, str]:
    """Colour and shape of a run's points, by its place; together they repeat after 35 runs."""
    return run_colour(place), _SHAPES[place % len(_SHAPES)]


# Bars


def bars(mixes: Sequence[Mix], *, thick: float = 30, of: str = "scenarios", panel: bool = False) -> Markup:
    """Bars of parts, one a row; whiskers are the intervals of the first part and of the last."""
    label = f"Shares of {of}. " + "; ".join(f"{mix.label} {_in_words(mix)}".strip() for mix in mixes)
    if panel:
        return _bars(mixes, thick, of, PANEL, label, "single")
    return both(lambda width, variant: _bars(mixes, thick, of, width, label, variant))


def _bars(mixes: Sequence[Mix], thick: float, of: str, width: float, label: str, variant: str) -> Markup:
    head = 24 if any(mix.label for mix in mixes) else 0
    step = thick + head + 18
    sheet = _sheet(width, step * len(mixes) - 4, (0, width), f"share of {of}")
    for place, mix in enumerate(mixes):
        top = place * step + head
        if head:
            sheet.texts([(0, top - 11, fitting(mix.label, 0.9 * width), "ink")], fontWeight=600)
        _bar(sheet, mix, top, thick)
    return sheet.svg(label, variant)


def _bar(sheet: Sheet, mix: Mix, top: float, thick: float) -> None:
    size, at = (16, 0.0) if thick > 40 else (13, 0.0)
    for part in mix.parts:
        value = part.share.value or 0.0
        sheet.bars([((at, at + value), (top, top + thick), part.colour)])
        if value * sheet.width > (len(percent(value)) + 2) * LETTER * size / 13:
            text = (at + value / 2, top + thick / 2, percent(value), f"on-{part.colour}")
            sheet.texts([text], "center", fontSize=size, fontWeight=600)
        if 0 < at < 1:
            sheet.rules([((at, at), (top, top + thick), "paper")], 1.5)
        at += value
    for part, is_first in ((mix.parts[0], True), (mix.parts[-1], False)):
        _bracket(sheet, part, top + thick + (4 if is_first else 9), is_first)


def _bracket(sheet: Sheet, part: Part, y: float, from_left: bool) -> None:
    """The interval of a part, below the place where its colour ends."""
    if (ends := span(part.share)) is None:
        return
    low, high = ends if from_left else (1 - ends[1], 1 - ends[0])
    colour = _thin(part.colour)
    lines = [((low, high), (y, y), colour), *(((end, end), (y - 3, y + 3), colour) for end in (low, high))]
    sheet.rules(lines, 2)


def _in_words(mix: Mix) -> str:
    return ", ".join(f"{part.name} {shown(part.share)}" for part in mix.parts)


# Points with intervals


def points(rows: Sequence[Row | str], *, title: str = "share of scenarios", panel: bool = False) -> Markup:
    """Rates on lines of their own, each with its interval; a string is a heading between them."""
    label = "; ".join(row if isinstance(row, str) else f"{row.label} {_figures(row)}" for row in rows)
    if panel:
        return _points(rows, title, PANEL, f"Rates with their 95 % intervals. {label}", "single")
    return both(lambda width, kind: _points(rows, title, width, f"Rates with their 95 % intervals. {label}", kind))


def _points(rows: Sequence[Row | str], title: str, width: float, label: str, variant: str) -> Markup:
    """On a wide sheet name, line and figures stand side by side; on a narrow one the line is below the others."""
    beside, step = variant != "narrow", 44.0 if variant == "narrow" else 26.0
    names = 16 + LETTER * max(len(row.label) for row in rows if isinstance(row, Row))
    left = min(names, 260 if variant == "wide" else 92) if beside else 6.0
    right = width - (150 if variant == "wide" else 6)
    sheet = _sheet(width, step * len(rows) + 4, (left, right), title)
    middles = [(row, place * step + step / 2) for place, row in enumerate(rows)]
    reaches = [(row.reach, y if beside else y + 9) for row, y in middles if isinstance(row, Row) and row.reach]
    sheet.bars([(reach, (y - 7, y + 7), "unknown") for reach, y in reaches])
    for row, middle in middles:
        if isinstance(row, str):
            sheet.texts([(sheet.x.at(0), middle + 4, fitting(row, width), "ink")], fontWeight=600)
            continue
        head, line = (middle, middle) if beside else (middle - 9, middle + 9)
        room = left - 8 if beside else width - 140
        sheet.texts([(sheet.x.at(0), head, fitting(row.label, room), "ink")])
        if variant != "single":
            sheet.texts([(sheet.x.at(width), head, _figures(row), "ink")], "right")
        _point(sheet, row, line)
    return sheet.svg(label, variant)


def _figures(row: Row) -> str:
    """The rate with its interval; the bounds where there is no rate."""
    return f"{interval(row.reach)} %" if row.estimate.value is None and row.reach else shown(row.estimate)


def _point(sheet: Sheet, row: Row, y: float) -> None:
    """The point on its interval; a rate without an interval has no point either, only its figures."""
    colour, ends = _thin(row.colour), span(row.estimate)
    if ends:
        sheet.rules([(ends, (y, y), colour)], 5, strokeCap="round", opacity=0.55)
    if row.truth is not None:
        sheet.rules([((row.truth, row.truth), (y - 9, y + 9), "ink")], 2)
    if row.estimate.value is not None and ends:
        sheet.dots([(row.estimate.value, y, colour)], 110)


# Differences


def differences(rows: Sequence[Row]) -> Markup:
    """Differences in points, on an axis with 0 in its middle that holds every interval."""
    ends = [abs(end) for row in rows for end in (row.estimate.low, row.estimate.value, row.estimate.high) if end]
    most = min(1.0, -(-max(ends, default=0.1) * 10 // 1) / 10)
    label = "; ".join(f"{row.label} {_points_of(row.estimate)}" for row in rows)
    return both(lambda width, kind: _differences(rows, most, width, f"Differences with 95 % intervals. {label}", kind))


def _differences(rows: Sequence[Row], most: float, width: float, label: str, variant: str) -> Markup:
    across, step = variant == "wide", 26.0 if variant == "wide" else 44.0
    left, right = (190.0, width - 190) if across else (6.0, width - 6)
    x = Scale((-most, most), (left, right), (-most, -most / 2, 0.0, most / 2, most), _POINTS, "points")
    sheet = Sheet(width, step * len(rows) + 4, x, _pixels(step * len(rows) + 4), below=40)
    sheet.rules([((0, 0), (0, sheet.height), "soft")], 1.5)
    for place, row in enumerate(rows):
        middle = place * step + step / 2
        line, head = (middle, middle) if across else (middle + 9, middle - 9)
        sheet.texts([(sheet.x.at(0), head, row.label, "ink")])
        sheet.texts([(sheet.x.at(width), head, _points_of(row.estimate), "ink")], "right")
        _point(sheet, row, line)
    return sheet.svg(label, variant)


_POINTS = "datum.value == 0 ? '0' : replace(format(100 * datum.value, '+d'), '-', '−')"


def _points_of(estimate: Share) -> str:
    ends = span(estimate)
    return f"{written(estimate.value)} ({between(ends)})" if ends else written(estimate.value)


def _sheet(width: float, height: float, across: Span, title: str) -> Sheet:
    """A sheet with rates across it from 0 to 100 %, and pixels down it."""
    return Sheet(width, height, Scale((0, 1), across, QUARTERS, PERCENT, title), _pixels(height), below=40)


def _pixels(height: float) -> Scale:
    return Scale((0, height), (0, height))


def _thin(colour: str) -> str:
    """The colour of lines and points, where that of an area would be too pale."""
    return f"{colour}-line" if f"{colour}-line" in COLOURS else colour


def fitting(text: str, pixels: float) -> str:
    """The text cut to so many pixels, as far as one can tell without its font; East Asian letters are twice as wide."""
    room = max(4.0, pixels / LETTER)
    for at, letter in enumerate(text):
        room -= 2 if east_asian_width(letter) in "WF" else 1
        if room < 0:
            return f"{text[: max(0, at - 1)].rstrip()}…"
    return text


_HEIGHT, _GAP, _BAR, _STEPS = 300.0, 10.0, 14.0, 24  # pixels; and points of a band's edge
_REST: tuple[OutcomeName, ...] = ("no_lie", "disputed", "error")
_PALE = {"error": "error", "disputed": "error", "no_lie": "no-belief"}  # colours of what is no outcome of the method

Stack = dict[OutcomeName, Span]


def flow(chart: Flow) -> Markup:
    """Bands from each outcome to each, as high as the scenarios are many; what stayed the same is pale."""
    label = "; ".join(
        f"{count:,} from {before} to {after}".replace("_", " ") for before, after, count in _bands(chart.counts)
    )
    title = f"Scenarios by their outcome in {chart.first} and in {chart.other}. {label}"
    return both(lambda width, variant: _flow(chart, width, title, variant))


def _flow(chart: Flow, width: float, label: str, variant: str) -> Markup:
    bands = list(_bands(chart.counts))
    total = sum(count for *_, count in bands)
    edge = _BAR + 8 + LETTER * max((len(f"{name} {total}") for band in bands for name in band[:2]), default=0)
    outcomes = [name for name in (*ORDER, *_REST) if any(name in band[:2] for band in bands)]
    share = (_HEIGHT - _GAP * (len(outcomes) - 1)) / max(total, 1)
    sides = (_stack(bands, 0, outcomes, share), _stack(bands, 1, outcomes, share))
    sheet = Sheet(width, _HEIGHT, Scale((0, width), (0, width)), Scale((0, _HEIGHT), (0, _HEIGHT)), above=26, below=10)
    ends = (edge, width - edge)
    tops = [{name: span[0] for name, span in side.items()} for side in sides]
    for before, after, count in bands:
        starts = (tops[0][before], tops[1][after])
        is_same = before == after
        sheet.band(_curve(ends, starts, count * share), _colour(after), opacity=0.18 if is_same else 0.6)
        tops[0][before] += count * share
        tops[1][after] += count * share
    for side, (stack, x) in enumerate(zip(sides, ends, strict=True)):
        bar = (x - _BAR, x) if side == 0 else (x, x + _BAR)
        sheet.bars([(bar, span, _colour(name)) for name, span in stack.items()])
        _name(sheet, chart, side, stack, share)
    return sheet.svg(label, variant)


def _bands(counts: Mapping[OutcomeName, Mapping[OutcomeName, int]]) -> Iterator[tuple[OutcomeName, OutcomeName, int]]:
    """Every move that happened, in the order in which the outcomes are stacked on both sides."""
    order = (*ORDER, *_REST)
    for before in order:
        for after in order:
            if count := counts.get(before, {}).get(after, 0):
                yield before, after, count


def _stack(
    bands: list[tuple[OutcomeName, OutcomeName, int]], side: int, outcomes: list[OutcomeName], share: float
) -> Stack:
    """Where each outcome begins and ends on one side."""
    stack: Stack = {}
    top = 0.0
    for name in outcomes:
        height = share * sum(band[2] for band in bands if band[side] == name)
        stack[name] = (top, top + height)
        top += height + _GAP
    return stack


def _curve(ends: Span, tops: Span, height: float) -> Iterator[tuple[float, float, float]]:
    """A band from the left to the right, with level ends."""
    for step in range(_STEPS + 1):
        along = step / _STEPS
        eased = (1 - math.cos(math.pi * along)) / 2
        top = tops[0] + eased * (tops[1] - tops[0])
        yield ends[0] + along * (ends[1] - ends[0]), top, top + height


def _name(sheet: Sheet, chart: Flow, side: int, stack: Stack, share: float) -> None:
    """The run above a side, and beside each of its outcomes what it is and how many scenarios have it."""
    x, align = (0.0, "left") if side == 0 else (sheet.width, "right")
    sheet.texts([(x, -14, (chart.first, chart.other)[side], "ink")], align, fontWeight=600)
    named = [
        (x, (start + end) / 2, f"{name.replace('_', ' ')} {round((end - start) / share):,}", "ink")
        for name, (start, end) in stack.items()
        if end > start
    ]
    sheet.texts(named, align)


def _colour(name: OutcomeName) -> str:
    return _PALE.get(name, colour_of(name))
