"""How far two who rate agree, in figures: shares and Cohen's kappa. Arrays in, numbers out.

Both are weighted. Intervals of shares are those of all rates (intervals.py); those of kappa and of differences are
percentiles of a bootstrap over clusters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from maskbench.stats.figures import Difference, Ends
from maskbench.stats.intervals import Floats, ratio

Ints = NDArray[np.int64]
Said = TypeVar("Said", bound=str)  # a letter, an outcome
DRAWS = 2000
FEWEST = 10  # clusters: with fewer there is no interval
SEED = 20250305
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Pairs:
    """What two have said of the same units: `values` (units × 2) are whole numbers from 0.

    `weights` has the weight of each unit; units with the same number in `clusters` are not independent.
    """

    values: Ints
    weights: Floats
    clusters: Ints


class Agreed(Struct, forbid_unknown_fields=True, kw_only=True):
    """The share on which both say the same, and kappa (Cohen 1960), each with its interval; None where there is none.

    `counts` says how often each pair of values comes; values without names have none.
    """

    n: int
    agree: float | None
    agree_ci95: Ends | None
    kappa: float | None
    kappa_ci95: Ends | None
    counts: dict[str, int]


def agreement(pairs: Pairs, names: Sequence[str] = ()) -> Agreed:
    """How far two agree.

    `names` are those of the values that there can be. Without them values mean nothing but by being equal, and there is
    the share alone. The interval of kappa takes ten clusters.
    """
    kinds = len(names)
    alike = pairs.values[:, 0] == pairs.values[:, 1]
    share = ratio(alike, np.ones(len(alike)), pairs.weights, pairs.clusters)
    figures = Agreed(
        n=share.n,
        agree=share.value,
        agree_ci95=share.ci95,
        kappa=None,
        kappa_ci95=None,
        counts={},
    )
    if names and len(alike):
        between = "/" if len(names[0]) > 1 else ""
        every = sorted(Counter(map(tuple, pairs.values.tolist())).items())
        figures.counts = {f"{names[a]}{between}{names[b]}": count for (a, b), count in every}
        times = resampled(pairs.clusters)
        tables = cells(pairs.values, kinds)
        figures.kappa = _single(kappas(pairs.weights[None] @ tables, kinds))
        figures.kappa_ci95 = _ends(times, lambda part: kappas((part * pairs.weights) @ tables, kinds))
    return figures


def difference(pairs: Pairs, value: int) -> Difference | None:
    """The shares of units of which each says `value`, and the second's minus the first's; None without units."""
    if not len(pairs.values):
        return None
    is_value, weights = (pairs.values == value).astype(float), pairs.weights
    first, other = (weights @ is_value / weights.sum()).tolist()
    moved = is_value[:, 1] - is_value[:, 0]
    ends = _ends(resampled(pairs.clusters), lambda part: (part * weights) @ moved / (part @ weights))
    return Difference(first, other, other - first, ends, len(pairs.values))


def kappa(counts: Mapping[tuple[Said, Said], int]) -> float | None:
    """Cohen's kappa of a table of counts by what the two raters said; None where chance alone would always agree."""
    values = sorted({value for pair in counts for value in pair})
    table = np.array([[counts.get((first, other), 0) for other in values] for first in values], dtype=float)
    return _single(kappas(table[None], len(values)))


def _single(figures: Floats) -> float | None:
    """The figure of a single table; None where it has none."""
    return None if np.isnan(figures[0]) else float(figures[0])


# Coefficients of many draws at once, for the bootstrap


def cells(values: Ints, kinds: int) -> Floats:
    """Units by cells of the table of both values (units × kinds²)."""
    table = np.zeros((len(values), kinds * kinds))
    table[np.arange(len(values)), values[:, 0] * kinds + values[:, 1]] = 1.0
    return table


def kappas(tables: Floats, kinds: int) -> Floats:
    """Kappa of many tables (tables × kinds²); NaN where there is none."""
    table = tables.reshape(len(tables), kinds, kinds)
    whole = table.sum(axis=(1, 2))
    chance = (table.sum(axis=1) * table.sum(axis=2)).sum(axis=1)  # times whole², so that whole counts stay exact
    alike = whole * np.trace(table, axis1=1, axis2=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(chance < (1 - 1e-12) * whole**2, (alike - chance) / (whole**2 - chance), np.nan)


def resampled(clusters: Ints) -> Floats | None:
    """How often each unit is in each of the bootstrap's draws; None where too few clusters carry an interval."""
    known, member = np.unique(clusters, return_inverse=True)
    if len(known) < FEWEST:
        return None
    times: Floats = _draws(len(known))[:, member].astype(float)
    return times


@lru_cache(maxsize=4)
def _draws(clusters: int) -> Ints:
    """How often each of so many clusters is in each draw."""
    return np.random.default_rng(SEED).multinomial(clusters, np.full(clusters, 1 / clusters), size=DRAWS)


def _ends(times: Floats | None, figure: Callable[[Floats], Floats]) -> Ends | None:
    """The percentile interval of a figure over the bootstrap's draws."""
    if times is None:
        return None
    figures = figure(times)
    figures = figures[~np.isnan(figures)]
    if len(figures) < 0.9 * len(times):
        return None  # too few draws have the figure to stand for all of them
    low, high = np.quantile(figures, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return (float(low), float(high)) if high - low > 1e-9 else None  # equal draws do not prove certainty
