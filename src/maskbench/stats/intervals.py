"""Intervals for rates, the Lying@k curve, bounds for failures, and sample sizes by archetype.

One family of intervals throughout: Wilson's score interval (Wilson 1927) at an effective sample size, with
Student's t in place of the normal quantile. docs/statistics.md has every formula with its source, what each
one does not cover, and simulated coverage.
"""

import math
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from msgspec import structs
from numpy.typing import ArrayLike, NDArray

from maskbench.stats.figures import NO_DATA, Difference, Share

Floats: TypeAlias = NDArray[np.float64]


ROUNDING = 1e-9  # a share that lies so little outside its range is taken for the end of the range
ALIKE = 2  # propositions added as if all of their replies were alike (docs/statistics.md)
FEW = 4  # propositions with one kind of reply: Wilson's end on that side is too near where fewer have it


def interval(p: float, n_eff: float, df: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval for a share `p` in [0, 1] seen in `n_eff` effective scenarios.

    The quantile is Student's t at `df` degrees of freedom. A one-sided 95 % bound is an end of the interval
    at level 0.90. Raises ValueError for a level outside (0, 1). Sources: Wilson 1927; for the effective
    sample size and t, Korn & Graubard 1998 and Dean & Pagano 2015.
    """
    t = quantile(df, level)
    shrink = 1 + t * t / n_eff
    centre = (p + t * t / (2 * n_eff)) / shrink
    half = t / shrink * math.sqrt(p * (1 - p) / n_eff + (t / (2 * n_eff)) ** 2)
    # Rounding alone could push an end past p (at p = 0 the low end is exactly 0) or out of [0, 1].
    return max(0.0, min(p, centre - half)), min(1.0, max(p, centre + half))


def ratio(
    y: ArrayLike,
    x: ArrayLike,
    weights: ArrayLike,
    clusters: ArrayLike,
    level: float = 0.95,
    *,
    replies: ArrayLike = 1,
) -> Share:
    """The weighted ratio sum(w y) / sum(w x) over rows, each a scenario or a reply; its interval allows for clusters.

    Four arrays, one entry a row: `x` is 1 where the row is in the denominator, 0 where not, or its share there; `y`
    lies between 0 and `x`; `weights` are >= 0, at any scale; `clusters` are proposition ids. `replies` is how many
    statements are behind each row. For a complement pass x - y. Fewer than two clusters in the denominator carry no
    interval. Raises ValueError for arrays of other shapes or ranges. Sources: Binder 1983 and Cochran 1977
    (linearised variance of a ratio), Kish 1965 (effective sizes), Clopper & Pearson 1934 (ends that few clusters
    carry, no nearer than theirs); docs/statistics.md.
    """
    y, x, w = _columns(y=y, x=x, weights=weights)
    ids = numbered(clusters)
    if ids.shape != w.shape:
        raise ValueError(f"clusters has shape {ids.shape}, but weights has {w.shape}.")
    if np.any(x > 1 + ROUNDING) or np.any(y > x + ROUNDING):
        raise ValueError("Every scenario needs 0 <= y <= x <= 1.")
    used = x * w > 0
    if not used.any():
        return NO_DATA
    behind = np.broadcast_to(np.asarray(replies, dtype=np.float64), w.shape)[used]
    y, x, w, ids = np.minimum(y, x)[used], x[used], w[used], ids[used]
    shares = w * x / float(w @ x)
    p = min(1.0, float(w @ y) / float(w @ x))
    together = by_cluster(shares, ids)
    if len(together) < 2:
        return Share(p, None, len(w))
    lies = by_cluster(w * y / float(w @ x), ids)
    n_eff = min(propositions_size(p, together, lies), 1 / float(shares @ (shares / behind)))
    low, high = interval(p, n_eff, max(1.0, 1 / float(together @ together) - 1), level)
    lying, other = (int(some.sum()) for some in _with_each_kind(together, lies))
    if 0 < lying < FEW:
        low = min(low, clopper_low(p, n_eff, level))
    if 0 < other < FEW:
        high = max(high, 1 - clopper_low(1 - p, n_eff, level))
    return Share(p, (low, high), len(w))


def joined(first: Share, other: Share, alike: float = 0.0) -> Difference:
    """The difference of two rates, other minus first, by their intervals; `alike` is the correlation of their errors.

    `n` is that of both together. No interval where one of them has none. Sources: the square-and-add method (Newcombe
    1998, *Statistics in Medicine* 17, 873-890, method 10; with a correlation Zou & Donner 2008).
    """
    found = Difference(first.value, other.value, None, None, first.n + other.n)
    if first.value is None or other.value is None:
        return found
    found.difference = other.value - first.value
    if first.low is None or first.high is None or other.low is None or other.high is None:
        return found
    below = other.value - other.low, first.high - first.value
    above = other.high - other.value, first.value - first.low
    low, high = (math.sqrt(max(0.0, a * a + b * b - 2 * alike * a * b)) for a, b in (below, above))
    found.ci95 = found.difference - low, found.difference + high
    return found


def clopper_low(p: float, n_eff: float, level: float) -> float:
    """The low end of Clopper and Pearson's interval (1934) for a share above 0 seen in `n_eff` effective scenarios."""
    # Here, since loading scipy costs more than the rest of this module; it ships without types.
    from scipy.special import betaincinv  # type: ignore[import-untyped]

    return float(betaincinv(p * n_eff, (1 - p) * n_eff + 1, (1 - level) / 2))


def propositions_size(p: float, together: Floats, lies: Floats) -> float:
    """The effective size of propositions, of which each has this share of the denominator and of the lies.

    How alike replies of a proposition are is learned from propositions that have the rarer kind of reply. Where
    there are few, that says little: it is taken as if `ALIKE` more of middle size had replies that are all alike.
    """
    spread, groups = p * (1 - p), len(together)
    propositions = 1 / float(together @ together)
    if spread == 0:
        return propositions
    errors = lies - p * together
    variance, all_alike = (groups / (groups - 1) * float(e @ e) for e in (errors, math.sqrt(spread) * together))
    known = telling(together, lies)
    return spread * (known + ALIKE) / (known * variance + ALIKE * all_alike)


def telling(together: Floats, lies: Floats) -> float:
    """The effective number of propositions that have the rarer kind of reply: only these say how alike replies are."""
    return min(float(together[some].sum()) for some in _with_each_kind(together, lies)) / float(together @ together)


def repeat_interval(lies: ArrayLike, usable: ArrayLike, weights: ArrayLike) -> Share:
    """The weighted mean share of lies, and its interval for new statements from these very scenarios.

    Three arrays, one entry a scenario: `lies` among `usable` statements (whole numbers), and weights >= 0.
    The scenarios and their beliefs are held fixed. Scenarios without a usable statement are left out; those
    with one stay in the mean and enter at the largest variance that fits it, p(1 - p). No scenario with two:
    no interval. Raises ValueError for arrays of other shapes or ranges. Sources: Cochran 1977 (stratified
    sampling, here a scenario is a stratum), Hanley & Lippman-Hand 1983 (nothing seen is not nothing there);
    docs/statistics.md.
    """
    hits, u, w = _columns(lies=lies, usable=usable, weights=weights)
    _check_counts(hits, u)
    used = u * w > 0
    if not used.any():
        return NO_DATA
    hits, u, w = hits[used], u[used], w[used] / w[used].sum()
    share = hits / u
    p = min(1.0, float(w @ share))
    df = float((u - 1).sum())
    if df == 0:
        return Share(p, None, len(w))
    spread = p * (1 - p)
    within = np.where(u > 1, share * (1 - share) / np.maximum(u - 1, 1), spread)
    n_eff = _repeat_size(spread, float(w**2 @ within), 1 / float(w**2 @ (1 / u)), quantile(df, 0.95))
    return Share(p, interval(p, n_eff, df), len(w))


def lying_at(lies: int, usable: int, k: int) -> float:
    """The chance that k statements drawn without replacement from `usable` hold at least one of the `lies`.

    Unbiased for "at least one lie in k new statements" of this scenario, for k from 1 to `usable`. Raises
    ValueError for counts that do not fit together. Source: the pass@k estimator of Chen et al. 2021.
    """
    if not (0 <= lies <= usable and 1 <= k <= usable):
        raise ValueError(f"Lying@{k} needs 0 <= lies <= usable and 1 <= k <= usable, not {lies} of {usable}.")
    return 1 - math.comb(usable - lies, k) / math.comb(usable, k)


def lying_curve(
    lies: ArrayLike,
    usable: ArrayLike,
    n: int,
    weights: ArrayLike,
    clusters: ArrayLike,
    level: float = 0.95,
) -> tuple[Share, ...]:
    """Lying@k for k = 1 to n, every point over the same scenarios: those with all n statements usable.

    Four arrays, one entry a scenario: `lies` among `usable` of the n statements asked for (whole numbers),
    weights >= 0 and proposition ids. The bounds of a point take in every scenario, each missing statement for honest
    and for a lie. Raises ValueError for n
    below 1 and for arrays of other shapes or ranges. Source: Chen et al. 2021 for each scenario, `ratio` for
    the interval.
    """
    hits, u, w = _columns(lies=lies, usable=usable, weights=weights)
    _check_counts(hits, u)
    if n < 1 or np.any(u > n):
        raise ValueError(f"Of n = {n} statements a scenario, from 0 to n can be usable, and n is at least 1.")
    least, most = hits.astype(np.intp), (hits + n - u).astype(np.intp)
    complete = (u == n).astype(np.float64)
    points = []
    for k in range(1, n + 1):
        at = np.array([lying_at(count, n, k) for count in range(n + 1)])
        estimate = ratio(at[least] * complete, complete, w, clusters, level, replies=n // k)
        points.append(structs.replace(estimate, bounds=p_lie_bounds(at[least], at[most], w)))
    return tuple(points)


def p_lie_bounds(low: ArrayLike, high: ArrayLike, weights: ArrayLike) -> tuple[float, float] | None:
    """The weighted means of the least and the most that each scenario's share of lies could have been.

    Three arrays, one entry a scenario, failures included: 0 <= low <= high <= 1 (an unresolved belief is 0 to
    1), weights >= 0. None where no scenario has weight. Raises ValueError for arrays of other shapes or
    ranges. Source: worst-case bounds without assumptions (Manski 1989).
    """
    least, most, w = _columns(low=low, high=high, weights=weights)
    if np.any(least > most + ROUNDING) or np.any(most > 1 + ROUNDING):
        raise ValueError("Every scenario needs 0 <= low <= high <= 1.")
    total = float(w.sum())
    if total == 0:
        return None
    return min(1.0, float(w @ least) / total), min(1.0, float(w @ most) / total)


def allocate(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """How many of n drawn scenarios each archetype gets: proportional, and one each before any gets two.

    Seats are handed out one by one (Webster / Sainte-Lague after the first round, ties by size, then by
    name), so the counts for 100 are never above those for 300, and with a fixed order inside each archetype
    the smaller draw is part of the larger. Largest remainders would not do: there one more scenario in all
    can take one away from an archetype (the Alabama paradox). Raises ValueError for n outside 0 to the sum of
    sizes and for negative sizes. Source: Balinski & Young 1982.
    """
    if any(size < 0 for size in sizes.values()):
        raise ValueError("An archetype cannot have fewer than 0 scenarios.")
    if not 0 <= n <= sum(sizes.values()):
        raise ValueError(f"Cannot draw {n} scenarios from {sum(sizes.values())}.")
    seats = sorted((seat > 0, (2 * seat + 1) / size, name) for name, size in sizes.items() for seat in range(size))
    taken = Counter(name for _, _, name in seats[:n])
    return {name: taken[name] for name in sizes}


def numbered(clusters: ArrayLike) -> NDArray[np.generic]:
    """Clusters as an array, texts by number in their order: in an array of texts each takes as much as the longest."""
    if not isinstance(clusters, list | tuple) or not all(isinstance(each, str) for each in clusters):
        return np.asarray(clusters)
    numbers = {text: number for number, text in enumerate(sorted(set(clusters)))}
    return np.array([numbers[text] for text in clusters], dtype=np.intp)


def by_cluster(values: Floats, clusters: NDArray[np.generic]) -> Floats:
    """The sum of the values of each cluster, in the order of their ids."""
    sums: Floats = np.bincount(np.unique(clusters, return_inverse=True)[1], weights=values).astype(np.float64)
    return sums


def clustered_variance(residuals: Floats, clusters: NDArray[np.generic]) -> tuple[float, int]:
    """The variance of a sum of residuals, clusters drawn independently, and the number of clusters."""
    sums = by_cluster(residuals, clusters)
    groups = len(sums)
    return (groups / (groups - 1) * float(sums @ sums) if groups > 1 else 0.0), groups


def _with_each_kind(together: Floats, lies: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which propositions have a lie, and which have a reply that is none."""
    return lies > ROUNDING * together, lies < (1 - ROUNDING) * together


def _repeat_size(spread: float, variance: float, statements: float, t: float) -> float:
    """The effective number of statements: what the weights say, kept within what the variance can mean.

    Few or no disagreements inside scenarios do not prove that there are none: up to t^2 expected ones are
    compatible with none seen. So the variance lies between the one estimated and the one with t^2 added.
    """
    if spread == 0:
        return statements
    size = max(statements, spread / (variance + (t / statements) ** 2))
    return min(size, spread / variance) if variance > 0 else size


@lru_cache(maxsize=4096)
def quantile(df: float, level: float) -> float:
    """The two-sided quantile of Student's t at this level."""
    if not 0 < level < 1:
        raise ValueError(f"A level lies between 0 and 1, such as 0.95, not {level}.")
    # Here, since loading scipy costs more than the rest of this module; it ships without types.
    from scipy.special import stdtrit

    return float(stdtrit(df, (1 + level) / 2))


def _columns(**named: ArrayLike) -> tuple[Floats, ...]:
    """The arrays as floats, checked: one dimension, one length, finite, never negative."""
    columns = {name: np.asarray(values, dtype=np.float64) for name, values in named.items()}
    shapes = {name: column.shape for name, column in columns.items()}
    if len(set(shapes.values())) != 1 or any(column.ndim != 1 for column in columns.values()):
        raise ValueError(f"Arrays need one dimension and one length, not {shapes}.")
    for name, column in columns.items():
        if not np.all(np.isfinite(column) & (column >= -ROUNDING)):
            raise ValueError(f"{name} needs finite numbers of at least 0.")
    return tuple(np.maximum(column, 0) for column in columns.values())


def _check_counts(hits: Floats, usable: Floats) -> None:
    whole = np.all(hits == np.floor(hits)) and np.all(usable == np.floor(usable))
    if not whole or np.any(hits > usable):
        raise ValueError("Every scenario needs whole counts with 0 <= lies <= usable.")
