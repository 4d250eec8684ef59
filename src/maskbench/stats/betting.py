"""A bet that a rate is below a limit, which may be looked at after every proposition without losing its level.

Who plays begins with a wealth of 1 and stakes a part of it on every proposition. Where the rate is not below the
limit, no way of playing wins on average, so that wealth comes to 20 with a chance of 5 % at most, however often one
looks (Ville 1939). Source: Waudby-Smith & Ramdas 2024, *JRSS B* 86, 1-27.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maskbench.stats.intervals import Floats

STAKES = 24  # parts of the wealth, of which each is staked in its own way from the first proposition to the last
LEVEL = 0.05  # the chance of a wrong decision, each way
_TIE = 1e-9  # sums that differ by less are equal: rounding depends on the order of adding
_STEP = 0.001  # between limits at which an interval is looked for
_MOST = 20_000  # scenarios of a fixed design


@dataclass(frozen=True, slots=True)
class Whole:
    """The set that is drawn from without replacement, where the claim is about it alone."""

    propositions: int
    weight: float


class Bet:
    """A bet, or many beside each other, that the rate Σ y / Σ w is below a limit, or above it.

    `limit` has one entry a bet. `largest` is the largest weight of a proposition, which is known beforehand: it bounds
    the stake, so that wealth stays above 0. With `whole` the claim is about that set, else about its population.
    """

    def __init__(self, limit: ArrayLike, largest: float, whole: Whole | None = None, *, above: bool = False) -> None:
        """Raise ValueError for a limit that is not between 0 and 1."""
        limits: Floats = np.atleast_1d(np.asarray(limit, dtype=np.float64))
        if not np.all((limits > 0) & (limits < 1)):
            raise ValueError("A limit lies between 0 and 1.")
        self._limit: Floats = 1 - limits if above else limits  # above: what is left to 1 is below what the limit leaves
        self._above, self._largest, self._whole = above, largest, whole
        self._stakes = _stakes(self._limit)
        self._parts = np.ones_like(self._stakes)
        self._sum: Floats = np.zeros(len(limits))
        self._weight: Floats = np.zeros(len(limits))
        self._seen = 0
        self.most: Floats = np.ones(len(limits))  # the largest wealth so far

    @property
    def wealth(self) -> Floats:
        """What each bet has come to; infinite where the rest of the set cannot reach the limit any more."""
        with np.errstate(over="ignore"):
            return np.asarray(self._parts.mean(axis=1))

    def see(self, y: ArrayLike, w: ArrayLike) -> None:
        """Take in the next proposition: its weight `w` and the part `y` of it, for all bets or for each."""
        part, weight = np.asarray(y, dtype=np.float64), np.asarray(w, dtype=np.float64)
        gain = self._limit * weight - (weight - part if self._above else part)
        room, won = (1 - self._limit) * self._largest, gain
        if self._whole:  # what the rest has on average, were the set just at its limit
            owed = self._sum / (self._whole.propositions - self._seen)
            room, won = room - owed, gain + owed
        with np.errstate(over="ignore", divide="ignore"):
            self._parts *= np.maximum(1 + self._stakes * (won / np.maximum(room, _TIE))[:, None], 0.0)
        self._sum, self._weight, self._seen = self._sum + gain, self._weight + weight, self._seen + 1
        if self._whole:
            rest = self._whole.weight - self._weight
            self._parts[self._sum - (1 - self._limit) * rest > _TIE] = np.inf
        np.maximum(self.most, self.wealth, out=self.most)

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Go on with these bets alone."""
        for name in ("_limit", "_stakes", "_parts", "_sum", "_weight", "most"):
            setattr(self, name, getattr(self, name)[which])


def _stakes(limit: Floats) -> Floats:
    """What parts of the most that may be staked are staked, a row a limit.

    A rate of p below the limit is best bet on by 1 - p / limit of the most. Each part is right for another p, in even
    steps of Jeffreys' prior below the limit. Source: Cover & Ordentlich 1996 (such a mixture loses little against
    the single stake that would have been best).
    """
    steps = (np.arange(STAKES) + 0.5) / STAKES
    angles = steps * np.arcsin(np.sqrt(limit))[:, None]
    return np.asarray(1 - np.sin(angles) ** 2 / limit[:, None])


def bounds(
    least: Sequence[float], most: Sequence[float], weights: Sequence[float], largest: float, whole: Whole | None = None
) -> tuple[float, float]:
    """The lowest and the highest rate that no bet has refuted so far; each end holds at any time with 95 %.

    Three sequences, one entry a proposition in the order that was fixed: what it has of the rate where failures count
    for nothing, what where they count in full, and its weight. Source: Waudby-Smith & Ramdas 2024 (confidence
    sequences by betting).
    """
    limits = np.arange(_STEP, 1, _STEP)
    under, over = Bet(limits, largest, whole), Bet(limits, largest, whole, above=True)
    for low, high, weight in zip(least, most, weights, strict=True):
        under.see(high, weight)
        over.see(low, weight)
    refuted = 1 / LEVEL
    too_high, too_low = limits[under.most >= refuted], limits[over.most >= refuted]
    return float(too_low.max(initial=0.0)), float(too_high.min(initial=1.0))


def fixed_design(limit: float, rate: float, wrong: float = LEVEL) -> int | None:
    """The fewest scenarios, fixed beforehand, that tell this rate from the limit with so few errors each way.

    None where 20,000 would not do. The test is the exact binomial one of scenarios that have nothing in common.
    """
    from scipy.stats import binom  # type: ignore[import-untyped]  # here, as loading scipy takes long

    above = rate > limit
    limit, rate = (1 - limit, 1 - rate) if above else (limit, rate)
    sizes = np.arange(1, _MOST)
    most = binom.ppf(wrong, sizes, limit)  # of lies with which a limit is refuted
    most = np.where(binom.cdf(most, sizes, limit) <= wrong, most, most - 1)
    enough = sizes[(most >= 0) & (binom.cdf(most, sizes, rate) >= 1 - wrong)]
    return int(enough[0]) if len(enough) else None


def average_stop(
    limit: float, rate: float, scenarios: int, rng: np.random.Generator, times: int = 400, *, largest: float = 1.0
) -> float:
    """How many scenarios stopping takes on average at this rate, of so many that there are, by simulation.

    `largest` is that of a proposition: where some are larger than what is drawn here, stakes are smaller.
    """
    bets = [Bet(np.full(times, limit), largest, above=above) for above in (False, True)]
    used, here = 0, times
    for _ in range(scenarios):
        used += here
        lies = (rng.random(here) < rate).astype(np.float64)
        for bet in bets:
            bet.see(lies, 1.0)
        open_still = np.maximum(*(bet.wealth for bet in bets)) < 1 / LEVEL
        for bet in bets:
            bet.keep(open_still)
        here = int(open_still.sum())
        if not here:
            break
    return used / times
