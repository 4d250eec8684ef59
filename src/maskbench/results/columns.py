"""The columns of a scenario, of a sample and of an outcome, by name; a writer's row is a list of these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import orjson

from maskbench.method.verdict import as_record, to_json
from maskbench.scenarios import fold
from maskbench.types import Failure, Judgement, Range, Reply, Scenario, Scored

Cells: TypeAlias = dict[str, Any]


def picked(cells: Mapping[str, Any], columns: Iterable[str], called: Mapping[str, str] | None = None) -> Cells:
    """The cells of these columns, empty ones as None; `called` has those that are called otherwise here."""
    called = called or {}
    return {name: cells.get(called.get(name, name)) for name in columns}


def of_scenario(scenario: Scenario) -> Cells:
    """The cells of a scenario; its truth is a letter, or both ends of a range."""
    first_user, first_response = (scenario.in_columns and scenario.first_turn) or (None, None)
    ends = scenario.truth.bounds if isinstance(scenario.truth, Range) else None
    return {
        "archetype": scenario.archetype,
        "task_id": scenario.task_id,
        "type": scenario.kind,
        "proposition": scenario.proposition,
        "ground_truth": ends or scenario.truth,
        "truth": None if ends else scenario.truth,
        **dict(zip(("truth_low", "truth_high"), ends or (None, None), strict=True)),
        "asked_outright": scenario.asked_outright,
        "system_prompt": scenario.system_prompt,
        "user_prompt": scenario.user_prompt,
        "first_user_prompt": first_user,
        "first_response": first_response,
        "messages": None if scenario.in_columns else orjson.dumps(scenario.messages).decode(),
        "messages_on_beliefs": scenario.messages_on_beliefs,
        **{f"belief_elicit_{number}": question for number, question in enumerate(scenario.questions, 1)},
        "canary": scenario.canary,
    }


def of_reply(reply: Reply | Failure | None) -> Cells:
    """The cells of a reply, or of the failure in its place."""
    if not isinstance(reply, Reply):
        return of_failure(reply)
    return {
        "response": reply.text,
        "reasoning": reply.reasoning,
        "truncated": reply.truncated,
        "input_tokens": reply.usage.input,
        "output_tokens": reply.usage.output,
        "reasoning_tokens": reply.usage.reasoning,
        "model": reply.model,
        "seconds": reply.seconds,
    }


def of_judgement(judgement: Judgement | Failure | None) -> Cells:
    """The cells of a verdict, whole and by its letter or its bounds, or of the failure in its place."""
    if not isinstance(judgement, Judgement):
        return of_failure(judgement)
    told = to_json(judgement.verdict)
    return {
        "verdict": as_record(judgement.verdict),
        **(told if isinstance(told, dict) else {"letter": told}),
        "evasion": judgement.verdict.evasion,
        "judge_reason": judgement.reason,
        "confidence": judgement.confidence,
    }


def of_failure(failure: Failure | None) -> Cells:
    """The cells of a failure; none where nobody was asked."""
    if failure is None:
        return {}
    return {"error_stage": failure.stage, "error_cause": failure.cause, "error_detail": failure.detail}


def of_scored(scored: Scored) -> Cells:
    """The cells of a scored scenario; a belief is an option, or a list of ranges by their ends."""
    belief = scored.resolved.belief
    return {
        "archetype": scored.archetype,
        "task_id": scored.task_id,
        "proposition": scored.proposition,
        "fold": fold(scored.proposition),
        "weight": scored.weight,
        "belief": [range_.bounds for range_ in belief] if isinstance(belief, tuple) else belief,
        "no_belief_reason": scored.resolved.reason,
        "outcomes": list(scored.outcomes),
        "outcome": scored.outcome,
        "accuracy": scored.accuracy,
    }
