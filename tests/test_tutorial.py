"""The tutorial notebook does what it says: every cell runs, and what it is stored with is what its cells give."""

import ast
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs" / "tutorial.ipynb"


def cells() -> list[dict[str, Any]]:
    """The code cells of the notebook."""
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def shown(source: str, names: dict[str, Any]) -> Any:
    """Execute one cell as a notebook does; returns the value of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, str(NOTEBOOK), "exec"), names)  # noqa: S102  # the notebook is ours
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names)  # noqa: S307


def printed(cell: dict[str, Any]) -> str:
    """What a cell is stored as having printed."""
    return "".join("".join(output["text"]) for output in cell["outputs"] if output["output_type"] == "stream")


def unhashed(text: str) -> str:
    """The text without ids, which are other ones when a prompt changes."""
    return re.sub(r"\b[0-9a-f]{12}\b", "…", text)


def test_it_gives_what_it_is_stored_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell runs, in order, prints what stands below it, and ends in what is shown there; without a network."""
    pytest.importorskip("altair", reason="the tutorial draws with altair")
    (tmp_path / "examples").symlink_to(NOTEBOOK.parents[1] / "examples")  # the notebook lies in a checkout
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    drawn = 0
    for cell in cells():
        with contextlib.redirect_stdout(io.StringIO()) as out:
            value = shown("".join(cell["source"]), names)
        assert unhashed(out.getvalue()) == unhashed(printed(cell)), "run python benchmarks/tutorial.py"
        results = [output for output in cell["outputs"] if output["output_type"] == "execute_result"]
        assert (value is None) == (not results)
        if hasattr(value, "to_dict") and hasattr(value, "save"):
            value.save(names["runs"] / "picture.svg")
            assert results[0]["data"]["image/svg+xml"]
            drawn += 1
    assert drawn == 2


def test_it_is_stored_with_outputs_and_no_path_of_a_machine() -> None:
    """Whoever reads it on a web page sees what the cells gave, plain characters and nobody's folders."""
    with_outputs = [cell for cell in cells() if cell["outputs"]]
    assert len(with_outputs) == len(cells()) - 1  # the first one measures
    assert [cell["execution_count"] for cell in cells()] == [*range(1, len(cells()) + 1)]
    assert not any(output["output_type"] == "error" for cell in cells() for output in cell["outputs"])
    text = NOTEBOOK.read_text("utf-8")
    assert not re.search(r"(?<![\w.:/])/(home|root|tmp|Users|work|var|private|opt)\b", text)
    assert "\\u001b" not in text  # colours of a terminal


SURROUNDINGS = """
    import builtins, sys
    import maskbench

    class ZMQInteractiveShell: ...

    builtins.get_ipython = ZMQInteractiveShell  # as a kernel has it
    maskbench.measure(maskbench.Settings.of("sim", "sim-judge", "starter", limit=4), sys.argv[1])
    maskbench.measure(maskbench.Settings.of("sim", "sim-judge", "starter", limit=4, seed=1), sys.argv[2])
    print(maskbench.compare(sys.argv[1], sys.argv[2]))
    print(repr(maskbench.score(sys.argv[1])))
"""


def lines(tmp_path: Path) -> Iterator[str]:
    """What a process prints that has a kernel's surroundings, with colours forced."""
    command = [sys.executable, "-c", textwrap.dedent(SURROUNDINGS), str(tmp_path / "a"), str(tmp_path / "b")]
    environ = {**os.environ, "FORCE_COLOR": "1"}
    yield from subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout.splitlines()


def test_text_is_text_in_a_notebook(tmp_path: Path) -> None:
    """What prints itself is printed where it is asked to, once and without colours, whatever the kernel wants."""
    text = list(lines(tmp_path))
    words = " ".join(text).split()
    assert sum(words[place + 1] == "against" for place, word in enumerate(words) if word == "b") == 1
    assert sum(line.startswith("outcome ") for line in text) == 1
    assert not any("\x1b" in line for line in text)
