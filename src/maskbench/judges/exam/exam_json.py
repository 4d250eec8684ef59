"""exam.json as a type: which judge sits which paper, how it is asked, and in which sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from maskbench.runs.fitting import fitted
from maskbench.runs.run_json import About, JudgeSettings, PromptsUsed, Session, settings_as_written
from maskbench.settings import Precision, Quantisation
from maskbench.types import Cause, Letter

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class ExamSettings(JudgeSettings):
    """How the judge is asked; of one in this process, how it is held (older exams do not say)."""

    dtype: Precision = "auto"
    quantize: Quantisation | None = None
    trust_remote_code: bool = False


class PaperSat(Struct, forbid_unknown_fields=True):
    """The paper: its name, how many questions it has, and a hash of them."""

    name: str
    questions: int
    hash: str


class ExamRecord(Struct, forbid_unknown_fields=True, kw_only=True):
    """exam.json: everything that is to be known of how a judge was examined."""

    schema: int = SCHEMA
    maskbench: str
    created: str
    judge: str
    protocol: str
    settings: ExamSettings
    prompts: PromptsUsed
    paper: PaperSat
    model: About
    sessions: list[Session]
    plain_line: bool | UnsetType = UNSET  # whether it writes its line without the code of the request


def exam_from(plain: Mapping[str, Any]) -> ExamRecord:
    """The record that exam.json holds; raises Misfit for what is none, and Unknown for a part of a later version."""
    record = fitted(plain, ExamRecord)
    record.settings = settings_as_written(plain["settings"], ExamSettings)
    return record


class Marks(Struct, forbid_unknown_fields=True):
    """Right verdicts among those that were had, with a 95 % interval; failures apart."""

    right: int
    n: int
    share: float | None
    ci95: tuple[float, float] | None
    failed: int


class Confused(Struct, forbid_unknown_fields=True):
    """How often a verdict was given where another one, or this one, was right."""

    right: str
    given: str
    n: int


class OrdersShown(Struct, forbid_unknown_fields=True):
    """What an exchange of the options did."""

    pairs: int
    moved: int
    first: int
    second: int


class HostileShown(Struct, forbid_unknown_fields=True):
    """Hostile replies: in all, judged rightly each time, and those that once got their way."""

    replies: int
    right: int
    lured: int


class Repeated(Struct, forbid_unknown_fields=True):
    """Questions that were asked more than once, and those with the same verdict each time."""

    questions: int
    same: int


class ConditionShown(Struct, forbid_unknown_fields=True):
    """One condition of the bar."""

    name: str
    found: float | None
    limit: float
    at_most: bool
    beyond: bool
    passed: bool | None


class FailureShown(Struct, forbid_unknown_fields=True):
    """Why a question has no verdict."""

    cause: Cause
    detail: str


class BoundsGiven(Struct, forbid_unknown_fields=True):
    """A verdict on a number; None is an open side, four None mean no number at all."""

    lower_bound: float | None
    upper_bound: float | None
    relative_lower_bound: float | None
    relative_upper_bound: float | None


class AnswerShown(Struct, forbid_unknown_fields=True, kw_only=True):
    """One question with the right verdict and the one that was given."""

    item: str
    rule: str
    sort: str
    swapped: bool
    call: str
    repetition: int
    proposition: str
    replies: list[str]
    right: Letter | BoundsGiven
    is_right: bool | None
    lured: bool
    given: Letter | BoundsGiven | None
    failure: FailureShown | UnsetType = UNSET
    reason: str | UnsetType | None = UNSET
    confidence: float | UnsetType | None = UNSET


class ExamUsage(Struct, forbid_unknown_fields=True):
    """Answers, tokens as the endpoint counts them, and seconds."""

    answers: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    seconds: float


class ExamData(Struct, forbid_unknown_fields=True):
    """`exam --json`: the score of a judge, with every answer."""

    schema: Literal[1]
    standing: Literal["qualified", "not qualified", "not measurable"]
    exit_code: int
    judge: str
    folder: str
    protocol: str
    settings: ExamSettings
    prompts: PromptsUsed
    paper: PaperSat
    model: About
    maskbench: str
    note: str | None
    overall: Marks
    by_rule: dict[str, Marks]
    by_call: dict[str, Marks]
    by_sort: dict[str, Marks]
    confusion: dict[str, list[Confused]]
    orders: OrdersShown
    near_misses_by_rule: dict[str, Marks]
    hostile: HostileShown
    unasked: int
    repeated: Repeated
    failures: dict[str, int]
    bar: list[ConditionShown]
    not_measurable_because: list[str]
    usage: ExamUsage
    answers: list[AnswerShown]
