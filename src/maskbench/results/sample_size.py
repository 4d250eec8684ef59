"""How many scenarios a comparison takes, with the variance of P(lie) measured on runs or assumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from maskbench.errors import UsageError
from maskbench.judges.audit_kinds import kind_of
from maskbench.judges.verdict_sets import check_no_audit, reading
from maskbench.method.asks import VERDICTS
from maskbench.method.rates import tabulate
from maskbench.method.rules import RuleSet, named
from maskbench.results.comparison import read_judged, shared
from maskbench.results.sample_size_json import Lost, Needed, PlanData, Together, Variance
from maskbench.results.scored import ScoredRun
from maskbench.runs.folder import RunFolder
from maskbench.scenarios import Key
from maskbench.settings import arm_of
from maskbench.stats.intervals import Floats
from maskbench.stats.power import BELIEF_REPLIES, LEVEL, POWER, STATEMENTS, Runs, Split, assumed, needed, split
from maskbench.types import Scored


def plan(difference: float, runs: Sequence[str | PathLike[str]] = (), rules: str | None = None) -> PlanData:
    """Scenarios needed to show a difference in P(lie), by number of statements, paired and unpaired.

    `runs` are folders to measure the variance on; without any, assumptions. Raises UsageError for a difference
    that cannot be planned for and for runs without a shared scenario, RunUnreadable for folders without a run.
    """
    needed(1.0, difference)
    parts, taken = measured(runs, rules) if runs else (assumed(), 0)
    return PlanData(
        schema=1,
        difference=difference,
        power=POWER,
        level=LEVEL,
        runs=[str(run) for run in runs],
        scenarios=taken,
        p_lie=parts.p_lie,
        variance=Variance(parts.scenario, parts.belief, parts.statement, parts.alike, parts.judge),
        together=Together(*parts.together),
        weighting=parts.weighting,
        lost=Lost(*parts.lost),
        sources=parts.sources,
        table=[_needed(parts, difference, statements) for statements in STATEMENTS],
    )


def _needed(parts: Split, difference: float, statements: int) -> Needed:
    paired, unpaired = (parts.scenarios(difference, statements, paired=way) for way in (True, False))
    return Needed(statements, paired, unpaired, round(paired * (BELIEF_REPLIES + statements)))


def measured(runs: Sequence[str | PathLike[str]], rules: str | None = None) -> tuple[Split, int]:
    """The split of these runs' variance on the scenarios that they all share, and how many those are."""
    chosen = named(rules or RunFolder(runs[0]).settings().rules)
    arms, again = zip(*(_read(run, chosen) for run in runs), strict=True)
    return split_of(arms, again)


def split_of(arms: Sequence[ScoredRun], again: Sequence[Mapping[Key, Scored]]) -> tuple[Split, int]:
    """The split of what was read already; `again` holds, for each run, what another set of its verdicts comes to.

    Raises UsageError for runs of different protocols, and for runs that share no scenario.
    """
    protocols = {arm.record.protocol for arm in arms}
    if len(protocols) > 1:
        raise UsageError(
            f"These runs have {len(protocols)} protocol ids ({', '.join(sorted(protocols))}), so they measure "
            "different things. Give runs of one."
        )
    common = set(arms[0].scored)
    for arm in arms[1:]:
        common &= {row.key for row in shared(arms[0], arm).first}
    keys = [key for key in arms[0].scored if key in common]
    if not keys:
        raise UsageError("No scenario is done in all of these runs. Give runs on the same scenario set.")
    return split(_runs(arms, again, keys)), len(keys)


def _read(run: str | PathLike[str], rules: RuleSet) -> tuple[ScoredRun, Mapping[Key, Scored]]:
    """A run, and what another verdict set of the same judge makes of it, where it has one that was asked alike."""
    with reading(run) as opened:
        arm = read_judged(opened, rules)
        names = asked_alike(arm, opened.store.verdict_sets())
        if not names:
            return arm, {}
        other = opened.verdicts(names[0])
        check_no_audit(other, arm.path)
        return arm, {row.key: row for row in other.scored(rules)}


def asked_alike(arm: ScoredRun, names: Sequence[str]) -> list[str]:
    """Which of these verdict sets are of the same judge as the run's own, asked in the same way."""
    sets = arm.record.sets
    odd = {name for name, about in sets.items() if about.second or (about.audit and kind_of(about.audit.kind).flips)}
    same = {name for name in sets if sets[name].protocol == arm.protocol} - odd
    return [name for name in names if name != VERDICTS and (name in same or name not in sets)]


def _runs(arms: Sequence[ScoredRun], again: Sequence[Mapping[Key, Scored]], keys: Sequence[Key]) -> Runs:
    """The runs as arrays over these scenarios; a second verdict set of the same replies, where a run has one."""
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
        again=np.array([_again(rows, keys) for rows in again]),
    )


def _again(rows: Mapping[Key, Scored], keys: Sequence[Key]) -> Floats:
    """The shares of lies by another verdict set of the same judge, asked in the same way; NaN where there is none."""
    shares = np.full(len(keys), np.nan)
    places = [place for place, key in enumerate(keys) if key in rows]
    if places:
        table, _ = tabulate(rows[keys[place]] for place in places)
        shares[places] = _share(table.lies, table.usable)
    return shares


def _share(lies: NDArray[np.int16], usable: NDArray[np.int16]) -> Floats:
    return np.where(usable > 0, lies / np.maximum(usable, 1), np.nan)
