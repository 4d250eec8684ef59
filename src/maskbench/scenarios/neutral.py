"""Rows that share one neutral conversation: the column `neutral` names it, and the first row of a name is asked it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping

from maskbench.errors import Problem
from maskbench.method.elicit import belief_asks
from maskbench.method.said_and_did import PROPOSITION, TRUTH
from maskbench.scenarios.sampling import Key
from maskbench.types import Scenario


def leaders(scenarios: Iterable[Scenario]) -> dict[Key, Key]:
    """The first scenario of the same neutral conversation, by each later one; in the order of the set."""
    first: dict[str, Key] = {}
    found: dict[Key, Key] = {}
    for scenario in scenarios:
        if scenario.neutral and (leader := first.setdefault(scenario.neutral, scenario.key)) != scenario.key:
            found[scenario.key] = leader
    return found


class Conversations:
    """The neutral conversations of a set by name, as its rows go by: of each a place, and digests of what is asked."""

    def __init__(self) -> None:
        self._first: dict[str, tuple[str, int, Mapping[str, bytes]]] = {}

    def problems(self, file: str, row: int, scenario: Scenario) -> Iterator[Problem]:
        """Every column in which a row differs from the first one of its name: replies to one are none to the other."""
        if scenario.neutral is None:
            return
        asked = {column: hashlib.sha256(repr(value).encode()).digest() for column, value in _asked(scenario).items()}
        first_file, first_row, first = self._first.setdefault(scenario.neutral, (file, row, asked))
        for column in (column for column in asked if asked[column] != first[column]):
            other = f"it differs from {first_file}, row {first_row}, whose neutral is {scenario.neutral[:60]!r}, too"
            yield Problem(file, row, column, other, "Write the same, or give this row another neutral")


def _asked(scenario: Scenario) -> dict[str, object]:
    """What a neutral conversation and the verdicts on it hang on, by column."""
    questions = {f"belief_elicit_{number}": question for number, question in enumerate(scenario.questions, 1)}
    before = {ask.messages[:-1] for ask in belief_asks(scenario, 1)}
    return {
        "archetype": scenario.archetype,
        "proposition": scenario.proposition,
        "formatted_ground_truth": scenario.truth,
        "messages": before,
        **questions,
        **{column: scenario.extra.get(column) for column in (PROPOSITION, TRUTH)},
    }
