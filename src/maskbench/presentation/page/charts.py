"""The charts of a page and of figure files: each a function from its data to a sheet; a table stands behind each.

Rates stand on axes from 0 to 100 %, differences on axes with 0 in the middle, and every interval is drawn. A chart
comes in two widths, of which page.css shows the one that fits, so that text keeps its size on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup

from maskbench.presentation.blocks import Bars, Chart, Curve, Flow, Line, Mix, Plane, PointRow, Points, Segment
from maskbench.presentation.format import between, interval, percent, span, with_interval
from maskbench.presentation.format import points as written
from maskbench.presentation.of_runs import ORDER, colour_of
from maskbench.presentation.page.drawing import (
    COLOURS,
    LETTER,
    QUARTERS,
    WIDTHS,
    Align,
    Scale,
    Sheet,
    Span,
    Tick,
    Variant,
    fitting,
)
from maskbench.presentation.page.planes import plane
from maskbench.stats.figures import Share
from maskbench.types import OutcomeName

_TITLES = 40  # pixels below a sheet, for its axis


def drawn(charts: Sequence[Chart], *, panel: bool = False) -> Markup:
    """These charts, one below the other, in the widths that a page has, or in that of one panel of several."""
    variants: tuple[Variant, ...] = ("single",) if panel else ("wide", "narrow")
    return Markup().join(draw(chart, variant).svg(variant) for chart in charts for variant in variants)


def draw(chart: Chart, variant: Variant) -> Sheet:
    """One chart in one width."""
    match chart:
        case Bars():
            return bars(chart, variant)
        case Points():
            return points(chart, variant)
        case Curve():
            return curve(chart, variant)
        case Flow():
            return flow(chart, variant)
        case Plane():
            return plane(chart, variant)


def _thin(colour: str) -> str:
    """The colour of lines and points, where that of an area would be too pale."""
    return f"{colour}-line" if f"{colour}-line" in COLOURS else colour


# Bars


def bars(chart: Bars, variant: Variant) -> Sheet:
    """Bars of parts, one a row; whiskers are the intervals of the first part and of the last."""
    said = "; ".join(f"{mix.label} {_in_words(mix)}".strip() for mix in chart.mixes)
    width, head = WIDTHS[variant], 24 if any(mix.label for mix in chart.mixes) else 0
    step = chart.thick + head + 18
    is_panel = variant == "single"  # beside others, of which each would say what the shares are of
    sheet = Sheet(width, step * len(chart.mixes) - 4, f"Shares of {chart.of}. {said}", below=_TITLES / (1 + is_panel))
    x = Scale((0, 1), (0, width))
    sheet.across(x, QUARTERS, "" if is_panel else f"share of {chart.of}")
    for place, mix in enumerate(chart.mixes):
        top = place * step + head
        if head:
            ends = mix.parts[0], mix.parts[-1]
            told = ", ".join(f"{part.name} {percent(part.share.value)}" for part in ends if span(part.share))
            has_room = bool(told) and variant == "wide"
            sheet.text(0, top - 11, fitting(mix.label, width * (0.65 if has_room else 0.9)), bold=True)
            if has_room:
                sheet.text(width, top - 11, told, "end")
        _bar(sheet, x, mix, (top, top + chart.thick))
    return sheet


def _in_words(mix: Mix) -> str:
    return ", ".join(f"{part.name} {with_interval(part.share)}" for part in mix.parts)


def _bar(sheet: Sheet, x: Scale, mix: Mix, y: Span) -> None:
    top, bottom = y
    size, at = 16 if bottom - top > 40 else 13, 0.0
    for part in mix.parts:
        value = part.share.value or 0.0
        sheet.bar((x(at), x(at + value)), y, part.colour)
        if value * sheet.width > (len(percent(value)) + 2) * LETTER * size / 13:
            place = x(at + value / 2), (top + bottom) / 2
            sheet.text(*place, percent(value), "middle", colour=f"on-{part.colour}", size=size, bold=True)
        if 0 < at < 1:
            sheet.rule((x(at), x(at)), y, "paper", 1.5)
        at += value
    _bracket(sheet, x, mix.parts[0], bottom + 4, from_left=True)
    _bracket(sheet, x, mix.parts[-1], bottom + 9, from_left=False)


def _bracket(sheet: Sheet, x: Scale, part: Segment, y: float, *, from_left: bool) -> None:
    """The interval of a part, below the place where its colour ends."""
    if (ends := span(part.share)) is None:
        return
    low, high = (x(end if from_left else 1 - end) for end in ends)
    colour = _thin(part.colour)
    sheet.rule((min(low, high), max(low, high)), (y, y), colour, 2)
    for end in (low, high):
        sheet.rule((end, end), (y - 3, y + 3), colour, 2)


# Points with intervals


def points(chart: Points, variant: Variant) -> Sheet:
    """Rates or differences on lines of their own, each with its interval; a string is a heading between them.

    On a wide sheet name, line and figures stand side by side; on a narrow one the line is below the others.
    """
    named = [row for row in chart.rows if isinstance(row, PointRow)]
    said = "; ".join(row if isinstance(row, str) else f"{row.label} {_figures(chart, row)}" for row in chart.rows)
    kind = "Differences with" if chart.differences else "Rates with their"
    width, beside, step = WIDTHS[variant], variant != "narrow", 44.0 if variant == "narrow" else 26.0
    names = 16 + LETTER * max((len(row.label) for row in named), default=0)
    left = min(names, 300 if variant == "wide" else 92) if beside else 6.0
    right = width - ((180 if chart.differences else 150) if variant == "wide" else 6)
    sheet = Sheet(width, step * len(chart.rows) + 4, f"{kind} 95 % intervals. {said}", below=_TITLES)
    x, ticks = _scale(chart, named, (left, right))
    sheet.across(x, ticks, chart.axis)
    if chart.differences:
        sheet.rule((x(0), x(0)), (0, sheet.height), "soft", 1.5)
    for place, row in enumerate(chart.rows):
        middle = place * step + step / 2
        if isinstance(row, str):
            sheet.text(0, middle + 4, fitting(row, width), bold=True)
            continue
        head, line = (middle, middle) if beside else (middle - 9, middle + 9)
        sheet.text(0, head, fitting(row.label, left - 8 if beside else width - 140))
        if variant != "single":
            sheet.text(width, head, _figures(chart, row), "end")
        _point(sheet, x, row, line)
    return sheet


def _scale(chart: Points, rows: Sequence[PointRow], pixels: Span) -> tuple[Scale, Sequence[Tick]]:
    """Shares from 0 to 100 %; differences as far to one side as to the other, so that every interval is on it."""
    if not chart.differences:
        return Scale((0, 1), pixels), QUARTERS
    ends = [abs(end) for row in rows for end in (row.estimate.low, row.estimate.value, row.estimate.high) if end]
    most = min(1.0, math.ceil(max(ends, default=0.1) * 10) / 10)
    ticks = [(part * most, f"{100 * part * most:+.0f}".replace("-", "−")) for part in (-1, -0.5, 0.5, 1)]
    return Scale((-most, most), pixels), [*ticks, (0.0, "0")]


def _figures(chart: Points, row: PointRow) -> str:
    """The figure with its interval; the bounds where there is no rate."""
    if chart.differences:
        ends = span(row.estimate)
        return written(row.estimate.value) + (f" ({between(ends)})" if ends else "")
    return f"{interval(row.reach)} %" if row.estimate.value is None and row.reach else with_interval(row.estimate)


def _point(sheet: Sheet, x: Scale, row: PointRow, y: float) -> None:
    """The point on its interval and its bounds; a rate without an interval has no point either, only its figures."""
    colour, ends = _thin(row.colour), span(row.estimate)
    if row.reach:
        sheet.bar((x(row.reach[0]), x(row.reach[1])), (y - 7, y + 7), "unknown")
    if ends:
        sheet.rule((x(ends[0]), x(ends[1])), (y, y), colour, 5, 0.55, stroke_linecap="round")
    if row.estimate.value is not None and ends:
        sheet.dot(x(row.estimate.value), y, colour)


# Curves


def curve(chart: Curve, variant: Variant) -> Sheet:
    """Shares over k, a line each, with intervals and bounds; lines stand apart by a few pixels.

    Behind them a band, with the points that it is made of left of the marked place.
    """
    said = "; ".join(
        f"{line.label}: " + ", ".join(f"at {at:g} {with_interval(estimate)}" for at, estimate in line.points.items())
        for line in chart.lines
    )
    places = sorted({at for line in chart.lines for at in line.points})
    left, height = 58.0, 300.0
    width = WIDTHS[variant] - left
    x, y = Scale((places[0], places[-1]), (24, width - 36)), Scale((0, 1), (height, 0))
    sheet = Sheet(width, height, f"{chart.up} over {chart.across}. {said}", left=left, above=8, below=_TITLES)
    every = math.ceil(len(places) / (12 if variant == "wide" else 6))
    some = [at for place, at in enumerate(places) if at == 0 or place % every == 0]
    sheet.across(x, [(at, f"{at:.3g}".replace("-", "−")) for at in some], chart.across)
    sheet.up(y, QUARTERS, chart.up)
    if chart.band:
        sheet.bar((0, width), (y(chart.band[0]), y(chart.band[1])), "unknown", 0.6)
    if chart.marked is not None:
        sheet.rule((x(chart.marked),) * 2, (0, height), "soft", stroke_dasharray="4 3")
        for value in chart.around:
            sheet.dot(x(chart.marked) - 14, y(value), "loose", size=6)
    asides = [5 * (place - (len(chart.lines) - 1) / 2) for place in range(len(chart.lines))]
    for line, aside in zip(chart.lines, asides, strict=True):
        for at, (low, high) in line.bounds.items():
            sheet.rule((x(at) + aside,) * 2, (y(low), y(high)), "unknown", 9)
    for line, aside in zip(chart.lines, asides, strict=True):
        _line(sheet, line, [(x(at) + aside, rate) for at, rate in line.points.items()], y)
    return sheet


def _line(sheet: Sheet, line: Line, rates: Sequence[tuple[float, Share]], y: Scale) -> None:
    """One line with its name at its end."""
    colour = _thin(line.colour)
    had = [(at, y(rate.value), span(rate)) for at, rate in rates if rate.value is not None]
    sheet.line([(at, value) for at, value, _ in had], colour)
    for at, _, ends in had:
        if ends:
            sheet.rule((at, at), (y(ends[0]), y(ends[1])), colour, 2.5, 0.55)
    for at, value, _ in had:
        sheet.dot(at, value, colour, line.shape, 8.5)
    if had and line.end:
        sheet.text(max(at for at, *_ in rates) + 16, had[-1][1], line.end, colour=colour, bold=True)


# Flows

_HEIGHT, _GAP, _BAR, _STEPS = 300.0, 10.0, 14.0, 24  # pixels; and points of a band's edge
_FLOWING: tuple[OutcomeName, ...] = (*ORDER, "error")

Stack = dict[OutcomeName, Span]
Band = tuple[OutcomeName, OutcomeName, int]


def flow(chart: Flow, variant: Variant) -> Sheet:
    """Bands from each outcome to each, as high as the scenarios are many; what stayed the same is pale."""
    bands = list(_bands(chart.counts))
    said = "; ".join(f"{count:,} from {before} to {after}".replace("_", " ") for before, after, count in bands)
    label = f"Scenarios by their outcome in {chart.first} and in {chart.other}. {said}"
    width, total = WIDTHS[variant], sum(count for *_, count in bands)
    sheet = Sheet(width, _HEIGHT, label, above=26, below=10)
    edge = _BAR + 8 + LETTER * max((len(f"{name} {total}") for band in bands for name in band[:2]), default=0)
    outcomes = [name for name in _FLOWING if any(name in band[:2] for band in bands)]
    share = (_HEIGHT - _GAP * (len(outcomes) - 1)) / max(total, 1)
    ends = (edge, width - edge)
    sides = [_stack(bands, side, outcomes, share) for side in (0, 1)]
    tops = [{name: start for name, (start, _) in side.items()} for side in sides]
    for before, after, count in bands:
        edges = _curve(ends, (tops[0][before], tops[1][after]))
        below = [(x, y + count * share) for x, y in reversed(edges)]
        sheet.area([*edges, *below], colour_of(after), 0.18 if before == after else 0.6)
        tops[0][before] += count * share
        tops[1][after] += count * share
    for place, (stack, x) in enumerate(zip(sides, ends, strict=True)):
        for name, y in stack.items():
            sheet.bar((x - _BAR, x) if place == 0 else (x, x + _BAR), y, colour_of(name))
        _name(sheet, (chart.first, chart.other)[place], place, stack, share)
    return sheet


def _bands(counts: Mapping[OutcomeName, Mapping[OutcomeName, int]]) -> Iterator[Band]:
    """Every move that happened, in the order in which the outcomes are stacked on both sides."""
    for before in _FLOWING:
        for after in _FLOWING:
            if count := counts.get(before, {}).get(after, 0):
                yield before, after, count


def _stack(bands: Sequence[Band], side: int, outcomes: Sequence[OutcomeName], share: float) -> Stack:
    """The place of each outcome on one side, from and to."""
    stack: Stack = {}
    top = 0.0
    for name in outcomes:
        height = share * sum(band[2] for band in bands if band[side] == name)
        stack[name] = (top, top + height)
        top += height + _GAP
    return stack


def _curve(ends: Span, tops: Span) -> list[Span]:
    """The upper edge of a band from the left to the right, level at its ends."""
    alongs = [step / _STEPS for step in range(_STEPS + 1)]
    eased = [(along, (1 - math.cos(math.pi * along)) / 2) for along in alongs]
    return [(ends[0] + along * (ends[1] - ends[0]), tops[0] + up * (tops[1] - tops[0])) for along, up in eased]


def _name(sheet: Sheet, run: str, side: int, stack: Stack, share: float) -> None:
    """The run above a side, and beside each of its outcomes what it is and how many scenarios have it."""
    x = sheet.width * side
    align: Align = "end" if side else "start"
    sheet.text(x, -14, fitting(run, 0.45 * sheet.width - 12), align, bold=True)
    for name, (start, end) in stack.items():
        if end > start:
            text = f"{name.replace('_', ' ')} {round((end - start) / share):,}"
            sheet.text(x, (start + end) / 2, text, align)
