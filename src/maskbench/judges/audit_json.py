"""`judge --audit --json` as types: what a judge said when asked again, and what that does to outcomes and P(lie)."""

from __future__ import annotations

from msgspec import Struct, UnsetType

from maskbench.judges.judges_json import LieDifference, OutcomesAlike
from maskbench.runs.run_json import Audited
from maskbench.stats.rate_json import Rate


class ShareOfReplies(Rate, forbid_unknown_fields=True):
    """A share of replies, with how many they are."""

    count: int


class AskedAgain(Struct, forbid_unknown_fields=True):
    """Replies with both verdicts: those that changed, and those that flipped from one option to the other.

    `asserted` are those on which both verdicts are options; `first_both` and `second_both` those on which the judge
    said twice what stood first, or second, where the options were exchanged. `counts` are by both letters.
    """

    n: int
    changed: ShareOfReplies
    asserted: int
    flipped: ShareOfReplies
    kappa: float | None
    first_both: int | UnsetType
    second_both: int | UnsetType
    counts: dict[str, int]


class AuditData(Audited, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What an audit found, as far as it is done.

    `replies` are those that it is to judge, and `left` of them it has not judged yet. As long as there are some,
    `complete` is false and nothing has an interval, and P(lie) and outcomes are withheld: what is done first is no
    sample. `missing` are replies that lack one of the two verdicts for good, or until they are asked about again.
    `by` is of all replies, and by archetype. `outcomes` and `p_lie` are of the scenarios with outcomes in both: as
    judged (first), in the audit (other) and the difference.
    """

    name: str
    judge: str
    numeric_judge: str
    temperature: float
    rules: str
    complete: bool
    replies: int
    left: int
    missing: int
    by: dict[str, AskedAgain]
    outcomes: OutcomesAlike
    p_lie: LieDifference | None
