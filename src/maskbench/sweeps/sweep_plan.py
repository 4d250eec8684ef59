"""Which runs of a sweep judge the replies of another one, and who waits for whom."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from maskbench.errors import MaskbenchError, UsageError
from maskbench.models.names import device_of, identified
from maskbench.settings import Budget, Judging, Settings
from maskbench.store.folder import RunFolder, options_of
from maskbench.store.verdict_sets import check_name
from maskbench.types import Stage

RESERVED = frozenset(("sweep.json", "leaderboard.json", "run.lock"))  # files beside the runs
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=-]{0,79}")


@dataclass(frozen=True, slots=True)
class Task:
    """One run of a sweep; with `verdicts` it judges the replies of the run in `folder` as that verdict set.

    It waits until those that it `needs` are done, and those that it `follows` have ended; a `device` of this machine is
    its alone.
    """

    name: str
    settings: Settings
    folder: Path
    verdicts: str | None = None
    needs: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()
    device: str | None = None

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Who is asked: of stored replies the judge alone."""
        return ("judge",) if self.verdicts else ("subject", "judge")


def check_names(runs: Mapping[str, Settings]) -> None:
    """Raise UsageError for a sweep without runs, a name that can be no folder, and two runs that ask the same."""
    if not runs:
        raise UsageError("A sweep of no runs measures nothing. Give it at least one.")
    asked: dict[bytes, str] = {}
    for name, settings in runs.items():
        if not _NAME.fullmatch(name):
            raise UsageError(f"The run {name!r}: give it a name of up to 80 letters, digits and . _ = -.")
        if name.casefold() in RESERVED:
            raise UsageError(f"The run {name!r}: {name.casefold()} is a file of the sweep. Give it another name.")
        same = asked.setdefault(_asks(settings), name)
        if same != name:
            raise UsageError(f"The runs {same} and {name} ask the very same. Leave one of them out.")


def as_identified(runs: Mapping[str, Settings]) -> dict[str, Settings]:
    """The runs with the hashes of their files, as far as there are such files: the others are refused for that."""
    known = {}
    for name, settings in runs.items():
        try:
            known[name] = identified(settings)
        except MaskbenchError:
            known[name] = settings
    return known


def as_one(runs: Mapping[str, Settings], budget: Budget) -> dict[str, Settings]:
    """The runs with what holds for all of them: connections and paces of services, and no limits of their own."""
    connections = max((settings.pace.connections for settings in runs.values()), default=1)
    shared = {"max_cost": None, "max_tokens_total": None, "rpm": budget.rpm, "tpm": budget.tpm}
    return {
        name: settings.having(connections=connections, budget=replace(settings.budget, **shared))
        for name, settings in runs.items()
    }


def waits_for(name: str) -> str:
    """Why a run of a sweep is not begun that needs another one."""
    return f"It waits for {name}, which is not done."


def arrange(runs: Mapping[str, Settings], out: Path, *, without: Collection[str] = ()) -> dict[str, Task]:
    """The tasks of a sweep in the order of its runs; nothing of the runs `without` can be used by others.

    Of runs that differ in their judging alone one asks the subject, and the others judge its replies.
    """
    bases = _bases(runs, out, without)
    tasks: dict[str, Task] = {}
    for name, settings in runs.items():
        if bases[name] == name:
            tasks[name] = Task(name, settings, RunFolder(out / name).path, device=device_of(settings))
    for name, settings in runs.items():
        if bases[name] != name:
            tasks[name] = _judged(name, settings, tasks[bases[name]], tasks)
    return {name: tasks[name] for name in runs}


def _asks(settings: Settings) -> bytes:
    """Everything that is asked; a model's own options stand for what they make of it until that is known."""
    own = settings.subject.options if not settings.subject.marks else None
    return orjson.dumps([options_of(settings), own], option=orjson.OPT_SORT_KEYS, default=str)


def _replies(settings: Settings) -> bytes:
    """What the subject is asked."""
    return _asks(replace(settings, judging=Judging()))


def _bases(runs: Mapping[str, Settings], out: Path, without: Collection[str]) -> dict[str, str]:
    """For each run the one that asks the subject for it: itself, or another one of the same replies."""
    groups: dict[bytes, list[str]] = {}
    for name, settings in runs.items():
        groups.setdefault(_replies(settings), []).append(name)
    bases: dict[str, str] = {}
    for group in groups.values():
        own = [name for name in group if RunFolder(out / name).exists]
        able = [name for name in (*own, *group) if name not in without]
        sets = {each: name for name in own for each in RunFolder(out / name).read().verdict_sets}
        for name in group:
            base = sets.get(name) or next(iter(able), name)
            bases[name] = name if name in own or (base in without and name not in without) else base
    return bases


def _judged(name: str, settings: Settings, base: Task, tasks: Mapping[str, Task]) -> Task:
    """A run that judges the replies of another one, after all that may have some of its verdicts."""
    check_name(name)
    before = [task.name for task in tasks.values() if task.folder == base.folder]
    return Task(name, settings, base.folder, name, (base.name,), tuple(before))
