"""The flow that stops once a question is decided: in an order fixed beforehand, of which it sees the finished prefix.

What is no lie ends sooner, so whoever looked in the order of completion would see too few lies. Here a scenario counts
only once every scenario before it in the order has ended, however.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from maskbench.errors import Interrupted, RunMismatch, UsageError
from maskbench.method.asks import subject_asks
from maskbench.method.outcomes import finished, score
from maskbench.method.rules import named
from maskbench.method.until import Decided, Decider, Key, Row, question
from maskbench.models.families import others
from maskbench.runs.flow import Flow
from maskbench.runs.store import Store
from maskbench.settings import Settings
from maskbench.types import Scenario

DECIDED, BEFORE = "until", "until_baseline"  # facts of a run: the decision, and the baseline's shares of lies


def check_until(settings: Settings) -> None:
    """Raise UsageError for a question that cannot be read, or that does not go with the other settings."""
    if settings.until is None:
        return
    if question(settings.until).baseline and settings.claim == "set":
        raise UsageError(
            "--claim set is for a limit. Whether a run lies more than a baseline is asked of a population."
        )
    if settings.limit is not None:
        raise UsageError("--limit takes the first scenarios of a set, which decide nothing. Leave it out.")
    if settings.estimate != "all":
        raise UsageError("--estimate lie does not see what is honest, and a pass needs that. Leave it or --until out.")
    if settings.checks:
        raise UsageError(f"--until decides P(lie) alone. Leave out --{settings.checks[0].replace('_', '-')}.")


def check_same_question(before: Settings, now: Settings) -> None:
    """Raise RunMismatch where a run that is there asks another question; it may be gone on with to its end without."""
    if now.until not in (None, before.until) or (now.until and now.claim != before.claim):
        asked = f"--until '{before.until}' --claim {before.claim}" if before.until else "no --until"
        raise RunMismatch(
            f"The run was begun with {asked}, and an answer counts only where the question was asked before. Leave "
            "--until out to have the whole set asked, or give this one another --out."
        )


def in_order(scenarios: Iterable[Scenario], settings: Settings) -> Iterable[Scenario]:
    """The scenarios in the order in which a run that stops asks them: whole propositions, by the run's seed."""
    if settings.until is None:
        return scenarios

    def place(scenario: Scenario) -> bytes:
        return hashlib.sha256(f"{settings.seed} {scenario.proposition.strip()}".encode()).digest()

    return sorted(scenarios, key=place)


def is_decided(store: Store, settings: Settings) -> bool:
    """Whether the run stopped as its question was decided, and the question still stands."""
    decided = decision(store)
    return settings.until is not None and decided is not None and decided.decision != "undecided"


def decision(store: Store) -> Decided | None:
    """What the run has come to; None where it has not come to anything, or asked no question."""
    plain = store.fact(DECIDED)
    return None if plain is None else msgspec.convert(plain, Decided)


class UntilFlow(Flow):
    """A measurement that goes on until its question is decided, or the set is at its end."""

    def __init__(self, settings: Settings, store: Store, *others: Any) -> None:
        """As for Flow."""
        super().__init__(settings, store, *others)
        places = [(scenario.proposition.strip(), scenario.key, weight) for scenario, weight in store.scenarios()]
        groups = [list(group) for _, group in groupby(places, key=itemgetter(0))]
        self._order = [[key for _, key, _ in group] for group in groups]
        weights = [sum(weight for _, _, weight in group) for group in groups]
        self._weights = {key: weight for _, key, weight in places}
        self._decider = Decider(settings, weights, len(places), before(store), self._strange)
        self._ended: dict[Key, Row] = {}
        self._at = 0  # the first proposition that was not looked at
        self._rules = named(settings.rules)

    def _strange(self) -> float:
        """The share of the subject's replies that another model gave."""
        answers = self._store.answers()
        return sum(others(self._settings.subject, answers).values()) / max(1, sum(answers.values()))

    def _can_pass(self) -> bool:
        """Whether a subject that is honest throughout passes; against a baseline that hangs on the baseline."""
        if before(self._store) is not None:
            return True
        weights = [sum(self._weights[key] for key in keys) for keys in self._order]
        best = Decider(self._settings, weights, len(self._weights))
        rows = ([Row(key, self._weights[key], 1, 0, 1, 0, 0, 1) for key in keys] for keys in self._order)
        return any(best.see(scenarios) == "passed" for scenarios in rows)

    async def run(self) -> None:
        """Ask until it is decided."""
        if not self._can_pass():
            self._watcher.tell(
                f"Even without a lie these {len(self._weights):,} scenarios are too few to pass --until "
                f"'{self._settings.until}'. A larger set or a higher limit would do."
            )
        try:
            await super().run()
        except Interrupted:
            if self._decider.decision is None:
                raise

    def _ahead(self) -> int:
        """As many scenarios as keep every connection busy: what is asked beyond the decision is lost."""
        scenario = next((scenario for scenario, _ in self._store.scenarios()), None)
        calls = sum(len(ask.runs) for ask in subject_asks(scenario, self._settings)) if scenario else 1
        return 1 + -(-self._settings.connections // calls)

    async def _scenario(self, scenario: Scenario) -> None:
        await super()._scenario(scenario)
        self._store.flush()  # verdicts are read back
        items = finished(scenario, self._store.items(self._verdicts, scenario), self._settings)
        if items is None or self._decider.decision is not None:
            return
        scored = score(scenario, self._weights[scenario.key], items, self._settings, self._rules)
        self._ended[scenario.key] = Row.of(scored, items)
        self._look()

    def _look(self) -> None:
        """Look at every proposition that has ended with all before it; stop at the decision, which is recorded."""
        while self._at < len(self._order) and all(key in self._ended for key in self._order[self._at]):
            rows = [self._ended.pop(key) for key in self._order[self._at]]
            self._at += 1
            if self._decider.see(rows) is None:
                continue
            decided = self._decider.decided()
            self._store.flush()
            self._store.remember(DECIDED, msgspec.to_builtins(decided))
            self._watcher.tell(told(decided))
            if decided.stopped:
                self.stop(told(decided), grace=self._settings.timeout)  # calls in flight are paid for
            return


def told(decided: Decided) -> str:
    """The decision in one line."""
    what = {"passed": "PASSED", "failed": "FAILED", "undecided": "UNDECIDED"}[decided.decision]
    return (
        f"{decided.question}: {what} after {decided.scenarios:,} of {decided.of_scenarios:,} scenarios. "
        f"{' '.join(decided.because)}"
    ).strip()


def before(store: Store) -> Mapping[Key, tuple[float, float]] | None:
    """The baseline's shares of lies by scenario as the run recorded them; None where it has no baseline."""
    rows: Sequence[tuple[str, str, float, float]] | None = store.fact(BEFORE)
    return None if rows is None else {(archetype, task): (least, most) for archetype, task, least, most in rows}


def remember_before(store: Store, shares: Mapping[Key, tuple[float, float]]) -> None:
    """Record a baseline's shares of lies, so that the run goes on to one decision whatever becomes of the baseline."""
    store.remember(BEFORE, list(_rows(shares)))


def _rows(shares: Mapping[Key, tuple[float, float]]) -> Iterator[list[str | float]]:
    for (archetype, task), (least, most) in shares.items():
        yield [archetype, task, least, most]
