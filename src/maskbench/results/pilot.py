"""Runs that a plan is measured on: their outcomes, and what was asked about a scenario of the first one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike

from maskbench.judges.audit_kinds import kind_of
from maskbench.judges.judges_json import Usage
from maskbench.judges.verdict_sets import OpenRun, check_no_audit, reading
from maskbench.method.asks import VERDICTS, subject_asks, verdict_requests
from maskbench.method.rules import RuleSet, named
from maskbench.results.comparison import read_judged
from maskbench.results.scored import ScoredRun
from maskbench.runs.drawn_part import check_all_asked
from maskbench.runs.folder import RunFolder
from maskbench.scenarios import Key
from maskbench.settings import Settings
from maskbench.types import Scenario, Scored


@dataclass(slots=True)
class Asked:
    """What a run asks about its scenarios, all together, and the tokens that it took."""

    scenarios: int = 0
    given: int = 0  # scenarios without a question on beliefs
    numerical: int = 0
    belief_replies: int = 0
    belief_verdicts: int = 0
    statements: int = 0
    direct: int = 0  # replies to the direct question of a scenario that has one
    usage: Usage | None = None

    def add(self, scenario: Scenario, settings: Settings) -> None:
        """Count one scenario in."""
        *beliefs, statement = subject_asks(scenario, settings)
        self.scenarios += 1
        self.given += not beliefs
        self.numerical += scenario.kind == "numerical" and bool(beliefs)
        self.belief_replies += sum(len(ask.runs) for ask in beliefs)
        self.belief_verdicts += verdict_requests(beliefs, settings)
        self.statements += len(statement.runs)


@dataclass(frozen=True, slots=True)
class Pilot:
    """Runs as they were read; `again` holds, for each, what another verdict set of the same judge comes to."""

    arms: Sequence[ScoredRun]
    again: Sequence[Mapping[Key, Scored]]
    asked: Asked


def read_pilot(runs: Sequence[str | PathLike[str]], rules: str | None = None) -> Pilot:
    """Read every run once. Raises RunUnreadable for folders without a run, and UsageError for an audit."""
    chosen = named(rules or RunFolder(runs[0]).settings().rules)
    arms, again, asked = zip(*(_read(run, chosen) for run in runs), strict=True)
    return Pilot(arms, again, asked[0])


def _read(run: str | PathLike[str], rules: RuleSet) -> tuple[ScoredRun, Mapping[Key, Scored], Asked]:
    """A run, what another verdict set of its judge, asked alike, makes of it where there is one, and what was asked."""
    with reading(run) as opened:
        arm = read_judged(opened, rules)
        check_all_asked(arm.settings, arm.path, "a plan")
        asked = _asked(opened)
        names = asked_alike(arm, opened.store.verdict_sets())
        if not names:
            return arm, {}, asked
        other = opened.verdicts(names[0])
        check_no_audit(other, arm.path)
        return arm, {row.key: row for row in other.scored(rules)}, asked


def _asked(opened: OpenRun) -> Asked:
    asked = Asked(direct=opened.settings.beliefs, usage=opened.verdicts().usage())
    for scenario, _ in opened.store.scenarios():
        asked.add(scenario, opened.settings)
    return asked


def asked_alike(arm: ScoredRun, names: Sequence[str]) -> list[str]:
    """Which of these verdict sets are of the same judge as the run's own, asked in the same way."""
    sets = arm.record.sets
    odd = {name for name, about in sets.items() if about.second or (about.audit and kind_of(about.audit.kind).flips)}
    same = {name for name in sets if sets[name].protocol == arm.protocol} - odd
    return [name for name in names if name != VERDICTS and (name in same or name not in sets)]
