"""What a handed-over folder would join or trust is shown and has to be typed again, whichever command asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import maskbench
from flows import typed
from maskbench.cli import app
from maskbench.errors import UsageError
from maskbench.judges.judge_again import judge
from maskbench.runs.folder import RunFolder
from maskbench.runs.stored_programs import to_ask_by, typed_again
from maskbench.settings import PLACES, Settings, Stored, starts
from measured_runs import EVERYDAY, change, run

LOCAL = Settings.of("hf/mine", "sim-judge", "starter", trust_remote_code=True)
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
        return {field: "127.0.0.1:9"}
    folder = place / "model"
    folder.mkdir()
    (folder / "own.py").write_text(f"open({str(mark)!r}, 'w')\n")
    (folder / "config.json").write_text(json.dumps({"model_type": "own", "auto_map": {"AutoConfig": "own.Own"}}))
    return {field: True, "subject": f"hf/{folder}"}


def plant(folder: Path, options: dict[str, Any]) -> None:
    """Write options into what a folder holds of settings, as somebody can who hands it over."""
    file = folder / "run.json"
    record = json.loads(file.read_text())
    for name, value in options.items():
        of, field = PLACES[name]
        record["settings"][of][field] = value
    file.write_text(json.dumps(record))


def is_followed(line: str, field: str) -> bool:
    """Whether a command goes on by this field: a sweep asks by its file, and code is that of a stored subject."""
    return not line.startswith("sweep") and (field == "cluster" or line.startswith("run --out"))


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
    if is_followed(line, field):
        assert ended.code == 2
        assert f"--{field.replace('_', '-')}" in ended.err
        assert "may come from somebody else" in ended.err


def test_what_starts_something_is_in_the_table() -> None:
    """The two names that the test goes over are all that settings can join or trust."""
    assert set(starts(LOCAL.having(cluster="x"))) == {"cluster", "trust_remote_code"}


@pytest.fixture
def handed_over(tmp_path: Path) -> tuple[Path, Path]:
    """A run whose run.json joins a cluster and trusts code that would write a file, and that file."""
    path, mark = a_whole_run(tmp_path / "run"), tmp_path / "pwned"
    plant(path, hostile("cluster", tmp_path, mark) | hostile("trust_remote_code", tmp_path, mark))
    return path, mark


def test_python_refuses_it_as_well(handed_over: tuple[Path, Path]) -> None:
    """A folder alone is a run of which nobody knows who made it, and its settings stay its own through changes."""
    path, mark = handed_over
    with pytest.raises(UsageError, match="runs code here"):
        maskbench.measure(path)
    stored = RunFolder(path).settings()
    assert isinstance(stored.having(judge=OTHER, numeric_judge=OTHER), Stored)
    with pytest.raises(UsageError, match="cluster would run code"):
        judge(RunFolder(path), stored, "other", {})
    assert not mark.exists()


def test_what_is_printed_needs_no_cluster(tmp_path: Path) -> None:
    """The result of such a run can be looked at, and it goes on without a cluster where that is said."""
    path = a_whole_run(tmp_path / "run")
    plant(path, hostile("cluster", tmp_path, tmp_path / "pwned"))
    assert typed("score", path).code in (0, 1)
    assert typed("run", "--out", path, "--cluster", "none").code == 0


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
    with pytest.raises(UsageError, match="add --trust-remote-code"):
        to_ask_by(LOCAL, (), Path("runs/x"))
    to_ask_by(LOCAL, ("trust_remote_code",), Path("runs/x"))
    to_ask_by(LOCAL, (), Path("runs/x"), ("judge",))  # a judge brings no code here


def test_the_line_that_goes_on_has_what_was_typed() -> None:
    """The process that was given a cluster says it again to whoever takes its run up."""
    spread, cluster = LOCAL.having(cluster="auto"), ["--cluster", "auto"]
    assert typed_again(spread) == [*cluster, "--trust-remote-code"]
    assert typed_again(spread, ("judge",)) == cluster
