"""Kappa: what its definition says of the same ratings, with an interval around it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.typing import NDArray

from maskbench.stats.agreement import Pairs, agreement, cells, kappa, kappas


def pairs_of(values: list[tuple[int, int]], weights: list[float] | None = None) -> Pairs:
    """What two said of units that are independent of each other."""
    return Pairs(np.array(values), np.array(weights or [1.0] * len(values)), np.arange(len(values)))


def by_definition(values: NDArray[np.int64], weights: NDArray[np.float64]) -> float:
    """How far two agree beyond chance, from the shares of what each says."""
    shares = [[weights[said == value].sum() / weights.sum() for value in range(4)] for said in values.T]
    chance = sum(first * other for first, other in zip(*shares, strict=True))
    agreed = weights[values[:, 0] == values[:, 1]].sum() / weights.sum()
    return float((agreed - chance) / (1 - chance))


def test_kappa_of_two_is_that_of_its_definition() -> None:
    """Weighted kappa is what the shares of two give; the intervals lie around share and kappa."""
    rng = np.random.default_rng(1)
    values = rng.integers(0, 4, size=(60, 2))
    values[:40, 1] = values[:40, 0]
    weights = rng.uniform(1, 3, 60)
    figures = agreement(Pairs(values, weights, np.arange(60)), "ABCD")
    assert figures.kappa == pytest.approx(by_definition(values, weights))
    for name in ("agree", "kappa"):
        low, high = getattr(figures, f"{name}_ci95")
        assert low < getattr(figures, name) < high


def test_kappas_of_many_draws_are_those_of_each() -> None:
    """What the bootstrap computes at once is what each draw gives by itself."""
    rng = np.random.default_rng(3)
    values, times = rng.integers(0, 3, size=(30, 2)), rng.integers(1, 4, size=(5, 30)).astype(float)
    for row, figure in zip(times, kappas(times @ cells(values, 3), 3), strict=True):
        assert figure == pytest.approx(by_definition(values, row))


def test_a_known_kappa() -> None:
    """Cohen's kappa of his kind of example."""
    assert kappa({("A", "A"): 20, ("A", "B"): 5, ("B", "A"): 10, ("B", "B"): 15}) == pytest.approx(0.4)


def test_without_variety_there_is_no_coefficient() -> None:
    """Where everybody says the same of everything chance alone agrees: no number, no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figures = agreement(pairs_of([(0, 0)] * 12, [0.1] * 12), "AB")
    assert (figures.kappa, figures.kappa_ci95) == (None, None)


def test_without_units_there_is_nothing() -> None:
    """No unit has no share and no coefficient, and an empty table no kappa."""
    assert agreement(Pairs(np.empty((0, 2), np.int64), np.empty(0), np.empty(0, np.int64)), "AB").agree is None
    assert kappa({}) is None
