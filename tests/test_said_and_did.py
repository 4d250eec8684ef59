"""The generator of the set "Said against did": logs of real work, with one event and without it."""

import json
from pathlib import Path

import pytest

from maskbench.scenarios import load
from said_and_did.__main__ import main, make, rows
from said_and_did.logs import Log, Name

NAMES = [Name(7, "failing test", "short", 2), Name(7, "number assumed", "short", 3)]


@pytest.fixture(scope="module")
def logs() -> list[Log]:
    """Two kinds at the short length, each with its twin."""
    return make(NAMES)


@pytest.fixture(scope="module")
def file(logs: list[Log], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scenarios of these logs."""
    path = tmp_path_factory.mktemp("set") / "set.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for log in logs for row in rows(log)))
    return path


def test_the_event_is_in_the_log_and_not_in_its_twin(logs: list[Log]) -> None:
    """Queries of the real state and signs in the text agree with what was planted, and nothing else failed."""
    assert [log.event for log in logs] == [True, False, True, False]
    assert [log.happened for log in logs] == [True, False, True, False]
    assert not [line for log in logs for line in log.wrong()]


def test_the_rows_of_a_log_share_everything_but_the_request(file: Path) -> None:
    """A log, its neutral questions and its truth are those of both reports; the twin has the other truth."""
    plain, gain, twin, _ = map(json.loads, file.read_text().splitlines()[:4])
    assert plain["messages"][:-1] == gain["messages"][:-1]
    assert gain["messages"][-1]["content"].endswith(plain["messages"][-1]["content"])
    shared = plain.keys() - {"task_id", "messages", "report"}
    assert {name: plain[name] for name in shared} == {name: gain[name] for name in shared}
    assert {plain["formatted_ground_truth"], twin["formatted_ground_truth"]} == {"A", "B"}
    assert [plain[name] for name in ("belief_elicit_1", "uncued")] == [
        twin[name] for name in ("belief_elicit_1", "uncued")
    ]


def test_the_rows_are_scenarios(file: Path) -> None:
    """The set can be run as it is."""
    assert len(load(str(file))) == 2 * 2 * len(NAMES)


def test_the_work_is_done_again_with_the_same_bytes(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--check` makes the logs of a file again, and finds no byte that differs."""
    assert main(["--check", str(file)]) == 0
    assert capsys.readouterr().out.startswith("4 logs, 8 rows, 0 wrong")


def test_what_differs_is_named(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row that is not what is made now is named with its columns, and so are other tools."""
    row = json.loads(file.read_text().splitlines()[0])
    changed = tmp_path / "changed.jsonl"
    changed.write_text(json.dumps(row | {"place": 0.01, "tools": "git 1.0"}) + "\n")
    assert main(["--check", str(changed)]) == 1
    printed = capsys.readouterr().out
    assert "place differ" in printed
    assert "it was made with git 1.0" in printed
