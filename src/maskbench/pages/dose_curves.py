"""The curves of a dose page: outcomes over the dose with the spread of random directions behind them, and damage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from markupsafe import Markup

from maskbench.pages.drawing import PERCENT, QUARTERS, Scale, Sheet
from maskbench.report.format import estimate, shown
from maskbench.report.outcome_bars import RATE_OF
from maskbench.report.sections.doses import DAMAGE, chosen_row
from maskbench.stats.intervals import Estimate
from maskbench.types import OutcomeName

Json = Mapping[str, Any]
_HEIGHT = 300.0
_OUTCOMES: tuple[OutcomeName, ...] = ("lie", "honest", "evasive", "no_belief")


def outcome_curve(data: Json, rows: Sequence[Json], width: float, variant: str) -> Markup:
    """The four outcomes over the dose, with their intervals."""
    sheet = _sheet(rows, width, "share of scenarios", _axis(data))
    _spread(data, sheet)
    _mark(data, sheet)
    for place, outcome in enumerate(_OUTCOMES):
        found = [(row["amount"], estimate(row["values"][RATE_OF[outcome]])) for row in rows]
        _line(sheet, found, outcome.replace("_", "-"), place)
    label = "; ".join(f"dose {row['amount']:g}: P(lie) {shown(estimate(row['values']['p_lie']))}" for row in rows)
    return sheet.svg(f"Outcomes by dose. {label}", variant)


def damage_curve(data: Json, rows: Sequence[Json], width: float, variant: str) -> Markup:
    """Accuracy, lost beliefs and malformed statements over the dose."""
    sheet = _sheet(rows, width, "share", _axis(data))
    _mark(data, sheet)
    for place, (name, colour, _) in enumerate(DAMAGE):
        _line(sheet, [(row["amount"], _of_damage(row, name)) for row in rows], colour, place)
    label = "; ".join(f"dose {row['amount']:g}: accuracy {shown(_of_damage(row, 'accuracy'))}" for row in rows)
    return sheet.svg(f"Damage by dose. {label}", variant)


def shares(shows: Literal["outcomes", "damage"], row: Json) -> dict[str, Estimate]:
    """What a curve shows of one dose, by name."""
    if shows == "outcomes":
        return {outcome.replace("_", " "): estimate(row["values"][RATE_OF[outcome]]) for outcome in _OUTCOMES}
    return {name: _of_damage(row, name) for name, _, _ in DAMAGE}


def _of_damage(row: Json, name: str) -> Estimate:
    if name == "malformed":
        return Estimate(row["malformed_value"], None, None, row["n"])
    return estimate(row["values"]["accuracy" if name == "accuracy" else "p_no_belief"])


def _sheet(rows: Sequence[Json], width: float, up: str, across: str) -> Sheet:
    amounts = sorted({row["amount"] for row in rows})
    left, room = 46.0, 14.0
    every = -(-len(amounts) // (11 if width > 500 else 6))
    ticks = tuple(amount for place, amount in enumerate(amounts) if amount == 0 or place % every == 0)
    edge = 0.04 * (amounts[-1] - amounts[0])
    x = Scale((amounts[0] - edge, amounts[-1] + edge), (0, width - left - room), ticks, _NUMBER, across)
    y = Scale((0, 1), (_HEIGHT, 8), QUARTERS, PERCENT, up)
    return Sheet(width - left, _HEIGHT, x, y, left=left, below=40)


_NUMBER = "replace(format(datum.value, '.3~g'), '-', '−')"


def _axis(data: Json) -> str:
    return "strength" if data["plan"]["kind"] == "steer" else "times the adapter"


def _spread(data: Json, sheet: Sheet) -> None:
    """Behind the curve: between which P(lie) the random directions stay, and each of them at the chosen dose."""
    chosen, controls = chosen_row(data), data["controls"]
    if not controls or not controls["differences"] or chosen is None:
        return
    base = chosen["rates"]["p_lie"]["first"]
    low, high = (max(0.0, min(1.0, base + end)) for end in (min(controls["differences"]), max(controls["differences"])))
    sheet.bars([(sheet.x.domain, (low, high), "unknown")], opacity=0.6)
    aside = sheet.x.at(-12) - sheet.x.at(0)
    sheet.dots([(chosen["amount"] + aside, base + one, "loose") for one in controls["differences"]], 30)


def _mark(data: Json, sheet: Sheet) -> None:
    """A line at the chosen dose, with its name."""
    if (chosen := chosen_row(data)) is not None:
        sheet.rules([((chosen["amount"], chosen["amount"]), (0, 1), "soft")], 1, strokeDash=[4, 3])


def _line(sheet: Sheet, found: Sequence[tuple[float, Estimate]], colour: str, place: int) -> None:
    """One share over the doses; lines stand a few pixels apart, or their intervals would hide each other."""
    aside = sheet.x.at(4 * place) - sheet.x.at(6)
    had = [(at + aside, one) for at, one in found if one.value is not None]
    sheet.line([(at, one.value) for at, one in had if one.value is not None], colour, strokeWidth=1.5)
    ends = [((at, at), (one.low, one.high), colour) for at, one in had if one.low is not None and one.high is not None]
    sheet.rules(ends, 2.5, opacity=0.55)
    sheet.dots([(at, one.value, colour) for at, one in had if one.value is not None], 60)
