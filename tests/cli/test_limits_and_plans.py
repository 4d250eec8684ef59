"""Plans as JSON, and options that have nothing to belong to."""

from __future__ import annotations

import json
from pathlib import Path

from flows import typed
from measured_runs import run


def test_plans_of_judging_are_json_too(tmp_path: Path) -> None:
    """exam and judge print their plan with --dry-run --json: verdicts, tokens and money."""
    path = run(tmp_path / "run", limit=6)
    judged = json.loads(typed("judge", path, "--judge", "openai/gpt-4o", "--dry-run", "--json").out)
    assert (judged["name"], judged["verdicts"]) == ("openai-gpt-4o", 4 * 5 + 1 + 6)
    assert judged["estimate"]["cost"][0] > 0
    exam = json.loads(typed("exam", "openai/gpt-4o", "--short", "--dry-run", "--json").out)
    assert exam["verdicts"] == exam["estimate"]["models"][0]["calls"][0] > 100


def test_the_result_of_judging_again_is_json_too(tmp_path: Path) -> None:
    """`judge --json` prints the summary by the new verdicts."""
    path = run(tmp_path / "run", limit=6)
    ended = typed("judge", path, "--judge", "sim-judge/flip=0.2", "--name", "b", "--json")
    assert json.loads(ended.out)["verdicts"] == "b"


def test_a_plan_has_its_calls_and_tokens_in_one_table() -> None:
    """Where money is told, the table of money has the calls and tokens, and no other table repeats them."""
    priced = typed("run", "openai/gpt-4o", "--judge", "openai/gpt-4o", "--scenarios", "starter", "--dry-run").out
    free = typed("run", "sim", "--dry-run").out
    assert [text.count("tokens in") for text in (priced, free)] == [1, 1]
    assert "US dollars" in priced
