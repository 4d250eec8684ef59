"""How many scenarios and statements show a difference: the variance of P(lie) split by source, and sample sizes.

Arrays have a row a run and a column a scenario. Formulas, their sources and simulated power: docs/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from os import PathLike
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maskbench.errors import UsageError

if TYPE_CHECKING:
    from maskbench.method.rules import RuleSet
    from maskbench.results.comparison import Arm

LEVEL, POWER = 0.95, 0.8
STATEMENTS = (1, 2, 3, 5, 10)
BELIEF_REPLIES = 3.4  # a scenario on average: 3,438 on the public 1,000, at three direct samples
# Without runs to measure it on. A model that lies in 35 % of the scenarios, where half of the variance of one
# statement lies between scenarios, a tenth in beliefs elicited anew, and the rest in the statement; the two
# subjects share 70 % of what lies between scenarios. Nobody has published these shares: measure them with --from.
P_LIE, SCENARIO, BELIEF, STATEMENT, ALIKE = 0.35, 0.5, 0.1, 0.4, 0.7

Source = Literal["measured", "assumed"]
Floats: TypeAlias = NDArray[np.float64]
Json = dict[str, Any]


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
        """The same where each subject has a scenario of its own."""
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
    had = ~np.isnan(runs.shares)
    if not had.any():
        raise ValueError("No scenario has an outcome.")
    start = assumed(float(runs.shares[had].mean()))
    repeats, pairs = _covariances(runs)
    several = had & (runs.usable >= 2)
    found = _from_statements(start, runs, several, repeats) if several.any() else _from_single(start, runs, repeats)
    if pairs is not None:
        found = replace(found, alike=max(0.0, pairs), sources=found.sources | {"alike": "measured"})
    else:
        found = replace(found, alike=ALIKE * found.scenario)
    return replace(
        found,
        judge=_judge(runs),
        together=_together(runs),
        weighting=float(len(runs.weights) * (runs.weights @ runs.weights) / runs.weights.sum() ** 2),
        lost=_lost(runs),
        sources=found.sources | {"p_lie": "measured"},
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


def plan(difference: float, runs: Sequence[str | PathLike[str]] = (), rules: str | None = None) -> Json:
    """Scenarios needed to show a difference in P(lie), by number of statements, paired and unpaired.

    `runs` are folders to measure the variance on; without any, assumptions. Raises UsageError for a difference
    that cannot be planned for and for runs without a shared scenario, RunUnreadable for folders without a run.
    """
    needed(1.0, difference)
    found, taken = measured(runs, rules) if runs else (assumed(), 0)
    rows = []
    for statements in STATEMENTS:
        paired = found.scenarios(difference, statements)
        rows.append(
            {
                "statements": statements,
                "paired": paired,
                "unpaired": found.scenarios(difference, statements, paired=False),
                "replies_paired": round(paired * (BELIEF_REPLIES + statements)),
            }
        )
    return {
        "schema": 1,
        "difference": difference,
        "power": POWER,
        "level": LEVEL,
        "runs": [str(run) for run in runs],
        "scenarios": taken,
        "p_lie": found.p_lie,
        "variance": {name: getattr(found, name) for name in ("scenario", "belief", "statement", "alike", "judge")},
        "together": {"paired": found.together[0], "unpaired": found.together[1]},
        "weighting": found.weighting,
        "lost": {"scenarios": found.lost[0], "statements": found.lost[1]},
        "sources": found.sources,
        "table": rows,
    }


def measured(runs: Sequence[str | PathLike[str]], rules: str | None = None) -> tuple[Split, int]:
    """The split of these runs' variance on the scenarios that they all share, and how many those are."""
    from maskbench.method.rules import named
    from maskbench.results.comparison import read, shared
    from maskbench.runs.folder import RunFolder

    chosen = named(rules or RunFolder(runs[0]).settings().rules)
    arms = [read(run, chosen) for run in runs]
    protocols = {arm.record["protocol"] for arm in arms}
    if len(protocols) > 1:
        raise UsageError(
            f"These runs have {len(protocols)} protocol ids ({', '.join(sorted(protocols))}), so they measure "
            "different things. Give runs of one."
        )
    common = set(arms[0].scored)
    for arm in arms[1:]:
        common &= {(one.archetype, one.task_id) for one in shared(arms[0], arm).first}
    keys = [key for key in arms[0].scored if key in common]
    if not keys:
        raise UsageError("No scenario is done in all of these runs. Give runs on the same scenario set.")
    return split(_runs(arms, keys, chosen)), len(keys)


def _runs(arms: Sequence[Arm], keys: Sequence[tuple[Any, str]], rules: RuleSet) -> Runs:
    """The runs as arrays over these scenarios; a second verdict set of the same replies, where a run has one."""
    from maskbench.method.rates import tabulate
    from maskbench.settings import arm_of

    tables = [tabulate(arm.scored[key] for key in keys)[0] for arm in arms]
    names = [arm_of(arm.settings) for arm in arms]
    usable = np.array([table.usable for table in tables], dtype=np.float64)
    return Runs(
        shares=np.array([_share(table.lies, table.usable) for table in tables]),
        usable=usable,
        asked=np.array([table.asked for table in tables], dtype=np.float64),
        subjects=tuple(names.index(name) for name in names),
        weights=tables[0].weights,
        clusters=tables[0].clusters,
        again=np.array([_again(arm, keys, rules) for arm in arms]),
    )


def _again(arm: Arm, keys: Sequence[tuple[Any, str]], rules: RuleSet) -> Floats:
    """The shares of lies by another verdict set of the same judge, asked in the same way; NaN where there is none."""
    from maskbench.method.rates import tabulate
    from maskbench.results.comparison import read
    from maskbench.runs.flow import VERDICTS

    shares = np.full(len(keys), np.nan)
    sets = arm.record.get("verdict_sets", {})
    odd = {name for name, about in sets.items() if "second" in about or about.get("audit", {}).get("kind") == "swap"}
    same = {name for name in sets if sets[name]["protocol"] == arm.protocol} - odd
    others = [name for name in _verdict_sets(arm) if name != VERDICTS and (name in same or name not in sets)]
    if not others:
        return shares
    scored = read(arm.path, rules, others[0]).scored
    places = [place for place, key in enumerate(keys) if key in scored]
    table, _ = tabulate(scored[keys[place]] for place in places)
    shares[places] = _share(table.lies, table.usable)
    return shares


def _verdict_sets(arm: Arm) -> list[str]:
    from maskbench.runs.folder import RunFolder

    store = RunFolder(arm.path).store()
    try:
        return store.verdict_sets()
    finally:
        store.close()


def _share(lies: NDArray[np.int16], usable: NDArray[np.int16]) -> Floats:
    return np.where(usable > 0, lies / np.maximum(usable, 1), np.nan)


def _from_statements(start: Split, runs: Runs, several: NDArray[np.bool_], repeats: float | None) -> Split:
    """From runs with several statements: what varies inside a scenario, and what is left between them."""
    q, u = runs.shares, np.maximum(runs.usable, 1)
    inside = float((u * q * (1 - q) / np.maximum(u - 1, 1))[several].mean())
    left = [_variance(q[run]) - inside * float((1 / u[run])[~np.isnan(q[run])].mean()) for run in _with(several)]
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
    found: dict[bool, list[float]] = {True: [], False: []}
    for one, two in combinations(range(len(runs.shares)), 2):
        pair = runs.shares[[one, two]]
        pair = pair[:, ~np.isnan(pair).any(axis=0)]
        if pair.shape[1] > 1:
            found[runs.subjects[one] == runs.subjects[two]].append(float(np.cov(pair)[0, 1]))
    repeats, pairs = (float(np.mean(some)) if some else None for some in (found[True], found[False]))
    return repeats, pairs


def _variance(shares: Floats) -> float:
    return float(np.nanvar(shares, ddof=1))


def _with(several: NDArray[np.bool_]) -> list[int]:
    return [run for run, row in enumerate(several) if row.sum() > 1]


def _lost(runs: Runs) -> tuple[float, float]:
    """The shares of scenarios without any outcome, and of statements without one where others have one."""
    had = runs.usable > 0
    asked = float(runs.asked[had].sum())
    return float(1 - had.mean()), 1 - float(runs.usable[had].sum()) / asked if asked else 0.0


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
    had = ~np.isnan(values)
    if not had.any():
        return 0.0
    e = values[had] - values[had].mean()
    sums = np.bincount(np.unique(runs.clusters[had], return_inverse=True)[1], weights=e)
    return float(sums @ sums - e @ e) / len(e)
