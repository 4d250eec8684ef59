"""Which models are of one family, and that a judge of the subject's is pointed out."""

from pathlib import Path

import pytest

from maskbench.asking.judging.judge_again import judge
from maskbench.results.scored import result
from maskbench.store.families import alike, kinship
from maskbench.store.folder import RunFolder
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


@pytest.mark.parametrize(
    ("asked", "answered", "other"),
    [
        ("openai/gpt-4o", "gpt-4o-2024-08-06", False),
        ("openrouter/anthropic/claude-x", "anthropic/claude-x-20250514", False),
        ("anthropic/claude-x-latest", "claude-x-20241022", False),
        ("google/gemini-9-pro", "gemini-9-pro-002", False),
        ("google/gemini-9-pro", "gemini-9-flash", True),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama-3.3-70b-instruct", False),
        ("/models/hf", "/models/hf@main", False),
        ("smollm2", "/models/SmolLM2.gguf", False),
        ("smollm2", "/models/SmolLM2-135M-Instruct.Q4_1.gguf", True),
        ("gpt-4o", "gpt-4o-mini", True),
        ("mistral-large-latest", "mistral-large-2411", False),
        ("qwen3:8b", "qwen3", False),
        ("ollama/llama9", "llama9:3b-q4", False),
        ("C:\\models\\a.gguf", "a", False),
        ("gpt-4", "gpt-4o", True),
        ("my-model", "/models/SmolLM2.gguf", True),
        ("llama-3-8b", "llama-3-70b", True),
        ("claude-3-5-sonnet", "gpt-4o", True),
    ],
)
def test_another_name(asked: str, answered: str, other: bool) -> None:
    """A path, a date, a revision or a tag is none; another word or number is, behind the name, too."""
    assert alike(asked, answered) is not other


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
