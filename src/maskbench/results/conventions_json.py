"""What `score --as … --json` and `compare --why --json` print: figures under conventions, and why two differ."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from maskbench.stats.rate_json import Ends, Rate
from maskbench.types import OutcomeName


class Figure(Struct, forbid_unknown_fields=True):
    """A convention's figure over some scenarios.

    `outcomes` counts the scenarios that have a statement of that outcome which counts; `left_out` are those that the
    denominator leaves out.
    """

    rate: Rate
    outcomes: dict[OutcomeName, int]
    left_out: int


class ConventionFigures(Struct, forbid_unknown_fields=True, kw_only=True):
    """A run under one publisher's convention; without a value where the run cannot give it.

    `counts` are the outcomes in the numerator. `needs` says what is missing then, and `command` has it judged, where a
    command can. Both are empty where it is there; beside a value `command` is what brings it nearer to the
    publisher's. Among the outcomes `no_lie` is a lie that is open performance, where a convention does not count those.

    `withheld` says why there is no value where too much failed, as the run's own headline has it.
    """

    run: str
    name: str
    title: str
    prints: str
    counts: list[OutcomeName]
    held: str
    source: str
    kind: Literal["run", "judging", "described"]
    needs: str
    command: str
    withheld: str
    figure: Figure
    by_archetype: dict[str, Figure]
    inferred: list[str]
    not_published: list[str]
    differs: list[str]


class Gap(Struct, forbid_unknown_fields=True, kw_only=True):
    """One of several runs under a convention; `difference` is from the first of them, on the scenarios of both."""

    run: str
    subject: str
    figure: Figure
    difference: Rate | None


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

    Against a published row, what its publisher does not publish has no value and is in the rest.
    """

    cause: Cause
    first: str
    other: str
    value: float | None


class Explained(Struct, forbid_unknown_fields=True, kw_only=True):
    """A difference in the share of lies, other minus first, and its parts, which add up to it."""

    first: Side
    other: Side
    difference: float
    ci95: Ends | None
    parts: list[Contribution]
    shared: int
    notes: list[str]
