"""The tutorial notebook does what it says: every cell runs, and what a cell ends in can be shown."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs" / "tutorial.ipynb"


def cells() -> list[str]:
    """The code cells of the notebook."""
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def shown(source: str, names: dict[str, Any]) -> Any:
    """Execute one cell as a notebook does; returns the value of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, str(NOTEBOOK), "exec"), names)  # noqa: S102  # the notebook is ours
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names)  # noqa: S307


def test_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """Every cell of the tutorial runs, in order, and the pictures can be drawn without a network."""
    pytest.importorskip("altair", reason="the tutorial needs maskbench[report]")
    names: dict[str, Any] = {"__name__": "__main__"}
    drawn = 0
    for source in cells():
        value = shown(source, names)
        assert value is None or repr(value)
        if hasattr(value, "to_dict") and hasattr(value, "save"):
            value.save(names["runs"] / "picture.svg")
            drawn += 1
    assert drawn == 2
    text = capsys.readouterr().out
    assert "P(lie)" in text
    assert "exit code 0" in text


def test_holds_no_output() -> None:
    """The notebook is kept without outputs, so that what one reads is what the code now gives."""
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    assert not any(cell.get("outputs") for cell in notebook["cells"])
