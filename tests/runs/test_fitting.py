"""Whether what stands in a file is of the type that it has to be."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

import pytest

from maskbench.runs.fitting import misfit


class Part(TypedDict):
    """A part of a record."""

    name: str
    n: NotRequired[int]


class Loose(TypedDict, total=False):
    """A record of which everything may be missing."""

    share: float | None


@dataclass
class Whole:
    """Something with attributes."""

    kind: Literal["a", "b", 1]
    pair: tuple[str, int]
    every: tuple[str, ...]
    more: Mapping[str, float]


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
        ({"name": "x", "other": 1}, Part, None),
        ({"name": "x", "n": "1"}, Part, 'n is "1"'),
        ({"n": 1}, Part, "there is no name"),
        ([], Part, "it is []"),
        ({}, Loose, None),
        ({"share": "x"}, Loose, 'share is "x"'),
        ([{"name": 1}], list[Part], "[0].name is 1"),
        ("xy", list[str], 'it is "xy"'),
        ({"x": {"name": "y"}}, dict[str, Part], None),
        (3, dict[str, int], "it is 3"),
        (whole(), Whole, None),
        (whole(kind=True), Whole, "kind is True"),
        (whole(kind=[]), Whole, "kind is []"),
        (whole(pair=("x", 1, 2)), Whole, "pair is ('x', 1, 2)"),
        (whole(pair=("x", "y")), Whole, 'pair[1] is "y"'),
        (whole(every=["x"]), Whole, "every is ['x']"),
        (whole(every=("x", 2)), Whole, "every[1] is 2"),
        (whole(more={"x": "y"}), Whole, 'more.x is "y"'),
        ("x" * 100, int, f'it is "{"x" * 59}…'),
    ],
)
def test_says_what_does_not_fit(value: Any, kind: Any, said: str | None) -> None:
    """The first misfit is named by its place and shown; further keys of a record are passed over."""
    assert misfit(value, kind) == said
