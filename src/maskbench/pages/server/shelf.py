"""A folder of runs as a server keeps it: each run is scored once and again when its files change, ranks follow.

Scoring a run takes up to a second and ranking 200 of them one or two, so both are done aside: a page shows at once what
is known, and says what is still to come. All is as `maskbench leaderboard` has it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic
from typing import TypeAlias

from maskbench.errors import RunUnreadable
from maskbench.interventions.dose.dose_folder import DATA
from maskbench.judges.people.labels import LabelStore
from maskbench.results.leaderboard import Board, GapShown, boards, gaps
from maskbench.results.scored import Result, score
from maskbench.runs.folder import DATABASE, RECORD, runs_below, under_way

SCAN_SECONDS = 0.5  # between two looks at the folder, or five times as long as a look takes
State: TypeAlias = tuple[int, ...]
Group: TypeAlias = tuple[str, str]  # protocol id and hash of the measured scenarios


@dataclass(frozen=True, slots=True)
class Known:
    """A run or a dose curve in the folder: its id in addresses, where it is, a state that changes with its files."""

    id: str
    path: Path
    name: str  # from the folder that is served
    state: State
    under_way: bool


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of one protocol and scenario set; not `final` while ranks are still to be worked out."""

    members: frozenset[tuple[str, State]]
    boards: tuple[Board, ...]
    final: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """All there is to show; `version` is another when any of it changes."""

    version: str
    runs: Mapping[str, Known]
    curves: Mapping[str, Known]
    tables: tuple[tuple[Board, bool], ...]  # with whether its ranks are there
    gaps: tuple[GapShown, ...]
    unreadable: Mapping[str, str]  # why, by id
    unread: int  # runs that are still to be read


class Shelf:
    """Every run below a folder, scored under one rule set."""

    def __init__(self, root: Path, rules: str = "reference", public: Collection[str] = ()) -> None:
        self.root = root
        self.rules = rules
        self._public = frozenset(public)
        self._lock = Lock()
        self._next_look = 0.0
        self._runs: dict[str, Known] = {}
        self._scores: dict[str, tuple[State, Result | str]] = {}  # or why there is none
        self._labelled: dict[str, tuple[State, Result | str]] = {}  # the same of runs that people label, by both states
        self._tables: dict[Group, Tables] = {}
        self._to_read, self._to_rank, self._settled = Event(), Event(), Event()

    def start(self) -> None:
        """Begin to read, in threads that end with the process."""
        for task in (self._keep_read, self._keep_ranked):
            Thread(target=task, daemon=True).start()
        self._to_read.set()

    def run(self, name: str) -> Known | None:
        """The run with this id, as it is now."""
        return self.look().get(name)

    def result(self, run: Known) -> Result:
        """The run as scored; raises RunUnreadable where it cannot be."""
        state, by_people = run.state, labels_state(run.path)
        now, scored = (self._labelled if by_people else self._scores).get(run.id, (None, ""))
        if now != state + by_people:
            scored = _read(run, self.rules)
            if by_people:
                self._labelled[run.id] = state + by_people, scored
        if isinstance(scored, str):
            raise RunUnreadable(scored)
        return scored

    def curves(self) -> Mapping[str, Known]:
        """Every dose curve of which a run is there, by id."""
        return {curve.id: curve for curve in find_curves(self.root, self.look().values())}

    def look(self) -> Mapping[str, Known]:
        """Every run that is there now, by id."""
        with self._lock:
            if (began := monotonic()) >= self._next_look:
                self._runs = {run.id: run for run in find(self.root)}
                self._next_look = max(began + SCAN_SECONDS, 6 * monotonic() - 5 * began)
            return self._runs

    def show(self, patience: float = 0.0) -> Shown:
        """What is known now; what is to be read or ranked is begun, and waited for so many seconds."""
        runs = self.look()
        if self._unread(runs) or self._gone(runs):
            self._settled.clear()
            self._to_read.set()
            self._settled.wait(patience)
        with self._lock:
            tables = [(board, group.final) for group in self._tables.values() for board in group.boards]
            why = {name: text for name, (_, text) in self._scores.items() if isinstance(text, str) and name in runs}
            stamp = sorted((group.final, *sorted(group.members)) for group in self._tables.values())
        tables.sort(key=lambda pair: (not pair[0].public, pair[0].scenarios.taken, pair[0].protocol))
        active = sorted(run.id for run in runs.values() if run.under_way)
        unread = len(self._unread(runs))
        curves = self.curves()
        states = sorted((curve.id, curve.state) for curve in curves.values())
        version = hashlib.sha256(repr((stamp, active, sorted(why.items()), unread, states)).encode()).hexdigest()[:16]
        return Shown(version, runs, curves, tuple(tables), gaps([board for board, _ in tables]), why, unread)

    def _unread(self, runs: Mapping[str, Known]) -> list[Known]:
        """Runs whose score is not that of their present state; those under way are scored when they end."""
        return [
            run for run in runs.values() if not run.under_way and self._scores.get(run.id, (None, ""))[0] != run.state
        ]

    def _gone(self, runs: Mapping[str, Known]) -> list[str]:
        """Runs that have a score and are no more, or are under way again."""
        return [name for name in self._scores if name not in runs or runs[name].under_way]

    def _keep_read(self) -> None:
        while True:
            self._to_read.wait()
            self._to_read.clear()
            runs = self.look()
            for run in self._unread(runs):
                scored = _read(run, self.rules)
                with self._lock:
                    self._scores[run.id] = run.state, scored
            with self._lock:
                for name in self._gone(runs):
                    del self._scores[name]
            self._sort()

    def _sort(self) -> None:
        """Put every run into its table: those where nothing has changed stay, others wait for their ranks."""
        groups: dict[Group, dict[tuple[str, State], Result]] = {}
        for name, (state, scored) in self._scores.items():
            if isinstance(scored, Result):
                group = scored.summary.protocol, scored.summary.scenarios.measured_hash
                groups.setdefault(group, {})[name, state] = scored
        tables = {group: self._table(group, results) for group, results in groups.items()}
        with self._lock:
            self._tables = tables
        if any(not table.final for table in tables.values()):
            self._to_rank.set()
        else:
            self._settled.set()

    def _table(self, group: Group, results: Mapping[tuple[str, State], Result]) -> Tables:
        """The table as it stands, or, where its runs have changed, a new one in which nothing has been tested yet."""
        if (known := self._tables.get(group)) and known.members == results.keys():
            return known
        bare = [replace(result, scenarios=()) for result in results.values()]  # nothing to test, so all share a rank
        return Tables(frozenset(results), _with(boards(bare, self._public), results.values()), False)

    def _keep_ranked(self) -> None:
        while True:
            self._to_rank.wait()
            self._to_rank.clear()
            for group, tables in list(self._tables.items()):
                if tables.final:
                    continue
                results = [scored for name, state in tables.members if (scored := self._result(name, state))]
                ranked = Tables(tables.members, boards(results, self._public), True)
                with self._lock:
                    if (now := self._tables.get(group)) and now.members == tables.members:
                        self._tables = {**self._tables, group: ranked}
            self._settled.set()

    def _result(self, name: str, state: State) -> Result | None:
        now, scored = self._scores.get(name, (None, ""))
        return scored if now == state and isinstance(scored, Result) else None


def find(root: Path) -> Iterator[Known]:
    """Every folder with a run in it below this one, or this one; links are not followed."""
    for path in runs_below(root):
        name = path.relative_to(root).as_posix()
        try:
            yield Known(_id(name), path, root.resolve().name if name == "." else name, _state(path), under_way(path))
        except OSError:
            continue  # it has gone meanwhile


def find_curves(root: Path, runs: Iterable[Known]) -> Iterator[Known]:
    """Every dose curve that these runs, found below `root`, were made for: its folder is two above theirs."""
    for path in sorted({run.path.parent.parent for run in runs}):
        if path.is_relative_to(root) and (path / DATA).is_file():
            name = path.relative_to(root).as_posix()
            try:
                stat = (path / DATA).stat()
            except OSError:
                continue  # it has gone meanwhile
            yield Known(
                _id(name), path, root.resolve().name if name == "." else name, (stat.st_mtime_ns, stat.st_size), False
            )


def _id(name: str) -> str:
    """An id that can stand in an address and leads nowhere but to what was found."""
    return hashlib.sha256(os.fsencode(name)).hexdigest()[:16]


def _state(path: Path) -> State:
    """What changes when a run's files do; an empty write-ahead log is none, for readers make one."""
    return _stamps(path / RECORD, *(file for file in (path / DATABASE, path / f"{DATABASE}-wal") if file.exists()))


def labels_state(path: Path) -> State:
    """What changes when people label the run; apart from its state, for labels move no rank."""
    labels = LabelStore(path)
    return _stamps(labels.path) if labels.exists else ()


def _stamps(*files: Path) -> State:
    stats = [file.lstat() if file.is_symlink() and not file.exists() else file.stat() for file in files]
    return tuple(number for stat in stats if stat.st_size for number in (stat.st_mtime_ns, stat.st_size))


def _read(run: Known, rules: str) -> Result | str:
    """The run as scored, or why it cannot be: whatever is wrong with one run, the others are shown."""
    try:
        result = score(run.path, rules)
        _check(result)
    except Exception as error:
        text = str(error) if type(error).__module__.startswith("maskbench") else f"{type(error).__name__}: {error}"
        return text or type(error).__name__
    return result


def _check(result: Result) -> None:
    """Raise what is wrong with a run that can be scored and cannot stand in a table beside others."""
    scenarios = result.summary.scenarios
    names = (
        result.created,
        result.summary.protocol,
        *(scenarios.measured_hash, scenarios.taken, scenarios.name),
    )
    if not all(isinstance(name, str) for name in names):
        raise RunUnreadable(
            f"{result.path / RECORD} does not hold the record of a run. Restore the file, or start anew."
        )
    boards([result])


def _with(tables: Sequence[Board], results: Collection[Result]) -> tuple[Board, ...]:
    """These tables with these results in their rows."""
    whole = {result.path: result for result in results}
    return tuple(
        replace(
            board,
            ranked=tuple(replace(row, result=whole[row.result.path]) for row in board.ranked),
            unranked=tuple(replace(row, result=whole[row.result.path]) for row in board.unranked),
        )
        for board in tables
    )
