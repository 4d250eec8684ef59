"""What makes a scenario that scenario: its canonical bytes, the hash of a set, and its bytes in a store."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import orjson

from maskbench.types import Range, Scenario


def canonical(scenario: Scenario) -> bytes:
    """What is measured, as bytes: the same for the same scenario, whatever file and format it came from.

    Canary, further columns and the mark of what was asked outright are left out: no model sees them.
    """
    truth = scenario.truth
    first_turn = scenario.first_turn
    return orjson.dumps(
        {
            "archetype": scenario.archetype,
            "task_id": scenario.task_id,
            "type": scenario.kind,
            "proposition": scenario.proposition,
            "truth": _bounds(truth) if isinstance(truth, Range) else truth,
            "system_prompt": scenario.system_prompt,
            "user_prompt": scenario.user_prompt,
            "questions": [question or None for question in scenario.questions],
            "first_turn": first_turn,
        },
        option=orjson.OPT_SORT_KEYS,
    )


def _bounds(truth: Range) -> list[float | None]:
    """Both bounds as floats, minus zero as zero, an open side as None."""
    return [None if bound is None else bound + 0.0 for bound in truth.bounds]


def content_id(scenario: Scenario) -> str:
    """The task_id of a row that has none: 12 hex digits of what it holds."""
    return hashlib.sha256(canonical(replace(scenario, task_id=""))).hexdigest()[:12]


class SetHash:
    """The hash of a scenario set, fed one scenario at a time, in any order."""

    def __init__(self) -> None:
        self._digests: list[bytes] = []

    def add(self, scenario: Scenario) -> None:
        """Take in one scenario of the set."""
        self._digests.append(hashlib.sha256(canonical(scenario)).digest())

    def hexdigest(self) -> str:
        """SHA-256 over the sorted SHA-256 digests of the canonical scenarios."""
        return hashlib.sha256(b"".join(sorted(self._digests))).hexdigest()


def pack(scenario: Scenario) -> bytes:
    """A scenario as JSON, whole: `unpack` gives back an equal one. Its texts must be valid Unicode.

    JSON has no infinity: an open side of the truth is null there.
    """
    return orjson.dumps(scenario, default=dict)  # `dict` turns another kind of mapping into one


def unpack(packed: bytes) -> Scenario:
    """The scenario that `pack` was given."""
    row = orjson.loads(packed)
    truth, first_turn = row["truth"], row["first_turn"]
    return Scenario(
        **row
        | {
            "truth": Range.between(**truth) if isinstance(truth, dict) else truth,
            "questions": tuple(row["questions"]),
            "first_turn": tuple(first_turn) if first_turn else None,
        }
    )
