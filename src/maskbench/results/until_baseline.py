"""The finished run that a question of `--until` holds a new one against: its lies, scenario by scenario."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from maskbench.errors import UsageError
from maskbench.judges.verdict_sets import reading
from maskbench.method.rules import named
from maskbench.method.until import BASELINE, Key, Row, question
from maskbench.results.scored import ScoredRun, read
from maskbench.runs.begin import Taken
from maskbench.settings import Settings, protocol_id
from maskbench.stats.group_sequential import FIRST
from maskbench.types import Scored


def before(settings: Settings, prompts_hash: str, wanted: Taken | None) -> Mapping[Key, tuple[float, float]] | None:
    """The least and the most that each scenario's share of lies is in the baseline; None where there is none.

    Raises UsageError for a baseline that cannot be held against: one that is not complete or was stopped, on other
    scenarios, judged otherwise, or with too few propositions.
    """
    asked = question(settings.until) if settings.until else None
    if asked is None or asked.baseline is None or wanted is None:
        return None
    path = Path(asked.baseline)
    if asked.baseline == BASELINE and not path.exists():
        raise UsageError(f"--until {settings.until!r}: name the run that {BASELINE} stands for with --baseline RUN.")
    with reading(path) as opened:
        this = read(opened, named(settings.rules))
    name = f"--until: the baseline {path}"
    _check(name, this, protocol_id(settings, prompts_hash), wanted)
    there = {scored.key: scored for scored in this.rows}
    _check_scenarios(name, there, wanted.weights)
    return {key: _shares(there[key]) for key in wanted.weights}


def _check(name: str, this: ScoredRun, protocol: str, wanted: Taken) -> None:
    if not this.complete or this.settings.limit is not None:
        raise UsageError(f"{name} did not ask its whole set. Give one that is complete, without --limit and --until.")
    if this.protocol != protocol:
        raise UsageError(
            f"{name} has the protocol {this.protocol}, and this run {protocol}: two judges or samplings make no one "
            "difference. Ask and judge as the baseline did."
        )
    if this.record.scenarios.hash != wanted.hash:
        raise UsageError(f"{name} is on {this.record.scenarios.name}, which holds other scenarios. Use those.")


def _check_scenarios(name: str, there: Mapping[Key, Scored], keys: Collection[Key]) -> None:
    lacking = sum(key not in there for key in keys)
    if lacking:
        raise UsageError(f"{name} lacks {lacking:,} of these {len(keys):,} scenarios. Take the same sample.")
    propositions = len({there[key].proposition.strip() for key in keys})
    if propositions < FIRST:
        raise UsageError(f"{name} shares {propositions} propositions with this run, and the first look is at {FIRST}.")


def _shares(scored: Scored) -> tuple[float, float]:
    row = Row.of(scored, {})
    return row.least, row.most
