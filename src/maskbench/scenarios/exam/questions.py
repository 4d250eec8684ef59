"""The questions of the judge's exam: constructed replies with the right verdict on each, by rule (scenarios/exam/data).

Every binary reply is asked about twice, with its options in either order, so that the right letter leans nowhere.
The order in which a rule's replies are drawn is fixed: the short form takes the first of it, and an exam that may stop
early goes through it in stages.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from random import Random
from typing import Literal, Self, TypeVar

import msgspec
from msgspec import Struct

from maskbench.scenarios.exam.exchanged import exchanged, verdict_exchanged
from maskbench.scenarios.formats import ScenarioFile
from maskbench.scenarios.reading import ScenarioSet
from maskbench.types import (
    ARCHETYPES,
    Archetype,
    BinaryVerdict,
    Call,
    Letter,
    NumericalVerdict,
    Option,
    Range,
    Scenario,
    Verdict,
    conversation,
)

T = TypeVar("T")
Sort = Literal["plain", "near_miss", "hostile"]
JOINT = 3  # replies that a joint verdict is about, as in a run
SHORT = 8  # replies of every rule in the short form
STAGES = 4  # after each of which an exam that may stop early looks whether it is decided
LOGS = "said_and_did"  # the paper on reports on a log, its folder, and the set that asks for such reports
_NAMED = "letter "  # before a lure that the text names as a letter
_COLUMNS = ("system_prompt", "user_prompt", "first_turn")
_LATER = (
    "about",
    "lure",
    "named",
    "also",
    "run",
    "beside",
    "variant",
)  # fields that older papers lack, which keep their hash without them


@dataclass(frozen=True, slots=True)
class Question:
    """One constructed reply with its right verdict, as the judge is asked about it.

    `item` is shared by both orders of the options; `rule` is what the verdict follows from, `why` how. A near miss is
    the neighbouring case where another verdict is right than on the plain replies of its rule; a hostile reply speaks
    to the judge, and `lure` is the verdict that it is after: where it names a letter (`named`) that letter stays when
    the options change places.
    """

    item: str
    rule: str
    scenario: Scenario  # its task_id is the question's own
    elicitation: int
    replies: tuple[str, ...]  # one, or all that a joint verdict is about
    right: Verdict
    why: str
    sort: Sort = "plain"
    swapped: bool = False
    about: str = ""  # the scenario that it shares with other replies
    lure: Verdict | None = None
    named: bool = False
    also: Range | None = None  # relative bounds that are right though nobody asked for them

    @property
    def cluster(self) -> str:
        """What its errors may have in common with those on other questions: the scenario, else the reply."""
        return self.about or self.item

    @property
    def call(self) -> Call:
        """What the subject had been asked."""
        return "statement" if self.elicitation == 0 else "direct" if self.elicitation == 1 else "consistency"


@dataclass(frozen=True, slots=True)
class Paper:
    """One exam: its questions in order, the rules by id, and for whom it is."""

    name: str
    rules: Mapping[str, str]
    questions: tuple[Question, ...]
    note: str | None = None  # what a reader must know of it

    @property
    def hash(self) -> str:
        """A hash of everything that is asked and held to be right."""
        content = [
            {name: value for name, value in msgspec.to_builtins(question).items() if value or name not in _LATER}
            for question in self.questions
        ]
        for each, question in zip(content, self.questions, strict=True):
            scenario = each["scenario"]
            if not question.scenario.in_columns:  # a log is all that its report is held against
                continue
            for name in ("definition", "messages", "messages_on_beliefs"):  # those of exams are the paper's
                del scenario[name]
            scenario |= {name: getattr(question.scenario, name) for name in _COLUMNS}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


class PaperSat(Struct, forbid_unknown_fields=True):
    """The paper: its name, how many questions it has, and a hash of them."""

    name: str
    questions: int
    hash: str

    @classmethod
    def of(cls, paper: Paper) -> Self:
        """What is said of a paper."""
        return cls(paper.name, len(paper.questions), paper.hash)


def written() -> Paper:
    """The exam of judges that read language: the replies in scenarios/exam/data, each in every order of its options."""
    return _paper("written", scenarios())


def on_logs() -> Paper:
    """The exam on reports on a log, and on lists of what matters in one: scenarios/exam/data/said_and_did."""
    return _paper(LOGS, log_scenarios(), LOGS)


def _paper(name: str, about: Iterable[Scenario], *folder: str) -> Paper:
    known = {scenario.task_id: scenario for scenario in about}
    rules = {row.id: row.rule for row in _rows(_Rule, *folder, "rules.jsonl")}
    rows = [row for rule in rules for row in _rows(_Item, *folder, "items", f"{rule}.jsonl")]
    questions = [question for row in rows for question in both_orders(_question(row, known))]
    return Paper(name, rules, tuple(questions))


def short(paper: Paper) -> Paper:
    """The first `SHORT` replies of every rule in the order in which they are drawn."""
    drawn = {item for items in _drawn(paper.questions) for item in items[:SHORT]}
    note = (
        f"The short form: {SHORT} replies of each rule. It finds a judge that is weak all over, but a rule that is "
        "learned by half passes it far more often than the whole exam."
    )
    questions = tuple(question for question in paper.questions if question.item in drawn)
    return Paper(f"{paper.name}, short", paper.rules, questions, note)


def stages(paper: Paper) -> list[frozenset[str]]:
    """The ids of the paper's items in `STAGES` parts, each with its share of every rule."""
    parts: list[set[str]] = [set() for _ in range(STAGES)]
    for items in _drawn(paper.questions):
        for at, item in enumerate(items):
            parts[at * STAGES // len(items)].add(item)
    return [frozenset(part) for part in parts]


def _drawn(questions: Iterable[Question]) -> Iterator[list[str]]:
    """The items of each rule in the order of their drawing: shuffled, sorts in step with their shares."""
    rules: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for question in questions:
        if not question.swapped:
            rules[question.rule][question.sort].append(question.item)
    for rule, sorts in rules.items():
        yield _in_step([_shuffled(rule, items) for items in sorts.values()])


def _shuffled(rule: str, items: Sequence[str]) -> list[str]:
    return sorted(items, key=lambda item: Random(f"{rule} {item}").random())


def _in_step(groups: Sequence[Sequence[str]]) -> list[str]:
    placed = [((at + 0.5) / len(group), item) for group in groups for at, item in enumerate(group)]
    return [item for _, item in sorted(placed)]


def scenarios() -> list[Scenario]:
    """The scenarios that the constructed replies are about."""
    return [
        _scenario(row) for archetype in ARCHETYPES for row in _rows(_ScenarioRow, "scenarios", f"{archetype}.jsonl")
    ]


def log_scenarios() -> list[Scenario]:
    """The logs that constructed reports and lists are about, with an event and without, as a scenario set has them."""
    place = _DATA.joinpath(LOGS, "scenarios.jsonl")
    return list(ScenarioSet(LOGS, (ScenarioFile(place, place.name),)))


def both_orders(question: Question) -> Iterator[Question]:
    """The question, and where it has options one more with those exchanged."""
    yield question
    if isinstance(question.right, BinaryVerdict):
        yield replace(
            question,
            scenario=replace(exchanged(question.scenario), task_id=f"{question.item}-swapped"),
            right=verdict_exchanged(question.right),
            lure=question.lure if question.named or not question.lure else verdict_exchanged(question.lure),
            swapped=True,
        )


# Reading scenarios/exam/data

_DATA = files("maskbench") / "scenarios" / "exam" / "data"
Number = int | float  # as it is written: the hash of a paper tells 12 from 12.0
Bounds = tuple[Number | None, Number | None] | None


class _Rule(Struct):
    id: str
    rule: str


class _ScenarioRow(Struct):
    """A row of scenarios: the prompts that constructed replies answer."""

    id: str
    archetype: Archetype
    proposition: str
    truth: Option | tuple[Number, Number]
    system: str
    user: str
    questions: list[str | None]
    first_turn: tuple[str, str] | None = None


class _Number(Struct):
    absolute: Bounds
    relative: Bounds


class _Item(Struct):
    id: str
    rule: str
    scenario: str
    elicitation: int
    sort: Sort
    replies: tuple[str, ...]
    verdict: Letter | _Number
    why: str
    lure: str | _Number | None = None
    also: tuple[Number, Number] | None = None
    system: str | None = None  # in place of the scenario's own, and so the next two
    user: str | None = None
    first_turn: tuple[str, str] | None = None


def _rows(kind: type[T], *path: str) -> list[T]:
    """The rows of a file of scenarios/exam/data."""
    return msgspec.json.Decoder(kind).decode_lines(_DATA.joinpath(*path).read_bytes())


def _scenario(row: _ScenarioRow) -> Scenario:
    """The scenario that a row describes."""
    direct, second, third = [*row.questions, None, None, None][:3]
    return Scenario(
        archetype=row.archetype,
        task_id=row.id,
        kind="binary" if isinstance(row.truth, str) else "numerical",
        proposition=row.proposition,
        truth=row.truth if isinstance(row.truth, str) else Range(*row.truth),
        messages=conversation(row.system, row.user, row.first_turn),
        questions=(direct, second, third),
    )


def _question(row: _Item, known: Mapping[str, Scenario]) -> Question:
    about, named = known[row.scenario], isinstance(row.lure, str) and row.lure.startswith(_NAMED)
    is_own = row.system is not None or row.user is not None or row.first_turn is not None
    lure = row.lure.removeprefix(_NAMED) if isinstance(row.lure, str) else row.lure
    return Question(
        item=row.id,
        rule=row.rule,
        scenario=replace(
            about,
            task_id=row.id,
            messages=conversation(
                about.system_prompt if row.system is None else row.system,
                about.user_prompt if row.user is None else row.user,
                row.first_turn or about.first_turn,
            )
            if is_own
            else about.messages,
        ),
        elicitation=row.elicitation,
        replies=row.replies,
        right=_verdict(row.verdict),
        why=row.why,
        sort=row.sort,
        about=row.scenario,
        lure=None if lure is None else _verdict(lure),
        named=named,
        also=Range(*row.also) if row.also else None,
    )


def _verdict(value: str | _Number) -> Verdict:
    if isinstance(value, str):
        return BinaryVerdict(value)  # type: ignore[arg-type]  # tests hold the file to its letters
    return NumericalVerdict(*(value.absolute or (None, None)), *(value.relative or (None, None)))
