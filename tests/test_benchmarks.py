"""benchmarks/: that those of speed themselves work, on small and quick loads."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from patience import PATIENCE

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SPEED = BENCHMARKS / "speed.py"
SCRIPTS = [path for folder in (BENCHMARKS, BENCHMARKS.parent / "organism") for path in sorted(folder.glob("*.py"))]


def speed(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the benchmark as a user does."""
    command = [sys.executable, str(SPEED), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_a_script_imports_is_there(script: Path) -> None:
    """No script takes a name from maskbench that has moved; most are run by hand, and seldom."""
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("maskbench"):
            module = import_module(str(node.module))
            for name in node.names:
                is_module = (Path(str(module.__file__)).parent / f"{name.name}.py").exists()
                assert hasattr(module, name.name) or is_module, f"{node.module} has no {name.name}"


def test_a_small_load_gives_a_table_with_every_request_counted() -> None:
    """40 scenarios are 288 requests: 3 samples of a question are one, and every reply is judged."""
    done = speed("--scenarios", "40", "--connections", "8", "--latency", "0.005")
    assert done.returncode == 0, done.stderr
    row = re.search(r"^\| maskbench [^|]+\|(.*)\|$", done.stdout, re.MULTILINE)
    assert row is not None, done.stdout
    requests, in_flight, *_, peak = [float(cell.replace(",", "")) for cell in row[1].split("|")]
    assert (requests, in_flight) == (288, 8)
    assert peak < 200


def test_a_missing_competitor_is_refused_with_what_to_install() -> None:
    """`--with inspect` without the package says so at once, and how to get it."""
    done = speed("--with", "inspect", "--inspect-python", sys.executable)
    assert done.returncode == 1
    assert "pip install inspect-evals openai" in done.stderr


def test_a_small_board_is_timed() -> None:
    """Three models are three comparisons, timed both ways."""
    command = [sys.executable, str(BENCHMARKS / "boards.py"), "--models", "3", "--pairs", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 models, 240 scenarios, 3 comparisons: ")
