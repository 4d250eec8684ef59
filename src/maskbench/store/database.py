"""Opening and damage of every database beside a run: one way to open, one sentence for each fault.

There are three: the run's own, the journal of its batches, and the labels.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import orjson

from maskbench.errors import RunError, RunUnreadable
from maskbench.store.fitting import other_version, writer

ANEW = "start a new run"


@dataclass(frozen=True, slots=True)
class Database:
    """A kind of database: its schema with the number, and what is left to do where a file is of no use."""

    schema: str
    number: int
    otherwise: str = ANEW
    moving: str = ""  # a way over from another version, with the word after it

    def make(self, db: sqlite3.Connection) -> None:
        """Make the tables in an empty file, all or none."""
        db.executescript(f"BEGIN; {self.schema} PRAGMA user_version = {self.number}; COMMIT;")

    def check(self, db: sqlite3.Connection, path: Path) -> None:
        """Raise RunUnreadable for a file of another schema, and for one with tables, views or triggers of its own.

        They are programs: a view of that name in a table's place may have no end.
        """
        (number,) = db.execute("PRAGMA user_version").fetchone()
        if number != self.number:
            raise other_version(path, number, self.number, _written_in(db), f"{self.moving}{self.otherwise}")
        if odd := next((each[0] for each in _objects(db) if each not in _made_by(self.schema)), None):
            raise self.unusable(path, f"it has {odd[:60]!r}, which maskbench does not make")

    @contextmanager
    def opening(self, path: Path) -> Iterator[None]:
        """Whatever is in the way while a file is opened becomes a sentence."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise self.unusable(path, getattr(error, "strerror", None) or error) from error

    def unusable(self, path: Path, problem: object) -> RunUnreadable:
        """The error for something else in the place of such a file."""
        return RunUnreadable(
            f"{path} cannot be used as a maskbench database ({problem}). Restore the file or its rights, or "
            f"{self.otherwise}."
        )


def damaged(path: Path, problem: object, otherwise: str = ANEW) -> RunUnreadable:
    """The error for a file that holds something that maskbench did not write."""
    return RunUnreadable(f"{path} holds what maskbench did not write ({problem}). Restore the file, or {otherwise}.")


def unwritten(path: Path, error: sqlite3.Error) -> RunError:
    """The error for a file that takes nothing more."""
    is_locked = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
    remedy = "Close what else has the file open" if is_locked else "Make room or mend the disk"
    return RunError(f"Cannot write to {path} ({error}). {remedy}, and start again: what was written before is kept.")


@contextmanager
def committing(db: sqlite3.Connection, path: Path) -> Iterator[None]:
    """All that is written within is in the file, or none of it; raises RunError where the file takes nothing more."""
    try:
        with db:
            yield
    except sqlite3.Error as error:
        raise unwritten(path, error) from error


@cache
def _made_by(schema: str) -> frozenset[tuple[str, str]]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(schema)
        return frozenset(_objects(db))


def _objects(db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """What a database consists of, with the text that makes it; what SQLite makes by itself has none."""
    for name, sql in db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"):
        yield str(name), " ".join(str(sql).split())


def _written_in(db: sqlite3.Connection) -> str:
    """The maskbench that wrote a database of another schema, as its facts have it, if it still has facts."""
    try:
        row = db.execute("SELECT value FROM facts WHERE name IN ('run.json', 'maskbench')").fetchone()
        value = orjson.loads(row[0]) if row else None
    except (sqlite3.Error, ValueError, TypeError):
        value = None
    return writer({"maskbench": value} if isinstance(value, str) else value)
