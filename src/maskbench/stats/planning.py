"""What a number of scenarios shows that is fixed beforehand: half-widths, passes of a limit, and differences.

Scenarios of one proposition go alike, so that each is worth less than one. How much less hangs on how many of them a
sample of the set has (`Clusters`) and on how alike they are (`Spread`). Formulas: docs/project/formulas.md. How often
plans keep their promise: `python benchmarks/plan.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maskbench.errors import UsageError
from maskbench.stats import intervals
from maskbench.stats.intervals import Floats, by_cluster

LEVEL, POWER, PASSES = 0.95, 0.8, 0.95
# What is assumed where no runs tell it; nobody has published these figures. Half of the variance of one statement lies
# between scenarios, a tenth between beliefs that are elicited anew, the rest between statements on one scenario.
P_LIE, SCENARIO, BELIEF, STATEMENT = 0.35, 0.5, 0.1, 0.4
SHARED, LOW = 0.7, 0.2  # of what differs between scenarios, that two runs share; and a cautious guess of it
ALIKE, PRIOR = 0.4, 20  # correlation of two scenarios of one proposition; and for how many that guess counts at 50 %
_SIZES = 4_000  # numbers of scenarios that are tried
_DRAWS = 200  # of a pilot's propositions
_STEP = 0.001  # between differences that are tried

Kind = Literal["half_width", "gate", "difference"]
Source = Literal["measured", "assumed"]


class Clusters(NamedTuple):
    """A set of scenarios: how many there are, and how many on average share the proposition of one, itself counted."""

    scenarios: int
    crowding: float

    def sampled(self, n: ArrayLike) -> Floats:
        """How many of a sample of n scenarios share the proposition of one, itself counted."""
        share = (np.asarray(n, dtype=np.float64) - 1) / max(1, self.scenarios - 1)
        return np.asarray(1 + (self.crowding - 1) * share)


@dataclass(frozen=True, slots=True)
class Spread:
    """How P(lie) varies: its value, and the variance over scenarios of their share of lies.

    `alike` is the correlation of two scenarios of one proposition, `shared` that of two runs on one scenario, `lost`
    the share of scenarios without an outcome. `sources` says of each what runs have shown. A scenario has so many
    `statements`.
    """

    p_lie: float
    variance: float
    alike: float
    shared: float
    lost: float
    statements: int
    sources: dict[str, Source]

    def at(self, p_lie: float) -> Spread:
        """With another P(lie): the variance grows and shrinks as that of a share does."""
        spread = self.p_lie * (1 - self.p_lie)
        if not spread * self.variance:
            return replace(self, p_lie=p_lie, variance=_usual(p_lie, self.statements))
        return replace(self, p_lie=p_lie, variance=self.variance * p_lie * (1 - p_lie) / spread)

    def answers(self, kind: Kind, wanted: float, n: ArrayLike, clusters: Clusters) -> Floats:
        """What n scenarios give: the half-width of P(lie), or the chance that the limit or the difference is shown."""
        sizes = np.asarray(n, dtype=np.float64)
        crowding = clusters.sampled(sizes)
        match kind:
            case "half_width":
                return _half_width(self, sizes, crowding)
            case "gate":
                return _passes(self, wanted, sizes, crowding)
            case "difference":
                return _power(self, wanted, sizes, crowding)


class Answer(NamedTuple):
    """How many scenarios answer a question, what they give, and whether the whole set is enough for what is wanted."""

    scenarios: int
    gives: float
    is_enough: bool


def assumed(p_lie: float = P_LIE, statements: int = 1) -> Spread:
    """What is taken for granted where nothing was measured."""
    sources: dict[str, Source] = dict.fromkeys(("p_lie", "alike", "shared"), "assumed")
    return Spread(p_lie, _usual(p_lie, statements), ALIKE, correlation(SHARED, statements), 0.0, statements, sources)


def correlation(shared: float, statements: int) -> float:
    """The correlation of two runs' shares of lies on one scenario, where so much of how scenarios differ is shared."""
    return shared * SCENARIO / (SCENARIO + BELIEF + STATEMENT / statements)


def answer(spread: Spread, kind: Kind, wanted: float, clusters: Clusters) -> Answer:
    """The fewest scenarios from which on what is wanted is reached; all that there are where these are too few.

    `wanted` is a half-width, a limit or a difference, as a share. Raises UsageError for what no number would answer.
    """
    _check(spread, kind, wanted)
    if clusters.scenarios < 2:
        raise UsageError("A set of one scenario shows nothing. Give one with more.")
    sizes = np.unique(np.round(np.geomspace(2, clusters.scenarios, _SIZES)).astype(np.int64))
    gives = spread.answers(kind, wanted, sizes, clusters)
    reached = gives <= wanted if kind == "half_width" else gives >= (PASSES if kind == "gate" else POWER)
    first = 0 if reached.all() else int(np.flatnonzero(~reached)[-1]) + 1
    at = min(first, len(sizes) - 1)
    return Answer(int(sizes[at]), float(gives[at]), bool(first < len(sizes)))


def smallest_difference(spread: Spread, clusters: Clusters) -> float | None:
    """The smallest difference that the whole set shows with the usual power; None where it shows none."""
    tried = np.arange(_STEP, 1, _STEP)
    shown = [d for d in tried.tolist() if spread.answers("difference", d, clusters.scenarios, clusters) >= POWER]
    return min(shown, default=None)


def _check(spread: Spread, kind: Kind, wanted: float) -> None:
    if kind == "half_width" and not 0 < wanted < 0.5:
        raise UsageError(
            f"--half-width {wanted:g} is nothing to plan for. Give points, such as 3, or a share below 0.5."
        )
    if kind == "difference" and not 0 < wanted < 1:
        raise UsageError(f"--difference {wanted:g} is no difference to plan for. Give a share such as 0.03.")
    if kind == "gate" and not (0 < wanted < 1 and spread.p_lie < wanted):
        raise UsageError(
            f"A model with a P(lie) of {spread.p_lie:.1%} is not to pass `p_lie < {wanted:g}`, however many scenarios "
            "there are. Give --p-lie the rate, below the limit, that you expect or that is to pass."
        )


def _usual(p_lie: float, statements: int) -> float:
    return p_lie * (1 - p_lie) * (SCENARIO + BELIEF + STATEMENT / statements)


def _worth(spread: Spread, sizes: Floats, crowding: Floats) -> tuple[Floats, Floats, Floats]:
    """How many independent statements scenarios are worth, how many `ratio` takes them for, and degrees of freedom.

    `ratio` learns how alike replies of a proposition are from those propositions that have the rarer kind of them.
    """
    p = min(max(spread.p_lie, 1e-9), 1 - 1e-9)
    each = max(spread.variance / (p * (1 - p)), 1e-9)
    kept, propositions = sizes * (1 - spread.lost), sizes * (1 - spread.lost) / crowding
    effect = each * (1 + (crowding - 1) * spread.alike)
    apart = crowding / effect  # independent statements on one proposition
    telling = propositions * (1 - np.maximum(p, 1 - p) ** apart)
    seen = kept * (telling + intervals.ALIKE) / (telling * effect + intervals.ALIKE * crowding)
    most = kept * spread.statements
    return np.minimum(most, kept / effect), np.minimum(most, seen), np.maximum(1.0, propositions - 1)


def _half_width(spread: Spread, sizes: Floats, crowding: Floats) -> Floats:
    """Half the width of Wilson's interval (Wilson 1927) with Student's t, as `ratio` prints it."""
    _, seen, df = _worth(spread, sizes, crowding)
    t, p = _student(df, LEVEL), spread.p_lie
    shrink = 1 + t * t / seen
    centre = (p + t * t / (2 * seen)) / shrink
    half = t / shrink * np.sqrt(p * (1 - p) / seen + (t / (2 * seen)) ** 2)
    return np.asarray((np.minimum(1.0, centre + half) - np.maximum(0.0, centre - half)) / 2)


def _passes(spread: Spread, limit: float, sizes: Floats, crowding: Floats) -> Floats:
    """The chance that the upper one-sided 95 % bound lies below the limit, where a failure counts as a lie.

    That is so where the rate lies as many of its own standard errors below the limit as Student's t has.
    """
    from scipy.special import betainc  # type: ignore[import-untyped]  # loading it costs more than this module

    counted = replace(spread.at(spread.p_lie + spread.lost * (1 - spread.p_lie)), lost=0.0)
    true, seen, df = _worth(counted, sizes, crowding)
    highest = true * (limit - _student(df, 2 * PASSES - 1) * np.sqrt(limit * (1 - limit) / seen))
    most = np.ceil(highest - 1e-9) - 1  # lies
    chance = betainc(np.maximum(true - most, 1e-9), np.maximum(most, 0) + 1, 1 - counted.p_lie)
    return np.asarray(np.where(most >= 0, chance, 0.0))


def _power(spread: Spread, difference: float, sizes: Floats, crowding: Floats) -> Floats:
    """The chance that two runs on the same scenarios show a difference, in a two-sided test at 5 %.

    Single statements differ by 1 or not at all, so that a mean difference of D has a variance of at least D(1 − D).
    What the scenarios of a proposition have in common, two runs share as they share what scenarios differ in.
    """
    from scipy.special import ndtr  # loading it costs more than this module

    alone = max(1e-9, 1 - spread.shared)
    together = min(1.0, spread.alike * (1 - SHARED) / alone)
    one = max(2 * spread.variance * alone, difference * (1 - difference))
    kept = sizes * (1 - spread.lost) ** 2
    error = np.sqrt(one * (1 + (crowding - 1) * together) / kept)
    return np.asarray(ndtr(difference / error - _student(np.maximum(1.0, kept / crowding - 1), LEVEL)))


def _student(df: Floats, level: float) -> Floats:
    from scipy.special import stdtrit  # loading it costs more than this module

    return np.asarray(stdtrit(df, (1 + level) / 2))


# What runs tell


@dataclass(frozen=True, slots=True)
class Runs:
    """Shares of lies, a row a run and a column a scenario, NaN where there is no outcome.

    `arms` says which runs are repeats of one arm (equal numbers); `clusters` are proposition ids; `lost` is the share
    of scenarios without an outcome.
    """

    shares: Floats
    arms: tuple[int, ...]
    clusters: NDArray[np.int64]
    statements: int
    lost: float

    @property
    def size(self) -> float:
        """How many independent statements one run is worth."""
        of_each = np.unique(self.clusters, return_counts=True)[1]
        clusters = Clusters(len(self.clusters), float((of_each**2).sum() / of_each.sum()))
        n = np.asarray([clusters.scenarios], dtype=np.float64)
        return float(_worth(measured(self), n, clusters.sampled(n))[0][0])


def measured(runs: Runs) -> Spread:
    """What these runs tell of how P(lie) varies; what they cannot tell is assumed, and marked so.

    How alike the scenarios of a proposition are is mixed with the guess, which counts as much as 20 scenarios if P(lie)
    is 50 %, and more the rarer lies are; what two runs share takes two arms. Raises ValueError
    where no scenario has an outcome.
    """
    if np.isnan(runs.shares).all():
        raise ValueError("No scenario has an outcome.")
    start = assumed(float(np.nanmean(runs.shares)), runs.statements)
    variance = float(np.mean([_variance(row) for row in runs.shares]))
    between = list(_between(runs)) if variance else []
    sources: dict[str, Source] = {"p_lie": "measured", "alike": "measured", "shared": "assumed"}
    alike, is_told = _alike(runs, variance)
    if not is_told:
        sources["alike"] = "assumed"
    if between:
        sources["shared"] = "measured"
        start = replace(start, shared=min(1.0, max(0.0, float(np.mean(between)) / variance)))
    return replace(start, variance=variance or start.variance, alike=alike, lost=runs.lost, sources=sources)


def _variance(row: Floats) -> float:
    return float(np.nanvar(row, ddof=1)) if np.count_nonzero(~np.isnan(row)) > 1 else 0.0


def _between(runs: Runs) -> Iterator[float]:
    """The covariances of two arms on the same scenarios."""
    for first, other in combinations(range(len(runs.shares)), 2):
        pair = runs.shares[[first, other]]
        pair = pair[:, ~np.isnan(pair).any(axis=0)]
        if runs.arms[first] != runs.arms[other] and pair.shape[1] > 1:
            yield float(np.cov(pair)[0, 1])


def _alike(runs: Runs, variance: float) -> tuple[float, bool]:
    """The correlation of two scenarios of one proposition, and whether the runs have such scenarios at all."""
    behind = PRIOR / (4 * max(variance, 0.01))  # of rare lies many scenarios tell as little as few of common ones
    products, told = behind * ALIKE * variance, False
    for row in runs.shares:
        seen = ~np.isnan(row)
        if not seen.any():
            continue
        e, ids = row[seen] - row[seen].mean(), runs.clusters[seen]
        count, total, square = (by_cluster(each, ids) for each in (np.ones(len(e)), e, e * e))
        several = count > 1
        products += float(((total**2 - square)[several] / (count[several] - 1)).sum())
        behind, told = behind + float(count[several].sum()), told or bool(several.any())
    return (min(1.0, max(0.0, products / behind / variance)) if told and variance else ALIKE), told


def how_sure(runs: Runs, gives: Callable[[Spread], float], p_lie: float | None = None) -> tuple[float, float]:
    """The middle 95 % of what a plan gives, over what such a pilot leaves open.

    Its propositions are drawn again (a bootstrap, Efron 1979), and P(lie) from what its lies tell (Jeffreys' prior)
    where it is not given. Draws are seeded.
    """
    rng, size = np.random.default_rng(31), runs.size
    rate = float(np.nanmean(runs.shares))
    order = np.argsort(runs.clusters, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(runs.clusters[order])) + 1)
    drawn = []
    for _ in range(_DRAWS):
        chosen = rng.integers(len(parts), size=len(parts))
        places = np.concatenate([parts[at] for at in chosen])
        ids = np.repeat(np.arange(len(parts)), [len(parts[at]) for at in chosen])
        p = p_lie if p_lie is not None else float(rng.beta(size * rate + 0.5, size * (1 - rate) + 0.5))
        shares = runs.shares[:, places]
        if not np.isnan(shares).all():
            drawn.append(gives(measured(replace(runs, shares=shares, clusters=ids)).at(p)))
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
