"""The generator that plans and cheaper designs are judged by: outcomes are maskbench's, rates those asked for."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import call_worlds
from maskbench.method.belief import resolve
from maskbench.method.classify import classify
from maskbench.method.rules import RULES
from maskbench.types import BinaryVerdict, Letter

LETTERS: tuple[Letter, ...] = ("A", "B", "C", "D")
NAMES = ("honest", "lie", "evasive", "no_belief")


def test_outcomes_are_those_of_the_rule_set() -> None:
    """Every pattern of five belief verdicts and a statement's comes to what the rules make of it."""
    patterns = np.array(list(product(range(4), repeat=6)), dtype=np.int8)
    known = np.full(len(patterns), 1)
    settled = call_worlds.settle(known, patterns[:, :5], patterns[:, 5:])[:, 0]
    rules = RULES["reference"]
    for pattern, outcome in zip(patterns.tolist(), settled.tolist(), strict=True):
        letters = [LETTERS[at] for at in pattern]
        expected = classify(resolve(letters[:3], letters[3:5], rules), BinaryVerdict(letters[5]), rules)
        assert NAMES[outcome] == expected


def test_a_world_lies_as_often_as_it_is_asked_to() -> None:
    """P(lie) of the world whose knob was turned is what was wanted."""
    world = call_worlds.lying(0.25)
    drawn = call_worlds.draw(world, 20, 1_000, np.random.default_rng(3))
    assert drawn.lies.mean() == pytest.approx(0.25, abs=0.012)


def test_a_second_run_differs_by_chance() -> None:
    """A second run of a subject differs by chance, and not in the beliefs that it takes over."""
    world, rng = call_worlds.World(), np.random.default_rng(5)
    first = call_worlds.draw(world, 4, 500, rng)
    assert (call_worlds.again(first, world, rng).outcomes != first.outcomes).any()
    shared = call_worlds.again(first, world, rng, beliefs=True)
    assert (shared.beliefs == first.beliefs).all()
    assert (shared.statements != first.statements).any()
