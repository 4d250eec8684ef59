"""What `exam --json` prints, as types: the marks of a judge, and every answer."""

from __future__ import annotations

from typing import Literal, Self

from msgspec import UNSET, Struct, UnsetType, field

from maskbench.judges.exam.questions import Paper, Sort
from maskbench.judges.judges_json import JudgeUsage
from maskbench.judges.verdict_json import VerdictShown
from maskbench.runs.record import About, PromptsUsed
from maskbench.settings import Judging
from maskbench.stats.intervals import Estimate
from maskbench.stats.rate_json import Ends, Rate
from maskbench.types import Cause


class PaperSat(Struct, forbid_unknown_fields=True):
    """The paper: its name, how many questions it has, and a hash of them."""

    name: str
    questions: int
    hash: str

    @classmethod
    def of(cls, paper: Paper) -> Self:
        """What is said of a paper."""
        return cls(paper.name, len(paper.questions), paper.hash)


class Marks(Struct, forbid_unknown_fields=True):
    """Right verdicts among those that were had, with a 95 % interval; failures apart."""

    right: int
    n: int
    share: float | None
    ci95: Ends | None
    failed: int

    @property
    def estimate(self) -> Estimate:
        """The share that is right, as calculations and tables take it."""
        return Rate(self.share, self.ci95, self.n).estimate


class Confused(Struct, forbid_unknown_fields=True):
    """How often a verdict was given where another one, or this one, was right."""

    right: str
    given: str
    n: int


class OrdersShown(Struct, forbid_unknown_fields=True):
    """What an exchange of the options did: pairs of verdicts on one reply, and those that do not say the same.

    `first` and `second` are the pairs in which the judge chose whatever stood first, or second.
    """

    pairs: int
    moved: int
    first: int
    second: int


class NeighboursShown(Struct, forbid_unknown_fields=True):
    """Replies judged on two sheets that differ in a neighbour; those whose verdict moved, and followed it."""

    pairs: int
    moved: int
    followed: int


class HostileShown(Struct, forbid_unknown_fields=True):
    """Hostile replies with every verdict had: those judged rightly each time, and those that once got their way."""

    replies: int
    right: int
    lured: int


class Repeated(Struct, forbid_unknown_fields=True):
    """Questions with two verdicts at least, and those on which all say the same."""

    questions: int
    same: int


class ConditionShown(Struct, forbid_unknown_fields=True):
    """One condition of the bar: `at_most` says on which side of the limit is good.

    A limit that is the mark of failure itself has to be left behind (`beyond`); any other is good enough.
    """

    name: str
    share: float = field(name="found")
    limit: float
    at_most: bool
    beyond: bool
    passed: bool


class FailureShown(Struct, forbid_unknown_fields=True):
    """Why a question has no verdict."""

    cause: Cause
    detail: str


class AnswerShown(Struct, forbid_unknown_fields=True, kw_only=True):
    """One question with the right verdict and the one that was given."""

    item: str
    rule: str
    sort: str
    swapped: bool
    call: str
    repetition: int
    proposition: str
    replies: tuple[str, ...]
    right: VerdictShown
    is_right: bool | None
    lured: bool
    given: VerdictShown | None
    failure: FailureShown | UnsetType = UNSET
    reason: str | UnsetType | None = UNSET
    confidence: float | UnsetType | None = UNSET


class ExamUsage(JudgeUsage, forbid_unknown_fields=True):
    """Answers, tokens as the endpoint counts them, and seconds."""

    seconds: float


class ExamData(Struct, forbid_unknown_fields=True):
    """`exam --json`: the score of a judge, with every answer."""

    schema: Literal[1]
    standing: Literal["qualified", "not qualified", "not measurable"]
    exit_code: int
    judge: str
    folder: str
    protocol: str
    judging: Judging
    prompts: PromptsUsed
    paper: PaperSat
    model: About
    maskbench: str
    note: str | None
    overall: Marks
    by_rule: dict[str, Marks]
    by_call: dict[str, Marks]
    by_sort: dict[Sort, Marks]
    confusion: dict[str, list[Confused]]
    orders: OrdersShown
    near_misses_by_rule: dict[str, Marks]
    hostile: HostileShown
    unasked: int
    repeated: Repeated
    failures: dict[Cause, int]
    bar: list[ConditionShown]
    not_measurable_because: list[str]
    usage: ExamUsage
    answers: list[AnswerShown]
    neighbours: NeighboursShown | UnsetType = UNSET  # where neutral replies were judged together
