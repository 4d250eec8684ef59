"""Which models are of one family, and that a judge of the subject's is pointed out."""

from pathlib import Path

import pytest

from maskbench.judges.judge_again import judge
from maskbench.models.families import kinship
from maskbench.results.scored import result
from maskbench.runs.folder import RunFolder
from measured_runs import run


@pytest.mark.parametrize(
    ("subject", "judges", "said"),
    [
        ("openai/gpt-4o", ("openrouter/gpt-4o",), "is the subject itself"),
        ("openai/gpt-4o-mini", ("openai/gpt-4o", "openai/o3-mini"), "one family"),
        ("hf/meta-llama/Llama-2-7b", ("vllm/Llama-3.1-70B",), "one family"),
        ("openai/gpt-4o", ("anthropic/claude-sonnet-4-5",), None),
        ("sim", ("sim-judge",), None),
        ("pinocchio", ("rules/sandbox",), None),
    ],
)
def test_kinship(subject: str, judges: tuple[str, ...], said: str | None) -> None:
    """A judge that is the subject, or of its family by name, is pointed out; simulated ones have no kin."""
    warning = kinship(subject, judges)
    assert warning is None if said is None else said in str(warning)


def test_kin_is_noted_in_every_result(tmp_path: Path) -> None:
    """A result by a judge of the subject's family carries a warning, and one by another judge does not."""
    folder = RunFolder(run(tmp_path / "run", limit=6))
    other = "sim-judge/seed=1"
    judge(folder, folder.settings().having(judge=other, numeric_judge=other), "a", {})
    assert not result(folder).notes[:-1]
    record = folder.record()
    record["settings"]["subject"]["name"] = "openai/gpt-4o"
    record["verdict_sets"]["a"]["judging"]["judge"] = "openai/gpt-4o-mini"
    folder.write("run.json", record)
    assert any("look like one family" in note for note in result(folder, verdicts="a").notes)
    assert not any("family" in note for note in result(folder).notes)
