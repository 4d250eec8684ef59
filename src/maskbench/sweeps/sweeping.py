"""A sweep at work: a thread a run, who waits for whom, one purse, and a record that survives a kill."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from maskbench.asking.judging.judge_again import judge
from maskbench.asking.loop import Stopper
from maskbench.asking.pool import Pool, signals
from maskbench.asking.run_log import RunLog
from maskbench.asking.watching import Watcher
from maskbench.errors import BudgetReached, Interrupted, MaskbenchError
from maskbench.measurement import measure_beside
from maskbench.method.asks import VERDICTS
from maskbench.models.chat.services import environment
from maskbench.plain import plain
from maskbench.results.scored import result
from maskbench.results.summary import Summary
from maskbench.settings import Budget, Settings
from maskbench.store.disk import inherited, make_folder
from maskbench.store.folder import RunFolder
from maskbench.store.record import now
from maskbench.sweeps.record import OVER, State, SweepRecord, SweepRun, changes, gone_from, read_sweep, write_sweep
from maskbench.sweeps.sweep_checks import judging, looked_at, refuse
from maskbench.sweeps.sweep_plan import Task, arrange, as_identified, as_one, check_names, waits_for

AT_ONCE = 12  # runs that are under way at a time
LINE_SECONDS = 10.0  # from one line on how all runs stand to the next


@dataclass(frozen=True, slots=True)
class Swept:
    """How one run of a sweep stands at the end of a session; the summary is there where it was measured."""

    task: Task
    state: State
    why: str | None = None
    summary: Summary | None = None


class _Log(RunLog):
    """The log of one run, whose lines are told with its name."""

    def __init__(self, task: Task, tell: Callable[[str], None], told: set[str]) -> None:
        super().__init__(RunFolder(task.folder).log, told)
        self._name, self._tell = task.name, tell

    def _show(self, line: str) -> None:
        self._tell(f"{self._name}: {line}")


def sweep(
    runs: Mapping[str, Settings],
    out: str | PathLike[str],
    *,
    budget: Budget | None = None,
    at_once: int = AT_ONCE,
    environ: Mapping[str, str] | None = None,
    tell: Callable[[str], object] | None = None,
    command: Sequence[str] = (),
) -> dict[str, Swept]:
    """Measure many runs, given by name, beside each other into folders of `out`, or go on with them.

    Runs at one service share its connections, `--rpm` and `--tpm`; the limits of `budget` hold for all runs together.
    Runs that differ in their judge alone share the subject's replies. `tell` is told how it goes, a line at a time, in
    any thread. A run that fails on its way stops no other: its error is its `why`. Returns how each run stands. Raises
    UsageError, before anything is asked, for whatever is known to be wrong with any run, RunLocked where the sweep is
    under way, Interrupted where it was stopped and BudgetReached at a limit; whatever was answered is kept.
    """
    folder, budget = Path(out), budget or Budget()
    environ = environment(Path.cwd()) if environ is None else environ
    check_names(runs)
    runs = as_one(runs, budget)
    refuse(looked_at(runs, folder, environ, budget)[1])
    make_folder(folder)
    with RunFolder(folder).writing("give this sweep another --out"):
        return _Sweep(runs, folder, budget, at_once, environ, tell, command).all()


@dataclass(slots=True)
class _Sweep:
    """One session of a sweep."""

    runs: Mapping[str, Settings]
    out: Path
    budget: Budget
    at_once: int
    environ: Mapping[str, str]
    tell: Callable[[str], object] | None
    command: Sequence[str]
    tasks: dict[str, Task] = field(default_factory=dict)
    swept: dict[str, Swept] = field(default_factory=dict)
    pool: Pool = field(init=False)
    stopped: str | None = None
    before: dict[str, SweepRun] = field(default_factory=dict)
    _gone: list[SweepRun] = field(default_factory=list)
    _created: str = ""
    _stoppers: dict[str, Stopper] = field(default_factory=dict)  # of what is under way
    _stocks: dict[str, tuple[str, dict[Any, Any]]] = field(default_factory=dict)  # the last subject of each device
    _ended: SimpleQueue[tuple[str, Swept | BaseException]] = field(default_factory=SimpleQueue)
    _broken: BaseException | None = None
    _logs: list[_Log] = field(default_factory=list)  # of the runs that were begun
    _told: set[str] = field(default_factory=set)  # lines that every run would say

    def all(self) -> dict[str, Swept]:
        """Let every run end in one way or another, as many at a time as may."""
        self.pool = Pool(self.budget)
        self._remember()
        self.runs = as_identified(self.runs)
        self.tasks = arrange(self.runs, self.out)
        self._count_before()
        for task in self.tasks.values():
            self._put(Swept(task, "waiting"))
        with signals(self._interrupt):
            while self._start() or self._stoppers:
                if self._stoppers:
                    self._wait()
        return self._result()

    def _wait(self) -> None:
        """Until a run has ended; Ctrl-C is heard meanwhile, and how all runs stand is said now and then."""
        try:
            self._take(*self._ended.get(timeout=LINE_SECONDS))
        except Empty:
            self._say(self._line())

    def _line(self) -> str:
        states = [swept.state for swept in self.swept.values()]
        settled, expected, failed = (sum(log.counts[place] for log in self._logs) for place in range(3))
        return (
            f"{sum(state in OVER for state in states)} of {len(states)} runs done, {states.count('running')} under "
            f"way: {settled:,}/{expected:,} calls of those begun, {failed:,} failed"
        )

    def _say(self, line: str) -> None:
        if self.tell:
            self.tell(plain(line))

    def _remember(self) -> None:
        """Read the record of earlier sessions, and tell what the file has now that it had not, or has no more."""
        record = read_sweep(self.out)
        self._created = record.created if record else now()
        known = [*record.runs, *record.gone] if record else []
        self.before = {run.name: run for run in known if run.name in self.runs}
        self._gone = gone_from(record, self.runs)
        for line in changes(record, self.runs, self.out):
            self._say(line)

    def _count_before(self) -> None:
        """Tell the purse what was used in earlier sessions, by runs that are gone from the file, too."""
        places = {(task.folder, task.verdicts): name for name, task in self.tasks.items()}
        places |= {(self.out / run.folder, run.verdicts): run.name for run in self._gone}
        for (folder, verdicts), name in places.items():
            self.pool.purse.put_down_run(name, RunFolder(folder), verdicts or VERDICTS)
        self.pool.purse.check()

    # Who may begin

    def _start(self) -> bool:
        """Begin whatever may begin; returns whether any run has another state now."""
        before = [swept.state for swept in self.swept.values()]
        for task in list(self.tasks.values()):
            if self.swept[task.name].state != "waiting" or len(self._stoppers) >= self.at_once:
                continue
            if self._may_not_ask(task):
                self._put(Swept(task, "stopped", "Not begun."))
            elif held := [name for name in task.needs if self.swept[name].state in ("failed", "stopped", "held")]:
                self._put(Swept(task, "held", waits_for(held[0])))
            elif self._is_free(task):
                self._begin(task)
        return before != [swept.state for swept in self.swept.values()]

    def _may_not_ask(self, task: Task) -> bool:
        """Whether nothing new is begun any more; what was done before is read all the same at a limit."""
        was = self.before.get(task.name)
        is_over = was is not None and was.state in OVER
        return self.stopped is not None or (self.pool.purse.reached is not None and not is_over)

    def _is_free(self, task: Task) -> bool:
        """Whether nobody is under way whom it has to wait for."""
        under_way = [self.tasks[name] for name in self._stoppers]
        is_taken = task.device is not None and task.device in {other.device for other in under_way}
        folders = {other.folder for other in under_way}
        waits = any(self.swept[name].state in ("waiting", "running") for name in (*task.needs, *task.follows))
        return not waits and task.folder not in folders and not is_taken

    def _begin(self, task: Task) -> None:
        stopper = self._stoppers[task.name] = self.pool.stopper(task.name)
        self._put(Swept(task, "running"))
        threading.Thread(target=self._work, args=(task, stopper), name=f"maskbench {task.name}").start()

    # In the thread of a run

    def _work(self, task: Task, stopper: Stopper) -> None:
        try:
            summary = self._measured(task, stopper)
            is_short = summary.withheld and not (task.verdicts is None and task.settings.judging.is_later)
            ended: Swept | BaseException = Swept(task, "withheld" if is_short else "done", None, summary)
        except Interrupted as error:
            ended = Swept(task, "stopped", str(error))
        except MaskbenchError as error:
            ended = Swept(task, "failed", str(error))
        except OSError as error:
            ended = Swept(task, "failed", f"{error.filename or task.folder}: {error.strerror or error}.")
        except BaseException as error:  # whatever it is, the main thread has to hear of it
            ended = error
        self._ended.put((task.name, ended))

    def _measured(self, task: Task, stopper: Stopper) -> Summary:
        make_folder(task.folder, inherited(self.out))
        self._logs.append(watcher := _Log(task, self._say, self._told))
        try:
            if task.verdicts is None:
                stock = self._stock(task)
                return measure_beside(task.settings, task.folder, self.environ, watcher, self.command, stock, stopper)
            return self._judged(task, task.verdicts, watcher, stopper)
        finally:
            if not any(task.folder.iterdir()):
                task.folder.rmdir()  # nothing could be begun

    def _stock(self, task: Task) -> dict[Any, Any] | None:
        """What keeps a loaded model for the next run of the same one; another model's weights make room."""
        if task.device is None:
            return None
        loaded = self._stocks.get(task.device)
        if loaded is None or loaded[0] != task.settings.subject.name:
            loaded = self._stocks[task.device] = task.settings.subject.name, {}
        return loaded[1]

    def _judged(self, task: Task, name: str, watcher: Watcher, stopper: Stopper) -> Summary:
        """Judge the replies of another run."""
        folder = RunFolder(task.folder)
        settings = judging(folder, task.settings)
        judge(folder, settings, name, self.environ, watcher, self.command, stopper=stopper)
        return result(folder, task.settings.design.rules, name)

    # In the main thread

    def _take(self, name: str, ended: Swept | BaseException) -> None:
        """Note how a run ended; one that failed leaves those that would have used it to others, or to themselves."""
        del self._stoppers[name]
        if isinstance(ended, BaseException):
            self._broken = ended
            self._interrupt("an error in maskbench itself")
            ended = Swept(self.tasks[name], "failed", f"{type(ended).__name__}: {ended}")
        self._put(ended)
        if ended.state == "failed" and self.stopped is None:
            failed = [each for each, swept in self.swept.items() if swept.state == "failed"]
            anew = arrange(self.runs, self.out, without=failed)
            for each, swept in list(self.swept.items()):
                if swept.state in ("waiting", "held"):
                    self.tasks[each] = anew[each]
                    self._put(Swept(anew[each], "waiting"))

    def _interrupt(self, by: str) -> None:
        """Begin nothing more, and stop what is under way; at once where it is asked for again."""
        self.stopped = self.stopped or f"Stopped by {by}."
        for stopper in list(self._stoppers.values()):
            stopper.stop()

    def _put(self, swept: Swept) -> None:
        self.swept[swept.task.name] = swept
        if swept.state not in ("waiting", "running"):
            self._say(f"{swept.task.name}: {swept.state}{f', {swept.why}' if swept.why else ''}")
        if len(self.swept) == len(self.tasks):
            write_sweep(self.out, self._record())

    def _record(self) -> SweepRecord:
        runs = [self._entry(swept) for swept in self.swept.values()]
        return SweepRecord(maskbench=version("maskbench"), created=self._created, runs=runs, gone=self._gone)

    def _entry(self, swept: Swept) -> SweepRun:
        task = swept.task
        was = self.before.get(task.name)
        over = swept.state == "waiting" and was is not None and was.state in OVER
        return SweepRun(
            name=task.name,
            folder=task.folder.relative_to(self.out).as_posix(),
            verdicts=task.verdicts,
            state=was.state if was and over else swept.state,
            why=swept.why,
        )

    def _result(self) -> dict[str, Swept]:
        """How all runs stand; raises what stopped them."""
        if self._broken:
            raise self._broken
        if self.stopped:
            raise Interrupted(self.stopped)
        if self.pool.purse.reached and (why := self.pool.purse.why()):
            option = self.pool.purse.reached[1]
            raise BudgetReached(why, option, self.pool.purse.limits[option])
        return dict(self.swept)
