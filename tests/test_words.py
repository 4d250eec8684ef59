"""Words: a docstring stands alone, and a variable is called by what it holds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import maskbench

SOURCE = Path(maskbench.__file__).parent
TESTS = Path(__file__).parent

# Rooms in which no docstring leans on another one and no variable has an empty name: add a room once it is clean.
CLEAN = (
    "stats",
    "method",
    "scenarios",
    "pinocchio",
    "models",
    "runs",
    "judges",
    "interventions",
    "results",
    "report",
    "interop",
    "pages",
    "cli",
)
LOOSE = "loose modules"  # those that stand beside the rooms, and the tests that stand beside the rooms' tests
CLEAN_TESTS = ("pages", "cli")  # rooms whose tests are held to the names of variables, too

# How a docstring begins that says what it says only beside another one.
LEANING = ("The same", "As before", "As above", "Like the", "Ditto")
EMPTY_NAMES = {"one", "found", "made", "said"}  # each may hold anything

Place = tuple[int, str]  # a line, and what stands there


def files(*roots: Path) -> list[Path]:
    """Every module in these folders."""
    return [path for root in roots for path in sorted(root.rglob("*.py"))]


def leaning_docstrings(tree: ast.Module) -> Iterator[Place]:
    """The docstrings of a module, its classes and its functions that need another one to be understood."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        text = ast.get_docstring(node) if isinstance(node, owners) else None
        if text and text.startswith(LEANING):
            yield getattr(node, "lineno", 1), text.partition("\n")[0]


def empty_names(tree: ast.Module) -> Iterator[Place]:
    """Where a module binds a variable, a parameter, a field or an attribute to a name that says nothing."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                pass
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.ExceptHandler(name=str(name)):
                pass
            case _:
                continue
        if name in EMPTY_NAMES:
            yield node.lineno, name


def shown(path: Path, places: Iterator[Place]) -> list[str]:
    """The places as an editor finds them."""
    return [f"{path.name}:{line}: {text}" for line, text in places]


def test_every_clean_room_is_a_room() -> None:
    """No room of the list was renamed or taken away unnoticed."""
    assert [room for room in CLEAN if not (SOURCE / room).is_dir()] == []


def modules(room: str) -> tuple[list[Path], list[Path]]:
    """The modules of a room and of its tests, or those that stand loose."""
    if room == LOOSE:
        return sorted(SOURCE.glob("*.py")), sorted(TESTS.glob("*.py"))
    return files(SOURCE / room), files(TESTS / room)


def test_loose_modules_are_looked_at() -> None:
    """What stands beside the rooms is held to the same words, and so are the tests beside the rooms' tests."""
    source, tests = modules(LOOSE)
    assert {"types.py", "measurement.py"} <= {path.name for path in source}
    assert Path(__file__) in tests


@pytest.mark.parametrize("room", [*CLEAN, LOOSE])
def test_a_docstring_stands_alone(room: str) -> None:
    """No docstring of a clean room or of its tests begins with "The same" and the like."""
    source, tests = modules(room)
    paths = [*source, *tests]
    assert [line for path in paths for line in shown(path, leaning_docstrings(_tree(path)))] == []


@pytest.mark.parametrize("room", [*CLEAN, LOOSE])
def test_a_variable_is_called_by_what_it_holds(room: str) -> None:
    """Nothing in a clean room is called one, found, made or said."""
    source, tests = modules(room)
    paths = source + tests * (room in (*CLEAN_TESTS, LOOSE))
    assert [line for path in paths for line in shown(path, empty_names(_tree(path)))] == []


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("one = 1", ["one"]),
        ("def f(found, *made, said=1): pass", ["found", "said", "made"]),
        ("[one for one in (1, 2)]", ["one"]),
        ("class Thing:\n    found: int = 1", ["found"]),
        ("thing.said = 2", ["said"]),
        ("match thing:\n    case [*made]: pass", ["made"]),
        ("with thing as one: pass", ["one"]),
        ("scenario = thing.found + made", []),
    ],
)
def test_every_way_to_bind_a_name_is_seen(code: str, names: list[str]) -> None:
    """The finder sees assignments, parameters, fields, attributes and patterns, and no mere use."""
    assert sorted(name for _, name in empty_names(ast.parse(code))) == sorted(names)


def test_a_leaning_docstring_is_seen() -> None:
    """The finder sees a leaning docstring of a function and of a class, and leaves one that stands alone."""
    code = '"""What it is."""\ndef f():\n    """The same as text."""\nclass Thing:\n    """As before."""\n'
    assert [text for _, text in leaning_docstrings(ast.parse(code))] == ["The same as text.", "As before."]


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))
