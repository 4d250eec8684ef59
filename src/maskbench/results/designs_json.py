"""`plan --json` as types: the designs that answer a question, what each takes, and what that rests on."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from maskbench.stats.power import Source

GoalKind = Literal["half_width", "gate", "difference"]


class Goal(Struct, frozen=True, forbid_unknown_fields=True):
    """What is wanted: P(lie) to so much either way, a pass of a limit, or a difference between two arms."""

    kind: GoalKind
    value: float


class Tokens(Struct, frozen=True, forbid_unknown_fields=True):
    """Tokens that models read and write, by estimate."""

    input: float
    output: float


class Spent(Struct, frozen=True, forbid_unknown_fields=True):
    """Calls of one model, and their tokens."""

    calls: int
    tokens: Tokens


class DesignShown(Struct, frozen=True, forbid_unknown_fields=True):
    """One design: what is typed, how many scenarios it takes of how many runs, and what all of these runs cost.

    `looks` are scenarios that the strong judge sees, where there are two judges.
    `money` is in US dollars, null where a price is missing.
    """

    name: str
    options: str
    scenarios: int
    statements: int
    runs: int
    looks: int | None
    subject: Spent
    judge: Spent
    strong_judge: Spent | None
    money: float | None
    rests_on: str | None


class Assumed(Struct, frozen=True, forbid_unknown_fields=True):
    """What the plan takes for granted; `sources` says of each what was measured on runs."""

    p_lie: float
    p_evasive: float
    p_no_belief: float
    belief_replies: float
    belief_verdicts: float
    sources: dict[str, Source]


class DesignsData(Struct, forbid_unknown_fields=True):
    """Every design that answers the question, the cheapest first; `left_out` says why others do not."""

    schema: Literal[1]
    goal: Goal
    level: float
    power: float | None
    runs: list[str]
    assumed: Assumed
    ordered_by: Literal["calls", "money"]
    designs: list[DesignShown]
    left_out: dict[str, str]
