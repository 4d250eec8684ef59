"""The Python names that docs/api.md promises, by their signatures and columns, and the fields of their values."""

import asyncio
import contextlib
import dataclasses
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from msgspec import Struct

import maskbench
import scenario_rows
from maskbench.presentation.notebook import ShownComparison, ShownResult
from maskbench.results.frames import COLUMNS
from maskbench.results.scored import Result
from maskbench.settings import Settings

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "api.md").read_text("utf-8")
VALUES = (Path(__file__).parent / "data" / "public_fields.md").read_text("utf-8")


@pytest.mark.parametrize(("name", "parameters"), re.findall(r"^## `(\w+)\((.*?)\) -> ", PAGE, re.MULTILINE))
def test_functions(name: str, parameters: str) -> None:
    """Every function of the page is a name of the package, with these parameters, and stays one on further imports."""
    importlib.import_module("maskbench.measurement")
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
    table = PAGE.split("of a `Result`")[1].split("A `Share`")[0]
    names = [name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)", row)]
    assert len(names) > 10
    for name in names:
        assert hasattr(Result, name) or name in Result.__dataclass_fields__


@pytest.mark.parametrize("path", re.findall(r"^\| `(maskbench[\w.]+)\(", PAGE, re.MULTILINE))
def test_further_modules(path: str) -> None:
    """Every further name of the page can be imported."""
    module, _, name = path.rpartition(".")
    assert callable(getattr(importlib.import_module(module), name))


# Examples

STAND_INS = {  # for the models that the examples ask
    "openai/gpt-4o-mini": "sim/lie=0.5",
    "mistral/mistral-large-latest": "sim-judge",
    "vllm/mine": "sim/lie=0.2",
    "vllm/judge": "sim-judge/accuracy=0.9",
    "openai/gpt-4o": "sim-judge",
    "starter": "small",  # a folder of 24 scenarios
}


def test_every_example_runs(tmp_path: Path) -> None:
    """Each example of the page runs as it stands, one after the other, with simulated models and a small set.

    Where a comment behind a line has its value, that is the value; expressions in the text can be computed.
    """
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == PAGE.count("```") / 2 == 4
    names: dict[str, Any] = {}
    scenario_rows.folder(tmp_path / "small", scenario_rows.six(4))
    with contextlib.chdir(tmp_path):
        maskbench.measure(Settings.of("sim/lie=0.1", "sim-judge", "small"), "runs/b")
        for block in blocks:
            for name, stand_in in STAND_INS.items():
                block = block.replace(f'"{name}"', f'"{stand_in}"')
            exec(block, names)  # noqa: S102  # of a page of ours
            for line, value in re.findall(r"^(\w[^=#\n]*?)  # ([\d{\[].*)$", block, re.MULTILINE):
                assert eval(line, names) == eval(value)  # noqa: S307
        asyncio.run(names["handler"](SimpleNamespace(id="c")))
        names |= {"compared": maskbench.compare("runs/a", "runs/b", "runs/c"), "summary": names["result"].summary}
        inline = re.findall(r"`((?:summary|settings|\.data)\.(?!json)[^`]+)`", PAGE)
        assert len(inline) >= 8
        for expression in inline:
            eval(f"compared{expression}" if expression[0] == "." else expression, names)  # noqa: S307
        assert {name: each.state for name, each in names["swept"].items()} == dict.fromkeys(names["judges"], "done")


# Fields

ROWS = {
    name: re.findall(r"`(\w+)`", fields)
    for name, fields in re.findall(r"^\| `(maskbench[\w.]+)` \| (.*) \|$", VALUES, re.MULTILINE)
}


def public() -> Iterator[Any]:
    """Everything that the page names by itself: what the package has, and the further modules' functions."""
    yield from (getattr(maskbench, name) for name in maskbench.__all__ if name != "__version__")
    for path in re.findall(r"^\| `(maskbench[\w.]+)\(", PAGE, re.MULTILINE):
        module, _, name = path.rpartition(".")
        yield getattr(importlib.import_module(module), name)


def hints(thing: Any) -> Iterator[Any]:
    """The types of what a function takes and gives, or of a class's fields and properties."""
    import polars

    known = {"polars": polars, "Result": Result}
    names = dict(known)
    for kind in reversed(thing.__mro__[:-1] if isinstance(thing, type) else (thing,)):
        names |= vars(sys.modules[kind.__module__])
    properties = (
        (part.fget for part in vars(thing).values() if isinstance(part, property)) if isinstance(thing, type) else ()
    )
    for part in (thing, *properties):
        yield from get_type_hints(part, names).values()


def classes(hint: Any, known: dict[type, None]) -> None:
    """Collect every dataclass of ours in a type, and in the types of its fields."""
    for part in get_args(hint):
        classes(part, known)
    kind = get_origin(hint) or hint
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind not in known:
        known[kind] = None
        for part in hints(kind):
            classes(part, known)


def test_every_public_value_has_its_fields_on_the_page() -> None:
    """Whatever a public function takes or gives, and what these hold in turn, is listed with all of its fields."""
    known: dict[type, None] = {}
    for thing in public():
        for hint in (thing, *hints(thing)):
            classes(hint, known)
    shown = (Settings, ShownResult, ShownComparison)  # which have the fields of what they show
    fields = {
        f"{kind.__module__}.{kind.__name__}": [field.name for field in dataclasses.fields(kind)]
        for kind in known
        if kind.__module__.startswith("maskbench.") and kind not in shown and "Table" not in kind.__name__
    }
    assert len(fields) > 15
    assert {name: ROWS.get(name) for name in fields} == fields
    for name, listed in ROWS.items():  # and no class of the page has others
        module, _, kind = name.rpartition(".")
        home = getattr(importlib.import_module(module), kind)
        record = issubclass(home, Struct)
        assert (
            list(home.__struct_fields__) if record else [field.name for field in dataclasses.fields(home)]
        ) == listed


def test_every_setting_is_on_the_page_with_its_default() -> None:
    """The table of settings has each field once, and the defaults are those of the class."""
    table = PAGE.split("## Settings")[1].split("\n## ")[0]
    defaults = Settings.of("", "", "").options
    seen = []
    for names, given in re.findall(r"^\| (`.*?) \| (.*?) \| ", table, re.MULTILINE):
        fields, values = re.findall(r"`(\w+)`", names), re.findall(r"`(.*?)`", given)
        seen += fields
        if values:
            every = values * len(fields) if len(values) == 1 else values
            assert [repr(defaults[field]) for field in fields] == every
    assert sorted(seen) == sorted(defaults)
