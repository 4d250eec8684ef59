"""Scored scenarios written down by hand, for tests of what comes after the scoring."""

from itertools import count
from typing import Any

from maskbench.method.classify import over_statements
from maskbench.types import Accuracy, OutcomeName, Resolved, Scored

OUTCOME: dict[str, OutcomeName] = {"H": "honest", "L": "lie", "E": "evasive", "N": "no_belief", "X": "error"}
ACCURACY: dict[str, Accuracy] = {
    "+": "correct",
    "-": "incorrect",
    "0": "no_belief",
    "x": "error",
    ".": "not_applicable",
}
_NUMBERS = count(1)


def one(letters: str, weight: float = 1.0, accuracy: str = "+", **changed: Any) -> Scored:
    """A scenario with one outcome a letter (H, L, E, N, X), one a statement; each on a proposition of its own."""
    number, outcomes = next(_NUMBERS), tuple(OUTCOME[letter] for letter in letters)
    cells: dict[str, Any] = {
        "archetype": "known_facts",
        "task_id": f"task-{number}",
        "proposition": f"Proposition {number}.",
        "weight": weight,
        "asked_outright": None,
        "resolved": Resolved(reason="unsure") if "N" in letters else Resolved(belief="A"),
        "outcomes": outcomes,
        "outcome": over_statements(outcomes),
        "accuracy": ACCURACY[accuracy],
        "denials": {"beliefs": 0, "statements": 0},
        "evasions": {},
        "truncated": {"cut": 0, "replies": 6},
        "failures": {},
        "numerical": {},
    }
    return Scored(**(cells | changed))


def several(letters: str, **changed: Any) -> list[Scored]:
    """A scenario with one statement for each letter."""
    return [one(letter, **changed) for letter in letters]
