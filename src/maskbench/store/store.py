"""Replies and verdicts in one SQLite file: written by one process in small batches, read by anyone at any time."""

from __future__ import annotations

import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from msgspec import to_builtins

from maskbench.errors import RunError, RunUnreadable
from maskbench.method import archetypes
from maskbench.method.asks import VERDICTS
from maskbench.method.control_marks import control_mark
from maskbench.method.reasoning import has_one_lone_closer, split_at_lone_closer
from maskbench.plain import storable
from maskbench.scenarios import Key, leaders
from maskbench.scenarios.own_archetypes import wrong_archetype
from maskbench.scenarios.row_labels import with_asked
from maskbench.store.database import Database, committing, damaged
from maskbench.store.disk import check_file, create, network_kind
from maskbench.store.fitting import MOVING, misfit
from maskbench.store.heard import Marks
from maskbench.store.packed import pack, unpack
from maskbench.store.samples import REPLY, VERDICT, Samples, decoding, is_neutral, judgement_of
from maskbench.types import (
    Archetype,
    Ask,
    Cause,
    Failure,
    Judgement,
    Range,
    Reply,
    Scenario,
    Stage,
    Usage,
)

if TYPE_CHECKING:
    import asyncio

SCHEMA_VERSION = 3
FLUSH_SECONDS = 0.05  # half of what a kill -9 may cost (docs/results.md)
CHECKPOINT_SECONDS = 3.0  # what a power cut may cost
_BUSY_SECONDS = 30  # that a write waits for others
_READER_MILLISECONDS = 500  # that a change of the journal waits for a reader
_PAGE = 16_384  # bytes: in smaller ones a row with a text leaves nearly half of its page empty
_LOG_PAGES = 4_000  # in the write-ahead log, before a commit itself has to wait for the disk

_SCHEMA = """
CREATE TABLE scenarios (
    position INTEGER PRIMARY KEY,
    archetype TEXT NOT NULL,
    task_id TEXT NOT NULL,
    weight REAL NOT NULL,
    row BLOB NOT NULL,
    UNIQUE (archetype, task_id)
);
CREATE TABLE replies (
    archetype TEXT NOT NULL,
    task_id TEXT NOT NULL,
    elicitation INTEGER NOT NULL,
    run INTEGER NOT NULL,
    key BLOB NOT NULL,
    seed INTEGER NOT NULL,
    text TEXT,
    reasoning TEXT,
    truncated INTEGER,
    input_tokens INTEGER,
    output_tokens INTEGER,
    reasoning_tokens INTEGER,
    model TEXT,
    fingerprint TEXT,
    sent TEXT,
    seconds REAL,
    error_cause TEXT,
    error_detail TEXT,
    at REAL NOT NULL,
    session INTEGER,
    PRIMARY KEY (archetype, task_id, elicitation, run)
) WITHOUT ROWID;
CREATE TABLE verdicts (
    verdict_set TEXT NOT NULL,
    key BLOB NOT NULL,
    verdict TEXT,
    reason TEXT,
    raw TEXT,
    asks INTEGER NOT NULL,
    input_tokens INTEGER,
    output_tokens INTEGER,
    reasoning_tokens INTEGER,
    model TEXT,
    fingerprint TEXT,
    sent TEXT,
    seconds REAL,
    error_cause TEXT,
    error_detail TEXT,
    at REAL NOT NULL,
    confidence REAL,
    session INTEGER,
    PRIMARY KEY (verdict_set, key)
) WITHOUT ROWID;
CREATE TABLE judged (
    verdict_set TEXT NOT NULL,
    archetype TEXT NOT NULL,
    task_id TEXT NOT NULL,
    elicitation INTEGER NOT NULL,
    run INTEGER NOT NULL,
    key BLOB NOT NULL,
    PRIMARY KEY (verdict_set, archetype, task_id, elicitation, run)
) WITHOUT ROWID;
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- Of use to nobody; to leave it out is another SCHEMA_VERSION.
CREATE TABLE chosen (
    verdict_set TEXT NOT NULL,
    archetype TEXT NOT NULL,
    task_id TEXT NOT NULL,
    probability REAL NOT NULL,
    PRIMARY KEY (verdict_set, archetype, task_id)
) WITHOUT ROWID;
"""

RUN = Database(_SCHEMA, SCHEMA_VERSION, moving=MOVING)
_SETS = """WITH RECURSIVE sets(name) AS (SELECT min(verdict_set) FROM judged UNION ALL
    SELECT (SELECT min(verdict_set) FROM judged WHERE verdict_set > name) FROM sets WHERE name IS NOT NULL)
SELECT name FROM sets WHERE name IS NOT NULL"""  # by one look each, and not by all rows
_FAILED = """
WITH failed AS MATERIALIZED (SELECT * FROM verdicts WHERE verdict_set = ?1 AND error_cause IS NOT NULL)
SELECT 'subject' AS stage, archetype, task_id, elicitation, error_cause AS cause, error_detail AS detail
FROM replies WHERE error_cause IS NOT NULL
UNION ALL
SELECT 'judge', j.archetype, j.task_id, j.elicitation, v.error_cause, v.error_detail
FROM judged j CROSS JOIN failed v USING (key) WHERE j.verdict_set = ?1
"""  # by a list of what failed, which is short: to look at the verdict of each sample takes four times as long
_PUT_REPLY = f"INSERT OR REPLACE INTO replies VALUES ({', '.join('?' * 20)})"
_PUT_VERDICT = f"INSERT OR REPLACE INTO verdicts VALUES ({', '.join('?' * 18)})"
_COPY_VERDICT = """
INSERT OR REPLACE INTO verdicts SELECT ?, key, verdict, reason, raw, 0, NULL, NULL, NULL, model, fingerprint, sent,
    seconds, error_cause, error_detail, at, confidence, NULL
FROM verdicts WHERE verdict_set = ? AND key = ?
"""
_PUT_JUDGED = "INSERT OR REPLACE INTO judged VALUES (?, ?, ?, ?, ?, ?)"
_UNJUDGE = "DELETE FROM judged WHERE archetype = ? AND task_id = ? AND elicitation = ?"
_NAMED = """SELECT row FROM scenarios WHERE instr(row, CAST('"neutral":"' AS BLOB)) ORDER BY position"""
_IN_PART = """(?1 IS NULL OR scenarios.archetype IN (SELECT value FROM json_each(?1))) AND (?2 IS NULL OR NOT EXISTS (
    SELECT 1 FROM replies AS given
    WHERE given.archetype = scenarios.archetype AND given.task_id = scenarios.task_id
    AND given.model NOT IN (SELECT value FROM json_each(?2))))
AND (?3 IS NULL OR scenarios.archetype || char(9) || scenarios.task_id IN (SELECT value FROM json_each(?3)))"""
_TOGETHER = 256  # scenarios that are read at a time, with all that stands on them
_JUDGED_TOGETHER = 2048  # scenarios whose verdicts are read at a time
_SOME = f"SELECT position, row, weight FROM scenarios WHERE {_IN_PART} AND position > ?4 ORDER BY 1 LIMIT {_TOGETHER}"
_REPLIES_OF = f"SELECT 0, {REPLY} FROM replies r WHERE archetype = ? AND task_id = ? ORDER BY r.elicitation, r.run"
_JUDGED_OF = f"""SELECT 0, {VERDICT} FROM judged j CROSS JOIN verdicts v USING (verdict_set, key)
    WHERE j.verdict_set = ? AND j.archetype = ? AND j.task_id = ?"""
_ALL_REPLIES = f"""SELECT s.position, {REPLY} FROM scenarios s CROSS JOIN replies r USING (archetype, task_id)
    WHERE s.position BETWEEN ? AND ?"""
# Verdicts lie in the order of their keys, and are looked up in it: LIMIT -1 keeps SQLite from leaving that order out.
_ALL_JUDGED = f"""SELECT j.position, {VERDICT} FROM (
        SELECT s.position, j.elicitation, j.run, j.key FROM scenarios s CROSS JOIN judged j USING (archetype, task_id)
        WHERE j.verdict_set = ?1 AND s.position BETWEEN ?2 AND ?3 ORDER BY j.key LIMIT -1
    ) j CROSS JOIN verdicts v ON v.verdict_set = ?1 AND v.key = j.key"""
PORT_TASK = "task arguments"  # the fact that has those of the port's log that its scores hang on
ON_LOST = "~on lost replies"  # the set of what the published metric reads elsewhere than we do in an import's source
MARKS = "marks of templates"  # the fact that says how these are read
# Parts of them that few texts have: only replies with one are looked at.
_OF_MARKS = ("/think", "/ think", "/seed:think", "|>", "｜>", "of_turn>", "of_utterance>", "<|turn>", "<eos>", "inst]")
_MARKED = f"""SELECT archetype, task_id, text FROM
    (SELECT archetype, task_id, text, lower(text) AS low FROM replies WHERE text IS NOT NULL)
    WHERE {" OR ".join(f"instr(low, '{part}')" for part in _OF_MARKS)}"""
_ANSWERED = {
    "subject": "replies WHERE text IS NOT NULL",
    "binary": """verdicts WHERE verdict_set = :verdict_set AND verdict LIKE '{"letter"%'""",
    "numeric": """verdicts WHERE verdict_set = :verdict_set AND verdict NOT LIKE '{"letter"%'""",
}

_DISTINCT = """WITH had AS MATERIALIZED (SELECT DISTINCT model, fingerprint FROM {})
    SELECT * FROM (SELECT DISTINCT 'resolved', model FROM had WHERE model IS NOT NULL ORDER BY 2 LIMIT 20) UNION ALL
    SELECT * FROM (SELECT DISTINCT 'fingerprints', fingerprint FROM had WHERE fingerprint IS NOT NULL
    ORDER BY 2 LIMIT 20)"""


class Store:
    """The run's database. Readers may open it while a run is writing."""

    def __init__(
        self,
        path: Path,
        *,
        write: bool = False,
        checkpoint: float = CHECKPOINT_SECONDS,
        network: bool | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Open the file; with `write` it is created where it is missing.

        At most `checkpoint` seconds after a flush everything is on the disk, and in the file itself. `network` says
        whether it is on a network file system (default: as the system has it), where every commit is in the file at
        once, as no machine sees another's write-ahead log. `clock` tells when an answer came, in seconds since 1970.
        Raises RunUnreadable where it is not a run's database, or one of a schema that this version does not know.
        """
        self._path = path
        self._clock = clock
        self.session: int | None = None  # which of its record's sessions asks, from 1; None: answers are from elsewhere
        self._network = network_kind(path) is not None if network is None else network
        self._flush_seconds = FLUSH_SECONDS
        self._part: tuple[str | None, ...] = None, None, None  # archetypes, models and scenarios that are read, as JSON
        if not write and not path.exists():
            raise RunUnreadable(f"{path.parent} holds no run: there is no {path.name} in it.")
        self._writes = write
        self._checkpoint_seconds = checkpoint
        self._checkpoint_timer: asyncio.TimerHandle | None = None
        self._aside: threading.Thread | None = None  # the checkpoint under way
        self._is_at_rest = not path.with_name(f"{path.name}-wal").exists()  # before this process has a log
        self._db = _open(path, write, network=self._network)
        self._waiting: dict[str, list[tuple[Any, ...]]] = {
            _PUT_REPLY: [],
            _UNJUDGE: [],
            _PUT_VERDICT: [],
            _PUT_JUDGED: [],
        }
        self._fresh: dict[tuple[str, bytes], Judgement] = {}  # verdicts that are waiting to be written
        self._timer: asyncio.TimerHandle | None = None
        self._broken: RunError | None = None
        self._leaders: Mapping[Key, Key] | None = None
        self._keeps: dict[str, Callable[[], Any]] = {}  # facts that change with every call
        self._marks: Marks | None = None
        try:
            with RUN.opening(path):
                self._check_schema(write)
            if write:
                self.settle()
        except BaseException:
            self._db.close()
            raise

    @property
    def lacked_log(self) -> bool:
        """Whether it was written with a write-ahead log that was not there when it was opened: needless, or lost."""
        return self._is_at_rest and self._rows("PRAGMA journal_mode") == [("wal",)]

    @property
    def folder(self) -> Path:
        """The run's folder, with all that belongs to it."""
        return self._path.parent

    def _rows(self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        """What a query finds; raises RunUnreadable where the file is damaged or was tampered with."""
        try:
            return self._db.execute(query, values).fetchall()
        except (sqlite3.Error, OverflowError) as error:
            raise damaged(self._path, error) from error

    def damaged(self, problem: object) -> RunUnreadable:
        """The error for a file that holds something that maskbench did not write."""
        return damaged(self._path, problem)

    def _check_schema(self, write: bool) -> None:
        if write:
            self._db.execute(f"PRAGMA page_size = {_PAGE}")  # of a file that is made now; another keeps its own
            self._choose_journal()
            if self._db.execute("PRAGMA user_version").fetchone() == (0,):
                RUN.make(self._db)
        RUN.check(self._db, self._path)
        if write:
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")

    def _choose_journal(self) -> None:
        """Write ahead, but over a network.

        A run that was moved has no write-ahead log, and gets none while somebody reads it: then it is as it was, which
        is slower, and no reason to stop.
        """
        if self._network:
            self._db.execute("PRAGMA journal_mode = TRUNCATE")
            return
        self._db.execute(f"PRAGMA busy_timeout = {_READER_MILLISECONDS}")
        with suppress(sqlite3.OperationalError):
            self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute(f"PRAGMA busy_timeout = {1000 * _BUSY_SECONDS}")

    # Scenarios

    def add_scenarios(self, scenarios: Iterable[tuple[Scenario, float]]) -> None:
        """Take in the scenarios to measure with their design weights, all or none, instead of those that are there.

        Raises RunUnreadable where replies are stored, which belong to others.
        """
        with committing(self._db, self._path):
            if self._rows("SELECT 1 FROM replies LIMIT 1"):
                raise RunUnreadable(f"{self._path} holds the replies of a run. Give this one another --out.")
            self._db.execute("DELETE FROM scenarios")
            self._leaders = None
            self._db.executemany(
                "INSERT INTO scenarios (archetype, task_id, weight, row) VALUES (?, ?, ?, ?)",
                ((s.archetype, s.task_id, weight, pack(s)) for s, weight in scenarios),
            )
        _checkpoint(self._path)

    def narrow(
        self,
        archetypes: Sequence[Archetype] = (),
        models: Sequence[str] = (),
        keys: Iterable[tuple[Archetype, str]] | None = None,
    ) -> None:
        """Read on as if the run had been over these archetypes alone, over scenarios that only these models answered.

        `keys` are the scenarios themselves. Nothing given is everything; calls and tokens stay those of the whole run.
        """
        named = None if keys is None else ["\t".join(key) for key in keys]
        given = (list(archetypes) or None, list(models) or None, named)
        self._part = tuple(None if names is None else orjson.dumps(names).decode() for names in given)

    def answers(self) -> dict[str, int]:
        """The subject's replies in the scenarios that are read, by the name that the endpoint resolved, if it did."""
        counted = f"""SELECT model, count(*) FROM replies JOIN scenarios USING (archetype, task_id)
            WHERE model IS NOT NULL AND {_IN_PART} GROUP BY model"""
        return dict(self._rows(counted, self._part))

    def scenarios(self) -> Iterator[tuple[Scenario, float]]:
        """Every scenario with its weight, in the set's order, a few in memory at a time."""
        last = 0
        while rows := self._rows(_SOME, (*self._part, last)):
            last = rows[-1][0]
            yield from self._decoded(rows)

    def _decoded(self, rows: Iterable[Any]) -> Iterator[tuple[Scenario, float]]:
        with decoding(self._path, "a scenario"):
            for _, row, weight in rows:
                yield scenario_in(row, weight), weight

    def leaders(self) -> Mapping[Key, Key]:
        """The scenario whose neutral replies and verdicts stand for a later one's too, by the later one.

        It is the first of the run that names this neutral conversation; where none is named, there are none.
        """
        if self._leaders is None:
            with decoding(self._path, "a scenario"):
                self._leaders = leaders(unpack(row) for (row,) in self._rows(_NAMED))
        return self._leaders

    def count(self) -> int:
        """How many scenarios the run has."""
        return int(self._rows(f"SELECT count(*) FROM scenarios WHERE {_IN_PART}", self._part)[0][0])

    def counts(self) -> dict[Archetype, int]:
        """How many scenarios the run has of each archetype."""
        counted = f"SELECT archetype, count(*) FROM scenarios WHERE {_IN_PART} GROUP BY archetype"
        return dict(self._rows(counted, self._part))

    def has_numbers(self) -> bool:
        """Whether any scenario asks for a belief in a number."""
        return any(each.kind == "numerical" and not archetypes.of(each).given for each, _ in self.scenarios())

    # Replies and verdicts

    def put_reply(self, key: bytes, seed: int, ask: Ask, run: int, reply: Reply | Failure) -> None:
        """Keep one reply or failure; what stood in its place gives way."""
        where = (*ask.scenario.key, ask.elicitation, run, key, seed)
        match reply:
            case Reply():
                what = (reply.text, reply.reasoning, reply.truncated, *_call(reply), None, None)
            case Failure():
                what = (None,) * 10 + (reply.cause, reply.detail)
        self._put(_PUT_REPLY, (*where, *what, self._clock(), self.session))

    def unjudge(self, ask: Ask) -> None:
        """Let no judge's verdict stand on the samples of the subject's `ask`: it was on fewer than are there now."""
        self._put(_UNJUDGE, (*ask.scenario.key, ask.elicitation))

    def has_verdict(self, verdict_set: str, key: bytes) -> bool:
        """Whether there is a verdict (not a failure) under this key."""
        query = "SELECT 1 FROM verdicts WHERE verdict_set = ? AND key = ? AND verdict IS NOT NULL"
        return (verdict_set, key) in self._fresh or bool(self._rows(query, (verdict_set, key)))

    def verdict(self, verdict_set: str, key: bytes) -> Judgement | None:
        """The verdict under this key; None where there is none, or a failure."""
        if (fresh := self._fresh.get((verdict_set, key))) is not None:
            return fresh
        query = """SELECT verdict, reason, confidence FROM verdicts
            WHERE verdict_set = ? AND key = ? AND verdict IS NOT NULL"""
        with decoding(self._path, "a verdict"):
            return next((judgement_of(*row) for row in self._rows(query, (verdict_set, key))), None)

    def samples(self, scenario: Scenario, *verdict_sets: str) -> Samples:
        """The samples of a scenario so far: its replies, and the verdicts of these sets (default: the run's own).

        Where another one leads its neutral conversation, that one's neutral samples are among them.
        """
        judged = {name: self._samples(scenario, _JUDGED_OF, name) for name in verdict_sets or (VERDICTS,)}
        return Samples(scenario, self._path, self._samples(scenario, _REPLIES_OF), judged, self.marks)

    def _samples(self, scenario: Scenario, query: str, *values: str) -> Sequence[Any]:
        """The samples of a scenario, and of its leader those neutral ones that it has not itself."""
        own = self._rows(query, (*values, *scenario.key))
        if (leader := self.leaders().get(scenario.key) if scenario.neutral else None) is None:
            return own
        there = {row[1:3] for row in own}
        shared = [row for row in self._rows(query, (*values, *leader)) if is_neutral(row[1])]
        return sorted([*own, *(row for row in shared if row[1:3] not in there)], key=lambda row: row[1:3])

    def read(self, *verdict_sets: str) -> Iterator[tuple[Samples, float]]:
        """The same of every scenario, with its weight, in the set's order: one pass, a part in memory at a time."""
        names, last, far, was = verdict_sets or (VERDICTS,), 0, 0, None
        while rows := self._rows(_SOME, (*self._part, last)):
            first, last = rows[0][0], rows[-1][0]
            replies = self._by_scenario(_ALL_REPLIES, (first, last))
            # It changes where another program wrote: verdicts that were read ahead may then be on other replies.
            written = self._rows("PRAGMA data_version")
            if last > far or written != was:
                far = last if last <= far else max(last, first + _JUDGED_TOGETHER)
                judged = {name: self._by_scenario(_ALL_JUDGED, (name, first, far)) for name in names}
                was = written
            for (place, *_), (scenario, weight) in zip(rows, self._decoded(rows), strict=True):
                if scenario.neutral:
                    yield self.samples(scenario, *verdict_sets), weight
                    continue
                verdicts = {name: each.get(place, ()) for name, each in judged.items()}
                yield Samples(scenario, self._path, replies.get(place, ()), verdicts, self.marks), weight

    def _by_scenario(self, query: str, values: Sequence[Any]) -> Mapping[int, Sequence[Any]]:
        """The rows of each scenario, by its position, in the order of their samples."""
        found: dict[int, list[Any]] = {}
        for row in self._rows(query, values):
            found.setdefault(row[0], []).append(row)
        with decoding(self._path, "a sample"):
            for rows in found.values():
                rows.sort()
        return found

    def put_verdict(
        self,
        verdict_set: str,
        key: bytes,
        judgement: Judgement | Failure,
        replies: list[Reply | Failure],
        *,
        beside: bool = False,
    ) -> None:
        """Keep a verdict or the failure to get one, with the judge's replies that led to it.

        `beside` says that they are counted with another verdict that they hold, too.
        """
        had = [reply for reply in replies if isinstance(reply, Reply)]
        last = had[-1] if had else Reply(text="")
        call = (*_tokens([] if beside else had), *_call(last)[3:])
        asks = 0 if beside else len(replies)
        match judgement:
            case Judgement():
                what = (_dumps(judgement.verdict), judgement.reason, last.text, asks, *call, None, None)
                sure = judgement.confidence
                self._fresh[verdict_set, key] = judgement
            case Failure():
                what = (None, None, last.text, asks, *call, judgement.cause, judgement.detail)
                sure = None
        self._put(_PUT_VERDICT, (verdict_set, key, *what, self._clock(), sure, self.session))

    def link(self, verdict_set: str, ask: Ask, key: bytes) -> None:
        """Say that the verdict under `key` is the one on the sample that the judge's `ask` is about."""
        self._put(_PUT_JUDGED, (verdict_set, *ask.scenario.key, ask.elicitation, ask.runs[0], key))

    def verdict_sets(self) -> list[str]:
        """The names of the verdict sets over these replies, in order; ON_LOST is none."""
        return [name for name in self.all_sets() if name != ON_LOST]

    def all_sets(self) -> list[str]:
        """The names of all sets over these replies, ON_LOST among them."""
        return [name for (name,) in self._rows(_SETS)]

    def tokens_by_model(self, verdict_set: str | None) -> dict[str | None, Usage]:
        """All tokens of the subject's replies (None), or of a set's verdicts, by the name that answered."""
        sums = "SELECT model, sum(input_tokens), sum(output_tokens), sum(reasoning_tokens) FROM"
        where = "replies WHERE ? IS NULL" if verdict_set is None else "verdicts WHERE verdict_set = ?"
        rows = self._rows(f"{sums} {where} GROUP BY model", (verdict_set,))
        return {model: Usage(*counts) for model, *counts in rows}

    def verdict_counts(self) -> dict[str, tuple[int, int]]:
        """How many samples have a verdict, and how many failed to get one, by verdict set."""
        query = """
            SELECT j.verdict_set, count(v.verdict), count(*) FROM judged j
            JOIN verdicts v ON v.verdict_set = j.verdict_set AND v.key = j.key GROUP BY 1
        """
        return {name: (had, every - had) for name, had, every in self._rows(query)}

    def failed(self, verdict_set: str) -> list[tuple[Stage, tuple[str, str], int, str]]:
        """Every reply and every verdict of a set that failed: stage, scenario, elicitation, cause."""
        rows = self._rows(_FAILED, (verdict_set,))
        return [(stage, (archetype, task_id), place, cause) for stage, archetype, task_id, place, cause, _ in rows]

    def commonest_failure(self, verdict_set: str) -> tuple[Stage, Cause, str, int] | None:
        """The commonest failure in the same words: stage, cause, detail and how often; None where nothing failed."""
        query = f"SELECT stage, cause, detail, count(*) FROM ({_FAILED}) GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1 DESC, 2, 3"
        return next(iter(self._rows(query, (verdict_set,))), None)

    # Marks that chat templates left in replies

    @property
    def marks(self) -> Marks:
        """The marks by which replies are read; where nobody has decided that, every reply is read as it is stored."""
        if self._marks is None:
            value = self.fact(MARKS)
            if value is not None and (problem := misfit(value, Marks)):
                raise damaged(self._path, f"the fact {MARKS}: {problem}")
            self._marks = Marks(opens=False) if value is None else Marks(**value)
        return self._marks

    def settle(self, *, as_judged: bool = False) -> int:
        """Decide how they are read, by all replies that are there; returns how many scenarios are to be judged anew.

        No verdict stands on these from now on, so that they are judged anew, or have the verdict that is stored on
        the very request. `as_judged`: replies are read as they are stored, for ever, since others have judged them so.
        """
        is_first, before = self.fact(MARKS) is None, self.marks
        ((replies, by_sessions),) = self._rows("SELECT count(text), count(session) FROM replies")
        known = Marks(opens=False, stays=True) if as_judged else before
        if is_first and not as_judged:  # of replies of an earlier version sessions stored the text apart, imports whole
            is_old = bool(by_sessions or self._rows("SELECT 1 FROM judged LIMIT 1"))
            known = Marks(opens=bool(by_sessions) or not is_old, stays=is_old)
        lone, ended = 0, 0
        parts, ends = set[Key](), set[Key]()
        with decoding(self._path, "a reply"):
            for *key, text in self._rows(_MARKED):
                lone += has_one_lone_closer(text)
                if split_at_lone_closer(text):
                    parts.add((key[0], key[1]))
                if control_mark(text):
                    ended += 1
                    ends.add((key[0], key[1]))
        now = known.with_counts(replies, lone, ended)
        if now == before and not is_first:
            return 0
        is_other = now.opens != before.opens and not as_judged
        anew = (parts if is_other else set()) | (ends if is_first and by_sessions else set())
        with committing(self._db, self._path):
            self._db.executemany("DELETE FROM judged WHERE archetype = ? AND task_id = ?", anew)
            self._write_fact(MARKS, to_builtins(now))
        self._marks = now
        return len(anew)

    # Verdicts that sets share

    def copy_verdicts(self, verdict_set: str, places: Iterable[tuple[str, bytes]]) -> None:
        """Take in verdicts that other sets have paid for, by set and key, all or none: they count as no call here."""
        with committing(self._db, self._path):
            self._db.executemany(_COPY_VERDICT, ((verdict_set, *place) for place in places))

    # Facts about the whole run

    def fact(self, name: str) -> Any:
        """A remembered fact, or None."""
        rows = self._rows("SELECT value FROM facts WHERE name = ?", (name,))
        with decoding(self._path, f"the fact {name}"):
            return orjson.loads(rows[0][0]) if rows else None

    def seconds(self, name: str = "seconds") -> float:
        """The remembered seconds of that name, 0 where there are none."""
        value = self.fact(name) or 0.0
        if not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise damaged(self._path, f"the fact {name} is {value!r}")
        return float(value)

    def names(self, name: str) -> list[str]:
        """The remembered list of names, empty where there is none."""
        value = self.fact(name)
        if misfit(value, list[str] | None):
            raise damaged(self._path, f"the fact {name} is {value!r}"[:200])
        return list(value or ())

    def remember(self, name: str, value: Any) -> None:
        """Remember a fact (anything that JSON can say), at once."""
        with committing(self._db, self._path):
            self._write_fact(name, value)

    def keeps(self, name: str, value: Callable[[], Any]) -> None:
        """Remember a fact that changes with every call: `value` is asked for it whenever answers are written."""
        self._keeps[name] = value

    def _write_fact(self, name: str, value: Any) -> None:
        self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, _dumps(value)))

    def latest(self) -> str:
        """The time of the last answer, in UTC."""
        rows = self._rows("SELECT max(at) FROM (SELECT at FROM replies UNION ALL SELECT at FROM verdicts)")
        with decoding(self._path, "a time"):
            return datetime.fromtimestamp(rows[0][0], UTC).isoformat(timespec="seconds")

    def judged_between(self, verdict_set: str) -> tuple[float, float] | None:
        """The times of a set's first and last verdict on a statement, in seconds of the clock; None without any."""
        query = """SELECT min(v.at), max(v.at) FROM judged j JOIN verdicts v USING (verdict_set, key)
            WHERE verdict_set = ? AND j.elicitation = 0 AND v.verdict IS NOT NULL"""
        ((first, last),) = self._rows(query, (verdict_set,))
        with decoding(self._path, "a time"):
            return None if first is None else (float(first), float(last))

    def answered_by(self, verdict_set: str, roles: Iterable[str] | None = None) -> dict[str, dict[str, list[str]]]:
        """The models that answered, as endpoints name them, with fingerprints, by role: twenty at most of each.

        `roles` are those that are asked for; None: all.
        """

        def distinct(role: str) -> dict[str, list[str]]:
            found: dict[str, list[str]] = {"resolved": [], "fingerprints": []}
            for name, value in self._rows(_DISTINCT.format(_ANSWERED[role]), {"verdict_set": verdict_set}):
                found[name].append(str(value))
            return found

        return {role: distinct(role) for role in (_ANSWERED if roles is None else roles)}

    def usage(self, verdict_set: str) -> dict[str, dict[str, int]]:
        """Tokens as the endpoints counted them, and calls, for subject and judge."""
        sums = "sum(input_tokens), sum(output_tokens), sum(reasoning_tokens)"
        (subject,) = self._rows(f"SELECT count(text), {sums} FROM replies")
        (judge,) = self._rows(f"SELECT sum(asks), {sums} FROM verdicts WHERE verdict_set = ?", (verdict_set,))
        names = ("answers", "input_tokens", "output_tokens", "reasoning_tokens")
        with decoding(self._path, "a count of tokens"):
            return {
                "subject": {name: int(value or 0) for name, value in zip(names, subject, strict=True)},
                "judge": {name: int(value or 0) for name, value in zip(names, judge, strict=True)},
            }

    # Writing

    def _put(self, statement: str, row: tuple[Any, ...]) -> None:
        if self._broken:
            raise self._broken
        self._waiting[statement].append(row)
        if self._timer is None:
            self._timer = _later(self._flush_seconds, self._flush_in_time)

    def _flush_in_time(self) -> None:
        began = time.monotonic()
        try:
            self.flush()
        except RunError as error:  # a timer has no caller: the next writer hears of it
            self._broken = error
        if self._network:  # so that commits take a tenth of the time, and a slow one has no answers wait for long
            wished = max(FLUSH_SECONDS, 9 * (time.monotonic() - began))
            self._flush_seconds = min(wished, self._checkpoint_seconds)
        if self._checkpoint_timer is None:
            self._checkpoint_timer = _later(self._checkpoint_seconds, self._checkpoint_aside)

    def flush(self) -> None:
        """Commit everything that is waiting; raises RunError where the file cannot be written."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        with committing(self._db, self._path):
            for statement, rows in self._waiting.items():
                if rows:
                    self._db.executemany(statement, rows)
            for name, value in self._keeps.items():
                self._write_fact(name, value())
        for rows in self._waiting.values():
            rows.clear()
        self._fresh.clear()

    def _checkpoint_aside(self) -> None:
        """Have a thread put everything on the disk, so that no call waits for that."""
        self._checkpoint_timer = None
        if self._aside:
            self._aside.join()  # it has had seconds
        self._aside = threading.Thread(target=_checkpoint, args=(self._path,), daemon=True)
        self._aside.start()

    def close(self) -> None:
        """Flush, put everything on the disk, and let go of the file."""
        if self._checkpoint_timer:
            self._checkpoint_timer.cancel()
        try:
            self.flush()
            if self._aside:
                self._aside.join()
            if self._writes:
                _checkpoint(self._path)
        finally:
            self._db.close()


def _later(seconds: float, do: Callable[[], None]) -> asyncio.TimerHandle:
    """Have the loop do something in so many seconds."""
    from asyncio import get_running_loop  # loading it takes long, and whoever writes has it already

    return get_running_loop().call_later(seconds, do)


def _open(path: Path, write: bool, *, network: bool) -> sqlite3.Connection:
    mode = "rwc" if write else "rw"  # a reader, too, may have to make the WAL's index file
    _check_files(path)
    if write:
        _make(path)
    is_at_rest = not path.with_name(f"{path.name}-wal").exists()
    if not write and is_at_rest and (not os.access(path.parent, os.W_OK) or (network and _had_log(path))):
        mode = "ro&immutable=1"  # nobody can be writing here, and no index file can be made, or be of use
    with RUN.opening(path):
        return sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=_BUSY_SECONDS)


def _had_log(path: Path) -> bool:
    """Whether a database was written with a write-ahead log, by its header; its writer is not on a network then."""
    with path.open("rb") as file:
        return file.read(20)[18:] == b"\x02\x02"


def _check_files(path: Path) -> None:
    """Raise RunUnreadable where the database, or what SQLite keeps beside it, is a folder, or a pipe to wait at.

    What is beside it is no link either.
    """
    for file in (path, *(path.with_name(f"{path.name}-{part}") for part in ("wal", "shm", "journal"))):
        with RUN.opening(file):
            check_file(file, follow=file == path)  # of a database alone a link is read


def _make(path: Path) -> None:
    """The empty file where there is none: SQLite gives its log and its index the rights that the file has."""
    try:
        create(path)
    except OSError as error:
        raise RunError(f"{path} cannot be written ({error.strerror or error}). Give another --out.") from error


def _checkpoint(path: Path) -> None:
    """Put on the disk, and into the file itself, what the write-ahead log holds; disturbs no reader and no writer."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=0)) as db:  # what fails here fails in a commit
        db.execute("PRAGMA wal_checkpoint(PASSIVE)")


def storable_answer(answer: Reply | Failure) -> Reply | Failure:
    """The answer in text that every file can hold."""
    names = ("text", "reasoning", "model", "fingerprint") if isinstance(answer, Reply) else ("detail",)
    texts = {name: getattr(answer, name) or "" for name in names}
    odd: dict[str, Any] = {name: storable(text) for name, text in texts.items() if not text.isascii()}
    return replace(answer, **odd) if odd else answer


def _dumps(value: Any) -> str:
    return orjson.dumps(value).decode()


def _tokens(replies: list[Reply]) -> tuple[int | None, int | None, int | None]:
    def total(counts: list[int | None]) -> int | None:
        known = [count for count in counts if count is not None]
        return sum(known) if known else None

    usages = [reply.usage for reply in replies]
    return total([u.input for u in usages]), total([u.output for u in usages]), total([u.reasoning for u in usages])


def _call(reply: Reply) -> tuple[Any, ...]:
    sent = _dumps(reply.sent) if reply.sent else None
    return *_tokens([reply]), reply.model, reply.fingerprint, sent, reply.seconds


def scenario_in(row: bytes, weight: Any) -> Scenario:
    """A scenario as it was packed; raises ValueError for one that no set can hold."""
    scenario = with_asked(unpack(row))
    if problem := wrong_archetype(scenario):
        raise ValueError(problem)
    if (scenario.kind == "numerical") != isinstance(scenario.truth, Range):
        raise ValueError(f"{scenario.task_id} is {scenario.kind}, and its truth is {scenario.truth!r}")
    if not isinstance(weight, int | float) or not 0 < weight < math.inf:
        raise ValueError(f"{scenario.task_id} has the weight {weight!r}")
    return scenario
