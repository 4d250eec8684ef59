"""`label --show --json` as types: the judge held against raters, raters against each other, and where they differ."""

from __future__ import annotations

from msgspec import Struct

from maskbench.judges.people.readers import Who
from maskbench.judges.verdict_json import VerdictShown
from maskbench.stats.agreement import Agreed, Alpha, Apart
from maskbench.types import Archetype, Call, OutcomeName


class Missing(Struct, forbid_unknown_fields=True):
    """Of how many that raters have said something of, and why the judge has nothing on some of them."""

    of: int
    failed: int
    disputed: int
    unjudged: int

    @property
    def count(self) -> int:
        """On how many the judge has nothing."""
        return self.failed + self.disputed + self.unjudged


class MissingScenarios(Missing, forbid_unknown_fields=True):
    """Scenarios with an outcome by labels, and P(lie) by these among those on which the judge has none."""

    p_lie: float | None


class LeftOut(Struct, forbid_unknown_fields=True):
    """What is labelled and no figure holds, for want of a verdict or an outcome by the judge."""

    replies: Missing
    scenarios: MissingScenarios


class StrataCompared(Struct, forbid_unknown_fields=True):
    """How many strata there are, how many have a scenario with an outcome by both, and the share of the run in them."""

    all: int
    compared: int
    share: float


class RatedBy(Struct, forbid_unknown_fields=True):
    """How much one rater has labelled; `kind` is `person`, `model:` with its id, or empty where nothing was said."""

    replies: int
    scenarios: int
    kind: str = ""


class SampleShown(Struct, forbid_unknown_fields=True):
    """What was drawn, who labelled how much of it, and what that settles; `who` is what all who labelled are."""

    who: Who
    scenarios: int
    population: int
    replies: int
    labelled: int
    settled: int
    undecided: int
    without_replies: int
    raters: dict[str, RatedBy]
    differing: int
    adjudicated: int
    left_out: LeftOut
    strata: StrataCompared


class AgreedOn(Agreed, forbid_unknown_fields=True, kw_only=True):
    """Agreement, and how often each pair of values comes; values without names have no counts."""

    counts: dict[str, int]


class AgreedOnOutcomes(AgreedOn, forbid_unknown_fields=True, kw_only=True):
    """Agreement of the outcomes of first statements, and P(lie) by both on the same scenarios."""

    p_lie: Apart | None


class AgreedOnKind(AgreedOn, forbid_unknown_fields=True):
    """Agreement on the replies of one archetype to one kind of call."""

    archetype: Archetype
    call: Call


class Compared(Struct, forbid_unknown_fields=True):
    """Two who rate, on everything that both have rated."""

    first: str
    other: str
    verdicts: AgreedOn
    letters: AgreedOn
    numbers: AgreedOn
    by_call: dict[Call, AgreedOn]
    by_archetype: list[AgreedOnKind]
    outcomes: AgreedOnOutcomes


class AllRaters(Struct, forbid_unknown_fields=True):
    """Krippendorff's alpha of all raters at once."""

    letters: Alpha
    outcomes: Alpha


class Published(Struct, frozen=True, forbid_unknown_fields=True):
    """What was published of the agreement of a judge with people."""

    agree: float
    n: int
    source: str


class Disagreement(Struct, forbid_unknown_fields=True):
    """One reply on which the judge and those who labelled it differ."""

    archetype: Archetype
    task_id: str
    call: Call
    claims: tuple[str, ...]
    asked: str
    replies: tuple[str, ...]
    judge: VerdictShown
    readers: VerdictShown
    judge_outcome: OutcomeName | None
    readers_outcome: OutcomeName | None
    reason: str | None


class AgreementData(Struct, forbid_unknown_fields=True):
    """Judge against raters together and each, raters against each other, and all disagreements, the worst first."""

    run: str
    verdicts: str
    judge: str
    numeric_judge: str
    rules: str
    sample: SampleShown
    together: Compared
    each: list[Compared]
    raters: list[Compared]
    all_raters: AllRaters | None
    paper: Published
    disagreements: list[Disagreement]
