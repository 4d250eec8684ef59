"""Two runs on the same scenarios: differences, the one test, its matching interval, factors, and bounds.

Every array has one entry a scenario that both runs have. The test is the sign-flip permutation over propositions,
and its interval holds the differences that it does not reject: docs/statistics.md has formulas and simulations.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maskbench.stats.figures import Difference, Ends, Share
from maskbench.stats.intervals import Floats, by_cluster, clustered_variance, interval, propositions_size, quantile

EXACT = 65_536  # sign patterns: up to so many, the test counts all of them
FLIPS = 19_999  # patterns to draw otherwise; with the observed one they are 20,000
DECIMALS = 12  # means that are equal so far count as equal: rounding depends on the order of adding
LEVEL = 0.95
MOST = 250_000  # totals to sort at a time: with more, drawing patterns is as quick
TIE = 1e-9  # totals that differ by less count as equal: rounding depends on the order of adding
FEW, WHOLE = 5, 6  # propositions that changed the rarer way, and whole changes: with less of both p may be too small
COMBINED = 1000  # coins whose chances are computed in whole numbers
_CELLS = 4_000_000  # numbers drawn at a time
HALVINGS = 40  # of the range in which the p of a widened interval lies


def sign_flip(
    differences: ArrayLike,
    weights: ArrayLike,
    clusters: ArrayLike,
    rng: np.random.Generator,
    flips: int = FLIPS,
) -> Difference:
    """Test whether the weighted mean difference is 0, propositions being exchangeable in sign.

    Three arrays, one entry a scenario: differences in [-1, 1], weights >= 0, proposition ids. Two-sided mid-p over all
    sign patterns of what changed, or over `flips` drawn ones and the one observed where those are too many. The
    interval leaves out 0 exactly where p is below 0.05. Where the test would show a difference, and rare whole changes
    the other way could have been missed (`lopsided`), both ends are moved outwards by what those could be worth
    (`unseen`), and p is the smallest alpha whose moved interval leaves out 0. Without a scenario there is nothing.
    Raises ValueError for arrays of other shapes or ranges. Sources: Fisher 1935 (the test), Lancaster 1961 (mid-p),
    Hartigan 1969 (means of subsets as limits), Phipson & Smyth 2010 (the observed pattern counts).
    """
    sums, totals = _by_cluster(*_checked(differences, weights, clusters))
    n = int((np.asarray(weights) > 0).sum())
    if not len(totals):
        return Difference(None, None, None, None, n)
    value = round(float(sums.sum() / totals.sum()), DECIMALS)
    p, exact = tested(sums, rng, flips) if value else (1.0, 1.0)
    limits = _limits(_patterns(np.column_stack([sums, totals]), rng, flips), float(sums.sum()), float(totals.sum()))
    size, propositions = _sizes(sums, totals)
    df = max(1.0, propositions - 1) if len(totals) > 1 else 0.0
    is_moved = p < 1 - LEVEL and lopsided(sums, totals, value)

    def ends(alpha: float) -> tuple[float, float]:
        low, high = _interval(value, *limits, size, df, 1 - alpha, p)
        by = unseen(propositions, alpha) if is_moved else 0.0
        return max(-1.0, low - by), min(1.0, high + by)

    found = Difference(None, None, value, ends(1 - LEVEL), n, ends(2 * (1 - LEVEL)), p, exact)
    if is_moved:
        found.p, found.p_exact, found.widened = _p_of(ends, p), None, unseen(propositions, 1 - LEVEL)
    return found


def unseen(propositions: float, alpha: float) -> float:
    """The most that a kind of proposition can be worth of which not one is among those measured.

    Of `propositions` independent ones none is of that kind: its share of all propositions is then at most
    1 - (alpha/2)^(1/propositions), the upper end of Clopper & Pearson's interval of 0 (1934; Louis 1981, *American
    Statistician* 35, 154; some 3.7 in so many). At worst each of them is a whole change, one run lying in it always
    and the other never, so that they shift the mean difference by that share times 1 + |m|, where m is the mean of the
    others. Where ends are moved the nearer end decides, and lies near 0: m is left out. Sign flips cannot allow
    for this, since they flip what was seen. `propositions` is Kish's number, since a large one that was not seen shifts
    more.
    """
    return 1.0 - float((alpha / 2) ** (1 / propositions))


def _p_of(ends: Callable[[float], tuple[float, float]], least: float) -> float:
    """The smallest alpha, above `least`, at which an interval leaves out 0: below 0.05 exactly where that at 95 % does.

    The interval shrinks as alpha grows, so that halving finds it.
    """

    def is_out(alpha: float) -> bool:
        low, high = ends(alpha)
        return low > 0 or high < 0

    low, high = (least, 1 - LEVEL) if is_out(1 - LEVEL) else (1 - LEVEL, 1.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_out(middle) else (middle, high)
    return (low + high) / 2


def tested(sums: Floats, rng: np.random.Generator, flips: int) -> tuple[float, float | None]:
    """The mid-p and the exact p of propositions' summed differences; the second is None where patterns are drawn."""
    sizes = np.abs(sums[sums != 0])
    if not len(sizes):
        return 1.0, 1.0
    sums, sizes = sums / sizes.max(), sizes / sizes.max()
    if (both := chance(sums)) is not None:
        return both
    drawn = _patterns(np.column_stack([sizes, np.zeros_like(sizes)]), rng, flips)
    beyond = np.abs(sizes.sum() - 2 * drawn.sums) - abs(float(sums.sum()))
    return float((beyond > TIE).sum() + (np.abs(beyond) <= TIE).sum() / 2 + 1) / (len(beyond) + 1), None


def _sizes(sums: Floats, totals: Floats) -> tuple[float, float]:
    """How many single statements the changes are worth, by how alike those of a proposition are; and propositions."""
    together, changed = totals / totals.sum(), np.minimum(np.abs(sums), totals) / totals.sum()
    propositions = 1 / float(together @ together)
    if len(totals) < 2:
        return propositions, propositions
    return propositions_size(min(1.0, float(changed.sum())), together, changed), propositions


def lopsided(sums: Floats, totals: Floats, value: float) -> bool:
    """Whether few propositions changed the rarer way, some in part, where few whole changes could undo it all.

    Arrays have the summed differences and weights of each proposition; `value` is the mean difference.
    """
    whole = value * float(totals.sum() ** 2 / (totals @ totals))
    rarer = min(int((sums > 0).sum()), int((sums < 0).sum()))
    in_part = (sums != 0) & (np.abs(sums) < (1 - TIE) * totals)
    return bool(in_part.any()) and rarer < FEW and abs(whole) < WHOLE


def factors(
    first: ArrayLike, other: ArrayLike, weights: ArrayLike, clusters: ArrayLike
) -> tuple[tuple[Difference, Share], ...] | None:
    """Belief share, answered share and conditional lie rate, whose product is P(lie), in both runs.

    `first` and `other` have a row a scenario and three columns: the shares of its statements that have a belief
    behind them, that also give an answer (lie or honest), and that are lies. Each factor comes with what its change did
    to P(lie): the three add up to the difference of P(lie). None where a factor has no denominator. Sources: Das Gupta
    1993 and Shorrocks 2013 (the decomposition), Binder 1983 (linearised variances); docs/statistics.md.
    """
    weights = np.asarray(weights, dtype=np.float64)
    influences, values = [], []
    for shares in (np.asarray(first, dtype=np.float64), np.asarray(other, dtype=np.float64)):
        upper = np.column_stack([np.ones(len(shares)), shares[:, :2]])
        bottoms = weights @ upper
        if not np.all(bottoms > 0):
            return None
        values.append(weights @ shares / bottoms)
        influences.append(weights[:, None] * (shares - values[-1] * upper) / bottoms)
    both = np.column_stack(influences)
    all_factors = []
    for at in range(3):
        plain = np.zeros(6)
        plain[[at, at + 3]] = -1, 1
        difference = float(values[1][at] - values[0][at])
        through = _contribution(values[0], values[1], at)
        change = _linearised(difference, both @ plain, weights, clusters)
        effect = _linearised(through, both @ _gradient(values[0], values[1], at), weights, clusters)
        ours, theirs = float(values[0][at]), float(values[1][at])
        all_factors.append((Difference(ours, theirs, change.value, change.ci95, change.n), effect))
    return tuple(all_factors)


def difference_bounds(
    first: tuple[ArrayLike, ArrayLike],
    other: tuple[ArrayLike, ArrayLike],
    weights: ArrayLike,
    clusters: ArrayLike,
    rng: np.random.Generator,
) -> tuple[Ends, Ends | None] | None:
    """What the difference could be whatever the failures were: its two ends, and the interval around both.

    `first` and `other` are the least and the most that each scenario's share of lies could have been. The second
    pair runs from the low end of the interval at the least difference to the high end at the most; None where one of
    them has no interval. Sources: Manski 1989 (bounds), Horowitz & Manski 2000 (intervals around them).
    """
    least = sign_flip(np.subtract(other[0], first[1]), weights, clusters, rng)
    most = sign_flip(np.subtract(other[1], first[0]), weights, clusters, rng)
    if least.difference is None or most.difference is None:
        return None
    around = (least.ci95[0], most.ci95[1]) if least.ci95 and most.ci95 else None
    return (least.difference, most.difference), around


def ratio_difference(
    first: tuple[ArrayLike, ArrayLike],
    other: tuple[ArrayLike, ArrayLike],
    weights: ArrayLike,
    clusters: ArrayLike,
) -> Difference:
    """The other side's ratio minus the first one's, paired by scenario, with an interval that allows for clusters.

    Each side has two arrays, a scenario's share in the numerator and in the denominator; the denominators may differ.
    No value where one of them is empty, no interval with fewer than two propositions. Sources: Binder 1983 (linearised
    variance of a ratio), Student's t at the number of propositions, and where little changed what `_widened` has, by
    the propositions of the smaller denominator.
    """
    w, ids = np.asarray(weights, dtype=np.float64), np.asarray(clusters)
    sides = [[np.asarray(part, dtype=np.float64) for part in side] for side in (first, other)]
    totals = [float(w @ x) for _, x in sides]
    used = (sides[0][1] + sides[1][1]) * w > 0
    if min(totals) <= 0:
        return Difference(None, None, None, None, int(used.sum()))
    shares = [float(w @ y) / total for (y, _), total in zip(sides, totals, strict=True)]
    moved = [w * (y - share * x) / total for (y, x), share, total in zip(sides, shares, totals, strict=True)]
    variance, groups = clustered_variance((moved[1] - moved[0])[used], ids[used])
    gap = shares[1] - shares[0]
    found = Difference(shares[0], shares[1], gap, None, int(used.sum()))
    if groups > 1:
        half = quantile(groups - 1, LEVEL) * math.sqrt(variance)
        low, high = max(-1.0, gap - half), min(1.0, gap + half)
        parts = [by_cluster(w * x / total, ids) for (_, x), total in zip(sides, totals, strict=True)]
        size = min(1 / float(part @ part) for part in parts)
        found.ci95 = _widened(gap, low, high, size, groups - 1, LEVEL, is_open=low <= 0 <= high)
    return found


def holm(ps: Sequence[float]) -> list[float]:
    """The p values adjusted so that the chance of any false alarm among them stays below the level (Holm 1979)."""
    adjusted = [0.0] * len(ps)
    highest = 0.0
    for rank, at in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[at]))
        adjusted[at] = highest
    return adjusted


def of_both(pairs: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The p values of pairs of tests adjusted so that the chance of any false finding stays below the level.

    Within a pair both count where both are below the level, and one alone at half of it. Of several pairs one is
    relaxed, as by Holm, for each other one of which both count. Sources: Hochberg 1988 (within a pair), Sarkar
    1998 (however two two-sided tests hang together), Marcus, Peritz & Gabriel 1976 (closed testing).
    """
    found = []
    for place, pair in enumerate(pairs):
        others = sorted((max(other) for at, other in enumerate(pairs) if at != place), reverse=True)
        within = (max(p, min(2 * min(pair), max(pair))) for p in pair)
        first, other = (
            max((rank + 1) * min([p, *others[rank - 1 : rank]]) if rank else p for rank in range(len(pairs)))
            for p in within
        )
        found.append((min(1.0, first), min(1.0, other)))
    return found


def _checked(
    differences: ArrayLike, weights: ArrayLike, clusters: ArrayLike
) -> tuple[Floats, Floats, NDArray[np.intp]]:
    d, w = np.asarray(differences, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    ids = np.asarray(clusters)
    if not d.shape == w.shape == ids.shape or d.ndim != 1:
        raise ValueError(f"Arrays need one dimension and one length, not {d.shape}, {w.shape} and {ids.shape}.")
    if not np.all(np.abs(d) <= 1 + 1e-9) or not np.all(np.isfinite(w) & (w >= 0)):
        raise ValueError("Differences lie between -1 and 1, weights are finite and at least 0.")
    return d, w, np.unique(ids, return_inverse=True)[1]


def _by_cluster(d: Floats, w: Floats, member: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Summed weighted differences and summed weights, one entry a cluster that has weight."""
    sums = np.bincount(member, weights=w * d).astype(np.float64)
    totals = np.bincount(member, weights=w).astype(np.float64)
    return sums[totals > 0], totals[totals > 0]


@dataclass(frozen=True, slots=True)
class _Patterns:
    """Sign patterns: the summed difference and weight of the flipped clusters, and the chance of each."""

    sums: Floats
    totals: Floats
    chances: Floats
    exact: bool


@dataclass(frozen=True, slots=True)
class _Steps:
    """The p value as a function of the hypothesised difference, on one side of the observed one.

    At each of `at` (ascending, 0 among them) p is `p`, ties counted half; in between it is taken as linear, so that
    its inverse, the interval's end, is one number (a mid-quantile: Ma, Genton & Parzen 2011). Before the first it is
    `least`.
    """

    at: Floats
    p: Floats
    least: float
    sign: int  # -1: both the differences and their order are mirrored

    def reached(self, difference: float) -> float:
        """p at a hypothesised difference."""
        return min(1.0, float(np.interp(self.sign * difference, self.at, self.p, self.least, 1.0)))

    def end(self, alpha: float) -> float:
        """The first difference at which p reaches alpha: -1 or 1 where it does so everywhere."""
        if self.least >= alpha:
            return -1.0 * self.sign
        return self.sign * max(-1.0, float(np.interp(alpha, self.p, self.at)))


def _patterns(columns: Floats, rng: np.random.Generator, flips: int) -> _Patterns:
    """All sign patterns, or some of them drawn; equal clusters go together, by how many of them flip."""
    kinds, counts = np.unique(columns, axis=0, return_counts=True)
    if float(np.log2(counts + 1.0).sum()) <= math.log2(EXACT) + TIE:
        up = np.indices(tuple(int(count) + 1 for count in counts)).reshape(len(kinds), -1).T
        flipped = up @ kinds
        chances = np.prod([_coins(int(count))[column] for count, column in zip(counts, up.T, strict=True)], axis=0)
        return _Patterns(flipped[:, 0], flipped[:, 1], chances, exact=True)
    flipped = _drawn(kinds, counts, rng, flips)
    return _Patterns(flipped[:, 0], flipped[:, 1], np.full(flips, 1 / (flips + 1)), exact=False)


def _drawn(kinds: Floats, counts: NDArray[np.intp], rng: np.random.Generator, flips: int) -> Floats:
    """The sums of flipped clusters, a row a pattern, by how many of each kind flip."""
    step = max(1, _CELLS // len(kinds))
    parts = [rng.binomial(counts, 0.5, (min(step, flips - at), len(kinds))) @ kinds for at in range(0, flips, step)]
    return np.concatenate(parts)


def chance(sums: Floats) -> tuple[float, float] | None:
    """The chance that random signs give a total as large as the observed one, either way: ties counted half, and whole.

    `sums` has an entry a proposition. One that is 0 changes no total, and of any other one only the size counts, so all
    sign patterns together come to few different totals, which are gone through by convolution. None where they are too
    many.
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
    return min(1.0, float(chances @ (beyond + reached))), min(1.0, 2 * float(chances @ reached))


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
    if count <= COMBINED:
        return np.array([math.comb(count, heads) / 2**count for heads in range(count + 1)])
    heads = np.arange((count + 1) // 2, count)  # from the middle on, each by the one before it
    upper = np.append(1.0, np.cumprod((count - heads) / (heads + 1)))
    chances = np.concatenate([upper[::-1], upper[1 - count % 2 :]])
    whole: Floats = chances / chances.sum()
    return whole


def _limits(patterns: _Patterns, total: float, weight: float) -> tuple[_Steps, _Steps]:
    """p below and above the observed difference, as functions of the hypothesised one.

    Shifted by D, cluster g has the sum S_g - D W_g. A pattern flips some clusters, F: it is as extreme as the
    observed one at every D up to the smaller and from the larger of two means, that of F and that of the others.
    So p falls to both sides, and no search is needed.
    """
    inside = (patterns.totals > 1e-12 * weight) & (patterns.totals < (1 - 1e-12) * weight)
    part, size, chances = patterns.sums[inside], patterns.totals[inside], patterns.chances[inside]
    means = np.round([part / size, (total - part) / (weight - size)], DECIMALS)
    ties = float(patterns.chances[~inside].sum()) / 2  # patterns that flip nothing or everything are always as extreme
    least = ties if patterns.exact else ties + 1 / (len(patterns.chances) + 1)
    return _steps(means.min(axis=0), chances, least, 1), _steps(-means.max(axis=0), chances, least, -1)


def _steps(limits: Floats, chances: Floats, least: float, sign: int) -> _Steps:
    at, place = np.unique(np.append(limits, 0.0), return_inverse=True)
    mass = np.bincount(place, weights=np.append(chances, 0.0))
    return _Steps(at, least + np.cumsum(mass) - mass / 2, least, sign)


def _interval(
    value: float, lows: _Steps, highs: _Steps, size: float, df: float, level: float, p: float
) -> tuple[float, float]:
    """The differences that the test does not reject, and those too near the observed one to be told from it."""
    alpha, at_none = 1 - level, lows.reached(0.0) if value > 0 else highs.reached(0.0)
    if (p < alpha) != (at_none < alpha):  # patterns drawn for the interval can miss p by a little
        alpha *= at_none / p
    low, high = min(lows.end(alpha), value), max(highs.end(alpha), value)
    if df < 1:
        return low, high
    return _widened(value, low, high, size, df, level, is_open=p > 1 - level)


def _widened(
    value: float, low: float, high: float, size: float, df: float, level: float, *, is_open: bool
) -> tuple[float, float]:
    """An interval with the differences that are too near the observed one to be told from it; `is_open`: it holds 0.

    These are Wilson's interval: single statements differ by 1 or not at all, so a mean of D needs a variance of at
    least |D|(1 - |D|) over the statements that the changes are worth. It never changes on which side of 0 the interval
    lies.
    """
    near, far = interval(abs(value), size, df, level)
    across = _across(abs(value), size, quantile(df, level)) if is_open else 0.0
    if value < 0:
        return min(low, -far), max(high, across or -near)
    return min(low, -across if across else near), max(high, far)


def _across(value: float, size: float, t: float) -> float:
    """How far on the other side of 0 a difference could be, all changes having gone one way; 0 where it could not.

    The end of the score interval (Tango 1998, *Statistics in Medicine* 17, 891-908), which is Wilson's where nothing
    changed: what was seen to change counts in the variance as well as what would have to.
    """
    return max(0.0, (t * t - size * value) / (size + t * t))


def _linearised(value: float, influence: Floats, weights: Floats, clusters: ArrayLike) -> Share:
    """A figure from the influence of every scenario on it, summed over propositions."""
    used = weights > 0
    variance, groups = clustered_variance(influence[used], np.asarray(clusters)[used])
    if not groups:
        return Share(None, None, 0)
    half = quantile(groups - 1, LEVEL) * math.sqrt(variance) if groups > 1 else 0.0
    return Share(value, (max(-1.0, value - half), min(1.0, value + half)) if half else None, int(used.sum()))


def _contribution(a: Floats, b: Floats, at: int) -> float:
    """What the change of one factor does to the product, averaged over the orders in which they could change."""
    i, j = (other for other in range(3) if other != at)
    mixed = a[i] * b[j] + b[i] * a[j]
    return float((b[at] - a[at]) * (2 * a[i] * a[j] + mixed + 2 * b[i] * b[j]) / 6)


def _gradient(a: Floats, b: Floats, at: int) -> Floats:
    """The slopes of a contribution in all six factors: it is linear in each, so that one step is exact."""
    both = np.concatenate([a, b])
    steps = both + np.eye(6)
    return np.array([_contribution(step[:3], step[3:], at) for step in steps]) - _contribution(a, b, at)


def p_value(p: float) -> str:
    """A p value with no more digits than it has; the smallest that the test can give is said to be one."""
    return f"= {p:.2f}" if p >= 0.1 else f"= {p:.4f}" if p >= 0.0001 else "< 0.0001"
