"""A sweep in parts that no other part waits for: each is a job of its own, on whatever machine, in the sweep's folder.

Runs that share replies or beliefs are in one part. Limits of the whole sweep are divided among the parts, as jobs on
other machines cannot see what these spend.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import orjson
from msgspec import Struct

from maskbench.errors import RunLocked, UsageError
from maskbench.models.chat.services import environment
from maskbench.runs.disk import inherited, make_folder, read_whole
from maskbench.runs.fitting import fitted
from maskbench.runs.folder import RunFolder
from maskbench.settings import Budget, Settings
from maskbench.sweeps.refused_runs import faults, refusals
from maskbench.sweeps.sweep_json import read_sweep
from maskbench.sweeps.sweep_plan import Task, arrange, check_names
from maskbench.sweeps.sweeping import OVER, sweep_part

PARTS = ".jobs"  # the folder of a sweep that has what is about its parts; no run can be called so
_SHARES = "shares.json"
_LAST_SECONDS = 60.0  # of the ninety that a job has once it is told to go


@dataclass(frozen=True, slots=True)
class Part:
    """Some runs of a sweep, with their share of its limits; called, it measures them in this process."""

    name: str
    runs: Mapping[str, Settings]
    out: Path
    budget: Budget
    share_beliefs: bool
    at_once: int
    command: tuple[str, ...] = ()

    @property
    def place(self) -> Path:
        """Where its record and its lock are."""
        return self.out / PARTS / self.name

    def __call__(self) -> dict[str, str]:
        """Measure the runs of this part, or go on with them; returns their states.

        Raises what stops a sweep, and UsageError where a run failed, so that the job counts as failed.
        """
        make_folder(self.out)
        make_folder(self.place, inherited(self.out))
        swept = sweep_part(
            self.runs,
            self.out,
            self.place,
            budget=self.budget,
            share_beliefs=self.share_beliefs,
            at_once=self.at_once,
            environ=environment(Path.cwd()),
            command=self.command,
        )
        if failed := [each for each in swept.values() if each.state not in OVER]:
            raise UsageError(" ".join(f"{each.task.name} is {each.state}: {each.why}" for each in failed))
        return {name: each.state for name, each in swept.items()}

    def stop(self) -> None:
        """From a handler of signals: have the runs under way stop gently, and wait until they have."""
        signal.raise_signal(signal.SIGTERM)  # which the sweep hears
        end = time.monotonic() + _LAST_SECONDS
        for thread in threading.enumerate():
            if thread.name.startswith("maskbench ") and thread is not threading.current_thread():
                thread.join(max(0.0, end - time.monotonic()))

    def is_done(self) -> bool:
        """Whether every run of it came to its end before, here or in a sweep of this folder."""
        over = {
            run.name
            for record in (read_sweep(self.place), read_sweep(self.out))
            if record
            for run in record.runs
            if run.state in OVER
        }
        return over.issuperset(self.runs)

    def is_under_way(self) -> bool:
        """Whether a process is at work on it, on this machine or on another one that locks the same files."""
        if not self.place.exists():
            return False
        try:
            with RunFolder(self.place).writing():
                return False
        except RunLocked:
            return True


class _Shares(Struct, forbid_unknown_fields=True):
    """Into how many parts the limits of a sweep were divided."""

    parts: int


def parts(
    runs: Mapping[str, Settings],
    out: Path,
    budget: Budget,
    environ: Mapping[str, str],
    *,
    share_beliefs: bool,
    at_once: int | None,
    command: Sequence[str] = (),
) -> list[Part]:
    """The parts of a sweep in the order of its runs, each with an equal share of what the limits allow.

    Raises UsageError for what cannot be meant, for limits that cannot be divided, and where a folder holds another run.
    """
    check_names(runs)
    tasks = arrange(runs, out.absolute(), share_beliefs=share_beliefs)
    # before a job has waited in a queue for nothing
    if why := faults(tasks, environ, budget, ()) | refusals(tasks, environ):
        raise UsageError(" ".join(f"{name}: {sentence}" for name, sentence in why.items()))
    groups = list(_groups(tasks))
    share = _share(budget, len(groups), min(at_once or len(groups), len(groups)))
    _check_shares(out, budget, len(groups))
    return [
        Part(group[0], {name: runs[name] for name in group}, out.absolute(), share, share_beliefs, len(group),
             tuple(command))
        for group in groups
    ]  # fmt: skip


def _groups(tasks: Mapping[str, Task]) -> Iterator[list[str]]:
    """The runs that hang together, because one needs another or is in its folder."""
    left = dict(tasks)
    while left:
        group = {next(iter(left))}
        while more := {name for name, task in left.items() if name not in group and _touches(task, group, tasks)}:
            group |= more
        yield [name for name in tasks if name in group]
        left = {name: task for name, task in left.items() if name not in group}


def _touches(task: Task, group: set[str], tasks: Mapping[str, Task]) -> bool:
    near = {*task.needs, *task.follows}
    return any(
        name in near or task.name in (*tasks[name].needs, *tasks[name].follows) or tasks[name].folder == task.folder
        for name in group
    )


def _share(budget: Budget, count: int, at_once: int) -> Budget:
    """What each part may use, so that all together keep to the limits; paces are divided among those under way."""
    whole = {"rpm": budget.rpm, "tpm": budget.tpm, "max_tokens_total": budget.max_tokens_total}
    by = {"rpm": at_once, "tpm": at_once, "max_tokens_total": count}
    for name, value in whole.items():
        if value is not None and value < by[name]:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} {value} cannot be divided among {by[name]} jobs. Give more, or fewer runs.")
    shared = {name: None if value is None else value // by[name] for name, value in whole.items()}
    cost = None if budget.max_cost is None else budget.max_cost / count
    return replace(budget, max_cost=cost, **shared)


def _check_shares(out: Path, budget: Budget, count: int) -> None:
    """Raise UsageError where limits were divided among another number of parts before: these may have used all."""
    if budget.max_cost is None and budget.max_tokens_total is None:
        return
    try:
        before = fitted(orjson.loads(read_whole(out / PARTS / _SHARES)), _Shares)
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError) as error:
        raise UsageError(f"{out / PARTS / _SHARES} cannot be read ({error}). Give the sweep another --out.") from error
    if before.parts != count:
        raise UsageError(
            f"The limits of this sweep were divided among {before.parts} jobs, and now there are {count}, so that all "
            "of them together could use more. Give the new runs a file and a folder of their own."
        )


def remember_shares(out: Path, count: int) -> None:
    """Note into how many parts a sweep's limits are divided."""
    RunFolder(out / PARTS).write(_SHARES, _Shares(count))
