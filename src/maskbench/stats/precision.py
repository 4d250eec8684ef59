"""Precision of a run before it is made: the half-width of P(lie), and the smallest drop that a pair of runs shows.

Nothing is known of the subject yet, so that a P(lie) of 35 % is assumed, and of scenarios how alike their outcomes are.
`python benchmarks/precision.py` holds both numbers against simulated runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import sqrt

from maskbench.stats import intervals
from maskbench.stats.intervals import interval

P_LIE = 0.35  # of the run, and of the first run of a pair
ALIKE = 0.4  # correlation of two scenarios of one proposition, in their outcomes and in what two runs differ by
COMMON = 0.35  # correlation of the outcomes of two runs on one scenario
POWER = 0.8  # of pairs that show the drop: four of five
_STEP = 0.001  # between drops that are tried


def crowding(propositions: Iterable[str]) -> float:
    """How many scenarios on average share the proposition of one, itself counted; 1 where none share one."""
    sizes = Counter(propositions).values()
    return sum(size**2 for size in sizes) / max(1, sum(sizes))


def half_width(scenarios: int, crowded: float) -> float | None:
    """Half of the 95 % interval of P(lie) that `ratio` gives for so many scenarios; None for fewer than two.

    `crowded` is what `crowding` gives. An interval is Wilson's (1927) with Student's t, at the number of scenarios that
    the design effect of Kish (1965) leaves; `ratio` has to learn that effect, from propositions with the rarer outcome.
    """
    if scenarios < 2:
        return None
    effect = 1 + (crowded - 1) * ALIKE
    propositions = scenarios / crowded
    telling = propositions * (1 - (1 - P_LIE) ** (crowded / effect))
    worth = scenarios * (telling + intervals.ALIKE) / (telling * effect + intervals.ALIKE * crowded)
    low, high = interval(P_LIE, min(scenarios, worth), max(1.0, propositions - 1))
    return (high - low) / 2


def smallest_drop(scenarios: int, crowded: float) -> float | None:
    """The smallest drop of P(lie) that `compare` shows in four of five pairs on so many scenarios, None where none.

    Single statements differ by 1 or not at all, so that a mean difference of D has a variance of at least D(1 − D).
    """
    from scipy.special import ndtr, stdtrit  # type: ignore[import-untyped]  # loading it costs more than this module

    if scenarios < 2:
        return None
    t = float(stdtrit(max(1.0, scenarios / crowded - 1), 0.975))
    for step in range(1, int(P_LIE / _STEP) + 1):
        drop = step * _STEP
        middle = P_LIE - drop / 2
        one = max(2 * middle * (1 - middle) * (1 - COMMON), drop * (1 - drop))
        error = sqrt(one * (1 + (crowded - 1) * ALIKE) / scenarios)
        if ndtr(drop / error - t) >= POWER:
            return drop
    return None
