"""What a power cut leaves, and who may read it: half a log, half a record, rights of folders and files."""

import asyncio
import os
import shutil
import stat
import sys
from pathlib import Path

import orjson
import pytest

from flows import Counter, Recorder, command, let_flow, says, scenarios, stored, verdict_a
from maskbench.cli import main
from maskbench.errors import RunUnreadable
from maskbench.measurement import measure
from maskbench.method.elicit import statement_ask
from maskbench.models.scripted import ScriptedModel
from maskbench.results.people.labelled_outcomes import prepare
from maskbench.store.disk import write_whole
from maskbench.store.folder import RECORD, RunFolder
from maskbench.store.record import settings_from
from maskbench.store.store import Store
from maskbench.store.verdict_sets import reading
from maskbench.types import Ask, Reply
from measured_runs import settings

pytestmark = pytest.mark.slow

MEASURED = scenarios(2)
ASK = statement_ask(MEASURED[0], 1, None)


def measured(path: Path) -> Path:
    """A small finished run in this process."""
    names = {"judge": "the judge", "numeric_judge": "the judge"}
    measure(settings("the subject", **names, scenarios="sandbox:3", limit=1), path, {}, models=models())
    return path


def models() -> tuple[ScriptedModel, ScriptedModel]:
    return ScriptedModel(says, "the subject"), ScriptedModel(verdict_a, "the judge")


# Half a log

FLUSHES = 40


@pytest.fixture(scope="module")
def unplugged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database as it lies on the disk while a run writes: the log holds all replies, one a commit."""
    place = tmp_path_factory.mktemp("unplugged")

    async def write() -> None:
        store = Store(place / "writing", write=True)
        store.add_scenarios((each, 1.0) for each in MEASURED)
        for number in range(FLUSHES):
            store.put_reply(b"%16d" % number, number, ASK, number, Reply("It is so. " * 50))
            store.flush()
        for name in ("", "-wal"):
            shutil.copy(place / f"writing{name}", place / f"db{name}")
        store.close()

    asyncio.run(write())
    return place / "db"


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])
def test_half_a_log(unplugged: Path, tmp_path: Path, share: float) -> None:
    """Of a log that was cut short only what stood behind the cut is lost; the scenarios are all there."""
    path = tmp_path / "db"
    shutil.copy(unplugged, path)
    log = unplugged.with_name("db-wal").read_bytes()
    path.with_name("db-wal").write_bytes(log[: round(share * len(log))])
    store = Store(path, write=True)
    assert store.count() == len(MEASURED)
    kept = len(store.samples(MEASURED[0]).replies)
    store.close()
    assert FLUSHES * share - 2 <= kept <= FLUSHES


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7])
def test_going_on_from_half_a_log(tmp_path: Path, share: float) -> None:
    """A run whose log was cut short goes on, and asks for nothing that was kept."""
    asked = []

    async def snapped(ask: Ask, run: int) -> str:
        asked.append(ask)
        await asyncio.sleep(0.01)
        if len(asked) >= 50 and not (tmp_path / "cut-db").exists():
            for name in ("db", "db-wal"):
                shutil.copy(tmp_path / name, tmp_path / f"cut-{name}")
        return says(ask, run)

    let_flow(tmp_path / "db", MEASURED, snapped)
    log = (tmp_path / "cut-db-wal").read_bytes()
    (tmp_path / "cut-db-wal").write_bytes(log[: round(share * len(log))])
    kept = sum(item.reply is not None for each in MEASURED for item in stored(tmp_path / "cut-db", each).values())
    subject = Recorder(says)
    let_flow(tmp_path / "cut-db", MEASURED, subject)
    assert len(subject.asks) == len(asked) - kept
    assert all(stored(tmp_path / "cut-db", each).keys() == stored(tmp_path / "db", each).keys() for each in MEASURED)


def test_soon_on_the_disk(tmp_path: Path) -> None:
    """Seconds after an answer the database holds it without its log, while the run still waits for the next one."""

    async def wait() -> None:
        store = Store(tmp_path / "db", write=True, checkpoint=0.1)
        store.add_scenarios((each, 1.0) for each in MEASURED)
        store.put_reply(b"1" * 16, 1, ASK, 1, Reply("It is so."))
        await asyncio.sleep(0.5)
        shutil.copy(tmp_path / "db", tmp_path / "alone")
        store.close()

    asyncio.run(wait())
    alone = Store(tmp_path / "alone")
    assert len(alone.samples(MEASURED[0]).replies) == 1
    alone.close()


# Half a record


@pytest.mark.parametrize("left", [0, 1, 400, -3])
def test_half_a_record(tmp_path: Path, left: int) -> None:
    """A run.json that is empty or half is taken up from its copy in the database, and a line says so."""
    path = measured(tmp_path / "run")
    whole = (path / RECORD).read_bytes()
    (path / RECORD).write_bytes(whole[:left])
    with pytest.raises(RunUnreadable, match=r"copy of it in run\.sqlite: `maskbench run --out .*run` goes on"):
        RunFolder(path).record()
    told: list[str] = []

    class Told(Counter):
        def tell(self, line: str) -> None:
            told.append(line)

    assert (line := RunFolder(path).restore()) is not None
    assert line.endswith("run.json was empty or cut short; it is restored from its copy in run.sqlite.")
    assert (path / RECORD).read_bytes() == whole
    (path / RECORD).write_bytes(whole[:left])
    measure(settings_from(orjson.loads(whole)["settings"]), path, {}, Told(), models=models())
    assert told == [line]
    assert RunFolder(path).restore() is None


def test_half_a_record_on_the_command_line(tmp_path: Path) -> None:
    """`maskbench run --out` says in one line that it takes the record from the copy, and goes on."""
    assert command("run", "sim", "--limit", "1", "--out", tmp_path / "run", env={}).code == 0
    (tmp_path / "run" / RECORD).write_bytes(b"")
    refused = command("score", tmp_path / "run", env={})
    assert (refused.code, refused.out) == (2, "")
    assert f"`maskbench run --out {tmp_path / 'run'}` goes on from that" in refused.err
    taken = command("run", "--out", tmp_path / "run", env={})
    assert taken.code == 0
    assert "is restored from its copy in run.sqlite.\n" in taken.err


def test_no_copy(tmp_path: Path) -> None:
    """Where the database has none either, the error says what is left to do."""
    path = measured(tmp_path / "run")
    store = RunFolder(path).store(write=True)
    store.remember(RECORD, None)
    store.close()
    (path / RECORD).write_bytes(b"")
    assert RunFolder(path).restore() is None
    with pytest.raises(RunUnreadable, match="Restore the file, or start anew"):
        RunFolder(path).record()


def test_on_the_disk_before_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file's content is on the disk before it takes the name, and the name after that."""
    acts: list[str] = []

    def synced(number: int) -> None:
        acts.append("folder" if stat.S_ISDIR(os.fstat(number).st_mode) else "file")

    def renamed(self: Path, to: Path) -> None:
        acts.append("name")
        self.rename(to)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    write_whole(tmp_path / "run.json", b"{}")
    assert acts == ["file", "name", "folder"]
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


# Rights


def rights(path: Path) -> dict[str, int]:
    """The rights of a folder and of every file in it."""
    return {each.name: stat.S_IMODE(each.stat().st_mode) for each in (path, *path.rglob("*"))}


def called(monkeypatch: pytest.MonkeyPatch, *words: object) -> None:
    """`maskbench` in this process, which has to end well."""
    monkeypatch.setattr(sys, "argv", ["maskbench", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code


@pytest.mark.parametrize("command", ["run", "exam"])
@pytest.mark.parametrize("shared", [False, True])
def test_rights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, shared: bool) -> None:
    """A new folder is its owner's alone, and so is every file in it; with --shared the umask alone decides."""
    what = {"run": ("run", "sim", "--limit", "1"), "exam": ("exam", "sim-judge")}[command]
    options = ("--out", tmp_path / "deep" / "x", *(["--shared"] if shared else []))
    before = os.umask(0o027)
    try:
        called(monkeypatch, *what, *options)
        if command == "run":
            called(monkeypatch, "report", tmp_path / "deep" / "x")
            with reading(tmp_path / "deep" / "x") as opened:
                prepare(opened, size=1)  # labels
    finally:
        os.umask(before)
    found = rights(tmp_path / "deep" / "x")
    assert len(found) > 4
    assert found.pop("x") == (0o750 if shared else 0o700)
    assert set(found.values()) == {0o640 if shared else 0o600}, found
    assert stat.S_IMODE((tmp_path / "deep").stat().st_mode) == 0o750


def test_shared_is_for_new_folders(tmp_path: Path) -> None:
    """--shared on a private folder that is there is refused with the command that opens it."""
    path = measured(tmp_path / "run")
    refused = command("run", "--out", path, "--shared", env={})
    assert (refused.code, refused.err.strip()) == (
        2,
        f"Error: --shared is for a new folder, and {path} is there. To open it to others: `chmod -R go+rX {path}`.",
    )


def test_a_failed_start_leaves_no_folder(tmp_path: Path) -> None:
    """--shared makes no folder for a run that cannot begin."""
    options = ("--judge", "sim-judge", "--scenarios", "starter", "--shared", "--out", tmp_path / "x")
    assert command("run", "openai/x", *options, env={}).code == 2
    assert not (tmp_path / "x").exists()
