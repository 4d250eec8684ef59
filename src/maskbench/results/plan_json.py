"""`plan --json` as types: how many scenarios answer a question, what they cost, and what that rests on."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from maskbench.stats.planning import Kind, Source


class Goal(Struct, frozen=True, forbid_unknown_fields=True):
    """What is wanted: P(lie) to so much either way, a pass of a limit, or a difference between two runs."""

    kind: Kind
    value: float


class Way(Struct, frozen=True, forbid_unknown_fields=True):
    """A way to ask for it, and what all runs together take; `money` is in US dollars, null where a price is missing."""

    options: str
    runs: int
    subject_calls: int
    judge_calls: int
    input_tokens: float
    output_tokens: float
    money: float | None


class SetShown(Struct, frozen=True, forbid_unknown_fields=True):
    """The scenario set: its size, and how many scenarios on average share the proposition of one, itself counted."""

    name: str
    scenarios: int
    crowding: float
    by_counts: bool  # it was not read: its numbers are known, and the starter set's texts stand for its own


class Rests(Struct, frozen=True, forbid_unknown_fields=True):
    """What the plan rests on; `sources` says what runs have shown.

    `alike` is the correlation of two scenarios of one proposition, `shared` that of two runs on one scenario.
    """

    p_lie: float
    p_evasive: float
    p_no_belief: float
    alike: float
    shared: float
    lost: float
    sources: dict[str, Source]


class PlanData(Struct, forbid_unknown_fields=True, kw_only=True):
    """How many scenarios answer the question, and what asking them takes.

    Where `is_enough` is false the whole set is planned, which does not do. `gives` is the half-width of P(lie), or the
    chance that the limit is passed or the difference shown. `between` is the middle 95 % of that by the runs, null
    without any. `smallest` is the smallest difference that the whole set shows, where it does not show the one asked
    for; `cautious` is the chance for two runs that have less in common.
    """

    schema: Literal[1] = 1
    goal: Goal
    level: float
    power: float | None
    set: SetShown
    runs: list[str]
    statements: int
    scenarios: int
    is_enough: bool
    gives: float
    between: tuple[float, float] | None
    smallest: float | None
    cautious: float | None
    rests_on: Rests
    ways: list[Way]
