"""Labels on disk, in labels.sqlite of a run's folder: nothing is ever changed there, only added.

A label is one row; a later one by the same rater on the same reply counts in its place, and a withdrawn one is a row
without a verdict. Every row is on the disk before its writer goes on (synchronous = EXTRA), and the file is whole by
itself: there is no write-ahead log to lose when it is copied. The salt of the replies' ids is kept beside it, too, in
labels.salt: exported labels find their replies again in a sample that is drawn anew because this file is gone.
"""

from __future__ import annotations

import re
import sqlite3
import time
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import orjson
from msgspec import Struct
from msgspec.structs import asdict

from maskbench.errors import RunError, RunUnreadable, UsageError
from maskbench.method.verdict import from_json, to_json
from maskbench.store.database import Database, damaged, unwritten
from maskbench.store.disk import check_file, create, read_whole, write_whole
from maskbench.store.drawn_sample import Design
from maskbench.store.fitting import Misfit, fitted
from maskbench.types import Archetype, Evasion, OutcomeName, Verdict

FILE = "labels.sqlite"
PATIENCE = 20  # seconds that a writer waits for others
Role = Literal["rater", "adjudicator"]

_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE population (
    position INTEGER PRIMARY KEY, archetype TEXT NOT NULL, task_id TEXT NOT NULL, outcome TEXT NOT NULL
);
CREATE TABLE raters (name TEXT PRIMARY KEY, folded TEXT NOT NULL UNIQUE, role TEXT NOT NULL);
CREATE TABLE labels (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    rater TEXT NOT NULL REFERENCES raters (name),
    reply TEXT NOT NULL,
    verdict TEXT, -- null: withdrawn
    evasion TEXT,
    ticket TEXT NOT NULL UNIQUE,
    written REAL NOT NULL
);
CREATE INDEX latest ON labels (rater, reply, number);
"""
LABELS = Database(_SCHEMA, 1, otherwise="move it away and draw anew (`--import` takes exported labels in again)")
_LATEST = """
SELECT l.rater, l.reply, l.number, l.verdict, l.evasion, l.written FROM labels l
WHERE l.number = (SELECT max(number) FROM labels WHERE rater = l.rater AND reply = l.reply)
"""
_HISTORY = "SELECT number, verdict, evasion, written FROM labels WHERE rater = ? AND reply = ?"
_LONGEST_NAME = 40
_SALT, _LONGEST_SALT = re.compile("[0-9a-f]{32}"), 100  # bytes of the file
_IN_NAMES = " .'’-_"


class Header(Struct):
    """The file's header: how the sample was drawn, and by which maskbench."""

    seed: int
    size: int
    verdicts: str
    rules: str
    maskbench: str
    salt: str = ""


@dataclass(frozen=True, slots=True)
class Given:
    """A rater's label of one reply as it stands: `number` tells it from those before and after; None is withdrawn."""

    number: int
    verdict: Verdict | None
    written: float = 0.0


@dataclass(frozen=True, slots=True)
class New:
    """A label to be written: `was` is the number of the one it replaces (0: none), `ticket` is the writer's own id."""

    reply: str
    verdict: Verdict | None
    was: int
    ticket: str


class Changed(RunError):
    """The rater has labelled this reply meanwhile, in another window; `now` is that label."""

    def __init__(self, now: Given) -> None:
        self.now = now
        super().__init__("This reply has been labelled under the same name in another window.")


class LabelStore:
    """The labels of one run; any number of processes may use it at once."""

    def __init__(self, folder: Path) -> None:
        """They are kept in this folder."""
        self.path = folder / FILE

    @property
    def exists(self) -> bool:
        """Whether anything was drawn here to be labelled."""
        return self.path.exists() and self.path.stat().st_size > 0  # empty: another process is just drawing

    # The sample

    def design(self) -> Design:
        """The design of the drawn sample; raises RunUnreadable where none was drawn."""
        if not self.exists:
            raise RunUnreadable(
                f"{self.path.parent} has no labels. Label it (`maskbench label {self.path.parent}`), or give another."
            )
        with self._open() as db:
            facts = {name: orjson.loads(value) for name, value in db.execute("SELECT name, value FROM facts")}
            rows = db.execute("SELECT archetype, task_id, outcome FROM population ORDER BY position").fetchall()
        population = tuple(
            ((cast(Archetype, archetype), task_id), cast(OutcomeName, outcome)) for archetype, task_id, outcome in rows
        )
        try:
            drawn = fitted(facts, Header)
        except Misfit as misfit:
            raise RunUnreadable(
                f"{self.path} is no record of labels: {misfit}. Restore the file, or {LABELS.otherwise}."
            ) from misfit
        return Design(drawn.seed, drawn.size, drawn.verdicts, drawn.rules, population, drawn.salt)

    def begin(self, design: Design) -> None:
        """Keep a sample; where another process was quicker, its sample stands."""
        from importlib.metadata import version  # as in record.py

        with self._open(make=True) as db, _writing(db):
            if db.execute("PRAGMA user_version").fetchone()[0]:
                return
            for statement in _SCHEMA.split(";"):
                db.execute(statement)
            drawn = Header(design.seed, design.size, design.verdicts, design.rules, version("maskbench"), design.salt)
            for name, value in asdict(drawn).items():
                db.execute("INSERT INTO facts VALUES (?, ?)", (name, orjson.dumps(value).decode()))
            rows = ((*key, outcome) for key, outcome in design.population)
            db.executemany("INSERT INTO population (archetype, task_id, outcome) VALUES (?, ?, ?)", rows)
            db.execute(f"PRAGMA user_version = {LABELS.number}")

    def kept_salt(self) -> str | None:
        """The salt of the ids that were given to replies here, even if the labels are gone; None where none was."""
        path = self.path.with_suffix(".salt")
        try:
            kept = read_whole(path, _LONGEST_SALT).decode().strip()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise RunError(f"{path} cannot be read ({error}). Restore it, or move it away.") from error
        if not _SALT.fullmatch(kept):
            raise RunUnreadable(f"{path} holds no salt of labels. Restore it, or move it away.")
        return kept

    def keep_salt(self) -> None:
        """Keep the salt of this sample beside it, for another that may be drawn in its place."""
        salt = self.design().salt
        if salt and salt != self.kept_salt():
            with self._open() as db, _writing(db):  # one writer at a time
                write_whole(self.path.with_suffix(".salt"), f"{salt}\n".encode())

    def enlarge(self, size: int) -> None:
        """Draw more of the same; all that was drawn stays."""
        with self._open() as db, _writing(db):
            size_now = orjson.loads(db.execute("SELECT value FROM facts WHERE name = 'size'").fetchone()[0])
            db.execute("UPDATE facts SET value = ? WHERE name = 'size'", (str(max(size, size_now)),))

    def port(self) -> int:
        """The port that was served on last, 0 where there was none: there a page left open finds its server again."""
        with self._open() as db:
            row = db.execute("SELECT value FROM facts WHERE name = 'port'").fetchone()
        return int(row[0]) if row else 0

    def keep_port(self, port: int) -> None:
        """Remember it."""
        with self._open() as db, _writing(db):
            db.execute("INSERT OR REPLACE INTO facts VALUES ('port', ?)", (str(port),))

    # What a third person checks

    def checks(self) -> dict[tuple[Archetype, str], float]:
        """The scenarios that a third person labels though raters agree, with the chance that each had when drawn."""
        with self._open() as db:
            row = db.execute("SELECT value FROM facts WHERE name = 'checks'").fetchone()
        return {(archetype, task_id): chance for archetype, task_id, chance in orjson.loads(row[0])} if row else {}

    def add_checks(self, drawn: Mapping[tuple[Archetype, str], float]) -> None:
        """Keep more of these; what was drawn stays."""
        with self._open() as db, _writing(db):
            row = db.execute("SELECT value FROM facts WHERE name = 'checks'").fetchone()
            before = [tuple(each) for each in orjson.loads(row[0])] if row else []
            known = {each[:2] for each in before}
            more = [(*key, chance) for key, chance in drawn.items() if key not in known]
            value = orjson.dumps([*before, *more]).decode()
            db.execute("INSERT OR REPLACE INTO facts VALUES ('checks', ?)", (value,))

    # Raters

    def raters(self) -> dict[str, Role]:
        """Everybody who has labelled or adjudicated, in the order of their names."""
        with self._open() as db:
            return dict(db.execute("SELECT name, role FROM raters ORDER BY name").fetchall())

    def kinds(self) -> dict[str, str]:
        """The kind of each rater: `person`, or `model:` with its id; empty where nothing was said."""
        kinds = self._kinds()
        return {name: kinds.get(folded(name), "") for name in self.raters()}

    def keep_kinds(self, kinds: Mapping[str, str]) -> None:
        """Keep what raters are, of whom some may not have begun."""
        more = {folded(checked(name)): kind for name, kind in kinds.items()}
        value = orjson.dumps(self._kinds() | more).decode()
        with self._open() as db, _writing(db):
            db.execute("INSERT OR REPLACE INTO facts VALUES ('kinds', ?)", (value,))

    def _kinds(self) -> dict[str, str]:
        with self._open() as db:
            row = db.execute("SELECT value FROM facts WHERE name = 'kinds'").fetchone()
        return orjson.loads(row[0]) if row else {}

    def find(self, name: str) -> str | None:
        """A rater's name as it is kept, in capitals or not; None where nobody of that name has begun."""
        with self._open() as db:
            row = db.execute("SELECT name FROM raters WHERE folded = ?", (folded(name),)).fetchone()
        return str(row[0]) if row else None

    def enter(self, name: str, role: Role) -> str:
        """Take in a rater by name, or find one by it, in capitals or not; returns the name as it is kept.

        Raises UsageError for what is no name, and for one that is taken in the other role.
        """
        kept = checked(name)
        with self._open() as db, _writing(db):
            db.execute("INSERT OR IGNORE INTO raters VALUES (?, ?, ?)", (kept, folded(kept), role))
            kept, had = db.execute("SELECT name, role FROM raters WHERE folded = ?", (folded(kept),)).fetchone()
        if had != role:
            does = {"rater": "labels", "adjudicator": "adjudicates"}
            raise UsageError(f"{kept} {does[cast(Role, had)]} this run. Whoever {does[role]} needs another name.")
        return str(kept)

    # Labels

    def put(self, rater: str, new: New) -> Given:
        """Write a label so that it is on the disk; the same ticket is written once, however often it comes.

        Raises Changed where the label that it replaces is not the one that stands.
        """
        return self.put_all([(rater, new)])[0]

    def put_all(self, labels: Sequence[tuple[str, New]]) -> list[Given]:
        """Write labels, all or none."""
        with self._open() as db, _writing(db):
            return [_put(db, rater, new) for rater, new in labels]

    def latest(self, rater: str | None = None) -> dict[str, dict[str, Given]]:
        """The labels that stand, by rater and reply, withdrawn ones among them; of all raters, or of one."""
        labels: dict[str, dict[str, Given]] = {}
        query, given = (_LATEST, ()) if rater is None else (f"{_LATEST} AND l.rater = ?", (rater,))
        with self._open() as db:
            for name, reply, *rest in db.execute(query, given):
                labels.setdefault(name, {})[reply] = _given(rest)
        return labels

    @contextmanager
    def _open(self, *, make: bool = False) -> Iterator[sqlite3.Connection]:
        """A connection for one act; whatever SQLite says against it becomes a sentence."""
        uri = f"{self.path.absolute().as_uri()}?mode={'rwc' if make else 'rw'}"
        with LABELS.opening(self.path):
            if make:
                create(self.path)
            check_file(self.path, follow=False)
            db = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)
        with closing(db):
            with LABELS.opening(self.path):
                db.execute("PRAGMA synchronous = EXTRA")
                if not make or db.execute("PRAGMA user_version").fetchone() != (0,):
                    LABELS.check(db, self.path)
            try:
                yield db
            except sqlite3.Error as error:
                if _is_damage(error):
                    raise damaged(self.path, error, LABELS.otherwise) from error
                raise unwritten(self.path, error) from error


def checked(name: str) -> str:
    """A name as it is kept; raises UsageError for what is no name."""
    kept = _plain(name)
    if not _is_name(kept):
        raise UsageError(
            f"{name[:60]!r} cannot be a rater's name: it takes 1 to {_LONGEST_NAME} letters, figures, spaces, "
            "dots, hyphens and apostrophes, and begins with a letter or figure."
        )
    return kept


def folded(name: str) -> str:
    """A rater's name without capitals and spaces, by which two spellings are one rater."""
    return _plain(name).casefold()


def _plain(name: str) -> str:
    return unicodedata.normalize("NFC", " ".join(name.split()))


def _is_name(text: str) -> bool:
    known = all(unicodedata.category(sign)[0] in "LNM" or sign in _IN_NAMES for sign in text)  # M: vowel signs
    return known and text[:1].isalnum() and len(text) <= _LONGEST_NAME


def _is_damage(error: sqlite3.Error) -> bool:
    codes = sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT
    return getattr(error, "sqlite_errorcode", None) in codes or "no such" in str(error)


@contextmanager
def _writing(db: sqlite3.Connection) -> Iterator[None]:
    """One transaction, alone among all writers from its beginning."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if db.in_transaction:  # a full disk has ended it already
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _put(db: sqlite3.Connection, rater: str, new: New) -> Given:
    mine = (rater, new.reply)
    if same := db.execute(f"{_HISTORY} AND ticket = ?", (*mine, new.ticket)).fetchone():
        return _given(same)
    row = db.execute(f"{_HISTORY} ORDER BY number DESC LIMIT 1", mine).fetchone()
    now = _given(row) if row else Given(0, None)
    if now.number != new.was:
        raise Changed(now)
    verdict = None if new.verdict is None else orjson.dumps(to_json(new.verdict)).decode()
    evasion = None if new.verdict is None else new.verdict.evasion
    written = time.time()
    cursor = db.execute(
        "INSERT INTO labels (rater, reply, verdict, evasion, ticket, written) VALUES (?, ?, ?, ?, ?, ?)",
        (rater, new.reply, verdict, evasion, new.ticket, written),
    )
    return Given(int(cursor.lastrowid or 0), new.verdict, written)


def _given(row: Sequence[object]) -> Given:
    number, verdict, evasion, written = row
    read = None if verdict is None else from_json(orjson.loads(cast(str, verdict)), cast(Evasion | None, evasion))
    return Given(cast(int, number), read, cast(float, written))


def current(given: Mapping[str, Given]) -> dict[str, Verdict]:
    """The verdicts among labels, without those withdrawn."""
    return {reply: each.verdict for reply, each in given.items() if each.verdict is not None}
