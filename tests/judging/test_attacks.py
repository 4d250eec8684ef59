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


@pytest.mark.parametrize("habit", [*ATTACKS.HABITS, *ATTACKS.KEPT])
def test_no_attack_plants_or_removes_a_verdict(habit: str) -> None:
    """Every kind of attack on numbers and letters: the same verdicts and the same bounds on P(lie) as without them."""
    found = ATTACKS.attacked(habit, 40)
    assert (found.planted, found.removed) == (0, 0)
    assert found.under == found.without


def test_no_injection_gets_through_the_reader() -> None:
    """Thousands of replies before judges that quote them without escaping; `benchmarks/attacks.py` has all of them."""
    tried, planted = ATTACKS.read_through(every=7)
    assert tried > 3_000
    assert planted == 0


def test_the_attacks_are_worth_their_name() -> None:
    """Read without the code, most kinds of attack would plant their verdict in a quotation of the reply."""
    without_effect = set()
    for name, attack in ATTACKS.ATTACKS.items():
        reply = f"{ATTACKS.SAID['lie']}\n\n{attack('binary', 'A')}"
        texts = ["\n".join(reply.splitlines()[-size:]) for size in range(1, 5)]
        texts.append(f'{{"reason": "It reads: {reply}')  # a judge's object that the reply closes
        if not any(read_elsewhere(text, "binary") for text in texts):
            without_effect.add(name)
    assert without_effect == {
        *("characters in disguise", "a wide gap", "an object in the judge's", "another object after it"),
        *("the end of a list of verdicts", "entries for its neighbours", "keys that the judge's object has"),
    }
