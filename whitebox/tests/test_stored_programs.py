"""What a handed-over folder would join or trust is shown and has to be typed again, whichever command asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import maskbench
from flows import typed
from maskbench.asking.judging.judge_again import judge
from maskbench.asking.stored_programs import to_ask_by, words_again
from maskbench.cli import app
from maskbench.errors import UsageError
from maskbench.models.names import check_typed, typed_again
from maskbench.settings import PLACES, Settings, Stored
from maskbench.store.folder import RunFolder
from measured_runs import EVERYDAY, change, run

LOCAL = Settings.of("hf/mine", "sim-judge", "starter", model_options={"trust_remote_code": True})
OTHER = "sim-judge/noise=0.2"


def a_run(place: Path) -> Path:
    """A run between simulated models that lacks verdicts, so that whoever goes on with it has to ask."""
    return change(run(place, archetypes=("known_facts",), sample=4), "DELETE FROM judged WHERE elicitation = 0")


def a_whole_run(place: Path) -> Path:
    """A run between simulated models that is complete."""
    return run(place, archetypes=("known_facts",), sample=4)


def a_sweep(place: Path) -> Path:
    """The only run of a sweep, whose file has its replies judged by another judge, too."""
    file = place.parent / "sweep.toml"
    head = f'[every]\nmodel = "sim"\nscenarios = "{EVERYDAY}"\nsample = 4\n[product]\n'
    file.write_text(f'{head}judge = ["sim-judge"]\n')
    assert typed("sweep", file, "--out", place).code == 0
    file.write_text(f'{head}judge = ["sim-judge", "{OTHER}"]\n')
    return next(path.parent for path in place.rglob("run.json"))


# Every command that can ask by a folder that is there, with how that folder is made.
ASKS: dict[str, Sequence[tuple[Callable[[Path], Path], str]]] = {
    "run": (
        (a_run, "run --out AT"),
        (a_whole_run, "run --out AT --placebo"),
    ),
    "judge": (
        (a_whole_run, "judge AT --judge-numbers apart"),
        (a_whole_run, f"judge AT --judge {OTHER}"),
    ),
    "sweep": ((a_sweep, "sweep BESIDE/sweep.toml --out AT"),),
}
# And those that ask nobody, or by what is typed alone.
NEVER = {
    *("import", "report", "score", "export", "compare", "check", "leaderboard", "label"),
    *("published", "scenarios", "doctor", "exam"),
}
LINES = [each for lines in ASKS.values() for each in lines]


def hostile(field: str, place: Path, mark: Path) -> dict[str, Any]:
    """Settings that would write a file, or join a machine, if they were followed, by name."""
    if field == "cluster":
        return {"model_options": {field: "127.0.0.1:9"}, "subject": "hf/pinocchio"}
    folder = place / "model"
    folder.mkdir()
    (folder / "own.py").write_text(f"open({str(mark)!r}, 'w')\n")
    (folder / "config.json").write_text(json.dumps({"model_type": "own", "auto_map": {"AutoConfig": "own.Own"}}))
    return {"model_options": {field: True}, "subject": f"hf/{folder}"}


def plant(folder: Path, options: dict[str, Any]) -> None:
    """Write options into what a folder holds of settings, as somebody can who hands it over."""
    file = folder / "run.json"
    record = json.loads(file.read_text())
    for name, value in options.items():
        of, field = PLACES[name]
        record["settings"][of][field] = value
    file.write_text(json.dumps(record))


def is_followed(line: str) -> bool:
    """Whether a command goes on by this field: a sweep asks by its file, and it is the subject's."""
    return line.startswith("run --out")


def test_every_command_is_known_here() -> None:
    """A new command is put into the table of those that ask by a folder, or among those that never do."""
    assert {name for name in app() if not name.startswith("-")} == {*ASKS, *NEVER}


@pytest.mark.parametrize("field", ["cluster", "trust_remote_code"])
@pytest.mark.parametrize(("made", "line"), LINES, ids=[line for _, line in LINES])
def test_nothing_that_is_stored_is_started(made: Callable[[Path], Path], line: str, field: str, tmp_path: Path) -> None:
    """Whatever command asks: it names what is stored and says what to type, or it has no use for it."""
    place, mark = tmp_path / "at", tmp_path / "pwned"
    plant(made(place), hostile(field, tmp_path, mark))
    known = {"AT": str(place), "BESIDE/sweep.toml": str(tmp_path / "sweep.toml")}
    ended = typed(*(known.get(word, word) for word in line.split()))
    assert not mark.exists()
    assert "needs Ray" not in ended.err
    assert "there is no cluster to join" not in ended.err
    if is_followed(line):
        assert ended.code == 2
        assert f"-M {field}=" in ended.err
        assert "may come from somebody else" in ended.err


def test_what_has_to_be_typed_again_is_in_the_table() -> None:
    """The two names that the test goes over are all that hf/ does not leave to a folder; of a provider it is all."""
    every = {"adapter": "a", "steer": "v", "dtype": "bf16", "device": "cpu", "threads": 2, "cluster": "x"}
    every |= {"layers": "1", "strength": 2.0, "quantize": "4bit", "batch_tokens": 9, "gpus_per_model": 1.0}
    every |= {"trust_remote_code": True}
    assert set(typed_again(LOCAL.having(model_options=every))) == {"cluster", "trust_remote_code"}
    asked = Settings.of("inspect/vertex/x", "sim-judge", "starter", model_options={"location": "here"})
    assert typed_again(asked) == {"location": "here"}
    assert typed_again(asked, ("judge",)) == {}


@pytest.fixture
def handed_over(tmp_path: Path) -> tuple[Path, Path]:
    """A run whose run.json joins a cluster and trusts code that would write a file, and that file."""
    path, mark = a_whole_run(tmp_path / "run"), tmp_path / "pwned"
    trusts = hostile("trust_remote_code", tmp_path, mark)
    plant(path, trusts | {"model_options": {**trusts["model_options"], "cluster": "127.0.0.1:9"}})
    return path, mark


def test_python_refuses_it_as_well(handed_over: tuple[Path, Path]) -> None:
    """A folder alone is a run of which nobody knows who made it, and its settings stay its own through changes."""
    path, mark = handed_over
    with pytest.raises(UsageError, match="may run code or open a file here"):
        maskbench.measure(path)
    stored = RunFolder(path).settings()
    assert isinstance(stored.having(judge=OTHER, numeric_judge=OTHER), Stored)
    with pytest.raises(UsageError, match="trust_remote_code and cluster may run code"):
        check_typed(stored, ("subject", "judge"))
    judge(RunFolder(path), to_ask_by(stored, (), path, ("judge",)).having(judge=OTHER), "other", {})
    assert not mark.exists()


def test_what_is_printed_needs_no_cluster(tmp_path: Path) -> None:
    """The result of such a run can be looked at, and it goes on without a cluster where that is said."""
    path = a_whole_run(tmp_path / "run")
    plant(path, {"model_options": {"cluster": "127.0.0.1:9"}, "subject": "hf/pinocchio"})
    assert typed("score", path).code in (0, 1)
    plant(path, {"subject": "sim"})
    assert typed("run", "--out", path, "-M", "cluster=none").code == 0


def test_stored_settings_are_equal_to_those_that_were_stored(tmp_path: Path) -> None:
    """The mark changes no comparison and no hash."""
    stored = RunFolder(a_whole_run(tmp_path / "run")).settings()
    plain = to_ask_by(stored, (), tmp_path)
    assert type(plain) is Settings
    assert stored == plain
    assert plain == stored
    assert hash(stored) == hash(plain)
    assert stored != plain.having(seed=1)


def test_trusted_code_is_trusted_by_who_types_it() -> None:
    """A model in this process that brings code along is not loaded on the word of a folder."""
    with pytest.raises(UsageError, match="add -M trust_remote_code=true"):
        to_ask_by(LOCAL, (), Path("runs/x"))
    to_ask_by(LOCAL, ("trust_remote_code",), Path("runs/x"))
    to_ask_by(LOCAL, (), Path("runs/x"), ("judge",))  # a judge brings no code here


def test_the_line_that_goes_on_has_what_was_typed() -> None:
    """The process that was given a cluster says it again to whoever takes its run up."""
    spread = LOCAL.having(model_options={"cluster": "auto", "trust_remote_code": True, "device": "cpu"})
    assert words_again(spread) == ["-M", "cluster=auto", "-M", "trust_remote_code=true"]
