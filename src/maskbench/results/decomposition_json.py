"""What `compare --why --json` prints: a difference in lies, and how much of it each thing that differs contributed."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from maskbench.stats.rate_json import Ends

Cause = Literal["scenarios", "rules", "statements", "failures", "denominator", "play", "judge", "rest"]


class Side(Struct, forbid_unknown_fields=True, kw_only=True):
    """One of the two figures: the share of lies of a run under a convention, or a published one."""

    name: str
    convention: str
    judge: str
    scenarios: int | None
    lies: float


class Contribution(Struct, forbid_unknown_fields=True, kw_only=True):
    """What one cause contributed to the difference, as a share.

    Against a published row, what its publisher does not publish has no value and is in the rest, which has no interval.
    """

    cause: Cause
    first: str
    other: str
    value: float | None
    ci95: Ends | None


class Explained(Struct, forbid_unknown_fields=True, kw_only=True):
    """A difference in the share of lies, other minus first, and its parts, which add up to it."""

    first: Side
    other: Side
    difference: float
    ci95: Ends | None
    parts: list[Contribution]
    shared: int
    notes: list[str]
