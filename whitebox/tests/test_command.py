"""`maskbench-whitebox`: its two commands, their defaults, and how a wrong line ends."""

from __future__ import annotations

from typing import Any

import pytest

from calls import typed
from maskbench_whitebox.cli import app
from maskbench_whitebox.lorra.recipe import Recipe


def test_the_defaults_of_a_recipe_are_shown() -> None:
    """`maskbench-whitebox lorra --help` has the numbers that a recipe has."""
    declared: Any = app()["lorra"].assemble_argument_collection(parse_docstring=False)
    told = {argument.name: argument.parameter.show_default for argument in declared if argument.names}
    for name in ("rank", "rate", "steps", "batch", "answer_tokens", "at_once", "seed"):
        assert float(told[f"--{name.replace('_', '-')}"]) == getattr(Recipe(), name)
    assert told["--modules"] == ",".join(Recipe().modules)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("loora pinocchio", 'Did you mean "lorra"?'),
        ("lorra pinocchio", "--out"),
        ("steer pinocchio --stength 4", "--stength"),
    ],
)
def test_a_wrong_line_is_one_sentence(line: str, told: str) -> None:
    """It ends with code 2, names what is wrong, and says where help is."""
    ended = typed(*line.split())
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err
    assert "For help: maskbench-whitebox" in ended.err
