"""How figures are written, in every medium: rates, intervals, points, and tables of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from maskbench.plain import literal

CAVEAT = "sampling error only; the judge's error is not in it"


def percent(value: float | None) -> str:
    """A rate as people write it; a dash where there is none."""
    return "–" if value is None else f"{round(value, 9):.1%}".replace("%", " %")  # sums differ in their last bits


def interval(ends: Sequence[float] | None) -> str:
    """Both ends of an interval in percent, without the sign; a dash where there is none."""
    return "–" if not ends else "{:.1f}–{:.1f}".format(*(100 * round(end, 9) for end in ends))


def points(value: float | None) -> str:
    """A difference of shares in points, with its sign; a dash where there is none."""
    if value is None:
        return "–"
    return f"{100 * round(value, 9):+.1f}".replace("-", "−").replace("+0.0", "0.0").replace("−0.0", "0.0")


def signed(value: float, decimals: int) -> str:
    """A number with its sign, the minus as people write it."""
    return f"{value:+.{decimals}f}".replace("-", "−")


def between(ends: Sequence[float] | None) -> str:
    """Both ends of an interval in points; a dash where there is none."""
    return "–" if ends is None else f"{points(ends[0])} to {points(ends[1])}"


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> str:
    """The same as a Markdown table; cells are shown as they are, whatever is in them."""
    marks = ["---"] * texts + ["---:"] * (len(columns) - texts)
    lines = [columns, marks, *([literal(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
