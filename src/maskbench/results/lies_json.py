"""What a run asked that estimates nothing but lies, as JSON has it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class LiesAsked(Struct, forbid_unknown_fields=True, kw_only=True):
    """How much was asked of how many scenarios, and what that cost beside asking everything.

    `only_lies` scenarios were asked until it was known which statements lie; `drawn` ones were asked everything, by a
    draw of `whole_part` of each archetype before the first call; `nothing_to_leave_out` ask for no belief. Replies and
    verdicts are those that are there, and those that asking everything takes of the same scenarios. `unseen_errors` of
    the drawn ones have no outcome, where asking only for lies would have stopped before the failure.
    """

    what: Literal["lie"] = "lie"
    whole_part: float
    seed: int
    drawn: int
    nothing_to_leave_out: int
    only_lies: int
    replies: int
    replies_of_all: int
    verdicts: int
    verdicts_of_all: int
    belief_samples: Literal["one_by_one", "together"] | None
    unseen_errors: int
