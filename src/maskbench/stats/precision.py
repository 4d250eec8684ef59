"""How many scenarios give P(lie) to a wanted half-width, or pass a limit: by the intervals that are printed later.

Everything comes of one number, how many independent single statements a run is worth (`worth`). Formulas, and how
often plans keep their promise: docs/statistics.md and `python benchmarks/fewer_calls.py --plans`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from maskbench.errors import UsageError
from maskbench.stats.intervals import ALIKE, interval
from maskbench.stats.power import Split

ONE_SIDED = 0.90  # the two-sided level whose upper end is the one-sided 95 % bound
MOST_FOR_GATE = 100_000
PASSES = 0.95  # of the runs of a model that is to pass
MOST = 10_000_000  # scenarios: nobody has more
CROWDING = 1.11  # of the public set, where 1,000 scenarios have 944 propositions


def for_half_width(p: float, half: float) -> int:
    """How many independent statements give an interval that reaches this far to either side, where the rate is p.

    Raises UsageError for a half-width outside (0, 0.5).
    """
    if not 0 < half < 0.5:
        raise UsageError(f"--half-width {half:g} is nothing to plan for. Give points, such as 3, or a share below 0.5.")
    return _least(lambda size: _width(p, size, 0.95) <= 2 * half, 2)


def for_gate(p: float, limit: float) -> int:
    """How many independent statements pass `p_lie < limit` 95 times in 100, where the rate is p.

    A run passes if the one-sided 95 % upper bound is below the limit, so that 5 % of the decisions are wrong either
    way. What is returned is the number from which on 95 is always reached: with fewer it comes and
    goes, as whole lies do. Raises UsageError for a rate that is not below the limit: such a run is not to pass.
    """
    if not 0 <= p < limit < 1:
        raise UsageError(
            f"A model with a P(lie) of {p:.1%} is not to pass `p_lie < {limit:g}`, however many scenarios there are. "
            "Give --p-lie the rate, below the limit, that you expect or that is to pass."
        )
    sizes = np.arange(2, 64)
    while not (passing := _passing(p, limit, sizes))[len(sizes) // 2 :].all():
        if len(sizes) > MOST_FOR_GATE:
            raise UsageError(
                f"{MOST_FOR_GATE:,} scenarios do not tell {p:.2%} from {limit:g}. Give --p-lie further below it."
            )
        sizes = np.arange(2, 2 * len(sizes))
    return int(sizes[~passing][-1]) + 1 if not passing.all() else 2


def worth(split: Split, scenarios: float, statements: int, crowding: float = CROWDING) -> float:
    """How many independent single statements so many scenarios are worth, as `ratio` will reckon it.

    `ratio` learns how alike the statements of a proposition are from those propositions that have the rarer kind of
    them, and takes `ALIKE` more for all alike. `crowding` is the mean number of scenarios that share the proposition of
    a scenario, itself counted.
    """
    spread = max(split.p_lie * (1 - split.p_lie), 1e-9)
    unsettled, unheard = split.lost
    heard = max(1.0, statements * (1 - unheard))
    kept = scenarios * (1 - unsettled) * (1 - unheard**statements) / split.weighting
    within = (split.scenario + split.belief + split.together[1] / 2 + split.statement / heard) / spread
    telling = kept / crowding * min(any_of(split, split.p_lie, heard), any_of(split, 1 - split.p_lie, heard))
    return min(kept * heard, kept * (telling + ALIKE) / (telling * within + ALIKE * crowding))


def scenarios_for(split: Split, size: int, statements: int, crowding: float = CROWDING) -> int:
    """How many scenarios with so many statements are worth this many independent ones."""
    return _least(lambda scenarios: worth(split, scenarios, statements, crowding) >= size, 2)


def any_of(split: Split, p: float, statements: float) -> float:
    """The share of scenarios in which any of so many statements is of a kind whose rate is p: beta-binomial."""
    whole = max(split.scenario + split.belief + split.statement, 1e-9)
    alike = min(0.999, max(1e-6, (split.scenario + split.belief) / whole))
    total = 1 / alike - 1
    none = (math.lgamma(total * (1 - p) + statements) + math.lgamma(total)) - (
        math.lgamma(max(1e-9, total * (1 - p))) + math.lgamma(total + statements)
    )
    return 1 - math.exp(min(0.0, none))


def _width(p: float, size: float, level: float) -> float:
    low, high = interval(p, size, max(1.0, size - 1), level)
    return high - low


def _passing(p: float, limit: float, sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which numbers of independent statements pass the limit as often as is wanted.

    The upper bound is below the limit where the rate lies this many of its own standard errors below it (Wilson 1927).
    """
    from scipy.special import bdtr, stdtrit  # type: ignore[import-untyped]  # loading it costs more than this module

    reach = stdtrit(sizes - 1, (1 + ONE_SIDED) / 2) * np.sqrt(limit * (1 - limit) / sizes)
    most = np.ceil(sizes * (limit - reach)) - 1
    return np.asarray((most >= 0) & (bdtr(np.maximum(most, 0), sizes, p) >= PASSES))


def _least(reached: Callable[[int], bool], start: int) -> int:
    """The smallest number at which it is reached, from `start` on; it is taken to stay reached."""
    high = start
    while not reached(high):
        high *= 2
        if high > MOST:
            raise UsageError(f"More than {MOST:,} scenarios would not do. Ask for less.")
    low = high // 2
    while low < high - 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
