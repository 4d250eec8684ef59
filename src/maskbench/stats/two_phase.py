"""A difference of two runs where a second judge looked at a part of their scenarios: its interval and its test.

Every array has one entry a scenario that both runs have. A scenario counts as the first judge saw it, plus what the
second one changed, times the number of scenarios that the look stands for: the difference estimator of two-phase
sampling (Särndal, Swensson & Wretman 1992). docs/project/formulas.md has formulas and simulations.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from maskbench.stats.intervals import ROUNDING, Floats, by_cluster, interval, quantile
from maskbench.stats.paired import LEVEL

POWER = 0.8

FEW = 0.35  # changes, added to those seen among the drawn: no change in ten does not prove that there is none


@dataclass(frozen=True, slots=True)
class LookedDifference:
    """A difference of means with its test and the matching interval, the draw of what was looked at included.

    `low` > 0 or `high` < 0 exactly where `p` is below 0.05; `lower` and `upper` are one-sided 95 % bounds; `smallest`
    is the true difference that would have been shown with 80 % power. None where there are not two propositions.
    """

    value: float | None
    low: float | None
    high: float | None
    p: float | None
    lower: float | None
    upper: float | None
    clusters: int
    smallest: float | None


def expand(first: ArrayLike, second: ArrayLike, stands_for: ArrayLike) -> Floats:
    """What each scenario counts as, in the shape of `first` and `second` (a row a scenario).

    `stands_for` is 0 where the second judge did not look, 1 where it was certain to, and else how many scenarios a
    drawn one stands for. What is not a number counts nothing.
    """
    first_look, second_look = (np.nan_to_num(np.asarray(side, dtype=np.float64)) for side in (first, second))
    times = np.asarray(stands_for, dtype=np.float64).reshape(-1, *[1] * (first_look.ndim - 1))
    return first_look + times * (second_look - first_look)


def few_drawn(weight: float, drawn: int) -> float:
    """The variance that stands for changes which so few drawn scenarios could not show.

    `weight` is the share of all weight that the first judge was sure of, and that was not looked at in full.
    """
    return FEW * (weight / max(drawn, 1)) ** 2


def looked_difference(differences: ArrayLike, weights: ArrayLike, clusters: ArrayLike, few: float) -> LookedDifference:
    """The weighted mean of expanded differences, tested against 0 by its linearised variance over propositions.

    Three arrays, one entry a scenario: differences of what `expand` gives, weights >= 0, proposition ids; `few` is
    the sum of `few_drawn` of both runs. Raises ValueError for arrays of other shapes. Source: Binder 1983 (the
    variance), Wilson 1927 (what differences that small need at least).
    """
    d, w = np.asarray(differences, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    ids = np.asarray(clusters)
    if not d.shape == w.shape == ids.shape or d.ndim != 1 or not np.all(np.isfinite(d) & np.isfinite(w) & (w >= 0)):
        raise ValueError(f"Arrays need one dimension, one length and numbers, not {d.shape}, {w.shape}, {ids.shape}.")
    used = w > 0
    totals = by_cluster(w[used], ids[used])
    groups = len(totals)
    value = float(w @ d / w.sum()) if groups else None
    if value is None or groups < 2:
        return LookedDifference(value, None, None, None, None, None, groups, None)
    value = 0.0 if abs(value) < ROUNDING else value  # changes that cancel out, but for the last binary digit
    residuals = by_cluster((w * (d - value))[used], ids[used]) / totals.sum()
    error = math.sqrt(groups / (groups - 1) * float(residuals @ residuals) + few)
    size = float(totals.sum() ** 2 / (totals @ totals))
    low, high = _ends(value, error, size, groups - 1, LEVEL)
    lower, upper = _ends(value, error, size, groups - 1, 2 * LEVEL - 1)
    reach = quantile(groups - 1, LEVEL) + quantile(groups - 1, 2 * POWER - 1)
    smallest = min(1.0, max(reach * error, reach**2 / size))
    return LookedDifference(value, low, high, _p(value, error, groups - 1), lower, upper, groups, smallest)


def _ends(value: float, error: float, size: float, df: float, level: float) -> tuple[float, float]:
    """The differences that are not rejected, and those too near the estimate to be told from it (Wilson's)."""
    half = quantile(df, level) * error
    near, far = interval(min(1.0, abs(value)), size, df, level)
    least, most = (-far, far) if value == 0 else (near, far) if value > 0 else (-far, -near)
    return max(-1.0, min(value - half, least)), min(1.0, max(value + half, most))


def _p(value: float, error: float, df: float) -> float:
    from scipy.special import stdtr  # type: ignore[import-untyped]  # here: loading it costs more than this module

    if value == 0 or error == 0:
        return 1.0 if value == 0 else 0.0
    return 2 * float(stdtr(df, -abs(value) / error))
