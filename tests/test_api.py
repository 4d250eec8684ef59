"""The Python names that docs/api.md promises, by their signatures and columns."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

import maskbench
from maskbench.frames import COLUMNS
from maskbench.result import Result

PAGE = (Path(__file__).parents[1] / "docs" / "api.md").read_text("utf-8")


@pytest.mark.parametrize(("name", "parameters"), re.findall(r"^## `(\w+)\((.*?)\) -> ", PAGE, re.MULTILINE))
def test_functions(name: str, parameters: str) -> None:
    """Every function of the page is a name of the package, with these parameters, and stays one on further imports."""
    importlib.import_module("maskbench.measuring")
    function = getattr(maskbench, name)
    given = [parameter.split("=")[0].strip() for parameter in parameters.split(",")]
    wanted = [parameter for parameter in given if parameter != "*"]
    signature = inspect.signature(function)
    assert [str(parameter).split(":")[0].split("=")[0] for parameter in signature.parameters.values()] == wanted
    assert name in maskbench.__all__


def test_frames() -> None:
    """The columns of every frame are those of the page."""
    for name, columns in COLUMNS.items():
        (cell,) = re.findall(rf"^\| `{name}` \| [^|]* \| (.*) \|$", PAGE, re.MULTILINE)
        assert re.sub(r" \(.*?\)", "", cell).split(", ") == list(columns)


def test_result() -> None:
    """What the page says of a result is there."""
    table = PAGE.split("of a `Result`")[1].split("An `Estimate`")[0]
    names = [name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)", row)]
    assert len(names) > 10
    for name in names:
        assert hasattr(Result, name) or name in Result.__dataclass_fields__


@pytest.mark.parametrize("path", re.findall(r"^\| `(maskbench[\w.]+)\(", PAGE, re.MULTILINE))
def test_further_modules(path: str) -> None:
    """Every further name of the page can be imported."""
    module, _, name = path.rpartition(".")
    assert callable(getattr(importlib.import_module(module), name))
