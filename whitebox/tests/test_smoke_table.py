"""benchmarks/gpu_smoke.sh and its table: what is said of two places that answer, and that the script can be read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from maskbench.measurement import measure
from maskbench.settings import Settings
from smoke_table import agreement, speed

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "gpu_smoke.sh"


def answered(*texts: str) -> dict[tuple[str, str, int, int], dict[str, Any]]:
    """Replies as the store gives them."""
    return {("known_facts", str(at), 1, 1): {"text": text, "input_tokens": 7} for at, text in enumerate(texts)}


def test_agreement_is_counted_over_what_both_answered() -> None:
    """Equal replies are counted, and how far others agree from their beginning; what one place lacks is left out."""
    sentence = agreement(answered("abcd", "abcd", ""), answered("abcd", "abxyzxyz", "", "more"))
    assert sentence.startswith("Of 3 greedy replies 2 are the same word for word; on average the first 75 % of a reply")
    assert sentence.endswith("3 of 3 prompts have the same number of tokens.")


def test_no_common_answer_is_no_agreement() -> None:
    """Where no question was answered twice nothing is claimed."""
    assert "No question was answered in both places" in agreement(answered(), answered("a"))


def test_speed_counts_answers_and_time_of_a_run(tmp_path: Path) -> None:
    """Replies and seconds are the run's own, and memory is what came on top."""
    measure(Settings.of("sim", "sim-judge", "starter", limit=3), tmp_path / "run", {})
    (tmp_path / "run.before").write_text("100")
    (tmp_path / "run.most").write_text("350")
    fast = speed(tmp_path, "run")
    assert (fast.megabytes, fast.replies > 0, fast.seconds > 0) == (250, True, True)


@pytest.mark.skipif(sys.platform == "win32", reason="it is a shell script")
def test_the_judge_of_the_script_gives_verdicts(tmp_path: Path) -> None:
    """What the script has its judge say is read as a verdict, so that no run stops for want of verdicts."""
    line = next(line for line in SCRIPT.read_text().splitlines() if line.startswith("echo '{"))
    subprocess.run(["bash", "-c", line], env={"work": str(tmp_path)}, check=True)
    chosen = Settings.of("sim", f"scripted/{tmp_path}/judge.json", "starter", limit=3, archetypes=("provided_facts",))
    assert measure(chosen, tmp_path / "run", {}).failures == {}


@pytest.mark.skipif(sys.platform == "win32", reason="it is a shell script")
def test_the_script_reads_and_says_how_it_is_called() -> None:
    """The shell finds no fault in the script, and without a model it shows its usage."""
    subprocess.run(["bash", "-n", str(SCRIPT)], check=True)
    ran = subprocess.run([str(SCRIPT)], capture_output=True, text=True)
    assert ran.returncode == 2
    assert "benchmarks/gpu_smoke.sh Qwen/Qwen3-0.6B" in ran.stdout
