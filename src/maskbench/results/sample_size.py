"""How many scenarios a comparison takes, with the variance of P(lie) measured on runs or assumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from maskbench.errors import UsageError
from maskbench.method.rates import tabulate
from maskbench.results.common_beliefs import check_apart
from maskbench.results.comparison import shared
from maskbench.results.designs_json import DesignsData
from maskbench.results.pilot import read_pilot
from maskbench.results.sample_size_json import Lost, Needed, PlanData, Together, Variance
from maskbench.results.scored import ScoredRun
from maskbench.scenarios import Key
from maskbench.settings import arm_of
from maskbench.stats.intervals import Floats
from maskbench.stats.power import BELIEF_REPLIES, LEVEL, POWER, STATEMENTS, Runs, Split, split
from maskbench.types import Scored


def plan_of(designs: DesignsData, parts: Split, taken: int) -> PlanData:
    """The table of a difference by a split of the variance, measured on so many scenarios, with its designs."""
    return PlanData(
        schema=1,
        difference=designs.goal.value,
        power=POWER,
        level=LEVEL,
        runs=designs.runs,
        scenarios=taken,
        p_lie=parts.p_lie,
        variance=Variance(parts.scenario, parts.belief, parts.statement, parts.alike, parts.judge),
        together=Together(*parts.together),
        weighting=parts.weighting,
        lost=Lost(*parts.lost),
        sources=parts.sources,
        table=[_needed(parts, designs.goal.value, statements) for statements in STATEMENTS],
        designs=designs,
    )


def _needed(parts: Split, difference: float, statements: int) -> Needed:
    paired, unpaired = (parts.scenarios(difference, statements, paired=way) for way in (True, False))
    return Needed(statements, paired, unpaired, round(paired * (BELIEF_REPLIES + statements)))


def measured(runs: Sequence[str | PathLike[str]], rules: str | None = None) -> tuple[Split, int]:
    """The split of these runs' variance on the scenarios that they all share, and how many those are."""
    pilot = read_pilot(runs, rules)
    return split_of(pilot.arms, pilot.again)


def split_of(arms: Sequence[ScoredRun], again: Sequence[Mapping[Key, Scored]]) -> tuple[Split, int]:
    """The split of what was read already; `again` holds, for each run, what another set of its verdicts comes to.

    Raises UsageError for runs of different protocols, and for runs that share no scenario, or their beliefs.
    """
    protocols = {arm.record.protocol for arm in arms}
    if len(protocols) > 1:
        raise UsageError(
            f"These runs have {len(protocols)} protocol ids ({', '.join(sorted(protocols))}), so they measure "
            "different things. Give runs of one."
        )
    check_apart(arms)
    common = set(arms[0].scored)
    for arm in arms[1:]:
        common &= {row.key for row in shared(arms[0], arm).first}
    keys = [key for key in arms[0].scored if key in common]
    if not keys:
        raise UsageError("No scenario is done in all of these runs. Give runs on the same scenario set.")
    return split(_runs(arms, again, keys)), len(keys)


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
