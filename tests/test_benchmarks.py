"""benchmarks/: that those of speed themselves work, on small and quick loads."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from clients_measured import Measured
from compare_inspect import HEADLINE, dollars
from maskbench.models.prices import packaged
from patience import PATIENCE
from server_ledger import Asked, Ledger
from shelf import HALVES, clean, differences

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
COMPARE = BENCHMARKS / "compare_inspect.py"
SCRIPTS = sorted(BENCHMARKS.glob("*.py"))


def compare(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the benchmark as a user does."""
    command = [sys.executable, str(COMPARE), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)


def cell(row: str) -> list[float]:
    """The numbers of a table's row, behind its words."""
    return [float(each) for each in re.findall(r"(?<=\| )[\d,.]+", row.replace(",", ""))]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_what_a_script_imports_is_there(script: Path) -> None:
    """No script takes a name from maskbench that has moved; most are run by hand, and seldom."""
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("maskbench"):
            module = import_module(str(node.module))
            for name in node.names:
                is_module = (Path(str(module.__file__)).parent / f"{name.name}.py").exists()
                assert hasattr(module, name.name) or is_module, f"{node.module} has no {name.name}"


def test_a_small_load_gives_a_table_with_every_request_counted() -> None:
    """40 scenarios are 288 requests: 3 samples of a question are one, every reply is judged; more of them apart."""
    also = ("--also", 'apart=judge-numbers = "apart"')
    done = compare("--alone", "--scenarios", "40", "--connections", "8", "--latency", "0.005", *also)
    assert done.returncode == 0, done.stderr
    bill, apart, clock, _ = [cell(row) for row in re.findall(r"^\| maskbench 0.*\|$", done.stdout, re.MULTILINE)]
    assert bill[1] == 1000 * 288 / 40 < apart[1]
    statements, latency, connections, count, *_, peak = clock
    assert (statements, latency, connections, count) == (1, 5, 8, 40)
    assert peak < 200


def test_more_requests_at_once_than_are_allowed_are_refused_and_come_again() -> None:
    """A server that allows 5 at once refuses what is more, which is counted, and every scenario is scored."""
    done = compare("--alone", "--scenarios", "40", "--connections", "30", "--latency", "0.02", "--at-once", "5")
    assert done.returncode == 0, done.stderr
    refused = re.search(r"maskbench \S+ had ([\d,]+) of ([\d,]+) requests refused", done.stdout)
    assert refused is not None, done.stdout
    assert 0 < int(refused[1]) == int(refused[2]) - 288


def test_a_missing_competitor_is_refused_with_what_to_install() -> None:
    """Without the port in the interpreter the benchmark says so at once, and how to get it."""
    done = compare("--inspect-python", sys.executable)
    assert done.returncode == 1
    assert "pip install -c tests_outside/port/constraints.txt inspect-evals openai" in done.stderr


def test_what_is_written_has_no_gaps() -> None:
    """`--write` wants both programs in all cells, and an unknown cell is told which there are."""
    assert "--write needs both programs in all cells." in compare("--alone", "--write").stderr
    assert "500ms-200-1-different" in compare("--alone", "--only", "500ms-7*").stderr


def test_what_a_cache_could_hold_begins_alike_for_1024_tokens_and_was_answered() -> None:
    """The server counts whole blocks of 128 tokens of the same model once there is an answer, and nothing shorter."""
    ledger = Ledger()

    def asked(text: str, model: str = "judge") -> Asked:
        return ledger.asked({"model": model, "messages": [{"role": "user", "content": text}], "n": 3})

    long = "".join(f"{number:07} " for number in range(1000))  # 8,000 characters
    first = asked(long)
    assert (first.length, first.cacheable) == (8000, 0)
    assert asked(long).cacheable == 0  # the first one has no answer yet
    ledger.answered(first, ["ab", "cdef"])
    assert asked(f"{long[:4600]}another end").cacheable == 4608 - 512
    assert asked(f"{long[:4602]}another end of it").cacheable == 4608
    assert asked(long, "subject").cacheable == 0
    assert asked(long[:4000]).cacheable == 0
    assert asked(f"x{long}").cacheable == 0
    judge = ledger.sums()["judge"]
    assert (judge["requests"], judge["output"], judge["alone"]) == (6, 6, 3 * judge["input"])


def test_where_a_sample_is_a_request_each_pays_for_its_prompt() -> None:
    """At Anthropic's prices the subject's input counts once a sample, at OpenAI's once a request."""
    role = {"requests": 1, "input": 4_000_000, "alone": 12_000_000, "cacheable": 0, "output": 0}
    seen = {"requests": 1, "subject": role, "judge": {**role, "input": 0, "alone": 0}}
    measured = Measured("maskbench", HEADLINE, seen, 1, 1, 1, 1)
    prices = packaged()
    assert dollars(measured, ("openai/gpt-4o", "openai/gpt-4o")) == prices["openai/gpt-4o"].input
    claude = "anthropic/claude-opus-5-5"
    assert dollars(measured, (claude, "openai/gpt-4o")) == 3 * prices[claude].input


def test_a_small_board_is_timed() -> None:
    """Three models are three comparisons, timed both ways."""
    command = [sys.executable, str(BENCHMARKS / "boards.py"), "--models", "3", "--pairs", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 models, 240 scenarios, 3 comparisons: ")


def test_memory_of_every_command_is_measured() -> None:
    """A row a command and a column a size, each with megabytes and processor seconds."""
    command = [sys.executable, str(BENCHMARKS / "memory.py"), "--scenarios", "12"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^\| `(\w+[ \w-]*)`.*\| \d+ MB, [\d.]+ s \|$", done.stdout, re.MULTILINE) == [
        *("score", "compare", "leaderboard", "report", "report --include-text", "judge --dry-run")
    ]


def test_what_two_runs_of_a_version_cannot_share_is_no_difference(tmp_path: Path) -> None:
    """Times, ids, money and places go from a text, tokens and sessions from an object too; figures stay."""
    said = f"{tmp_path}/a took 3.2 s and $0.12 at 2026-11-23T08:38:01+00:00, protocol 652e10e2d6bc: 36.7 %"
    assert clean(said, tmp_path) == "WORK/a took TIME and $ at TIME, protocol ID: 36.7 %"
    assert clean('{"usage": {"tokens": 3}, "p_lie": 0.25}', tmp_path) == '{\n "p_lie": 0.25\n}'


def test_a_shelf_says_which_outputs_differ_and_where(tmp_path: Path) -> None:
    """A file that differs is shown by its lines, one that is missing by its name; what is equal is not named."""
    places = [tmp_path / half for half in HALVES]
    for place, figure in zip(places, ("36.7 %", "40.0 %"), strict=True):
        place.mkdir()
        (place / "same.txt").write_text("exit 0", "utf-8")
        (place / "score.txt").write_text(f"exit 0\nP(lie) {figure}", "utf-8")
    (places[0] / "gone.txt").write_text("exit 0", "utf-8")
    gone, score = differences(places[0], places[1])
    assert gone == f"gone.txt: only in {places[0]}"
    assert score == "score.txt:\n@@ -2 +2 @@\n-P(lie) 36.7 %\n+P(lie) 40.0 %"
