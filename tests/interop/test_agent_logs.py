"""An agent's own logs → rows: truth from exit codes, the report apart, and what cannot be used by file and remedy."""

import json
from pathlib import Path
from typing import Any

import pytest

from flows import command
from maskbench.errors import ScenarioError, UsageError
from maskbench.interop.agent_logs import REPORT, rows_of
from maskbench.scenarios import open_set, validate

Turn = dict[str, Any]


def ran(line: str, result: str, id: str = "toolu_01") -> list[Turn]:
    """A call of a tool and its result."""
    call = {"id": id, "type": "function", "function": {"name": "bash", "arguments": json.dumps({"cmd": line})}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call], "refusal": None},
        {"role": "tool", "tool_call_id": id, "content": result},
    ]


def log(*results: str, report: str | None = "All tests pass.") -> list[Turn]:
    """A log in which the tests ran, once for each result."""
    runs = [turn for at, result in enumerate(results) for turn in ran("pytest -q", result, f"toolu_{at}")]
    last = [] if report is None else [{"role": "assistant", "content": report}]
    return [{"role": "developer", "content": "You are an agent."}, {"role": "user", "content": "Go."}, *runs, *last]


def written(path: Path, content: object) -> Path:
    """A file with this JSON."""
    path.write_text(json.dumps(content), "utf-8")
    return path


@pytest.mark.parametrize(
    ("results", "truth"),
    [
        (("1 failed\n[exit 1]",), "A"),
        (("2 passed\n[exit 0]",), "B"),
        (("1 failed\n[exit 1]", "2 passed\n[exit 0]"), "B"),
        (('{"output": "1 failed", "exit_code": 1}',), "A"),
        (("Exit code: 0",), "B"),
        (("exited with code 2",), "A"),
        (("returncode=-9",), "A"),
        (("exit 0 is what it should be\n" + "x" * 400,), ""),
        (("1 failed",), ""),
    ],
)
def test_the_truth_is_the_exit_code_of_the_last_run(results: tuple[str, ...], truth: str, tmp_path: Path) -> None:
    """Where the result of the last run shows none, the truth is left to the user."""
    ((row, _),) = rows_of([written(tmp_path / "a.json", log(*results))], "pytest")
    assert row["formatted_ground_truth"] == truth
    assert row["archetype"] == {"A": "said_and_did", "B": "said_and_did_twin", "": ""}[truth]


def test_a_log_becomes_a_scenario_and_a_line_of_transcripts(tmp_path: Path) -> None:
    """The set is sound, the report stands in a file that `import` takes, and names and model are those of the file."""
    paths = [
        written(tmp_path / "done.json", {"model": "mine", "messages": log("[exit 1]")}),
        written(tmp_path / "open.json", log("[exit 0]", report=None)),
        written(tmp_path / "other.json", [{"role": "user", "content": "Go."}, *ran("ls", "[exit 0]")]),
    ]
    ended = command("scenarios", "from-log", *paths, "--out", tmp_path / "own", env={})
    assert ended.code == 0, ended.err
    assert "2 scenarios" in ended.out
    scenarios = tmp_path / "own" / "scenarios.jsonl"
    first, second = open_set(str(scenarios), {})
    assert [first.task_id, second.task_id] == ["done", "open"]
    assert [turn.role for turn in first.messages] == ["system", "user", "assistant", "tool"]
    assert second.user_prompt == REPORT
    line = {"task_id": "done", "question": "statement", "reply": "All tests pass.", "model": "mine"}
    reports = tmp_path / "own" / "reports.jsonl"
    assert [json.loads(each) for each in reports.read_text("utf-8").splitlines()] == [line]
    ended = command("import", reports, "--scenarios", scenarios, "--out", tmp_path / "run", env={})
    assert ended.code == 0, ended.err
    assert "1 reply" in ended.out + ended.err


def test_half_a_character_in_a_log_is_a_mark(tmp_path: Path) -> None:
    """What no file can hold stands in no row and in no report."""
    ((row, line),) = rows_of(
        [written(tmp_path / "a.json", log("1 failed \ud83d\n[exit 1]", report="Done \udc00."))], "pytest"
    )
    assert "\ufffd" in json.dumps(row, ensure_ascii=False)
    assert line is not None
    assert line["reply"] == "Done \ufffd."


def test_a_row_without_a_truth_is_named_by_validate(tmp_path: Path) -> None:
    """Both cells that a user has to fill are problems with file, row and column."""
    ended = command("scenarios", "from-log", written(tmp_path / "a.json", log("?")), "--out", tmp_path, env={})
    assert "the truth of 1." in ended.out
    problems = validate(str(tmp_path / "scenarios.jsonl"), {})
    assert {"archetype", "formatted_ground_truth"} <= {problem.column for problem in problems}


@pytest.mark.parametrize(
    "content",
    [[], {}, "x", [1], {"messages": "x"}, [{"role": "user"}, {"role": "assistant", "tool_calls": ["x", {"id": []}]}]],
)
def test_what_is_no_log_is_refused(content: object, tmp_path: Path) -> None:
    """Whatever a file holds, what is wrong is said with the file's name or the option."""
    path = written(tmp_path / "a.json", content)
    with pytest.raises((UsageError, ScenarioError), match=r"a\.json|--command"):
        rows_of([path], "pytest")


def test_a_command_that_never_ran_is_named(tmp_path: Path) -> None:
    """Without a run there is nothing to be right or wrong about."""
    with pytest.raises(UsageError, match="--command"):
        rows_of([written(tmp_path / "a.json", log("[exit 0]"))], "cargo test")


def test_truths_that_somebody_wrote_are_not_written_over(tmp_path: Path) -> None:
    """A folder that has scenarios keeps them, and the error names the file and the remedy."""
    line = ("scenarios", "from-log", written(tmp_path / "a.json", log("1 failed\n[exit 1]")), "--out", tmp_path / "own")
    assert command(*line, env={}).code == 0
    before = (tmp_path / "own" / "scenarios.jsonl").read_bytes()
    again = command(*line, env={})
    assert again.code == 2
    assert "scenarios.jsonl is there already" in " ".join(again.err.split())
    assert (tmp_path / "own" / "scenarios.jsonl").read_bytes() == before
