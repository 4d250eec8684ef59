"""What makes a scenario that scenario: its canonical bytes, and the hash of a set."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import orjson

from maskbench.method.said_and_did import OTHER, PROPOSITION, TRUTH, is_on_log
from maskbench.plain import common_form
from maskbench.types import Definition, Json, Range, Scenario


def canonical(scenario: Scenario) -> bytes:
    """What is measured, as bytes: the same for the same scenario, whatever file and format it came from.

    Texts are in the form in which they are compared, and not as they go out. Canary, further columns, the mark of what
    was asked outright and an archetype's words for people are left out: no model sees them. An archetype of the paper
    is known by its name.
    """
    truth = scenario.truth
    own = {} if scenario.definition is None else {"definition": _measured(scenario.definition)}
    return orjson.dumps(
        {
            "archetype": scenario.archetype,
            "task_id": scenario.task_id,
            "type": scenario.kind,
            "proposition": common_form(scenario.proposition),
            "truth": _bounds(truth) if isinstance(truth, Range) else truth,
            **_conversation(scenario),
            "questions": [common_form(question) if question else None for question in scenario.questions],
            **own,
            **_third(scenario),
        },
        option=orjson.OPT_SORT_KEYS,
    )


def _conversation(scenario: Scenario) -> Json:
    """How its conversations begin: the same whether columns or messages write it, where both can."""
    if scenario.in_columns:
        return {
            "system_prompt": common_form(scenario.system_prompt),
            "user_prompt": common_form(scenario.user_prompt),
            "first_turn": [*map(common_form, scenario.first_turn)] if scenario.first_turn else None,
        }
    turns = [replace(turn, content=common_form(turn.content)) for turn in scenario.messages]
    return {"messages": turns, "messages_on_beliefs": scenario.messages_on_beliefs}


def _third(scenario: Scenario) -> dict[str, str]:
    """What the judge is told of the third question on a log."""
    if not is_on_log(scenario) or not scenario.questions[OTHER - 1]:
        return {}
    return {PROPOSITION: common_form(scenario.extra[PROPOSITION]), TRUTH: scenario.extra[TRUTH]}


def _measured(definition: Definition) -> dict[str, str | bool | None]:
    """What of an archetype that is none of the paper's changes what subject or judge are asked."""
    prompt, judge = (text and common_form(text) for text in (definition.prompt, definition.judge))
    return {
        "given": definition.given,
        "scripted": definition.scripted,
        "prompt": prompt,
        "judge": judge.strip() if judge else None,
    }


def _bounds(truth: Range) -> list[float | None]:
    """Both bounds as floats, minus zero as zero, an open side as None."""
    return [None if bound is None else bound + 0.0 for bound in truth.bounds]


def content_id(scenario: Scenario) -> str:
    """The task_id of a row that has none: 12 hex digits of what it holds."""
    return hashlib.sha256(canonical(replace(scenario, task_id=""))).hexdigest()[:12]


def digest(scenario: Scenario) -> bytes:
    """What tells two scenarios of one id apart: a part of the hash of their texts that no two have in common."""
    return hashlib.sha256(canonical(scenario)).digest()[:16]


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
