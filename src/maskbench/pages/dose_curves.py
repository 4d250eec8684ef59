"""The curves of a dose page: outcomes over the dose with the spread of random directions behind them, and damage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from markupsafe import Markup

from maskbench.interventions.dose.record import DoseAlone, DoseCurve
from maskbench.pages.charts import both
from maskbench.pages.drawing import PERCENT, QUARTERS, Scale, Sheet
from maskbench.presentation.blocks import OverDose
from maskbench.presentation.format import shown, span
from maskbench.presentation.of_runs import RATE_OF, colour_of
from maskbench.presentation.sections.doses import DAMAGE
from maskbench.stats.figures import Share
from maskbench.types import OutcomeName

_HEIGHT = 300.0
_OUTCOMES: tuple[OutcomeName, ...] = ("lie", "honest", "evasive", "no_belief")
_COLOURS = {
    "outcomes": {outcome.replace("_", " "): colour_of(outcome) for outcome in _OUTCOMES},
    "damage": {name: colour for name, colour, _ in DAMAGE},
}


def dose_curve(chart: OverDose) -> Markup:
    """The four outcomes over the dose with their intervals; or accuracy, lost beliefs and malformed statements."""
    return both(lambda width, variant: _curve(chart, width, variant))


def _curve(chart: OverDose, width: float, variant: str) -> Markup:
    is_damage = chart.shows == "damage"
    sheet = _sheet(chart.rows, width, "share" if is_damage else "share of scenarios", _axis(chart.data))
    if not is_damage:
        _spread(chart.data, sheet)
    _mark(chart.data, sheet)
    of = [(_amount(row), shares(chart.shows, row)) for row in chart.rows]
    for place, (name, colour) in enumerate(_COLOURS[chart.shows].items()):
        _line(sheet, [(amount, values[name]) for amount, values in of], colour, place)
    title, named, name = ("Damage", "accuracy", "accuracy") if is_damage else ("Outcomes", "P(lie)", "lie")
    label = "; ".join(f"dose {amount:g}: {named} {shown(values[name])}" for amount, values in of)
    return sheet.svg(f"{title} by dose. {label}", variant)


def shares(shows: Literal["outcomes", "damage"], row: DoseAlone) -> dict[str, Share]:
    """What a curve shows of one dose, by name."""
    if shows == "outcomes":
        return {outcome.replace("_", " "): _of_outcome(row, outcome) for outcome in _OUTCOMES}
    return {name: _of_damage(row, name) for name, _, _ in DAMAGE}


def _of_outcome(row: DoseAlone, outcome: OutcomeName) -> Share:
    return row.values[RATE_OF[outcome]]


def _of_damage(row: DoseAlone, name: str) -> Share:
    if name == "malformed":
        return Share(row.malformed_value, None, row.n)
    return row.values["accuracy" if name == "accuracy" else "p_no_belief"]


def _sheet(rows: Sequence[DoseAlone], width: float, up: str, across: str) -> Sheet:
    amounts = sorted(set(map(_amount, rows)))
    left, room = 46.0, 14.0
    every = -(-len(amounts) // (11 if width > 500 else 6))
    ticks = tuple(amount for place, amount in enumerate(amounts) if amount == 0 or place % every == 0)
    edge = 0.04 * (amounts[-1] - amounts[0])
    x = Scale((amounts[0] - edge, amounts[-1] + edge), (0, width - left - room), ticks, _NUMBER, across)
    y = Scale((0, 1), (_HEIGHT, 8), QUARTERS, PERCENT, up)
    return Sheet(width - left, _HEIGHT, x, y, left=left, below=40)


_NUMBER = "replace(format(datum.value, '.3~g'), '-', '−')"


def _axis(data: DoseCurve) -> str:
    return "strength" if data.plan.kind == "steer" else "times the adapter"


def _spread(data: DoseCurve, sheet: Sheet) -> None:
    """Behind the curve: between which P(lie) the random directions stay, and each of them at the chosen dose."""
    chosen, controls = data.chosen, data.controls
    if not controls or not controls.differences or chosen is None or chosen.rates["p_lie"].first is None:
        return
    base = chosen.rates["p_lie"].first
    low, high = (max(0.0, min(1.0, base + end)) for end in (min(controls.differences), max(controls.differences)))
    sheet.bars([(sheet.x.domain, (low, high), "unknown")], opacity=0.6)
    aside = sheet.x.at(-12) - sheet.x.at(0)
    sheet.dots([(_amount(chosen) + aside, base + each, "loose") for each in controls.differences], 30)


def _mark(data: DoseCurve, sheet: Sheet) -> None:
    """A line at the chosen dose, with its name."""
    if data.chosen is not None:
        sheet.rules([((_amount(data.chosen),) * 2, (0, 1), "soft")], 1, strokeDash=[4, 3])


def _amount(row: DoseAlone) -> float:
    """Where a dose stands: only curves on which each has a place are drawn."""
    return row.amount or 0.0


def _line(sheet: Sheet, points: Sequence[tuple[float, Share]], colour: str, place: int) -> None:
    """One share over the doses; lines stand a few pixels apart, or their intervals would hide each other."""
    aside = sheet.x.at(4 * place) - sheet.x.at(6)
    dots = [(at + aside, rate.value) for at, rate in points if rate.value is not None]
    sheet.line(dots, colour, strokeWidth=1.5)
    ends = [((at + aside,) * 2, ends, colour) for at, rate in points if rate.value is not None and (ends := span(rate))]
    sheet.rules(ends, 2.5, opacity=0.55)
    sheet.dots([(*dot, colour) for dot in dots], 60)
