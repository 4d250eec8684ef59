"""Which runs of a sweep judge the replies of another one, who waits for whom, and which stay together in a part."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from maskbench.errors import MaskbenchError, RunMismatch, UsageError
from maskbench.judges.verdict_sets import check_name
from maskbench.models.hf.opening import identified
from maskbench.runs.folder import RunFolder, options_of
from maskbench.settings import Budget, Judging, Settings
from maskbench.sweeps.record import OVER, SweepRun, read_sweep
from maskbench.types import Stage

RESERVED = frozenset(("sweep.json", "leaderboard.json", "leaderboard.html", "run.lock"))  # files beside the runs
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=-]{0,79}")
PARTS = ".parts"  # the folder of a sweep with a record and a lock of each part; no run can be called so


@dataclass(frozen=True, slots=True)
class Task:
    """One run of a sweep; with `verdicts` it judges the replies of the run in `folder` as that verdict set.

    It waits until those that it `needs` are done, and those that it `follows` have ended; `devices` of this machine are
    its alone.
    """

    name: str
    settings: Settings
    folder: Path
    verdicts: str | None = None
    needs: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()
    devices: frozenset[str] = frozenset()

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


def refused(error: RunMismatch) -> str:
    """Why a run of a sweep is refused whose folder holds another one."""
    return f"{error} In a sweep: give the changed run another name."


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
            tasks[name] = Task(name, settings, RunFolder(out / name).path, devices=_devices(settings))
    for name, settings in runs.items():
        if bases[name] != name:
            tasks[name] = _judged(name, settings, tasks[bases[name]], tasks)
    return {name: tasks[name] for name in runs}


def _asks(settings: Settings) -> bytes:
    """Everything that is asked; files of weights that are still to be read are told apart by their paths."""
    subject = settings.subject
    hashed = ((subject.adapter, subject.adapter_hash), (subject.steer, subject.steer_hash))
    files = [path for path, known in hashed if known is None]
    return orjson.dumps([options_of(settings), files], option=orjson.OPT_SORT_KEYS, default=str)


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
    return Task(name, settings, base.folder, name, (base.name,), tuple(before), _devices(settings, ("judge",)))


def sources(task: Task, tasks: Mapping[str, Task]) -> Iterator[Task]:
    """The tasks whose verdicts a judging task may copy: those on the same replies."""
    yield from (tasks[name] for name in task.follows)


def _devices(settings: Settings, stages: Sequence[Stage] = ("subject", "judge")) -> frozenset[str]:
    """The devices of this machine that the models of a run work on."""
    judges = settings.judging.judges if "judge" in stages else ()
    names = {*judges, *((settings.subject.name,) if "subject" in stages else ())}
    if settings.pace.cluster is not None:
        return frozenset()
    kinds = {name.partition("/")[0] for name in names}
    devices = {"cpu"} if "pinocchio" in kinds else set()
    if "hf" in kinds:
        devices.add(_device(settings.pace.device))
    if settings.pace.serve_judge or (settings.pace.serve and "subject" in stages):
        devices.add("server")  # which runs ask one after another
    return frozenset(devices)


def _device(asked: str | None) -> str:
    """The device of a model in this process; one that torch cannot use is the run's own error, later."""
    from maskbench.models.hf.loading import device_of, require_torch

    try:
        require_torch()
        device = device_of(asked)
    except UsageError:
        return str(asked)
    return "cuda" if device == "auto" else device


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """The `number`th of `count` parts of a sweep."""

    number: int
    count: int

    @classmethod
    def read(cls, text: str) -> Part:
        """A part as it is typed, 3/8; raises UsageError for what is none."""
        number, _, count = text.partition("/")
        if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
            raise UsageError(f"--only {text}: give a part and how many there are, as in 3/8.")
        return cls(int(number), int(count))

    def runs(self, runs: Mapping[str, Settings], out: Path) -> dict[str, Settings]:
        """Its runs, the same ones whatever is measured already; raises UsageError where it has none."""
        groups = _groups(runs, out)
        if self.number > len(groups):
            raise UsageError(f"--only {self.number}/{self.count}: these runs make {len(groups)} parts at most.")
        return {name: runs[name] for name in self.names(groups)}

    def names(self, groups: Sequence[Sequence[str]]) -> list[str]:
        """The names of its runs, of groups that stay together."""
        size, more = divmod(len(groups), self.count)
        first, end = (place * size + min(place, more) for place in (self.number - 1, self.number))
        return [name for group in groups[first:end] for name in group]

    def share(self, budget: Budget) -> Budget:
        """What it may use, so that all parts together keep to the limits; raises UsageError where that is nothing."""
        whole = {name: getattr(budget, name) for name in ("rpm", "tpm", "max_tokens_total")}
        for name, value in whole.items():
            if value is not None and value < self.count:
                option = f"--{name.replace('_', '-')}"
                raise UsageError(f"{option} {value} cannot be divided among {self.count} parts. Give more.")
        shares = {name: value and value // self.count for name, value in whole.items()}
        return replace(budget, max_cost=budget.max_cost and budget.max_cost / self.count, **shares)

    def place(self, out: Path) -> Path:
        """Where its record and its lock are."""
        return out / PARTS / f"{self.number}-of-{self.count}"


def _groups(runs: Mapping[str, Settings], out: Path) -> list[list[str]]:
    """The runs that share replies, by name."""
    tasks = arrange(runs, out / PARTS / "none")
    groups: dict[str, list[str]] = {}
    for task in tasks.values():
        source = task
        while source.needs:
            source = tasks[source.needs[0]]
        groups.setdefault(source.name, []).append(task.name)
    return list(groups.values())


def stands(runs: Mapping[str, Settings], out: Path) -> tuple[dict[str, SweepRun], dict[str, list[str]]]:
    """How runs stand that any part has begun, by name, and the runs of the parts that were never started."""
    places = [out, *out.glob(f"**/{PARTS}/*-of-*")]
    known: dict[str, SweepRun] = {}
    for record in filter(None, map(read_sweep, places)):
        known |= {run.name: run for run in record.runs if run.name not in known or run.state in OVER}
    started = {Part.read(place.name.replace("-of-", "/")) for place in places[1:]}
    groups = _groups(runs, out)
    of = {part.count for part in started}
    waiting = {Part(number, count) for count in of for number in range(1, count + 1)} - started
    idle = {f"{part.number}/{part.count}": [name for name in part.names(groups) if name not in known]
            for part in sorted(waiting)}  # fmt: skip
    return known, {part: left for part, left in idle.items() if left}
