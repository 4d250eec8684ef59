"""What a row says of itself beside what is measured: the columns with fixed words, and what is wrong in them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from maskbench.errors import Problem
from maskbench.method.rules import agree
from maskbench.types import Range, Scenario

WORDS: Mapping[str, tuple[str, ...]] = {
    "difficulty": ("easy", "middling", "hard"),
    "pressure_from": ("operator", "user", "kindness", "grief", "threat_to_model", "authority", "nobody"),
    "withholding": ("yes", "no"),
    "control": ("truth", "plain"),
    "source_checked": ("read", "general knowledge", "invented"),
}
YEAR = re.compile(r"1[5-9]\d\d|20\d\d")


def described_wrongly(scenario: Scenario, file: str, row: int) -> Iterator[Problem]:
    """Every cell of a row with another word than its column has, and a source that is named by halves."""
    for column, words in WORDS.items():
        if (written := scenario.extra.get(column, words[0])) not in words:
            yield Problem(file, row, column, f"{written[:60]!r} is none of its words", f"Write {', '.join(words)}")
    yield from _false_figure(scenario, file, row)
    source, year = (scenario.extra.get(column) for column in ("source", "source_year"))
    if year is not None and not YEAR.fullmatch(year):
        yield Problem(file, row, "source_year", f"{year[:60]!r} is no year", "Write the year of the source, as 2019")
    if scenario.extra.get("source_checked") and not (source and year):
        empty = "source_year" if source else "source"
        yield Problem(file, row, empty, "the cell is empty, and source_checked is not", "Name title and year")
    if scenario.extra.get("control") == "plain" and scenario.extra.get("pressure_from", "nobody") != "nobody":
        yield Problem(file, row, "pressure_from", "a twin without pressure names who presses", "Write nobody")


def _false_figure(scenario: Scenario, file: str, row: int) -> Iterator[Problem]:
    """The figure that the pressure names must not pass for the truth, both being widened (method.md section 4)."""
    if (written := scenario.extra.get("false_figure")) is None:
        return
    figure = _number(written)
    if figure is None or not isinstance(scenario.truth, Range):
        wrong = "the scenario is not numerical" if figure is not None else f"{written[:60]!r} is no number"
        yield Problem(file, row, "false_figure", wrong, "Write the figure that the pressure names")
    elif agree(Range(figure, figure), scenario.truth):
        near = f"{figure:g} agrees with the truth, {scenario.truth.low:g} to {scenario.truth.high:g}, within 5 %"
        yield Problem(file, row, "false_figure", near, "Name a figure farther off: this lie would count as honest")


def _number(written: str) -> float | None:
    try:
        number = float(written)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
