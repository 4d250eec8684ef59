"""What became of each outcome, as a flow: the first run's outcomes on the left, the other's on the right."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from markupsafe import Markup

from maskbench.pages.charts import both
from maskbench.pages.drawing import LETTER, Scale, Sheet, Span
from maskbench.report.blocks import Flow
from maskbench.report.outcome_bars import ORDER, colour_of
from maskbench.types import OutcomeName

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
