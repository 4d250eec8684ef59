"""Every difference between two runs on the same scenarios, as data: rates, factors, the one test, and bounds.

By one judge the test is the sign-flip permutation of paired.py; where a second judge looked at a part of the
scenarios, that of two_phase.py, which carries the draw. A narrower reading of P(lie) is compared as P(lie) is, where
one judge answered the same questions on both runs: a lie that is not of the reading counts as no lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from msgspec import UNSET, UnsetType, structs
from numpy.typing import NDArray

from maskbench.judges.second_look import Key, Phases
from maskbench.method.rates import Table
from maskbench.results.comparison_json import Bounds, PairedFactor, PairedFactors, PairedRate, PairedRates, Test
from maskbench.results.construct_asked import READINGS
from maskbench.results.rate_source import Looked
from maskbench.results.scored import ScoredRun
from maskbench.stats.figures import Ends, ends
from maskbench.stats.paired import (
    FLIPS,
    LEVEL,
    Factor,
    SignFlip,
    difference_bounds,
    factors,
    sign_flip,
)
from maskbench.stats.two_phase import LookedDifference, expand, few_drawn, looked_difference

SEED = 20250305  # of the drawn sign patterns: the same runs give the same figures
SHARES = ("p_lie", "p_honest", "p_evasive", "p_no_belief")

Columns: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Side:
    """One run's columns, a row a scenario.

    `shares` has a column for each of SHARES, over the statements of scenarios that are `usable`; `right` is 1 for a
    right belief among those that are `judged`; `least` and `most` are what its share of lies could have been. `few`
    is None for one judge, else the variance that stands for what a second judge's few looks could not show.
    """

    shares: Columns
    usable: NDArray[np.bool_]
    right: Columns
    judged: NDArray[np.bool_]
    least: Columns
    most: Columns
    clusters: NDArray[np.int64]
    few: float | None = None


@dataclass(frozen=True, slots=True)
class Contrast:
    """Every difference between two sides, other minus first; the test is the one on P(lie).

    What is None could not be had, or was taken away.
    """

    rates: PairedRates
    factors: PairedFactors | None
    test: Test | None
    bounds: Bounds | None
    lopsided: bool = False  # as `SignFlip.lopsided`: why there is no test

    def untested(self) -> Contrast:
        """The differences without all that would judge them: an interval beside 0 is a test, too."""
        rates = (structs.replace(rate, ci95=None, one_sided95=None) for rate in self.rates.by_name().values())
        parts = self.factors.by_name().values() if self.factors else ()
        bare = [structs.replace(part, ci95=None, contribution_ci95=None) for part in parts]
        return Contrast(
            PairedRates(*rates),
            PairedFactors(*bare) if bare else None,
            None,
            self.bounds and Bounds(self.bounds.difference, None),
        )

    def withheld(self) -> Contrast:
        """The bounds and what each rate rests on: what is left after so many failures is a selection."""
        rates = (PairedRate(None, None, None, None, None, rate.n) for rate in self.rates.by_name().values())
        return replace(self.untested(), rates=PairedRates(*rates), factors=None)

    def of_lies_alone(self) -> Contrast:
        """What is left where a run was asked only for lies."""
        nothing = PairedRate(None, None, None, None, None, 0)
        others = dict.fromkeys(set(self.rates.by_name()) - {"p_lie"}, nothing)
        return replace(self, rates=structs.replace(self.rates, **others), factors=None)


def one_judge(table: Table) -> Side:
    """The columns of a run that one judge saw."""
    unknown = table.asked - table.usable + table.disputed
    return Side(
        table.shares,
        table.usable > 0,
        (table.accuracy == 0).astype(float),
        table.accuracy < 3,
        table.lies / table.asked,
        (table.lies + unknown) / table.asked,
        table.clusters,
    )


def two_judges(phases: Phases, keys: Sequence[Key], weights: Columns) -> Side:
    """The columns of a run of which a second judge saw a part, for these scenarios, expanded to all that it stands for.

    `weights` has an entry a key.
    """
    looked = Looked.at(phases, keys)
    first, second, times = one_judge(looked.first), one_judge(looked.second), looked.stands_for(weights)
    in_part = first.usable & (looked.chances < 1)
    of_beliefs = looked.stands_for(weights, beliefs=True)
    drawn, share = int((in_part & (times > 0)).sum()), float(weights[in_part].sum() / weights.sum())
    return Side(
        expand(first.shares, second.shares, times),
        first.usable,
        expand(first.right, second.right, of_beliefs),
        first.judged & second.judged,
        expand(first.least, second.least, times),
        expand(first.most, second.most, times),
        first.clusters,
        few_drawn(share, drawn),
    )


def contrast(first: Table, other: Table, weights: Columns) -> Contrast:
    """Every difference between two tables whose rows are the same scenarios, other minus first, by one judge."""
    return differences(one_judge(first), one_judge(other), weights)


def differences(first: Side, other: Side, weights: Columns) -> Contrast:
    """Every difference between two sides whose rows are the same scenarios, other minus first.

    The test is the one on P(lie); the rates have the intervals that match it. The factors have linearised ones, and
    none where a second judge looked at a part.
    """
    had, judged = first.usable & other.usable, first.judged & other.judged
    few = None if first.few is None and other.few is None else (first.few or 0.0) + (other.few or 0.0)
    w, ids = weights[had], first.clusters[had]
    ours, theirs = first.shares[had], other.shares[had]
    shares = [paired_rate(ours[:, at], theirs[:, at], w, ids, few) for at in range(len(SHARES))]
    accuracy = paired_rate(first.right[judged], other.right[judged], weights[judged], first.clusters[judged], few)
    rates = PairedRates(*[*shares, accuracy])
    d = theirs[:, 0] - ours[:, 0]
    tested = _tested(d, w, ids, few)
    return Contrast(
        rates,
        _factors(ours, theirs, w, ids, rates.p_no_belief.ci95, few),
        _test(tested),
        _bounds(first, other, weights, few),
        isinstance(tested, SignFlip) and tested.lopsided,
    )


def _tested(d: Columns, weights: Columns, ids: NDArray[np.int64], few: float | None) -> SignFlip | LookedDifference:
    return sign_flip(d, weights, ids, _rng()) if few is None else looked_difference(d, weights, ids, few)


def _rng() -> np.random.Generator:
    return np.random.default_rng(SEED)


def paired_rate(
    first: Columns, other: Columns, weights: Columns, ids: NDArray[np.int64], few: float | None = None
) -> PairedRate:
    """A rate in both runs, and their difference with the matching interval and its one-sided ends.

    Four arrays, an entry a scenario: shares in both runs, weights, proposition ids. `few` as in `Side`.
    """
    if not weights.sum() > 0:
        return PairedRate(None, None, None, None, None, 0)
    tested = _tested(other - first, weights, ids, few)
    return PairedRate(
        _share(weights @ first / weights.sum()),
        _share(weights @ other / weights.sum()),
        tested.value,
        ends(tested.low, tested.high),
        ends(tested.lower, tested.upper),
        len(weights),
    )


def _share(value: float) -> float:
    """A rate: estimated by two judges it could come out a little below 0 or above 1."""
    return min(1.0, max(0.0, float(value)))


def _test(test: SignFlip | LookedDifference) -> Test | None:
    """The test as that of the only comparison; who makes several adjusts it."""
    if test.p is None:
        return None
    alone = test.p, test.p < 1 - LEVEL
    if isinstance(test, LookedDifference):
        return Test("two-phase difference", test.p, test.clusters, False, None, *alone)
    patterns = None if test.exact is not None else FLIPS + 1
    return Test(
        "cluster sign-flip permutation",
        test.p,
        test.clusters,
        False,
        patterns,
        *alone,
        p_exact=test.exact,
    )


def _factors(
    first: Columns,
    other: Columns,
    w: Columns,
    ids: NDArray[np.int64],
    no_belief: Ends | None,
    few: float | None,
) -> PairedFactors | None:
    """The three factors of P(lie); None where one has no denominator. `no_belief` is the interval of P(no belief)."""
    ours, theirs = (
        np.column_stack([1 - absent, lies + honest, lies]) for lies, honest, _, absent in (first.T, other.T)
    )
    parts = factors(ours, theirs, w, ids) if len(w) else None
    if parts is None:
        return None
    belief, answered, lies = (_factor(part, few is None) for part in parts)
    if no_belief:  # the belief share is its complement: the two must not disagree
        belief = structs.replace(belief, ci95=(0.0 - no_belief[1], 0.0 - no_belief[0]))
    return PairedFactors(belief, answered, lies)


def _factor(factor: Factor, with_intervals: bool) -> PairedFactor:
    change, through = factor.difference, factor.contribution
    return PairedFactor(
        factor.first,
        factor.other,
        change.value,
        ends(change.low, change.high) if with_intervals else None,
        through.value,
        ends(through.low, through.high) if with_intervals else None,
    )


def _bounds(first: Side, other: Side, weights: Columns, few: float | None) -> Bounds | None:
    """Least and greatest difference in P(lie) over all shared scenarios; None where nothing failed or is disputed."""
    if not any((side.most > side.least).any() for side in (first, other)):
        return None
    ids = first.clusters
    if few is None:
        both = difference_bounds((first.least, first.most), (other.least, other.most), weights, ids, _rng())
        return None if both is None else Bounds(*both)
    least = looked_difference(other.least - first.most, weights, ids, few)
    most = looked_difference(other.most - first.least, weights, ids, few)
    if least.value is None or most.value is None:
        return None
    return Bounds((max(-1.0, least.value), min(1.0, most.value)), ends(least.low, most.high))


def readings_compared(
    first: ScoredRun, other: ScoredRun, keys: list[Key], weights: Columns, clusters: NDArray[np.int64], *, tested: bool
) -> dict[str, PairedRate] | UnsetType:
    """Each reading that both runs have, on these scenarios; unset where there is none, or another judge answered."""
    if why_no_readings(first, other) is not None or first.construct is None or other.construct is None:
        return UNSET
    compared: dict[str, PairedRate] = {}
    for name in READINGS:
        ours, theirs = (run.construct.lies(name) for run in (first, other) if run.construct)
        both = [place for place, key in enumerate(keys) if key in ours and key in theirs]
        if both:
            left, right = (np.array([side[keys[place]] for place in both]) for side in (ours, theirs))
            rate = paired_rate(left, right, weights[both], clusters[both])
            compared[name] = rate if tested else structs.replace(rate, ci95=None, one_sided95=None)
    return compared or UNSET


def why_no_readings(first: ScoredRun, other: ScoredRun) -> str | None:
    """Why two runs that were both asked cannot be compared by their readings; None where they can, or one was not."""
    asked = [run.construct.asked for run in (first, other) if run.construct and run.construct.asked]
    if len(asked) < 2:
        return None
    if asked[0].judge != asked[1].judge:
        difference = f"{asked[0].judge} answered for {first.path}, {asked[1].judge} for {other.path}"
    elif other_prompts := [name for name, hash in asked[0].prompts.items() if asked[1].prompts.get(name, hash) != hash]:
        difference = f"{first.path} was asked by other prompts than {other.path} ({', '.join(other_prompts)})"
    else:
        return None
    return f"The readings by the questions on statements (--construct) are not compared: {difference}."
