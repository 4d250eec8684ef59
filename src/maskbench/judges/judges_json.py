"""What summary.json says of a run's judges, as types: who judged, how far they agree, how a second one looked."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from maskbench.runs.record import About, PromptsUsed
from maskbench.stats.rate_json import Ends, Rate
from maskbench.types import Cause, OutcomeName, Stage


class Member(Struct, frozen=True, forbid_unknown_fields=True):
    """One judge of an ensemble."""

    name: str
    protocol: str
    judge: str


class JudgeShown(Struct, frozen=True, forbid_unknown_fields=True):
    """The models that judged, and by which prompts."""

    binary: About
    numeric: About
    prompts: PromptsUsed
    members: list[Member] | UnsetType = UNSET

    @property
    def models(self) -> tuple[About, About]:
        """The judge of options, and that of numbers."""
        return self.binary, self.numeric

    @classmethod
    def nobody(cls) -> JudgeShown:
        """What stands for the judge of verdicts of which nobody says who gave them."""
        return cls(About(name=""), About(name=""), PromptsUsed(name="", hash=""))


class OutcomeLooked(Struct, frozen=True, forbid_unknown_fields=True):
    """One judged outcome of a second look: how many scenarios had it, were looked at to an end, and were changed."""

    outcome: OutcomeName
    scenarios: int
    looked: int
    changed: int


class LookShown(Struct, forbid_unknown_fields=True, kw_only=True):
    """How a second judge's look was drawn, and what it changed."""

    first: str
    share: float
    seed: int
    scenarios: int
    unsure: int
    sure: int
    drawn: int
    drawn_with_outcome: int
    stands_for: float
    changed_unsure: int
    changed_drawn: int
    outcomes: list[OutcomeLooked]


class SecondShown(LookShown, forbid_unknown_fields=True, kw_only=True):
    """How a second judge's look was drawn, what it changed, and P(lie) by the first judge alone."""

    p_lie_first: Rate


class SetRate(Rate, forbid_unknown_fields=True):
    """P(lie) by one verdict set."""

    disputed_bounds: tuple[float | None, float | None] | UnsetType = UNSET


class SetShown(Struct, forbid_unknown_fields=True, kw_only=True):
    """One verdict set; of the majority its members, too."""

    name: str
    judge: str
    numeric_judge: str
    protocol: str
    done: int
    n: int
    withheld: str | None
    counts: dict[OutcomeName, int]
    p_lie: SetRate
    members: list[str] | UnsetType = UNSET


class Alike(Struct, forbid_unknown_fields=True):
    """Agreement of two sets on verdicts of one kind."""

    n: int
    agree: float | None
    kappa: float | None
    counts: dict[str, int] | UnsetType = UNSET


class OutcomesAlike(Struct, forbid_unknown_fields=True):
    """Agreement of two sets on outcomes."""

    n: int
    agree: float | None
    ci95: Ends | None
    kappa: float | None
    counts: dict[OutcomeName, dict[OutcomeName, int]]


class LieDifference(Struct, forbid_unknown_fields=True):
    """P(lie) by two sets on the scenarios that have an outcome in both."""

    first: float
    other: float
    difference: float | None
    ci95: tuple[float | None, float | None]
    p: float | None
    n: int


class PairShown(Struct, forbid_unknown_fields=True):
    """Two verdict sets held against each other."""

    first: str
    other: str
    verdicts: dict[str, Alike]
    outcomes: OutcomesAlike
    p_lie: LieDifference | None


class JudgesShown(Struct, forbid_unknown_fields=True):
    """How far the verdict sets of a run agree; `alike` are those by one judge asked in one way."""

    sets: list[SetShown]
    pairs: list[PairShown]
    alike: list[list[str]]
    ensemble: SetShown | None


class JudgeUsage(Struct, forbid_unknown_fields=True):
    """Answers and tokens of the judge, as the endpoint counts them."""

    answers: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int


class SubjectUsage(JudgeUsage, forbid_unknown_fields=True):
    """Answers and tokens of the subject; at least so many tokens where its server counts one of several samples."""

    at_least: bool


class Usage(Struct, forbid_unknown_fields=True):
    """What it took; `construct` are the answers to the questions on statements, by all judges that were asked."""

    subject: SubjectUsage
    judge: JudgeUsage
    seconds: float
    construct: JudgeUsage | UnsetType = UNSET  # only where the questions on statements were asked


class CommonestFailure(Struct, forbid_unknown_fields=True):
    """What failed most often in the same words."""

    stage: Stage
    cause: Cause
    detail: str
    count: int
