"""How a run under way stands: what has been answered, what has failed and why, how fast it goes."""

from __future__ import annotations

import sqlite3
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, TypedDict

from maskbench.errors import RunUnreadable
from maskbench.method.asks import VERDICTS, Calls
from maskbench.method.forms import form_of
from maskbench.plain import shortened
from maskbench.runs.bill import bill_of, spent
from maskbench.runs.folder import DATABASE, RunFolder
from maskbench.runs.passes import expected
from maskbench.runs.protocol import counting
from maskbench.settings import Settings
from maskbench.types import Stage

WINDOW_SECONDS = 30.0  # over which speed is averaged
Failures: TypeAlias = Mapping[tuple[Stage, str], int]  # by stage and cause


@dataclass(frozen=True, slots=True)
class Progress:
    """What is there of what a run will ask for; a failure is there until it is asked again."""

    replies: int
    verdicts: int
    expected: Calls
    settled: int  # replies and verdicts that are there, have failed, or have nothing to judge
    failures: Failures
    cost: str = ""  # what it has cost so far, in words

    @property
    def total(self) -> int:
        """Replies and verdicts in all."""
        return self.expected.replies + self.expected.verdicts


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run will ask for in all; `joint` are the scenarios whose belief replies are judged together."""

    settings: Settings
    expected: Calls
    joint: frozenset[tuple[str, str]]


def plan(path: Path) -> Plan:
    """Read what a run will ask for; raises RunUnreadable."""
    folder = RunFolder(path)
    settings = folder.settings()
    store = folder.store()
    joint = set()
    try:
        asked = settings.having(construct=(), traces=False)  # how many of these follows from the verdicts
        wanted = expected(store, counting(asked, store.leaders()))
        for scenario, _ in store.scenarios():
            if form_of(settings.judging).group(scenario.kind) == "jointly":
                joint.add(scenario.key)
    except (LookupError, TypeError, ValueError) as error:
        raise RunUnreadable(f"{path / DATABASE} holds a scenario that cannot be read ({error}).") from error
    finally:
        store.close()
    return Plan(settings, wanted, frozenset(joint))


def progress(path: Path, planned: Plan) -> Progress:
    """Count what is there; raises RunUnreadable where the database cannot be read."""
    store = RunFolder(path).store()
    try:
        replies = store.usage(VERDICTS)["subject"]["answers"]
        verdicts, _ = store.verdict_counts().get(VERDICTS, (0, 0))
        failed = store.failed(VERDICTS)
        cost = spent(bill_of(store, [VERDICTS]))
    except sqlite3.Error as error:
        raise RunUnreadable(f"{path / DATABASE} cannot be read ({error}).") from error
    finally:
        store.close()
    unanswered = [(key, elicitation) for stage, key, elicitation, _ in failed if stage == "subject"]
    settled = replies + verdicts + len(failed) + _nothing_to_judge(unanswered, planned)
    failures = Counter((stage, cause) for stage, _, _, cause in failed)
    return Progress(replies, verdicts, planned.expected, settled, failures, cost)


def _nothing_to_judge(unanswered: Iterable[tuple[tuple[str, str], int]], planned: Plan) -> int:
    """Verdicts that will not come: on failed replies, and joint ones for which too few replies are left."""
    alone = 0
    together: Counter[tuple[str, str]] = Counter()
    for key, elicitation in unanswered:
        if elicitation == 1 and key in planned.joint:
            together[key] += 1
        else:
            alone += 1
    return alone + sum(planned.settings.design.beliefs - lost < 2 for lost in together.values())


class Pace:
    """How fast a run goes, from the times at which it was looked at."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque()

    def mark(self, now: float, settled: int) -> float | None:
        """What was settled a second over the last while; None where it has been looked at for too short a time."""
        if self._marks and settled < self._marks[-1][1]:
            self._marks.clear()  # failures are being asked again
        self._marks.append((now, settled))
        while len(self._marks) > 2 and self._marks[1][0] < now - WINDOW_SECONDS:
            self._marks.popleft()
        then, before = self._marks[0]
        return (settled - before) / (now - then) if now - then >= 1 else None


class Watch:
    """Runs under way as pages show them, each with its plan read once and its pace kept."""

    def __init__(self) -> None:
        self._plans: dict[Path, Plan] = {}
        self._paces: dict[Path, Pace] = {}

    def look(self, path: Path, now: float, *, active: bool) -> Look:
        """How this run stands at `now` seconds of a clock that only goes forward; raises RunUnreadable."""
        planned = self._plans.get(path)
        if planned is None:
            planned = self._plans[path] = plan(path)
        standing = progress(path, planned)
        speed = self._paces.setdefault(path, Pace()).mark(now, standing.settled)
        return described(planned.settings.label, standing, speed if active else None, active=active)


class Look(TypedDict):
    """How a run stands, in words for a page."""

    label: str
    state: Literal["under way", "stopped", "ended"]
    settled: int
    total: int
    share: str
    done: str
    replies: str
    verdicts: str
    speed: str
    left: str
    remaining: str
    failed: str
    failures: list[tuple[str, str, str]]  # who, cause, calls


def described(label: str, standing: Progress, speed: float | None, *, active: bool) -> Look:
    """Progress in words; `speed` is what is settled a second, None where that is not known."""
    settled = min(standing.settled, standing.total)
    left = (standing.total - settled) / speed if speed else None
    cost = standing.cost and f", {standing.cost} so far"
    failures = sorted(standing.failures.items(), key=lambda pair: -pair[1])
    return Look(
        label=shortened(label, 120),
        state="under way" if active else "ended" if settled == standing.total else "stopped",
        settled=settled,
        total=standing.total,
        share=f"{100 * settled // max(1, standing.total)} %",
        done=f"{settled:,} of {standing.total:,}",
        replies=f"{standing.replies:,} of {standing.expected.replies:,}",
        verdicts=f"{standing.verdicts:,} of {standing.expected.verdicts:,}",
        speed="–" if speed is None else f"{speed:,.1f} a second" if speed < 100 else f"{speed:,.0f} a second",
        left="–" if left is None else duration(left),
        remaining=("time left not known yet" if left is None else f"{duration(left)} left") + cost,
        failed=f"{sum(standing.failures.values()):,}",
        failures=[(who, shortened(cause.replace("_", " "), 60), f"{calls:,}") for (who, cause), calls in failures],
    )


def duration(seconds: float) -> str:
    """A time as people say it: `40 s`, `2 min 30 s`, `12 min`, `3 h 5 min`, `2 days 4 h`."""
    minutes, rest = divmod(max(1, round(seconds)), 60)
    if minutes < 1:
        return f"{rest} s"
    if minutes < 5:
        return f"{minutes} min {rest} s"
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} day{'s' if days > 1 else ''} {hours} h"
