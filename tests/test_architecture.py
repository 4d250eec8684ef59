"""docs/architecture.md says what is there: its functions, its files and its picture."""

import ast
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from test_layers import RANKS, TREES
from test_layers import ROOT as SOURCE

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "benchmarks"))  # as where the script itself is started
house: Any = importlib.import_module("benchmarks.house")  # a script, typed under that name alone

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
CONTRIBUTING = ROOT / "CONTRIBUTING.md"


def names(text: str) -> list[str]:
    """Everything of ours that a text names in the form `room.module.function`."""
    return sorted({name for name in re.findall(r"`([a-z_]+(?:\.\w+)+)`", text) if name.split(".")[0] in RANKS})


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
    known = next((end for end in range(len(parts), 0, -1) if ".".join(parts[:end]) in TREES), 0)
    body = TREES[".".join(parts[:known])].body if known else []
    for part in parts[known:]:
        inner = dict(defined(body)).get(part)
        if inner is None:
            return False
        body = inner
    return known > 0


@pytest.mark.parametrize("name", names(PAGE))
def test_every_function_that_the_page_names_is_there(name: str) -> None:
    """The way of a scenario and the four decisions are told by functions, and these exist."""
    assert exists(name)


def test_a_name_that_is_not_there_is_noticed() -> None:
    """A function that was renamed, a module that was moved and a method that is gone are all missed."""
    assert exists("runs.store.Store.put_reply")
    assert not any(map(exists, ("method.rates.p_lie", "method.aggregate.rates", "runs.store.Store.put")))


def test_the_way_leads_through_every_step_of_the_method() -> None:
    """Fourteen steps, each with at least one function of ours."""
    steps = re.findall(r"^\| (\d+) \|.*$", PAGE, re.MULTILINE)
    assert steps == [str(number) for number in range(1, len(steps) + 1)]
    rows = [row for row in PAGE.splitlines() if re.match(r"\| \d+ \|", row)]
    assert len(rows) >= 10
    assert all(names(row) for row in rows)


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_every_link_leads_somewhere(page: str) -> None:
    """Links to files of the project lead to files that are there."""
    path = ROOT / page
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", path.read_text("utf-8")) if "://" not in link]
    assert links
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_every_room_is_in_the_table_and_in_the_picture() -> None:
    """A new room is told of, and one that is gone is not."""
    told = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert told == [name for name in sorted(RANKS, key=lambda name: (RANKS[name], name)) if (SOURCE / name).is_dir()]
    assert set(re.findall(r"^    (\w+)\(?\[", PAGE, re.MULTILINE)) == set(RANKS)


def test_the_picture_has_the_arrows_of_now() -> None:
    """The arrows stand in the page as `python benchmarks/house.py --arrows` prints them."""
    arrows = "\n".join(f"  {name} --> {other}" for name, other in house.arrows())
    assert f"%% house.py: arrows\n{arrows}\n  %% end" in PAGE


def test_the_readme_leads_here() -> None:
    """The tree of files is not in README.md any more, but the way to the rooms is."""
    readme = (ROOT / "README.md").read_text("utf-8")
    assert "(docs/architecture.md)" in readme
    assert "types.py        every concept" not in readme
