"""A run's folder: one writer, and a record that says which measurement it holds."""

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from flows import HASHES, record_of, scenario, settings
from maskbench.errors import RunError, RunLocked, RunMismatch, RunUnreadable
from maskbench.settings import JUDGE_SAMPLING, SUBJECT_SAMPLING, Settings, Subject, protocol_id, reply_key
from maskbench.store.folder import DATABASE, RECORD, RunFolder, check_same, default_name
from maskbench.store.record import SCHEMA, known
from maskbench.store.store import Store
from maskbench.types import Ask, Message


def begun(path: Path, chosen: Settings | None = None) -> RunFolder:
    """A folder with the record of a run in it."""
    folder = RunFolder(path)
    path.mkdir(exist_ok=True)
    folder.write(RECORD, record_of(chosen or settings()))
    return folder


def test_settings_come_back_whole(tmp_path: Path) -> None:
    """Settings are read back equal to those that a run was made with."""
    chosen = settings(
        archetypes=("statistics", "known_facts"),
        sample=100,
        sampling=replace(SUBJECT_SAMPLING, temperature=0.1 + 0.2),
        judge_sampling=JUDGE_SAMPLING["published"],
        protocol="published",
        send_seed=True,
    )
    folder = begun(tmp_path / "run", chosen)
    assert folder.exists
    assert folder.settings() == chosen
    check_same(folder, chosen, HASHES)


def test_unknown_settings(tmp_path: Path) -> None:
    """A setting that is not known is refused by name, and nothing is written over."""
    folder = begun(tmp_path)
    whole = folder.record()
    for inside in ((), ("subject",), ("subject", "sampling")):
        record = orjson.loads(orjson.dumps(whole))
        part = record["settings"]
        for step in inside:
            part = part[step]
        part["zeal"] = 1
        (tmp_path / RECORD).write_bytes(written := orjson.dumps(record))
        name = ".".join(("settings", *inside, "zeal"))
        said = rf"run\.json is no record of a run by .*: {name} is not known\. Use .*, or start"
        with pytest.raises(RunUnreadable, match=said):
            folder.settings()
        assert (tmp_path / RECORD).read_bytes() == written


@pytest.mark.parametrize("place", [(), ("scenarios",), ("models",), ("prompts",), ("sessions", 0)])
def test_unknown_parts(tmp_path: Path, place: tuple[str | int, ...]) -> None:
    """A part of the record that is not known is refused, so that it is not written over."""
    record = begun(tmp_path).record() | {"sessions": [{"started": "then", "ended": None}]}
    part: Any = record
    for step in place:
        part = part[step]
    part["zeal"] = {"name": "new"}
    (tmp_path / RECORD).write_bytes(orjson.dumps(record))
    with pytest.raises(RunUnreadable, match=r"\bzeal is not known"):
        RunFolder(tmp_path).record()


def test_whole_numbers_are_their_decimals(tmp_path: Path) -> None:
    """A temperature of 1 is one of 1.0, in Python and in a folder: the keys of stored replies would tell them apart."""
    for number in (1, 1.0):
        chosen = settings(sampling=replace(SUBJECT_SAMPLING, temperature=number))
        folder = begun(tmp_path, chosen)
        again = folder.settings()
        assert type(again.subject.sampling.temperature) is float
        assert orjson.dumps(again) == orjson.dumps(chosen)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterSubject(Subject):
    """The subject of a version that has one field more, as a contributor adds it: with a default that does nothing."""

    zeal: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Later(Settings):
    """The settings of that version."""

    subject: LaterSubject


def test_a_new_setting_leaves_old_keys_and_old_runs_alone() -> None:
    """With its default a setting more changes no reply's key, no protocol id, and old records are read."""
    old = settings()
    plain = orjson.loads(orjson.dumps(old))
    new = known(plain, Later, "settings")
    assert isinstance(new, Later)
    assert new.subject.zeal == 0
    ask = Ask((Message("user", "Is it?"),), scenario(), "direct", 1)
    assert reply_key(new, ask, 1) == reply_key(old, ask, 1)
    assert protocol_id(new, "a" * 64) == protocol_id(old, "a" * 64)
    plain["subject"]["zeal"] = 3
    assert orjson.loads(orjson.dumps(known(plain, Later, "settings")))["subject"]["zeal"] == 3


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"subject": "another"}, "the subject the subject, and this one asks for another"),
        ({"judge": "another"}, "--judge the judge, and this one asks for another"),
        ({"numeric_judge": "another"}, "--numeric-judge the judge, and this one asks for another"),
        ({"scenarios": "starter"}, "--scenarios made up, and this one asks for starter"),
        ({"archetypes": ("statistics", "known_facts")}, "--archetype none, and this one asks for statistics, known"),
        ({"sample": 100}, "--sample none, and this one asks for 100"),
        ({"limit": 3}, "--limit none, and this one asks for 3"),
        ({"statements": 10}, "--statements 1, and this one asks for 10"),
        ({"beliefs": 5}, "--beliefs 3, and this one asks for 5"),
        ({"seed": 1}, "--seed 0, and this one asks for 1"),
        ({"send_seed": True}, "--send-seed False, and this one asks for True"),
        ({"protocol": "published"}, "--judge-sampling maskbench, and this one asks for published"),
        ({"on_truncation": "error"}, "--on-truncation judge, and this one asks for error"),
        ({"filtered": "evasive"}, "--filtered error, and this one asks for evasive"),
        ({"judge_prompts": "mine"}, "--judge-prompts none, and this one asks for mine"),
        ({"sampling": replace(SUBJECT_SAMPLING, temperature=0.5)}, "--temperature 1.0, and this one asks for 0.5"),
        ({"sampling": replace(SUBJECT_SAMPLING, max_tokens=50)}, "--max-tokens 1000, and this one asks for 50"),
        (
            {"judge_sampling": replace(JUDGE_SAMPLING["maskbench"], reasoning_tokens=1)},
            "--judge-reasoning-tokens 16000, and this one asks for 1",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_another_measurement(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    """Whatever changes what is asked is refused, by the option's name, with both values and the remedy."""
    folder = begun(tmp_path / "run")
    with pytest.raises(RunMismatch) as raised:
        check_same(folder, settings(**changed), HASHES)
    assert said in str(raised.value)
    assert str(raised.value).startswith(f"{tmp_path / 'run'} holds a run with ")
    assert str(raised.value).lower().endswith(" give this one another --out.")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("scenarios", r"holds a run with other scenarios than .* has now \(hash \w{12}, now cccc"),
        ("prompts", r"judged by version \S+ of the judge prompts \(packaged\).*others now \(hash \w{12}, now cccc"),
    ],
)
def test_other_content(tmp_path: Path, name: str, said: str) -> None:
    """A scenario set or prompts of the same name that hold something else now are refused by that name."""
    folder = begun(tmp_path / "run")
    with pytest.raises(RunMismatch, match=said):
        check_same(folder, settings(), {**HASHES, name: "c" * 64})


def test_rules_read_no_prompts(tmp_path: Path) -> None:
    """A run that a rule judges goes on whatever the prompts say; one of two judges that reads them is enough for no."""
    ruled = settings(judge="rules/sandbox", numeric_judge="rules/sandbox")
    check_same(begun(tmp_path / "run", ruled), ruled, {**HASHES, "prompts": "c" * 64})
    half = ruled.having(numeric_judge="openai/gpt-4o")
    with pytest.raises(RunMismatch, match="use that maskbench with those prompts"):
        check_same(begun(tmp_path / "half", half), half, {**HASHES, "prompts": "c" * 64})


def test_what_may_change(tmp_path: Path) -> None:
    """Connections, time-out, retries, rules and the error rate may change: they change nothing that is asked."""
    changed = settings(connections=1, timeout=1.0, retries=0, rules="strict", max_error_rate=1.0)
    check_same(begun(tmp_path / "run"), changed, HASHES)


# Records that cannot be read


def test_no_run(tmp_path: Path) -> None:
    """A folder that is no run, and one that is not there, are refused by name."""
    for path in (tmp_path, tmp_path / "missing"):
        folder = RunFolder(path)
        assert not folder.exists
        with pytest.raises(RunUnreadable, match=r"holds no run: there is no run\.json in it\."):
            folder.record()
        with pytest.raises(RunUnreadable, match=r"holds no run: there is no run\.sqlite in it\."):
            folder.store()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"schema": 1}', "has schema 1; this version of maskbench reads schema 2"),
        (b'{"schema": 3}', "Use the version that wrote it, or its `export --format published` and `import` here, or s"),
        (b"{}", "has schema None; this version"),
        (b"[1]", "has schema None; this version"),
        (b"not JSON", "cannot be read"),
        (b"", "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_another_schema(tmp_path: Path, content: bytes, said: str) -> None:
    """A run.json of another schema, or none at all, is refused by name."""
    (tmp_path / RECORD).write_bytes(content)
    with pytest.raises(RunUnreadable) as raised:
        RunFolder(tmp_path).settings()
    assert str(raised.value).startswith(f"{tmp_path / RECORD} ")
    assert said in str(raised.value)


@pytest.mark.parametrize("lost", [("settings",), ("settings", "subject", "sampling"), ("settings", "subject")])
def test_damaged_settings(tmp_path: Path, lost: tuple[str, ...]) -> None:
    """A run.json that has lost its settings, or some of them, is refused by name."""
    record = begun(tmp_path).record()
    part: Any = record
    for step in lost[:-1]:
        part = part[step]
    del part[lost[-1]]
    RunFolder(tmp_path).write(RECORD, record)
    with pytest.raises(RunUnreadable, match=r"run\.json is no record of a run: .*\. Restore the file"):
        RunFolder(tmp_path).settings()


def test_files_are_whole(tmp_path: Path) -> None:
    """A file of the folder is written whole or not at all: a content that JSON cannot say leaves the old one."""
    folder = begun(tmp_path)
    before = folder.record()
    with pytest.raises(TypeError):
        folder.write(RECORD, {"schema": object()})
    assert folder.record() == before
    assert {path.name for path in tmp_path.iterdir()} == {RECORD}


# One writer

HOLDER = """
import sys, pathlib
from maskbench.store.folder import RunFolder
with RunFolder(pathlib.Path(sys.argv[1])).writing():
    print("writing", flush=True)
    sys.stdin.read()
"""


def test_one_writer(tmp_path: Path) -> None:
    """While one process writes, another is refused by name, and readers are welcome; its end frees the folder."""
    folder = begun(tmp_path / "run")
    store = folder.store(write=True)
    store.add_scenarios([(scenario(), 1.0)])
    store.close()
    command = [sys.executable, "-c", HOLDER, str(folder.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "writing\n"
        with (
            pytest.raises(RunLocked, match=r"Another maskbench is writing to .*run\. Wait for it, stop it"),
            folder.writing(),
        ):
            pytest.fail("two writers")
        assert folder.record()["schema"] == SCHEMA
        reader = folder.store()
        assert reader.count() == 1
        reader.close()
        holder.kill()
    with folder.writing():
        pass


def test_two_writers_in_a_process(tmp_path: Path) -> None:
    """Two writers in one process are two, too; an error in the first frees the folder."""
    folder, other = RunFolder(tmp_path / "deep" / "run"), RunFolder(tmp_path / "deep" / "run")

    def break_off() -> None:
        with folder.writing():
            with pytest.raises(RunLocked), other.writing():
                pytest.fail("two writers")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        break_off()
    with other.writing():
        pass


def test_no_room_for_a_folder(tmp_path: Path) -> None:
    """Where no folder can be made, because a file is in the way, the error says so."""
    (tmp_path / "file").write_text("here")
    for path in (tmp_path / "file", tmp_path / "file" / "run"):
        with (
            pytest.raises(RunError, match=r"file.* cannot be written \(.*\)\. .*give another --out"),
            RunFolder(path).writing(),
        ):
            pytest.fail("no folder")
    with pytest.raises(RunError, match="cannot be written"):
        RunFolder(tmp_path / "missing").write(RECORD, {})


def test_default_name() -> None:
    """A new run's folder has time and subject in its name, fit for a file system, and differs with the settings."""
    name = default_name(settings(subject="sim/lie=0.4,evade=0.2"), "20250102-030405")
    assert name.startswith("20250102-030405-sim-lie=0.4-evade=0.2-")
    assert default_name(settings(subject="../../etc"), "now").startswith("now-etc-")
    assert default_name(settings(seed=1), "now") != default_name(settings(), "now")
    assert "/" not in default_name(settings(subject="a/" * 200), "now")
    assert len(default_name(settings(subject="a/" * 200), "now")) < 100


def test_database_and_record_have_names(tmp_path: Path) -> None:
    """The database of a run is run.sqlite in its folder, the log run.log."""
    folder = begun(tmp_path)
    folder.store(write=True).close()
    Store(tmp_path / DATABASE).close()
    assert folder.log == tmp_path / "run.log"
