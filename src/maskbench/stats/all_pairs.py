"""The paired test of P(lie) for every pair of many runs: which of two lies more often, and the p of `paired.sign_flip`.

A ranking needs p at "no difference" and no interval. There a proposition on which both runs do the same changes no sum,
and of any other one only the size counts, so all sign patterns together come to few different sums: they are gone
through by convolution, some fifty times as fast as one by one.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from maskbench.stats.intervals import Floats
from maskbench.stats.paired import DECIMALS, EXACT, FLIPS, sign_flip
from maskbench.types import Archetype

Lies: TypeAlias = Mapping[tuple[Archetype, str], tuple[float, float, str]]
"""By scenario: the share of its statements that are lies, its weight, its proposition."""

MOST = 1_000_000  # totals to sort at a time: with more, drawing patterns is as quick
TIE = 1e-9  # sums that differ by less count as equal: rounding depends on the order of adding


@dataclass(frozen=True, slots=True)
class Tested:
    """How much more often the other run of a pair lies, and the test's p; 0 and 1 where they share no scenario."""

    difference: float
    p: float


def every_pair(runs: Sequence[Lies], seed: int, flips: int = FLIPS) -> list[Tested]:
    """Test every pair, in the order of `itertools.combinations`, on the scenarios that both of it have.

    Up to FLIPS, p is that of `sign_flip` to rounding: where that draws `flips` patterns, so does this. With more of
    them all patterns are gone through wherever that can be done, for so many are as good as all.
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
    _, starts, member = np.unique([proposition[key] for key in keys], return_index=True, return_inverse=True)
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
    for row, (each, total) in enumerate(zip(sums, totals, strict=True)):
        used = total > 0
        if not used.any():
            yield Tested(0.0, 1.0)
            continue
        difference = round(float(each.sum() / total.sum()), DECIMALS)
        is_drawn = flips <= FLIPS and _patterns(each[used], total[used]) > EXACT
        p = None if is_drawn else 1.0 if difference == 0 else chance(each)
        if p is None:
            rng = np.random.default_rng(seed)
            p = sign_flip(moved[row], weights[row], sheet.member, rng, flips).p
        yield Tested(difference, 1.0 if p is None else p)


def _patterns(sums: Floats, totals: Floats) -> int:
    """How many different sign patterns `sign_flip` sees: of equal propositions only how many flip."""
    _, counts = np.unique(sums + 1j * totals, return_counts=True)
    return math.prod(int(count) + 1 for count in counts)


def chance(sums: Floats) -> float | None:
    """The chance that random signs give a total as large as the observed one, either way, ties counted half.

    `sums` has an entry a proposition. None where too many totals are possible to go through all.
    """
    sizes, counts = np.unique(np.round(np.abs(sums[sums != 0]), DECIMALS), return_counts=True)
    nothing = (np.zeros(1), np.ones(1))
    parts = [nothing, nothing]  # two independent sums, which are added only at the end
    for size, count in sorted(zip(sizes.tolist(), counts.tolist(), strict=True), key=lambda kind: -kind[1]):
        parts.sort(key=lambda part: len(part[0]))
        if len(parts[0][0]) * (count + 1) > MOST:
            return None
        parts[0] = _added(*parts[0], size, count)
    (at, chances), (others, other_chances) = parts
    above = np.append(np.cumsum(other_chances[::-1])[::-1], 0.0)  # the chance of this value or a later one
    needed = abs(float(sums.sum())) - at
    beyond, reached = (above[np.searchsorted(others, needed + tie)] for tie in (TIE, -TIE))
    return min(1.0, float(chances @ (beyond + reached)))


def _added(at: Floats, chances: Floats, size: float, count: int) -> tuple[Floats, Floats]:
    """The values that a sum can take, ascending, and their chances, with `count` more terms of plus or minus `size`."""
    steps = size * (2.0 * np.arange(count + 1) - count)
    values = np.add.outer(at, steps).ravel()
    weighed = np.multiply.outer(chances, _coins(count)).ravel()
    order = np.argsort(values, kind="stable")  # the fastest sort for rows that are in order already
    values, weighed = values[order], weighed[order]
    firsts = np.flatnonzero(np.append(True, np.diff(values) > TIE))
    return values[firsts], np.add.reduceat(weighed, firsts)


@lru_cache(maxsize=1024)
def _coins(count: int) -> Floats:
    """The chance of so many heads among so many fair coins, from none to all."""
    return np.array([math.comb(count, heads) / 2**count for heads in range(count + 1)])
