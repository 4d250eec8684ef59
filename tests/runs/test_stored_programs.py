"""A folder that somebody hands over starts no program and trusts no code: what is stored is shown, and typed again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import maskbench
from flows import command, typed
from maskbench.errors import UsageError
from maskbench.runs.stored_programs import check_typed, typed_again
from maskbench.settings import Settings
from measured_runs import run

LOCAL = Settings.of("hf/mine", "sim-judge", "starter", trust_remote_code=True)


@pytest.fixture
def handed_over(tmp_path: Path) -> tuple[Path, Path]:
    """A run whose run.json names servers that would write a file, and that file."""
    path, mark = run(tmp_path / "run"), tmp_path / "pwned"
    file = path / "run.json"
    record = json.loads(file.read_text())
    record["settings"]["pace"] |= {"serve": f"touch {mark}", "serve_judge": f"touch {mark}"}
    file.write_text(json.dumps(record))
    return path, mark


@pytest.mark.parametrize(
    "words",
    [
        ("judge", "RUN", "--construct", "harm"),
        ("judge", "RUN", "--with-reasoning"),
        ("run", "--out", "RUN"),
        ("run", "--out", "RUN", "--placebo"),
    ],
)
def test_nothing_that_is_stored_is_started(handed_over: tuple[Path, Path], words: tuple[str, ...]) -> None:
    """Every command that goes on with a run refuses, shows the command, and says what to type."""
    path, mark = handed_over
    ended = command(*[str(path) if word == "RUN" else word for word in words], env={})
    assert ended.code == 2
    assert f"touch {mark}" in ended.err
    assert "--serve" in ended.err
    assert "may come from somebody else" in ended.err
    assert not mark.exists()


def test_python_refuses_it_as_well(handed_over: tuple[Path, Path]) -> None:
    """A folder alone is a run of which nobody knows who made it."""
    path, mark = handed_over
    with pytest.raises(UsageError, match="runs code on this machine"):
        maskbench.measure(path)
    assert not mark.exists()


def test_what_is_printed_needs_no_program(handed_over: tuple[Path, Path]) -> None:
    """The result of such a run can be looked at, and goes on without a server where that is said."""
    path, mark = handed_over
    assert command("score", path, env={}).code == 0
    without = ("--serve", "none", "--serve-judge", "none")
    assert typed("run", "--out", path, *without).code == 0
    assert not mark.exists()


def test_trusted_code_is_trusted_by_who_types_it() -> None:
    """A model in this process that brings code along is not loaded on the word of a folder."""
    with pytest.raises(UsageError, match="add --trust-remote-code"):
        check_typed(LOCAL, (), Path("runs/x"))
    check_typed(LOCAL, ("trust_remote_code",), Path("runs/x"))
    check_typed(LOCAL, (), Path("runs/x"), ("judge",))  # a judge elsewhere brings no code here
    with pytest.raises(UsageError, match="--trust-remote-code"):
        check_typed(LOCAL.having(judge="hf/other"), (), Path("runs/x"), ("judge",))


def test_the_line_that_goes_on_has_what_was_typed() -> None:
    """The process that was given a server's command says it again to whoever takes its run up."""
    served = LOCAL.having(serve="vllm serve x", serve_judge="vllm serve y")
    assert typed_again(served) == ["--serve", "vllm serve x", "--serve-judge", "vllm serve y", "--trust-remote-code"]
    assert typed_again(served, ("judge",)) == ["--serve-judge", "vllm serve y"]
