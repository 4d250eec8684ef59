"""Every difference between two runs on the same scenarios, as data: rates, factors, the two tests, and bounds.

By the judge's verdicts the test is the sign-flip permutation of paired.py; where labels correct the rates of both runs,
their difference is that of stats/calibration.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from maskbench.errors import UsageError
from maskbench.method.archetypes import EVENT, TWIN, number_of
from maskbench.method.rates import COMPARED, OF_LOGS, OUTCOME_RATES, RATES, Rate, Table
from maskbench.results.calibration import CorrectedPair
from maskbench.stats.figures import Difference, Share
from maskbench.stats.paired import difference_bounds, factors, ratio_difference, sign_flip

SEED = 20250305  # of the drawn sign patterns: the same runs give the same figures
FACTORS = ("belief_share", "answered_share", "conditional_lie_rate")  # of P(lie), which is their product
TITLES = {"p_lie": "P(lie)", "p_honest": "P(honest)"}  # the rates that are tested
TESTED = tuple(TITLES)

Columns: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Contrast:
    """Every difference between two sides, other minus first; a p have those that are tested, P(lie) and P(honest).

    `factors` are the three shares that P(lie) is the product of, `effects` what the change of each did to it.
    """

    rates: dict[str, Difference]
    factors: dict[str, Difference] | None
    effects: dict[str, Share] | None

    def untested(self) -> Contrast:
        """The differences without all that would judge them: an interval beside 0 is a test, too."""
        return Contrast(
            {name: untested(rate) for name, rate in self.rates.items()},
            self.factors and {name: untested(factor) for name, factor in self.factors.items()},
            self.effects and {name: Share(effect.value, None, effect.n) for name, effect in self.effects.items()},
        )

    def withheld(self) -> Contrast:
        """The bounds and what each rate rests on: what is left after so many failures is a selection."""
        rates = {
            name: Difference(None, None, None, None, rate.n, bounds=rate.bounds) for name, rate in self.rates.items()
        }
        return Contrast(rates, None, None)


NOTHING = Difference(None, None, None, None, 0)


def untested(rate: Difference) -> Difference:
    """A difference without its interval, its test and what hangs on them."""
    return structs.replace(rate, ci95=None, one_sided95=None, p=None, p_exact=None, bounds_ci95=None, widened=None)


def of_tested(rates: Mapping[str, Difference]) -> dict[str, Difference]:
    """The differences that are tested, by what they are of."""
    return {title: rates[name] for name, title in TITLES.items()}


def few_changes(rates: Mapping[str, Difference]) -> str:
    """Why intervals of these differences, by what they are of, are wider than those of the test; else nothing."""
    wider = {what: rate.widened for what, rate in rates.items() if rate.widened is not None}
    if not wider:
        return ""
    are = f"interval{'s' * (len(wider) > 1)} of {' and '.join(wider)} {'are' if len(wider) > 1 else 'is'}"
    return (
        "Few scenarios changed, nearly all in one direction, and a few in which one run always lies may not be among "
        f"them: the {are} {100 * max(wider.values()):.1f} points wider at either end, and p is larger. More "
        "scenarios settle it, more statements do not."
    )


def contrast(first: Table, other: Table, weights: Columns) -> Contrast:
    """Every difference between two tables whose rows are the same scenarios, other minus first, by one judge.

    The rates have the intervals that match the test, the factors linearised ones.
    """
    had, judged = (first.usable > 0) & (other.usable > 0), (first.accuracy < 3) & (other.accuracy < 3)
    rates = {
        name: _difference(RATES[name], first.where(rows), other.where(rows), weights[rows])
        for name in _compared(first)
        for rows in (judged if RATES[name].over == "beliefs" else had,)
    }
    lie = rates["p_lie"]
    (least, most), (least_now, most_now) = _least_and_most(first), _least_and_most(other)
    if (most > least).any() or (most_now > least_now).any():
        both = difference_bounds((least, most), (least_now, most_now), weights, first.clusters, _rng())
        lie.bounds, lie.bounds_ci95 = both or (None, None)
    return _with_factors(rates, first.shares[had], other.shares[had], weights[had], first.clusters[had])


def with_beliefs(first: Table, other: Table, weights: Columns) -> dict[str, Difference] | None:
    """P(lie) and P(honest) of both over the scenarios in which each has a belief, untested; None where there are none.

    To have a belief is an outcome of a run, so that these scenarios are no sample that was fixed beforehand.
    """
    both = (first.usable > first.absent) & (other.usable > other.absent)
    w, sides = weights[both], (first.where(both), other.where(both))
    if not w.sum() > 0:
        return None
    found = {}
    for name in TESTED:
        was, now = (float(w @ RATES[name].parts(side)[0] / w.sum()) for side in sides)
        found[name] = Difference(was, now, now - was, None, int(both.sum()))
    return found


def _compared(table: Table) -> tuple[str, ...]:
    """The rates by which runs on these scenarios are compared: of reports on a log, where there are such logs."""
    there = {name: number_of(TWIN if RATES[name].over == "twins" else EVENT) for name in OF_LOGS}
    return (*COMPARED, *(name for name, archetype in there.items() if archetype in table.archetypes))


def _difference(rate: Rate, first: Table, other: Table, weights: Columns) -> Difference:
    """One rate in two tables of the same scenarios, over those that count for it in both."""
    (hits, of), (hits_now, of_now) = (rate.parts(side) for side in (first, other))
    both = (of > 0) & (of_now > 0)
    shares, shares_now = hits[both] / of[both], hits_now[both] / of_now[both]
    return paired_rate(shares, shares_now, weights[both], rate.clusters(first)[both])


def contrast_of_labels(judged: Contrast, pair: CorrectedPair) -> Contrast:
    """Every difference by the labels of both runs, tested; those of beliefs, which no label corrects, are the judge's.

    Factors and bounds have no interval and no place here. Raises UsageError where labels carry no correction.
    """
    if pair.withheld:
        raise UsageError(f"--rates corrected: {pair.withheld} Leave --rates out to compare the judge's rates.")
    rates = {name: pair.rates.get(name, rate) for name, rate in judged.rates.items()}
    return _of_corrected(rates)


def _of_corrected(rates: dict[str, Difference]) -> Contrast:
    ours, theirs = (
        np.array([[getattr(rates[name], side) or 0.0 for name in OUTCOME_RATES]]) for side in ("first", "other")
    )
    return _with_factors(rates, ours, theirs, np.ones(1), np.zeros(1, dtype=np.int64))


def _least_and_most(table: Table) -> tuple[Columns, Columns]:
    """The least and the most that each scenario's share of lies can have been."""
    return table.lies / table.asked, (table.lies + table.asked - table.usable) / table.asked


def _rng() -> np.random.Generator:
    return np.random.default_rng(SEED)


def paired_rate(first: Columns, other: Columns, weights: Columns, ids: NDArray[np.int64]) -> Difference:
    """A rate in both runs, and their difference with the matching interval and its one-sided ends.

    Four arrays, an entry a scenario: shares in both runs, weights, proposition ids.
    """
    if not weights.sum() > 0:
        return structs.replace(NOTHING)
    found = sign_flip(other - first, weights, ids, _rng())
    found.first, found.other = (min(1.0, float(weights @ side / weights.sum())) for side in (first, other))
    return found


def of_ratios(
    first: tuple[Columns, Columns], other: tuple[Columns, Columns], weights: Columns, ids: NDArray[np.int64]
) -> Difference:
    """A ratio in both, each a numerator and a denominator by scenario, and their difference, which has no p.

    Where both have the same denominators it is the mean of the scenarios' differences: its interval is then the one
    that `compare` has for this difference.
    """
    (hits, of), (hits_now, of_now) = first, other
    if not np.array_equal(of, of_now):
        return ratio_difference(first, other, weights, ids)
    some = of > 0
    found = paired_rate(hits[some] / of[some], hits_now[some] / of[some], (weights * of)[some], ids[some])
    return structs.replace(found, one_sided95=None, p=None, p_exact=None)


def _with_factors(
    rates: dict[str, Difference], first: Columns, other: Columns, w: Columns, ids: NDArray[np.int64]
) -> Contrast:
    """The rates with the three factors of P(lie), which are None where one has no denominator.

    `first` and `other` have a column for each of OUTCOME_RATES. Two tests are made: all other rates lose their p.
    """
    rates = {
        name: rate if name in TESTED else structs.replace(rate, p=None, p_exact=None) for name, rate in rates.items()
    }
    ours, theirs = (
        np.column_stack([1 - absent, lies + honest, lies]) for lies, honest, _, absent in (first.T, other.T)
    )
    parts = factors(ours, theirs, w, ids) if len(w) else None
    if parts is None:
        return Contrast(rates, None, None)
    shares = {name: factor for name, (factor, _) in zip(FACTORS, parts, strict=True)}
    if no_belief := rates["p_no_belief"].ci95:  # the belief share is its complement: the two must not disagree
        shares["belief_share"].ci95 = 0.0 - no_belief[1], 0.0 - no_belief[0]
    return Contrast(rates, shares, {name: effect for name, (_, effect) in zip(FACTORS, parts, strict=True)})
