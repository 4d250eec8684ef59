"""What the room of judges hands over are records: no signature of it takes or gives a dictionary of anything."""

import ast
import re
from pathlib import Path

from test_layers import ROOT

LOOSE = re.compile(r"(dict|Mapping)\[str, (Any|object)\]|\bJson\b")


def signatures(path: Path) -> list[tuple[str, str]]:
    """Every function of a module by name, with its parameters and what it returns."""
    return [
        (node.name, f"{ast.unparse(node.args)} -> {ast.unparse(node.returns) if node.returns else ''}")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def test_only_the_edge_knows_loose_dictionaries() -> None:
    """Agreement, labels, marks and usage have types; JSON stands in no room of theirs."""
    rooms = ("asking/judging", "results/people", "scenarios/exam")
    files = [*(path for each in rooms for path in (ROOT / each).rglob("*.py")), ROOT / "store" / "verdict_sets.py"]
    known = [pair for path in files for pair in signatures(path)]
    assert len(known) > 100
    assert {name for name, signature in known if LOOSE.search(signature)} == set()
