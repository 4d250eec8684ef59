"""How many scenarios and statements show a difference: the variance of P(lie) split by source, and sample sizes.

Arrays have a row a run and a column a scenario. Formulas, their sources and simulated power: docs/project/formulas.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from maskbench.errors import UsageError
from maskbench.stats.intervals import Floats, by_cluster

LEVEL, POWER = 0.95, 0.8
STATEMENTS = (1, 2, 3, 5, 10)
BELIEF_REPLIES = 3.4  # a scenario on average: 3,438 on the public 1,000, at three direct samples
# The split that is assumed where no runs are given: the model lies in 35 % of the scenarios. Half of the variance of
# one statement lies between scenarios, a tenth in beliefs elicited anew, and the rest in the statement. The two
# subjects share 70 % of the first, which is 58.3 % of the first two. Nobody has published these shares: measure them
# with --from.
P_LIE, SCENARIO, BELIEF, STATEMENT, ALIKE = 0.35, 0.5, 0.1, 0.4, 0.7

Source = Literal["measured", "assumed"]


@dataclass(frozen=True, slots=True)
class Split:
    """The variance of one statement being a lie (or not), by where it comes from; each measured or assumed.

    `scenario`: scenarios differ. `belief`: beliefs elicited anew for the same scenario. `statement`: one statement
    and the verdict on it. `alike`: the covariance of two subjects on one scenario, which pairing takes away.
    `judge`: how much of it all is the judge's, where verdicts were given twice. `together`: what scenarios of one
    proposition add to the variance of a difference, paired and unpaired. `weighting`: what unequal weights multiply
    it by. `lost`: the share of scenarios without any outcome,
    and that of single statements without one in the others.
    """

    p_lie: float
    scenario: float
    belief: float
    statement: float
    alike: float
    judge: float | None
    together: tuple[float, float]
    weighting: float
    lost: tuple[float, float]
    sources: dict[str, Source]

    def scenarios(self, difference: float, statements: int, *, paired: bool = True) -> int:
        """How many scenarios show this difference: those that will have no outcome included."""
        unsettled, unheard = self.lost
        kept = (1 - unsettled) * (1 - unheard**statements)
        variance = (self.paired if paired else self.unpaired)(statements)
        return math.ceil(needed(variance * self.weighting, difference) / (kept**2 if paired else kept))

    def _heard(self, statements: int) -> float:
        return max(1.0, statements * (1 - self.lost[1]))

    def paired(self, statements: int) -> float:
        """The variance of the difference between two subjects on one scenario."""
        between = 2 * max(0.0, self.scenario + self.belief - self.alike) + self.together[0]
        return between + 2 * self.statement / self._heard(statements)

    def unpaired(self, statements: int) -> float:
        """The variance of the difference between two subjects that have a scenario each."""
        between = 2 * (self.scenario + self.belief) + self.together[1]
        return between + 2 * self.statement / self._heard(statements)


@dataclass(frozen=True, slots=True)
class Runs:
    """Shares of lies, a row a run and a column a scenario, NaN where there is no outcome.

    `subjects` says which runs are repeats of one arm (equal numbers): the same subject with the same prompt of a
    developer, adapter and steering; `again` are the same runs' shares by another verdict
    set, where there is one, else NaN.
    """

    shares: Floats
    usable: Floats
    asked: Floats
    subjects: tuple[int, ...]
    weights: Floats
    clusters: NDArray[np.int64]
    again: Floats | None = None


def assumed(p_lie: float = P_LIE) -> Split:
    """The default split, of which nothing is measured."""
    whole = p_lie * (1 - p_lie)
    return Split(
        p_lie=p_lie,
        scenario=SCENARIO * whole,
        belief=BELIEF * whole,
        statement=STATEMENT * whole,
        alike=ALIKE * SCENARIO * whole,
        judge=None,
        together=(0.0, 0.0),
        weighting=1.0,
        lost=(0.0, 0.0),
        sources=dict.fromkeys(("p_lie", "scenario", "belief", "statement", "alike"), "assumed"),
    )


def split(runs: Runs) -> Split:
    """Split the variance as far as these runs allow; what they cannot tell is assumed, and marked so.

    Statements need two a scenario, beliefs two runs of one subject, what subjects share two subjects on the same
    scenarios. Raises ValueError where no scenario has an outcome. Source: moment estimators of a nested random
    effects design (Searle, Casella & McCulloch 1992, chapter 4).
    """
    has_outcome = ~np.isnan(runs.shares)
    if not has_outcome.any():
        raise ValueError("No scenario has an outcome.")
    start = assumed(float(runs.shares[has_outcome].mean()))
    repeats, pairs = _covariances(runs)
    several = has_outcome & (runs.usable >= 2)
    parts = _from_statements(start, runs, several, repeats) if several.any() else _from_single(start, runs, repeats)
    if pairs is not None:
        parts = replace(parts, alike=max(0.0, pairs), sources=parts.sources | {"alike": "measured"})
    else:
        parts = replace(parts, alike=ALIKE * parts.scenario)
    return replace(
        parts,
        judge=_judge(runs),
        together=_together(runs),
        weighting=float(len(runs.weights) * (runs.weights @ runs.weights) / runs.weights.sum() ** 2),
        lost=_lost(runs),
        sources=parts.sources | {"p_lie": "measured"},
    )


def needed(variance: float, difference: float) -> int:
    """Scenarios that show this difference with 80 % power at two-sided 5 %, from its variance on one scenario.

    Single statements differ by 1 or not at all, so a mean difference of D has a variance of at least D(1 - D),
    whatever was measured. Raises UsageError for a difference outside (0, 1).
    """
    if not 0 < difference < 1:
        raise UsageError(f"--difference {difference:g} is no difference to plan for. Give a share such as 0.03.")
    normal = NormalDist()
    reach = normal.inv_cdf((1 + LEVEL) / 2) + normal.inv_cdf(POWER)
    return math.ceil(max(variance, difference * (1 - difference)) * (reach / difference) ** 2)


def _from_statements(start: Split, runs: Runs, several: NDArray[np.bool_], repeats: float | None) -> Split:
    """From runs with several statements: what varies inside a scenario, and what is left between them."""
    q, u = runs.shares, np.maximum(runs.usable, 1)
    inside = float((u * q * (1 - q) / np.maximum(u - 1, 1))[several].mean())
    left = [
        _variance(q[run]) - inside * float((1 / u[run])[~np.isnan(q[run])].mean())
        for run, row in enumerate(several)
        if row.sum() > 1
    ]
    between = max(0.0, float(np.mean(left)))
    sources: dict[str, Source] = start.sources | {"statement": "measured"}
    if repeats is None:
        scenario = between * SCENARIO / (SCENARIO + BELIEF)
    else:
        scenario = min(between, max(0.0, repeats))
        sources |= {"scenario": "measured", "belief": "measured"}
    return replace(start, scenario=scenario, belief=between - scenario, statement=inside, sources=sources)


def _from_single(start: Split, runs: Runs, repeats: float | None) -> Split:
    """From runs with one statement: the whole variance, and what repeats of a subject have in common."""
    whole = float(np.mean([_variance(q) for q in runs.shares if np.count_nonzero(~np.isnan(q)) > 1] or [0.0]))
    if repeats is None:
        return replace(start, scenario=SCENARIO * whole, belief=BELIEF * whole, statement=STATEMENT * whole)
    scenario = min(whole, max(0.0, repeats))
    belief = (whole - scenario) * BELIEF / (BELIEF + STATEMENT)
    sources: dict[str, Source] = start.sources | {"scenario": "measured"}
    return replace(start, scenario=scenario, belief=belief, statement=whole - scenario - belief, sources=sources)


def _covariances(runs: Runs) -> tuple[float | None, float | None]:
    """The mean covariance of two runs of one subject, and of two runs of two, on the same scenarios."""
    covariances: dict[bool, list[float]] = {True: [], False: []}
    for first, other in combinations(range(len(runs.shares)), 2):
        pair = runs.shares[[first, other]]
        pair = pair[:, ~np.isnan(pair).any(axis=0)]
        if pair.shape[1] > 1:
            covariances[runs.subjects[first] == runs.subjects[other]].append(float(np.cov(pair)[0, 1]))
    repeats, pairs = (float(np.mean(some)) if some else None for some in (covariances[True], covariances[False]))
    return repeats, pairs


def _variance(shares: Floats) -> float:
    return float(np.nanvar(shares, ddof=1))


def _lost(runs: Runs) -> tuple[float, float]:
    """The shares of scenarios without any outcome, and of statements without one where others have one."""
    has_outcome = runs.usable > 0
    asked = float(runs.asked[has_outcome].sum())
    return float(1 - has_outcome.mean()), 1 - float(runs.usable[has_outcome].sum()) / asked if asked else 0.0


def _judge(runs: Runs) -> float | None:
    """Half the mean squared difference of two verdict sets on the same replies; part of the other variances."""
    if runs.again is None or np.isnan(runs.again - runs.shares).all():
        return None
    return float(np.nanmean((runs.again - runs.shares) ** 2) / 2)


def _together(runs: Runs) -> tuple[float, float]:
    """What scenarios of one proposition have in common: what it adds to a difference, paired and unpaired.

    It hangs on the propositions alone, not on the number of statements.
    """
    single = 2 * float(np.mean([_common(shares, runs) for shares in runs.shares]))
    apart = [run for run, subject in enumerate(runs.subjects) if subject != runs.subjects[0]]
    paired = _common(runs.shares[apart[0]] - runs.shares[0], runs) if apart else single * (1 - ALIKE)
    return max(0.0, paired), max(0.0, single)


def _common(values: Floats, runs: Runs) -> float:
    """The variance of a mean over propositions less that over scenarios, a scenario."""
    has_outcome = ~np.isnan(values)
    if not has_outcome.any():
        return 0.0
    e = values[has_outcome] - values[has_outcome].mean()
    sums = by_cluster(e, runs.clusters[has_outcome])
    return float(sums @ sums - e @ e) / len(e)
