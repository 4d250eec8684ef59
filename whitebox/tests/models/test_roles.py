"""What a model in this process can be in a run, and which fields it takes."""

from __future__ import annotations

from pathlib import Path

import pytest

import measured_runs
from flows import typed


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("run sim --judge hf/mine", "hf/mine cannot be the judge: a model in this process is only ever the subject"),
        ("judge a --judge hf/mine", "a judge is on a server, as in `vllm serve NAME` and --judge vllm/NAME."),
        ("exam hf/mine", "hf/mine cannot be the judge"),
        ("run FILE", "--extra-body is for a model at an endpoint; hf/pinocchio is none"),
    ],
)
def test_it_is_a_subject_without_requests(
    line: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It judges nothing and has no requests that fields could be added to: each line ends in a sentence."""
    monkeypatch.chdir(tmp_path)
    measured_runs.run(tmp_path / "a", limit=2)
    (tmp_path / "run.toml").write_text('model = "hf/pinocchio"\nextra-body = \'{"a": 1}\'\n')
    ended = typed(*line.replace("FILE", "run.toml").split())
    assert (ended.code, ended.out) == (2, "")
    assert told in " ".join(ended.err.split())
