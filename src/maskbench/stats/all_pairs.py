"""The paired test of an outcome's rate for every pair of many runs: which of two has it more often, and the p."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from maskbench.stats.intervals import Floats
from maskbench.stats.paired import DECIMALS, FLIPS, LEVEL, lopsided, sign_flip, tested
from maskbench.types import Archetype

Shares: TypeAlias = Mapping[tuple[Archetype, str], tuple[float, float, str]]
"""By scenario: the share of its statements with one outcome, its weight, its proposition."""


@dataclass(frozen=True, slots=True)
class Tested:
    """How much more often the other run of a pair has the outcome, and the p; 0 and 1 where they share no scenario."""

    difference: float
    p: float


def every_pair(runs: Sequence[Shares], seed: int, flips: int = FLIPS) -> list[Tested]:
    """Test every pair, in the order of `itertools.combinations`, on the scenarios that both of it have.

    p is that of `sign_flip`, with `flips` patterns where they have to be drawn. An interval, which takes most of the
    time of `sign_flip`, is made only where p hangs on it.
    """
    proposition = {key: cells[2] for run in reversed(runs) for key, cells in run.items()}
    numbers: dict[str, int] = {}
    member = np.array([numbers.setdefault(name, len(numbers)) for name in proposition.values()], np.intp)
    blank = (math.nan, 0.0, "")
    shares, weights = (
        np.array([[run.get(key, blank)[at] for key in proposition] for run in runs], float) for at in (0, 1)
    )
    return [
        _tested(shares[other] - shares[first], weights[first], member, seed, flips)
        for first, other in combinations(range(len(runs)), 2)
    ]


def _tested(moved: Floats, weights: Floats, member: NDArray[np.intp], seed: int, flips: int) -> Tested:
    """One pair by its differences, NaN where one of both has no outcome; `member` numbers the propositions."""
    both = ~np.isnan(moved)
    columns = [np.bincount(member[both], each[both]).astype(np.float64) for each in (weights * moved, weights)]
    sums, totals = (each[columns[1] > 0] for each in columns)
    if not len(totals):
        return Tested(0.0, 1.0)
    difference = round(float(sums.sum() / totals.sum()), DECIMALS)
    p = tested(sums, np.random.default_rng(seed), flips)[0] if difference else 1.0
    if p < 1 - LEVEL and lopsided(sums, totals, difference):
        p = sign_flip(moved[both], weights[both], member[both], np.random.default_rng(seed), flips).p or p
    return Tested(difference, p)
