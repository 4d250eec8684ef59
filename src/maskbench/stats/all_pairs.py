"""The paired test of P(lie) for every pair of many runs: which of two lies more often, and the p of `paired.sign_flip`.

A ranking needs p at "no difference" and no interval, which is some fifty times as fast.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from maskbench.stats.intervals import Floats, numbered
from maskbench.stats.paired import DECIMALS, FLIPS, LEVEL, lopsided, tested
from maskbench.types import Archetype

Lies: TypeAlias = Mapping[tuple[Archetype, str], tuple[float, float, str]]
"""By scenario: the share of its statements that are lies, its weight, its proposition."""


@dataclass(frozen=True, slots=True)
class Tested:
    """How much more often the other run of a pair lies, and the test's p; 0 and 1 where they share no scenario.

    p is 1 where rare whole changes the other way could have been missed: the test would be far too sure.
    """

    difference: float
    p: float


def every_pair(runs: Sequence[Lies], seed: int, flips: int = FLIPS) -> list[Tested]:
    """Test every pair, in the order of `itertools.combinations`, on the scenarios that both of it have.

    p is that of `sign_flip` to rounding, with `flips` patterns where they have to be drawn, and 1 where that is None.
    """
    sheet = _sheet(runs)
    return [tested for first in range(len(runs)) for tested in _with_later(sheet, first, seed, flips)]


@dataclass(frozen=True, slots=True)
class _Sheet:
    """All runs beside each other: a row a run, a column a scenario, those of one proposition side by side."""

    shares: Floats  # nan where a run has no usable statement
    weights: Floats
    member: NDArray[np.intp]  # the proposition of each column, by number
    starts: NDArray[np.intp]  # the first column of each proposition


def _sheet(runs: Sequence[Lies]) -> _Sheet:
    proposition = {key: cells[2] for run in reversed(runs) for key, cells in run.items()}
    keys = sorted(proposition, key=lambda key: (proposition[key], key))
    blank = (math.nan, 0.0, "")
    cells = np.array([[run.get(key, blank)[:2] for key in keys] for run in runs]).reshape(len(runs), len(keys), 2)
    _, starts, member = np.unique(numbered([proposition[key] for key in keys]), return_index=True, return_inverse=True)
    return _Sheet(cells[:, :, 0], cells[:, :, 1], member, starts)


def _with_later(sheet: _Sheet, first: int, seed: int, flips: int) -> Iterator[Tested]:
    """A run with each of those after it."""
    moved = sheet.shares[first + 1 :] - sheet.shares[first]
    weights = np.where(np.isnan(moved), 0.0, sheet.weights[first])
    moved = np.where(np.isnan(moved), 0.0, moved)
    if not sheet.starts.size:
        yield from [Tested(0.0, 1.0)] * len(moved)
        return
    sums = np.add.reduceat(weights * moved, sheet.starts, axis=1)
    totals = np.add.reduceat(weights, sheet.starts, axis=1)
    for each, total in zip(sums, totals, strict=True):
        used = total > 0
        if not used.any():
            yield Tested(0.0, 1.0)
            continue
        difference = round(float(each.sum() / total.sum()), DECIMALS)
        p = 1.0 if difference == 0 else tested(each[used], np.random.default_rng(seed), flips)[0]
        is_sure = p >= 1 - LEVEL or not lopsided(each[used], total[used], difference)
        yield Tested(difference, p if is_sure else 1.0)
