"""The journal of a run's batches, an SQLite file beside its database: jobs, requests, results not yet used.

A job is written here, and on the disk, before its service is asked to begin it. So whatever is killed, and whenever,
the next session knows which requests may be under way, and asks none of them a second time before it has looked.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson

from maskbench.models.chat.wire import Recorded
from maskbench.store.database import Database, committing, damaged
from maskbench.store.disk import check_file, create
from maskbench.store.prices import Tokens
from maskbench.types import Call, Stage

NAME = "batches.sqlite"
State = Literal["sending", "under way", "home", "left"]  # left: given up, so that its requests may be asked otherwise
FOUND = "found"  # how a job stands that was found again, and is this one as far as one can tell
_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    stage TEXT NOT NULL,
    model TEXT NOT NULL,
    state TEXT NOT NULL,
    tag TEXT NOT NULL,
    file TEXT,
    job TEXT,
    how TEXT NOT NULL DEFAULT '',
    requests INTEGER NOT NULL,
    input_tokens REAL NOT NULL,
    output_tokens REAL NOT NULL,
    at REAL NOT NULL
);
CREATE TABLE requests (
    id TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    sent TEXT NOT NULL,
    call TEXT NOT NULL,
    status INTEGER,
    body BLOB
);
CREATE TABLE others (job TEXT PRIMARY KEY) WITHOUT ROWID;
"""
BATCHES = Database(_SCHEMA, 1, otherwise="move it away, which loses what its jobs bring")
_JOBS = """
SELECT number, scope, stage, model, state, tag, file, job, how, requests, input_tokens, output_tokens, at FROM jobs
"""


class Entry(NamedTuple):
    """A job as the journal has it; the tokens are the most that it may take."""

    number: int
    scope: str
    stage: Stage
    model: str
    state: State
    tag: str
    file: str | None
    job: str | None
    how: str
    requests: int
    input_tokens: float
    output_tokens: float
    at: float


class Journal:
    """The journal of a run's batches; it is written by the run's one writer."""

    def __init__(self, path: Path) -> None:
        """Open the file, made where it is missing; raises RunUnreadable for one that is none."""
        self._path = path
        self._used: set[str] = set()
        with BATCHES.opening(path):
            create(path)
            check_file(path)
            self._db = sqlite3.connect(path, timeout=30)
            self._db.execute("PRAGMA synchronous = FULL")  # a job must not be forgotten in a power cut
            if self._db.execute("PRAGMA user_version").fetchone() == (0,):
                BATCHES.make(self._db)
            BATCHES.check(self._db, path)

    @property
    def nonce(self) -> str:
        """What tells the requests of this run from equal ones of any other."""
        if (value := self.fact("nonce")) is None:
            self.remember("nonce", value := secrets.token_hex(16))
        return str(value)

    def fact(self, name: str) -> Any:
        """A remembered value, or None."""
        rows = self._rows("SELECT value FROM facts WHERE name = ?", (name,))
        return orjson.loads(rows[0][0]) if rows else None

    def remember(self, name: str, value: Any) -> None:
        """Remember a value that JSON can say."""
        with committing(self._db, self._path):
            self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, orjson.dumps(value).decode()))

    # Jobs

    def sending(
        self,
        scope: str,
        stage: Stage,
        model: str,
        tag: str,
        file: str | None,
        requests: Mapping[str, tuple[Call, Mapping[str, Any]]],
        worst: Tokens,
    ) -> Entry:
        """Write down that a job is about to be begun: `requests` have call and parameters by id."""
        row = (scope, stage, model, "sending", tag, file, len(requests), worst.input, worst.output, time.time())
        with committing(self._db, self._path):
            done = self._db.execute(
                "INSERT INTO jobs (scope, stage, model, state, tag, file, requests, input_tokens, output_tokens, at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
            number = int(done.lastrowid or 0)
            self._db.executemany(
                "INSERT INTO requests (id, number, call, sent) VALUES (?, ?, ?, ?)",
                ((each, number, call, orjson.dumps(sent).decode()) for each, (call, sent) in requests.items()),
            )
        return self.entry(number)

    def begun(self, number: int, job: str, *, sure: bool = True) -> Entry:
        """Note what the service calls a job; `sure` says that it is this one without doubt."""
        query = "UPDATE jobs SET state = 'under way', job = ?, how = ? WHERE number = ?"
        with committing(self._db, self._path):
            self._db.execute(query, (job, "" if sure else FOUND, number))
        return self.entry(number)

    def missing(self, number: int) -> dict[str, Call]:
        """The requests of a job that have no response yet, each with the call that it is for."""
        return dict(self._rows("SELECT id, call FROM requests WHERE number = ? AND status IS NULL", (number,)))

    def arrived(self, number: int, results: Iterable[tuple[str, tuple[int, bytes] | None]]) -> None:
        """Keep results of a job: the first of several for one request, and none that belongs to another job."""
        query = "UPDATE requests SET status = ?, body = ? WHERE id = ? AND number = ? AND status IS NULL"
        with committing(self._db, self._path):
            rows = ((*result, each, number) for each, result in results if result is not None)
            self._db.executemany(query, rows)

    def home(self, number: int, how: str) -> int:
        """Note that a job has ended, and its results are here; returns how many there are."""
        with committing(self._db, self._path):
            self._db.execute("UPDATE jobs SET state = 'home', how = ? WHERE number = ?", (how, number))
        counted = "SELECT count(*) FROM requests WHERE number = ? AND status IS NOT NULL"
        return int(self._rows(counted, (number,))[0][0])

    def release(self, number: int) -> None:
        """Forget a job that was never begun: its requests may be sent again."""
        with committing(self._db, self._path):
            self._db.execute("DELETE FROM requests WHERE number = ?", (number,))
            self._db.execute("DELETE FROM jobs WHERE number = ?", (number,))

    def unsent(self, requests: Iterable[str]) -> None:
        """Forget requests that have no response, so that they may be sent again."""
        with committing(self._db, self._path):
            rows = ((each,) for each in requests)
            self._db.executemany("DELETE FROM requests WHERE id = ? AND status IS NULL", rows)

    def mistaken(self, number: int, job: str) -> Entry:
        """Note that a job which might have been this one is another: this one is still to be found."""
        with committing(self._db, self._path):
            self._db.execute("INSERT OR REPLACE INTO others VALUES (?)", (job,))
            self._db.execute("UPDATE jobs SET state = 'sending', job = NULL, how = '' WHERE number = ?", (number,))
        return self.entry(number)

    def leave(self, number: int) -> None:
        """Wait for a job no longer: its requests may be asked otherwise."""
        with committing(self._db, self._path):
            self._db.execute("UPDATE jobs SET state = 'left' WHERE number = ?", (number,))

    def entry(self, number: int) -> Entry:
        """A job by its number."""
        return Entry(*self._rows(f"{_JOBS} WHERE number = ?", (number,))[0])

    def open_jobs(self, scope: str) -> list[Entry]:
        """The jobs of a scope that may be under way."""
        which = "WHERE state IN ('sending', 'under way') AND scope = ? ORDER BY number"
        return [Entry(*row) for row in self._rows(f"{_JOBS} {which}", (scope,))]

    def known_jobs(self) -> frozenset[str]:
        """What services call the jobs that are known to be one of ours, or not to be."""
        rows = self._rows("SELECT job FROM jobs WHERE job IS NOT NULL UNION SELECT job FROM others")
        return frozenset(job for (job,) in rows)

    # Requests

    def has(self, request: str) -> bool:
        """Whether a request was sent in a batch, whatever has become of it."""
        return bool(self._rows("SELECT 1 FROM requests WHERE id = ?", (request,)))

    def ids(self, number: int) -> set[str]:
        """The requests of a job."""
        return {each for (each,) in self._rows("SELECT id FROM requests WHERE number = ?", (number,))}

    def take(self, request: str) -> Recorded | None:
        """The response to a request, once; None where there is none."""
        query = "SELECT status, body, sent FROM requests WHERE id = ? AND status IS NOT NULL"
        rows = [] if request in self._used else self._rows(query, (request,))
        if not rows:
            return None
        self._used.add(request)
        status, body, sent = rows[0]
        return Recorded(status, body, orjson.loads(sent))

    def drop_used(self) -> None:
        """Forget the responses that were taken, once what came of them is in the run's database."""
        with committing(self._db, self._path):
            rows = ((each,) for each in self._used)
            self._db.executemany("UPDATE requests SET status = NULL, body = NULL WHERE id = ?", rows)
        self._used.clear()
        if not self._rows("SELECT 1 FROM requests WHERE body IS NOT NULL LIMIT 1"):
            self._db.execute("VACUUM")  # the texts were most of the file

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise damaged(self._path, error, BATCHES.otherwise) from error
