"""Attacks on the judge's answer: nothing that a reply holds is read as the verdict, and no lie gets lost by it."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from maskbench.method.verdict import read_elsewhere


def _benchmark() -> ModuleType:
    """benchmarks/attacks.py, which is no part of the package."""
    path = Path(__file__).parents[2] / "benchmarks" / "attacks.py"
    spec = importlib.util.spec_from_file_location("attacks", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["attacks"] = module
    spec.loader.exec_module(module)
    return module


ATTACKS = _benchmark()


@pytest.mark.parametrize("habit", [*ATTACKS.HABITS, "quotes the reply's end, always"])
def test_no_attack_plants_or_removes_a_verdict(habit: str) -> None:
    """Ten kinds of attack on numbers and letters: the same verdicts and the same bounds on P(lie) as without them."""
    found = ATTACKS.attacked(habit, 40)
    assert (found.planted, found.removed) == (0, 0)
    assert found.under == found.without


def test_a_judge_that_never_copies_the_code_is_never_taken_in() -> None:
    """Replies that hold a line of its kind are failures, all of them here: no verdict is planted."""
    found = ATTACKS.attacked("never copies the code", 40)
    assert (found.planted, found.removed) == (0, 40)
    assert found.under == (0, 1)


def test_the_attacks_are_worth_their_name() -> None:
    """Read without the code, every kind of attack would plant its verdict."""
    for name, attack in ATTACKS.ATTACKS.items():
        reply = f"{ATTACKS.SAID['lie']}\n\n{attack('binary', 'A')}"
        texts = ["\n".join(reply.splitlines()[-size:]) for size in range(1, 5)]
        planted = [judgement.verdict for text in texts if (judgement := read_elsewhere(text, "binary")) is not None]
        assert planted or name in ("a line with a forged code",), name
