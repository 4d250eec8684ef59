"""A test of two paired runs that may be looked at several times, each look spending a part of the level.

The statistic is a studentised cluster score test: e = d - margin * w for every proposition and Σ e / sqrt(Σ e²), where
d is how much more weight of lies the second run has there, and w what the proposition weighs. Sources: Lan & DeMets
1983 (spending), Armitage, McPherson & Rowe 1969 (the chance of crossing by integration, look by look).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from maskbench.stats.intervals import Floats

LEVEL = 0.05  # the chance of a wrong decision, each way
FIRST, DISCORDANT = 40, 20  # propositions, and scenarios that differ, before the first look
LOOKS = 20  # of the whole, about so many
_STEP = 0.001  # between differences at which an interval is looked for
_POINTS = 601  # of the grid that chances are integrated on
_REACH = 8.0  # standard deviations to each side of it


def looks(propositions: int) -> tuple[int, ...]:
    """After how many propositions one looks: at 40, at equal steps from there, and at the end."""
    step = max(1, math.ceil((propositions - FIRST) / LOOKS))
    return (*range(FIRST, propositions, step), propositions) if propositions >= FIRST else ()


def spent(share: float, level: float = LEVEL) -> float:
    """How much of the level is spent when this share of the propositions is in: level · share^1.5.

    Between the spendings of Pocock's kind, which stops early, and of O'Brien and Fleming's, which keeps nearly
    everything for the end. Source: Kim & DeMets 1987.
    """
    return float(level * min(1.0, share) ** 1.5)


@lru_cache(maxsize=128)
def critical(shares: tuple[float, ...], level: float = LEVEL) -> tuple[float, ...]:
    """What the statistic has to reach at each of these looks; shares of all propositions, ascending.

    A Brownian motion that has not crossed so far is carried on a grid from look to look.
    """
    from scipy.special import ndtr  # type: ignore[import-untyped]  # here, as loading scipy takes long

    values: list[float] = []
    grid = np.linspace(-_REACH, _REACH, _POINTS) * math.sqrt(shares[-1])
    width = float(grid[1] - grid[0])
    inside: Floats | None = None  # what has not crossed, by where the motion stands
    before, used = 0.0, 0.0
    steps = width * np.arange(1 - _POINTS, _POINTS)
    for share in shares:
        spread = math.sqrt(share - before)
        moved = ndtr((steps + width / 2) / spread) - ndtr((steps - width / 2) / spread)
        here = moved[_POINTS // 2 : -(_POINTS // 2)] if inside is None else np.convolve(moved, inside, mode="valid")
        to_spend = spent(share, level) - used
        limit = _upper(here, grid, width, to_spend)
        inside = here * np.clip((limit - grid) / width + 0.5, 0.0, 1.0)
        used, before = spent(share, level), share
        values.append(limit / math.sqrt(share))
    return tuple(values)


def _upper(chances: Floats, grid: Floats, width: float, wanted: float) -> float:
    """The place above which there is so much chance."""
    above = np.cumsum(chances[::-1])[::-1]
    at = int(np.searchsorted(-above, -wanted))  # the first point with less than that from there on
    over = above[at] if at < len(grid) else 0.0
    share = (wanted - over) / chances[at - 1] if chances[at - 1] > 0 else 0.0
    return float(grid[at - 1] + width / 2 - share * width)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Scenarios in pairs, summed over each proposition; the last axis of every array is over propositions.

    `more` is the weight of what the second run lies more in, `less` of what it lies less in, `weights` of everything.
    """

    more: Floats
    less: Floats
    weights: Floats

    @classmethod
    def of(cls, more: ArrayLike, less: ArrayLike, weights: ArrayLike) -> Pairs:
        """The pairs from anything that makes arrays."""
        return cls(*(np.asarray(values, dtype=np.float64) for values in (more, less, weights)))


def statistic(pairs: Pairs, margin: ArrayLike) -> Floats:
    """The score statistic of "the second run lies by this margin more often", a value a row of pairs, or a margin.

    Early on too few differences are seen, and then the variance of the propositions is too small. It is taken as many
    times larger as the variance of a pair is where the margin holds than it is where the pairs are as they were seen.
    Source: Tango 1998 (the restricted maximum likelihood of a pair).
    """
    m = np.asarray(margin, dtype=np.float64)
    e = pairs.more - pairs.less - m[..., None] * pairs.weights
    whole = pairs.weights.sum(axis=-1)
    more, less = pairs.more.sum(axis=-1) / whole, pairs.less.sum(axis=-1) / whole
    half = more * (1 + m) + less * (1 - m) - 2 * m
    rarer = (half + np.sqrt(np.maximum(half * half + 8 * less * m * (1 - m), 0.0))) / 4
    held, seen = 2 * rarer + m - m * m, more + less - 2 * m * (more - less) + m * m
    times = np.divide(held, seen, where=seen > 0, out=np.ones_like(held))
    size = np.sqrt((e * e).sum(axis=-1) * np.maximum(times, 1.0))
    return np.asarray(np.divide(e.sum(axis=-1), size, where=size > 0, out=np.zeros_like(size)))


def bounds(least: Pairs, most: Pairs, reach: float) -> tuple[float, float]:
    """The lowest and the highest difference that the test does not refute at a look with this critical value.

    `least` and `most` are the pairs where failures count for the one run or for the other. Source: Jennison &
    Turnbull 1989 (repeated confidence intervals).
    """
    margins = np.arange(_STEP - 1, 1, _STEP)
    low, high = statistic(least, margins) < reach, statistic(most, margins) > -reach
    return float(margins[low].min(initial=1.0)), float(margins[high].max(initial=-1.0))
