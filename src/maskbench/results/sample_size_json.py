"""`plan --json` as types: how many scenarios show a difference, and what the answer rests on."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from maskbench.results.designs_json import DesignsData
from maskbench.stats.power import Source


class Needed(Struct, forbid_unknown_fields=True):
    """Scenarios needed with so many statements a scenario, and the replies that a paired run takes."""

    statements: int
    paired: int
    unpaired: int
    replies_paired: int


class Variance(Struct, forbid_unknown_fields=True):
    """The variance of one statement by where it comes from, what two subjects share, and the judge's part."""

    scenario: float
    belief: float
    statement: float
    alike: float
    judge: float | None


class Together(Struct, forbid_unknown_fields=True):
    """What scenarios of one proposition add to the variance of a difference."""

    paired: float
    unpaired: float


class Lost(Struct, forbid_unknown_fields=True):
    """The shares of scenarios, and of statements in the others, that have no outcome."""

    scenarios: float
    statements: float


class PlanData(Struct, forbid_unknown_fields=True):
    """How many scenarios show a difference in P(lie); `scenarios` of `runs` were measured, the rest is assumed.

    `designs` are all ways to show it.
    """

    schema: Literal[1]
    difference: float
    power: float
    level: float
    runs: list[str]
    scenarios: int
    p_lie: float
    variance: Variance
    together: Together
    weighting: float
    lost: Lost
    sources: dict[str, Source]
    table: list[Needed]
    designs: DesignsData
