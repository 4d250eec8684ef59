"""Runs that were tampered with, cut or mixed up: each command says a sentence that names the file, and no traceback."""

import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from maskbench.cli import main
from maskbench.measurement import measure
from measured_runs import change, settings

pytestmark = pytest.mark.slow

Tamper = Callable[[Path], object]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two small runs, `odd` and `good`."""
    path = tmp_path_factory.mktemp("whole")
    for name, subject in (("odd", "sim"), ("good", "sim/lie=0.1")):
        measure(settings(subject, scenarios="sandbox:3", limit=12), path / name, {})
    return path


def record(**changes: Any) -> Tamper:
    """Change run.json on top."""

    def tamper(path: Path) -> None:
        before = orjson.loads((path / "run.json").read_bytes())
        (path / "run.json").write_bytes(orjson.dumps({**before, **changes}))

    return tamper


def inside(*steps: str, **changes: Any) -> Tamper:
    """Change a part of run.json."""

    def tamper(path: Path) -> None:
        part = before = orjson.loads((path / "run.json").read_bytes())
        for step in steps:
            part = part[step]
        part |= changes
        record(**before)(path)

    return tamper


def database(statement: str) -> Tamper:
    """Change the database."""
    return lambda path: change(path, statement)


def content(name: str, data: bytes) -> Tamper:
    """Put something else into a file."""
    return lambda path: (path / name).write_bytes(data)


def instead(name: str, make: Callable[[Path], object]) -> Tamper:
    """Put something else in the place of a file."""

    def tamper(path: Path) -> None:
        (path / name).unlink(missing_ok=True)
        make(path / name)

    return tamper


def loop(path: Path) -> None:
    """A link to itself."""
    path.symlink_to(path.name)


def huge(path: Path) -> None:
    """A file of a hundred gigabytes with nothing in it."""
    with path.open("wb") as file:
        os.truncate(file.fileno(), 10**11)


def program(statements: str) -> Tamper:
    """Put views or triggers into the database, which are programs."""

    def tamper(path: Path) -> None:
        with closing(sqlite3.connect(path / "run.sqlite")) as opened:
            opened.executescript(statements)

    return tamper


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT 'a' AS name, '1' AS value FROM n"


def torn(path: Path) -> None:
    """Zeros in the middle of the database."""
    data = (path / "run.sqlite").read_bytes()
    (path / "run.sqlite").write_bytes(data[:5000] + bytes(len(data) - 9000) + data[-4000:])


# What was done, and the file that the sentence has to name
TAMPERED: dict[str, tuple[Tamper, str]] = {
    "a negative weight": (database("UPDATE scenarios SET weight = -1 WHERE position = 2"), "run.sqlite"),
    "a weight of text": (database("UPDATE scenarios SET weight = 'heavy'"), "run.sqlite"),
    "an infinite weight": (database("UPDATE scenarios SET weight = 9e999"), "run.sqlite"),
    "a scenario that is no JSON": (database("UPDATE scenarios SET row = x'00ff' WHERE position = 3"), "run.sqlite"),
    "a scenario without a truth": (database("UPDATE scenarios SET row = json_remove(row, '$.truth')"), "run.sqlite"),
    "a scenario without questions": (
        database("UPDATE scenarios SET row = json_remove(row, '$.questions')"),
        "run.sqlite",
    ),
    "a field that no scenario has": (
        database("UPDATE scenarios SET row = json_insert(row, '$.asked_directly', 1) WHERE position = 2"),
        "run.sqlite",
    ),
    "a place of a sample that is text": (
        database("UPDATE replies SET elicitation = 'x' WHERE elicitation = 0"),
        "run.sqlite",
    ),
    "an archetype that nobody knows": (
        database("UPDATE scenarios SET archetype = 'x', row = json_set(row, '$.archetype', 'x')"),
        "run.sqlite",
    ),
    "a truth of the other kind": (
        database("UPDATE scenarios SET row = json_set(row, '$.kind', 'other')"),
        "run.sqlite",
    ),
    "a reply that is a number": (database("UPDATE replies SET text = x'0001'"), "run.sqlite"),
    "a failure of no known cause": (database("UPDATE replies SET error_cause = 'fate', text = NULL"), "run.sqlite"),
    "a reply to no question": (database("UPDATE replies SET elicitation = -1 WHERE elicitation = 0"), "run.sqlite"),
    "a verdict that is no letter": (database("""UPDATE verdicts SET verdict = '{"letter": "Z"}'"""), "run.sqlite"),
    "a verdict that is no JSON": (database("UPDATE verdicts SET verdict = 'A'"), "run.sqlite"),
    "tokens of text": (database("UPDATE replies SET input_tokens = 'x', seconds = 'y', sent = '[1'"), "run.sqlite"),
    "a probability that is none": (database("UPDATE verdicts SET confidence = 'x'"), "run.sqlite"),
    "a table that is gone": (database("DROP TABLE judged"), "run.sqlite"),
    "an endless view for facts": (program(f"DROP TABLE facts; CREATE VIEW facts AS {ENDLESS}"), "run.sqlite"),
    "a trigger": (
        program("CREATE TRIGGER t AFTER INSERT ON replies BEGIN DELETE FROM verdicts; END"),
        "run.sqlite",
    ),
    "a column that is computed": (
        program("DROP TABLE facts; CREATE TABLE facts (name TEXT, value TEXT AS (hex(zeroblob(400000000))))"),
        "run.sqlite",
    ),
    "a torn database": (torn, "run.sqlite"),
    "another file for a database": (content("run.sqlite", b"Not a database.\n" * 500), "run.sqlite"),
    "a pipe for a database": (instead("run.sqlite", os.mkfifo), "run.sqlite"),
    "a pipe for its log": (instead("run.sqlite-wal", os.mkfifo), "run.sqlite-wal"),
    "a folder for a database": (instead("run.sqlite", Path.mkdir), "run.sqlite"),
    "a pipe for run.json": (instead("run.json", os.mkfifo), "run.json"),
    "a folder for run.json": (instead("run.json", Path.mkdir), "run.json"),
    "a link to itself for run.json": (instead("run.json", loop), "run.json"),
    "a huge run.json": (instead("run.json", huge), "run.json"),
    "a run.json of brackets": (content("run.json", b"[" * 200 + b"]" * 200), "run.json"),
    "a billion statements": (inside("settings", "design", statements=10**9), "run.json"),
    "negative beliefs": (inside("settings", "design", beliefs=-3), "run.json"),
    "settings of wrong types": (inside("settings", "design", archetypes="x", seed="0"), "run.json"),
    "rules that nobody knows": (inside("settings", "design", rules="mine"), "run.json"),
    "a record of wrong types": (record(models="none", sessions=3, created=None), "run.json"),
    "a verdict set of wrong types": (record(verdict_sets={"x": {"judging": 1, "second": []}}), "run.json"),
}


def test_there_are_thirty_seven() -> None:
    """The thirty-four that the project promises, and three."""
    assert len(TAMPERED) == 37


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """The command in this process: its exit code and all that it printed."""

    def call(*words: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["maskbench", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        return code, "".join(capsys.readouterr())

    return call


@pytest.mark.parametrize("name", TAMPERED)
def test_a_sentence_that_names_the_file(
    whole: Path, tmp_path: Path, said: Callable[..., tuple[int, str]], name: str
) -> None:
    """Every command that reads the run ends with exit code 2 and such a sentence; a board shows the others with it."""
    tamper, file = TAMPERED[name]
    shutil.copytree(whole, tmp_path / "runs")
    odd, good = tmp_path / "runs" / "odd", tmp_path / "runs" / "good"
    tamper(odd)
    commands: list[tuple[object, ...]] = [
        ("score", odd),
        ("report", odd, "--out", tmp_path / "page.html"),
        ("compare", good, odd),
        ("export", odd, "--format", "jsonl", "--out", tmp_path / "rows.jsonl"),
        ("judge", odd, "--judge", "sim-judge/miss=0.2"),
        ("run", "--out", odd),
        ("leaderboard", odd),
    ]
    for command in commands:
        code, text = said(*command)
        assert (code, str(odd / file) in text) == (2, True), f"{command[0]}: {text[-300:]}"
        assert "Traceback" not in text
    code, text = said("leaderboard", tmp_path / "runs", "--format", "json")
    assert code == 0, text
    board = orjson.loads(text)
    assert file in str(board), text


def _labels(path: Path, statements: str) -> None:
    """A database in the place of the labels."""
    with closing(sqlite3.connect(path)) as opened:
        opened.executescript(f"{statements}; PRAGMA user_version = 1")


BESIDE: dict[str, tuple[Tamper, tuple[str, ...], str]] = {
    "seconds that are none": (
        database("INSERT OR REPLACE INTO facts VALUES ('seconds', '[1]')"),
        ("score",),
        "run.sqlite",
    ),
    "a folder for labels": (instead("labels.sqlite", Path.mkdir), ("score",), "labels.sqlite"),
    "an endless view for labels": (
        instead("labels.sqlite", lambda path: _labels(path, f"CREATE VIEW facts AS {ENDLESS}")),
        ("score",),
        "labels.sqlite",
    ),
    "other labels": (content("labels.sqlite", b"Not a database.\n" * 500), ("score",), "labels.sqlite"),
    "a pipe for a log": (instead("run.log", os.mkfifo), ("run", "--out"), "run.log"),
    "a folder for a log": (instead("run.log", Path.mkdir), ("run", "--out"), "run.log"),
    "a folder for a summary": (instead("summary.json", Path.mkdir), ("run", "--out"), "summary.json"),
    "a folder for a lock": (instead("run.lock", Path.mkdir), ("run", "--out"), "run.lock"),
}


@pytest.mark.parametrize("name", BESIDE)
def test_files_beside(whole: Path, tmp_path: Path, said: Callable[..., tuple[int, str]], name: str) -> None:
    """What stands beside run.json and run.sqlite is no reason for a traceback, or for waiting for ever, either."""
    tamper, command, file = BESIDE[name]
    odd = tmp_path / "odd"
    shutil.copytree(whole / "odd", odd)
    change(odd, "DELETE FROM verdicts")  # so that `run` has something to do
    tamper(odd)
    code, text = said(*command, odd)
    assert (code, str(odd / file) in text) == (2, True), text[-300:]
    assert "Traceback" not in text


LINKS = {
    "run.sqlite": ("run", "--out", "ODD"),
    "run.sqlite-wal": ("run", "--out", "ODD"),
    "run.lock": ("run", "--out", "ODD"),
    "run.log": ("run", "--out", "ODD"),
    "labels.sqlite": ("label", "ODD", "--sample", "2", "--out", "SHEET"),
}


@pytest.mark.parametrize("leads", ["nowhere", "to a file"])
@pytest.mark.parametrize("name", LINKS)
def test_nothing_is_written_through_a_link(
    whole: Path, tmp_path: Path, said: Callable[..., tuple[int, str]], name: str, leads: str
) -> None:
    """A link in a folder that was handed over makes no file elsewhere, and changes none."""
    odd, outside = tmp_path / "odd", tmp_path / "outside"
    shutil.copytree(whole / "odd", odd)
    if LINKS[name][0] == "run":
        change(odd, "DELETE FROM judged")
    before = b""
    if leads == "to a file":
        outside.write_bytes(before := (odd / name).read_bytes() if (odd / name).exists() else b"")
    (odd / name).unlink(missing_ok=True)
    (odd / name).symlink_to(outside)
    words = [{"ODD": str(odd), "SHEET": str(tmp_path / "out.csv")}.get(word, word) for word in LINKS[name]]
    code, text = said(*words)
    assert (code, "Traceback" in text) == (2, False), text
    assert name in text
    if leads == "nowhere":
        assert not outside.exists()
    else:
        assert outside.read_bytes() == before


def test_a_copy_without_its_log_says_so(whole: Path, tmp_path: Path, said: Callable[..., tuple[int, str]]) -> None:
    """What a killed run left in its log is read where the log is there; where it is not, what to copy is said."""
    killed, copy = tmp_path / "killed", tmp_path / "copy"
    shutil.copytree(whole / "odd", killed)
    change(killed, "DELETE FROM judged")
    plain = orjson.loads((killed / "run.json").read_bytes())
    plain["sessions"][-1]["ended"] = None
    (killed / "run.json").write_bytes(orjson.dumps(plain))
    with closing(sqlite3.connect(killed / "run.sqlite")) as opened:
        opened.execute("PRAGMA wal_autocheckpoint = 0")
        opened.execute("INSERT OR REPLACE INTO facts VALUES ('seconds', '5.0')")
        opened.commit()
        shutil.copytree(killed, tmp_path / "with its log")
        shutil.copytree(killed, copy, ignore=shutil.ignore_patterns("*-wal", "*-shm"))
    assert "run.sqlite-wal" not in said("score", tmp_path / "with its log")[1]
    assert "copy" in said("score", copy)[1]
    assert "run.sqlite-wal" in said("score", copy)[1]
    assert "run.sqlite-wal" in said("run", "--out", copy)[1]
    assert "run.sqlite-wal" not in said("score", copy)[1]
    assert "run.sqlite-wal" not in said("score", whole / "odd")[1]
