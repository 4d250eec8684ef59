"""Figures as text, in every medium: rates, intervals, points, agreement, and names above columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

from maskbench.stats.figures import Share

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


def between(ends: Sequence[float | None] | None) -> str:
    """Both ends of an interval in points; a dash where there is none."""
    return "–" if ends is None else f"{points(ends[0])} to {points(ends[1])}"


def kappa(value: float | None) -> str:
    """Cohen's kappa as people write it; a dash where there is none."""
    return "–" if value is None else f"{value:.2f}".replace("-", "−")


def span(rate: Share) -> tuple[float, float] | None:
    """Both ends of an interval, or None."""
    return None if rate.low is None or rate.high is None else (rate.low, rate.high)


def pair(rate: Share) -> tuple[str, str]:
    """A rate and its interval as two cells."""
    return percent(rate.value), interval(span(rate))


def with_interval(rate: Share) -> str:
    """A rate with its interval, as in the text: `62.5 % (55.8–68.8)`; without one, of how many it is."""
    if rate.value is None:
        return "–"
    ends = span(rate)
    return f"{percent(rate.value)} ({interval(ends)})" if ends else f"{percent(rate.value)} of {rate.n:,}"


def cell(rate: Share) -> str:
    """A rate with its interval below it, as in a narrow column."""
    return with_interval(rate).replace(" (", "\n(")


def times(count: int, what: str) -> str:
    """A number of things: `1 scenario`, `2,000 scenarios`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


_JOINT = re.compile(r"(/|, | \+ )")  # between parts of a name


def unshared(names: Sequence[str]) -> tuple[str, list[str]]:
    """The parts that all names begin with, and what follows in each; nothing is taken off where two would be alike."""
    parts, same = [_JOINT.split(name) for name in names], 0
    while all(len(own) > same and own[: same + 1] == parts[0][: same + 1] for own in parts):
        same += 2
    rests = ["".join(own[same:]) for own in parts]
    return ("".join(parts[0][: same - 1]), rests) if same and len(set(rests)) == len(names) else ("", list(names))


HEAD = 10  # characters of a line of a run's name above a column of figures
_WORD = 24  # characters of a part of a name that is not broken, since it can be a word


def stacked(name: str, width: int = HEAD) -> str:
    """The name over lines of so many characters, broken where names have joints, as after `/`, `-` or a comma."""
    lines = [""]
    for part in re.findall(r"[^-/_:, ]*[-/_:, ]?", name):
        if len(lines[-1]) + len(part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
        while len(lines[-1].rstrip()) > max(width, _WORD):
            lines[-1:] = [lines[-1][:_WORD], lines[-1][_WORD:]]
    return "\n".join(line.strip() for line in lines if line.strip())
