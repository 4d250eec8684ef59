"""Kappa and alpha: what scikit-learn and krippendorff say of the same ratings, with an interval around it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from krippendorff import alpha as krippendorff_alpha
from sklearn.metrics import cohen_kappa_score  # type: ignore[import-untyped]  # ships none

from maskbench.stats.agreement import Alpha, Pairs, agreement, alphas, cells, coincidences, kappa, kappas, of_all


def pairs_of(values: list[tuple[int, int]], weights: list[float] | None = None) -> Pairs:
    """What two said of units that are independent of each other."""
    return Pairs(np.array(values), np.array(weights or [1.0] * len(values)), np.arange(len(values)))


def test_kappa_and_alpha_of_two_are_those_of_the_libraries() -> None:
    """Weighted kappa is that of scikit-learn, alpha that of krippendorff; the intervals lie around them."""
    rng = np.random.default_rng(1)
    values = rng.integers(0, 4, size=(60, 2))
    values[:40, 1] = values[:40, 0]
    weights = rng.uniform(1, 3, 60)
    figures = agreement(Pairs(values, weights, np.arange(60)), "ABCD")
    assert figures.kappa == pytest.approx(cohen_kappa_score(values[:, 0], values[:, 1], sample_weight=weights))
    assert figures.alpha == pytest.approx(krippendorff_alpha(values.T.astype(float), level_of_measurement="nominal"))
    for name in ("agree", "kappa", "alpha"):
        low, high = getattr(figures, f"{name}_ci95")
        assert low < getattr(figures, name) < high


def test_coefficients_of_many_draws_are_those_of_each() -> None:
    """What the bootstrap computes at once is what each draw gives by itself."""
    rng = np.random.default_rng(3)
    values, times = rng.integers(0, 3, size=(30, 2)), rng.integers(1, 4, size=(5, 30)).astype(float)
    for row, figure in zip(times, kappas(times @ cells(values, 3), 3), strict=True):
        assert figure == pytest.approx(cohen_kappa_score(values[:, 0], values[:, 1], sample_weight=row))
    for row, figure in zip(times, alphas(times @ coincidences(values, 3), 3), strict=True):
        repeated = np.repeat(values, row.astype(int), axis=0).T.astype(float)
        assert figure == pytest.approx(krippendorff_alpha(repeated, level_of_measurement="nominal"))


def test_alpha_of_many_raters_is_that_of_the_library() -> None:
    """Four raters who have not rated everything: alpha is that of krippendorff, its interval is around it."""
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 4, size=200)
    values = np.where(rng.random((4, 200)) < 0.8, truth, rng.integers(0, 4, size=(4, 200))).astype(float)
    values[rng.random((4, 200)) < 0.4] = np.nan
    every = of_all(values, np.arange(200), 4)
    assert every.alpha is not None
    low, high = every.alpha_ci95 or (0, 0)
    assert every.n == ((~np.isnan(values)).sum(axis=0) > 1).sum() < 200
    assert low < every.alpha < high
    assert every.alpha == pytest.approx(krippendorff_alpha(values, level_of_measurement="nominal"))
    assert 0.02 < high - low < 0.2
    nobody = of_all(np.full((3, 20), np.nan), np.arange(20), 4)
    assert nobody == Alpha(0, None, None)


def test_known_coefficients() -> None:
    """Cohen's kappa of his kind of example, and Krippendorff's alpha of his (2011, nominal, missing values)."""
    assert kappa({("A", "A"): 20, ("A", "B"): 5, ("B", "A"): 10, ("B", "B"): 15}) == pytest.approx(0.4)
    n = np.nan
    rows = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, n, n, n],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, n, 3],
        [n, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, n],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, n],
    ]
    assert of_all(np.array(rows), np.arange(12), 6).alpha == pytest.approx(0.743, abs=0.001)


def test_without_variety_there_is_no_coefficient() -> None:
    """Where everybody says the same of everything chance alone agrees: no number, no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figures = agreement(pairs_of([(0, 0)] * 12, [0.1] * 12), "AB")
    assert (figures.kappa, figures.alpha) == (None, None)
    assert (figures.kappa_ci95, figures.alpha_ci95) == (None, None)


def test_without_units_there_is_nothing() -> None:
    """No unit has no share and no coefficient, and an empty table no kappa."""
    assert agreement(Pairs(np.empty((0, 2), np.int64), np.empty(0), np.empty(0, np.int64)), "AB").agree is None
    assert kappa({}) is None
