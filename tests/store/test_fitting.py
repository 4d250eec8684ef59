"""Whether what stands in a file is of the type that it has to be."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from msgspec import Struct

from maskbench.errors import RunUnreadable
from maskbench.store.fitting import Misfit, Unknown, fitted, from_file, misfit


class Part(Struct, forbid_unknown_fields=True):
    """A part of a record."""

    name: str
    n: int = 0


class Loose(Struct):
    """A record of which everything may be missing, and that may hold more."""

    share: float | None = None


@dataclass
class Whole:
    """Something with attributes."""

    kind: Literal["a", "b", 1]
    pair: tuple[str, int]
    every: tuple[str, ...]
    more: Mapping[str, float]


class Own(dict[str, Any]):
    """A type that reads itself."""

    @classmethod
    def read(cls, plain: Any) -> "Own":
        """Whatever has a name."""
        if "name" not in plain:
            raise ValueError("Object missing required field `name`")
        return cls(plain)


def whole(**changed: Any) -> Whole:
    """One that fits, with changes."""
    return Whole(**{"kind": "a", "pair": ("x", 1), "every": ("x", "y"), "more": {"x": 1}} | changed)


@pytest.mark.parametrize(
    ("value", "kind", "said"),
    [
        (1, int, None),
        (1, float, None),
        (True, int, "it is True"),
        (True, float, "it is True"),
        ("1", int, 'it is "1"'),
        (None, int | None, None),
        ([], int | None, "it is []"),
        ({"share": None, "other": 1}, Loose, None),
        ({"name": "x", "n": "1"}, Part, 'n is "1"'),
        ({"n": 1}, Part, "there is no name"),
        ({"name": "x", "zeal": 1}, Part, "zeal"),
        ([], Part, "it is []"),
        ({}, Loose, None),
        ({"share": "x"}, Loose, 'share is "x"'),
        ([{"name": 1}], list[Part], "[0].name is 1"),
        ("xy", list[str], 'it is "xy"'),
        ({"x": {"name": "y"}}, dict[str, Part], None),
        ({"x": {"name": "y"}, "z": {"name": 2}}, dict[str, Part], "z.name is 2"),
        ({"x": {"name": "y"}, "z": {}}, dict[str, Part], "there is no z.name"),
        ({"x": {"a": {"name": "y"}, "b": 5}}, dict[str, dict[str, Part]], "x.b is 5"),
        ({"x": [{"name": "y"}, {"name": 2}]}, dict[str, list[Part]], "x[1].name is 2"),
        ({"x": {"name": 1}, "y": {}}, dict[str, Own], "there is no y.name"),
        (3, dict[str, int], "it is 3"),
        (whole(), Whole, None),
        (whole(kind=True), Whole, "kind is True"),
        (whole(kind=[]), Whole, "kind is []"),
        (whole(pair=("x", 1, 2)), Whole, "pair is ('x', 1, 2)"),
        (whole(pair=("x", "y")), Whole, 'pair[1] is "y"'),
        (whole(every=("x", 2)), Whole, "every[1] is 2"),
        (whole(more={"x": "y"}), Whole, 'more.x is "y"'),
        (whole(more={"x": object()}), Whole, "Encoding objects of type object is unsupported"),
        ("x" * 100, int, f'it is "{"x" * 59}…'),
    ],
)
def test_says_what_does_not_fit(value: Any, kind: Any, said: str | None) -> None:
    """The first misfit is named by its place, keys of mappings among it, and shown."""
    assert misfit(value, kind) == said


def test_a_place_is_seen_from_where_it_stands() -> None:
    """What is read as a part of a file is named by the whole way into the file."""
    with pytest.raises(Misfit, match=r"^models\.subject\.n is \[\]$"):
        fitted({"name": "x", "n": []}, Part, "models.subject")
    with pytest.raises(Unknown, match=r"^models\.subject\.zeal$"):
        fitted({"name": "x", "zeal": 1}, Part, "models.subject")


WROTE = r"maskbench 0\.9\.0, which wrote it"
LATER = {"maskbench": "0.8.0", "sessions": [{"versions": {"maskbench": "0.9.0"}}]}


@pytest.mark.parametrize(
    ("plain", "said"),
    [
        (
            {**LATER, "schema": 2},
            rf"^a\.json has schema 2; .* schema 1\. Use {WROTE}, or stop\.$",
        ),
        ({"schema": 2, "maskbench": "0.8"}, r"Use maskbench 0\.8, which wrote it, or stop\.$"),
        ({"schema": 2, "maskbench": 8, "sessions": "x"}, r"Use the version that wrote it, or stop\.$"),
        ([], r"^a\.json has schema None; "),
    ],
)
def test_another_schema_names_who_wrote_it(plain: Any, said: str) -> None:
    """A file of a later version is refused with that version named: the last that wrote to it, where it says so."""
    with pytest.raises(RunUnreadable, match=said):
        from_file(Path("a.json"), plain, 1, dict, "a run", "stop")


@pytest.mark.parametrize(
    ("misfit", "said"),
    [
        (
            Unknown("settings.zeal"),
            r"^a\.json is no record of a run by .*: settings\.zeal is not known\. Use .*, or stop\.$",
        ),
        (Misfit("n is 1"), r"^a\.json is no record of a run: n is 1\. Restore the file, or stop\.$"),
    ],
)
def test_what_does_not_fit_is_named(misfit: Misfit, said: str) -> None:
    """A part that is not known, or of another type than it has to be, is refused by its name."""

    def read(held: Any) -> None:
        raise misfit

    with pytest.raises(RunUnreadable, match=said):
        from_file(Path("a.json"), {"schema": 1}, 1, read, "a run", "stop")


@pytest.mark.parametrize("name", ["x` - at `$.n", "`", "$[...]", "- at `$[9].z`", "", "a.b"])
def test_a_name_that_looks_like_a_place_is_a_name(name: str) -> None:
    """Whatever a field of a file is called, it is said that it is not known."""
    with pytest.raises(Unknown):
        fitted({"name": "x", name: 1}, Part)
    with pytest.raises(Misfit):
        fitted({name: {"name": 1}}, dict[str, Part])


USED_AT_ONCE = """
import sys, threading
from dataclasses import make_dataclass
from maskbench.store.fitting import fitted

sys.setswitchinterval(1e-6)
for number in range(20):
    fields = [(f"field_{field}", int) for field in range(30)]
    parts = [(f"part_{part}", make_dataclass(f"Part{number}x{part}", fields)) for part in range(10)]
    whole = make_dataclass(f"Whole{number}", parts)
    plain = {part: {field: 1 for field, _ in fields} for part, _ in parts}
    threads = [threading.Thread(target=fitted, args=(plain, whole)) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
"""


def test_threads_that_use_a_type_first_together_live() -> None:
    """msgspec alone would end their process by SIGSEGV."""
    done = subprocess.run([sys.executable, "-c", USED_AT_ONCE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
