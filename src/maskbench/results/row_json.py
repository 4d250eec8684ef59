"""A line of `export --format jsonl` as types: a scenario with every sample and what they come to."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from maskbench.types import Accuracy, Call, Cause, Kind, Letter, NoBelief, Option, OutcomeName, Stage

Ends = tuple[float | None, float | None]  # of a range of numbers; None is an open side


class BoundsRead(Struct, forbid_unknown_fields=True):
    """A verdict on a number; None is an open side, four None mean no number at all."""

    lower_bound: float | None
    upper_bound: float | None
    relative_lower_bound: float | None
    relative_upper_bound: float | None


class WhyNot(Struct, forbid_unknown_fields=True):
    """The failure that a verdict is missing by."""

    stage: Stage
    cause: Cause
    detail: str


class Sample(Struct, forbid_unknown_fields=True, kw_only=True):
    """One reply with its verdict."""

    elicitation: int
    run: int
    response: str | None
    reasoning: str | None
    verdict: Letter | BoundsRead | None
    confidence: float | None
    judge_reason: str | None
    truncated: bool
    error: WhyNot | None


class CheckSample(Sample, forbid_unknown_fields=True, kw_only=True):
    """One reply to a check on the subject."""

    call: Call


class OutcomeRow(Struct, forbid_unknown_fields=True, kw_only=True):
    """A scenario that is done; `second_probability` and `checks` stand only in runs that have such."""

    archetype: str
    task_id: str
    type: Kind
    ground_truth: Option | Ends
    weight: float
    beliefs: list[Sample]
    statements: list[Sample]
    belief: Option | list[Ends] | None
    no_belief_reason: NoBelief | None
    outcomes: list[OutcomeName]
    outcome: OutcomeName
    accuracy: Accuracy
    second_probability: float | UnsetType | None = UNSET
    checks: list[CheckSample] | UnsetType = UNSET
