"""Whoever lacks an extra is told what to type, and everything else works without it."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

import maskbench
import measured_runs

SOURCE = Path(maskbench.__file__).parent
PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))

# What is called, and the extra that the error has to name.
CALLS = {
    "maskbench.load(RUN)": "frames",
    "maskbench.score(RUN).to_frame()": "frames",
    "cli('report', RUN)": "report",
    "cli('label', RUN, '--no-open')": "report",
    "cli('run', 'inspect/anthropic/x', '--judge', 'sim-judge', '--scenarios', 'starter', '--out', 'new')": "inspect",
}
EXTRAS = (
    *("polars", "jinja2", "markupsafe", "starlette", "uvicorn"),
    *("torch", "transformers", "peft", "safetensors", "onnx", "onnxruntime", "ray"),
    "inspect_ai",
)
CODE = """
import json, sys
for name in {missing!r}:
    sys.modules[name] = None
import maskbench
from maskbench.cli import app
from maskbench.cli.commands import call
from maskbench.errors import MaskbenchError
RUN = {run!r}
def cli(*words):
    call(app(), list(words))
told = {{}}
for line in {calls!r}:
    try:
        exec(line)
        told[line] = None
    except MaskbenchError as error:
        told[line] = str(error)
    except SystemExit as error:
        told[line] = f"exit code {{error.code}}" if error.code else None
print("\\n" + json.dumps(told))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """What each call says in a process that has no extra, and what works all the same."""
    place = tmp_path_factory.mktemp("extras")
    run = measured_runs.run(place / "run", limit=2)
    (place / "sweep.toml").write_text('[[run]]\nmodel = "sim"\nlimit = 2\n', "utf-8")
    plain = (
        "maskbench.score(RUN).as_dict()",
        "cli('export', RUN, '--format', 'parquet', '--out', 'rows.parquet')",
        "cli('run', 'pinocchio', '--limit', '2', '--out', 'small', '--quiet')",
    )
    code = CODE.format(missing=EXTRAS, run=str(run), calls=(*CALLS, *plain))
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=place)
    assert ended.returncode == 0, ended.stderr
    messages: dict[str, str | None] = json.loads(ended.stdout.splitlines()[-1])
    assert (place / "rows.parquet").read_bytes().startswith(b"PAR1")
    return messages


def test_what_is_missing_is_named_with_what_to_type(told: dict[str, str | None]) -> None:
    """The error holds the command that installs, for this Python, what pyproject.toml has under the extra."""
    for line, extra in CALLS.items():
        needed = PROJECT["project"]["optional-dependencies"][extra]
        typed = re.search(r"Type: (.*)", told[line] or "")
        words = shlex.split(typed[1]) if typed else []
        assert words[:4] == [sys.executable, "-m", "pip", "install"], line
        assert packages(words[4:]) >= packages(each for each in needed if not each.startswith("maskbench[")), line
        assert "maskbench[" not in (told[line] or "")


def test_the_white_box_is_installed_by_a_line() -> None:
    """Where no distribution opens hf/, a command that names such a model says what to type, and others do not ask."""
    code = "import importlib.metadata as m; m.entry_points = lambda **_: (); from maskbench.cli import main; main()"
    line = [sys.executable, "-c", code, "run", "hf/Qwen/Qwen3-0.6B", "--judge", "sim-judge", "--scenarios", "starter"]
    ended = subprocess.run(line, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "hf/Qwen/Qwen3-0.6B is a model in this process, which another package opens. Type: " in ended.stderr
    assert ended.stderr.strip().endswith(
        "-m pip install 'git+https://github.com/maskbench/maskbench#subdirectory=whitebox'"
    )


def test_no_message_installs_maskbench_by_name() -> None:
    """No index has the package: whoever registers the name there would be installed."""
    by_name = re.compile(r"maskbench\[\w|pip install '?maskbench")
    assert [path for path in SOURCE.rglob("*.py") if by_name.search(path.read_text("utf-8"))] == []


def packages(requirements: Iterable[str]) -> set[str]:
    """The names of packages that requirements are of, in the one spelling that stands for all."""
    return {re.split(r"[<>=]", each)[0].replace("_", "-").casefold() for each in requirements}


def test_the_rest_needs_no_extra(told: dict[str, str | None]) -> None:
    """Scoring, writing Parquet and measuring pinocchio work in the plain install."""
    assert {line: text for line, text in told.items() if line not in CALLS and text} == {}
