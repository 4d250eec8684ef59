"""docs/project/architecture.md names functions that are there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from test_layers import trees
from test_rooms import KNOWS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "project" / "architecture.md").read_text("utf-8")


def names(text: str) -> list[str]:
    """Everything of ours that a text names in the form `room.module.function`."""
    return sorted({name for name in re.findall(r"`([a-z_]+(?:\.\w+)+)`", text) if name.split(".")[0] in KNOWS})


def defined(body: list[ast.stmt]) -> Iterator[tuple[str, list[ast.stmt]]]:
    """What stands in a module or a class by its name, with what stands in it."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.body
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((target.id, []) for target in targets if isinstance(target, ast.Name))


def exists(name: str) -> bool:
    """Whether there is a module, or a function, class, value or method in one, of that name."""
    parts = name.split(".")
    known = next((end for end in range(len(parts), 0, -1) if ".".join(parts[:end]) in trees()), 0)
    body = trees()[".".join(parts[:known])].body if known else []
    for part in parts[known:]:
        inner = dict(defined(body)).get(part)
        if inner is None:
            return False
        body = inner
    return known > 0


def test_every_function_that_the_page_names_is_there() -> None:
    """The way of a scenario and the four decisions are told by functions, and these exist."""
    assert len(names(PAGE)) > 20
    assert [name for name in names(PAGE) if not exists(name)] == []


def test_a_name_that_is_not_there_is_noticed() -> None:
    """A function that was renamed, a module that was moved and a method that is gone are all missed."""
    assert exists("store.store.Store.put_reply")
    assert not any(map(exists, ("method.rates.p_lie", "method.aggregate.rates", "store.store.Store.put")))
