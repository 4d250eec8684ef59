"""The questions of the judge's exam: constructed replies with the right verdict on each, by rule (judges/exam/data).

Every binary reply is asked about twice, with its options in either order, so that the right letter leans nowhere.
The order in which a rule's replies are drawn is fixed: the short form takes the first of it, and an exam that may stop
early goes through it in stages.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from random import Random
from typing import Any, Literal

from maskbench.method.judge_ask import pivot
from maskbench.types import (
    ARCHETYPES,
    Archetype,
    BinaryVerdict,
    Call,
    Kind,
    NumericalVerdict,
    Option,
    Range,
    Scenario,
    Verdict,
)

Sort = Literal["plain", "near_miss", "hostile"]
JOINT = 3  # replies that a joint verdict is about, as in a run
SHORT = 8  # replies of every rule in the short form
STAGES = 4  # after each of which an exam that may stop early looks whether it is decided
_NAMED = "letter "  # before a lure that the text names as a letter
_LATER = ("about", "lure", "named", "also")  # fields that older papers lack, which keep their hash without them
_SWAPPED: Mapping[str, Option] = {"A": "B", "B": "A"}


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
        content = [_hashed(question) for question in self.questions]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _hashed(question: Question) -> dict[str, Any]:
    told = {name: value for name, value in asdict(question).items() if value or name not in _LATER}
    del told["scenario"]["definition"]  # the archetypes of exams are the paper's
    return told


def written() -> Paper:
    """The exam of judges that read language: the replies in judges/exam/data, each in every order of its options."""
    known = {scenario.task_id: scenario for scenario in scenarios()}
    rules = {row["id"]: row["rule"] for row in _rows("rules.jsonl")}
    rows = [row for rule in rules for row in _rows("items", f"{rule}.jsonl")]
    questions = [question for row in rows for question in both_orders(_question(row, known))]
    return Paper("written", rules, tuple(questions))


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
    return [_scenario(row) for archetype in ARCHETYPES for row in _rows("scenarios", f"{archetype}.jsonl")]


def both_orders(question: Question) -> Iterator[Question]:
    """The question, and where it has options the same with those exchanged."""
    yield question
    if isinstance(question.right, BinaryVerdict):
        scenario = question.scenario
        assert isinstance(scenario.truth, str)  # noqa: S101  # as the verdict's kind is the scenario's
        swapped = replace(
            scenario,
            task_id=f"{question.item}-swapped",
            proposition=_exchanged(scenario.proposition),
            truth=_SWAPPED[scenario.truth],
        )
        lure = question.lure if question.named or not question.lure else exchanged(question.lure)
        yield replace(question, scenario=swapped, right=exchanged(question.right), lure=lure, swapped=True)


def exchanged(verdict: Verdict) -> Verdict:
    """The verdict that says the same once the options have changed places."""
    if isinstance(verdict, BinaryVerdict) and verdict.letter in _SWAPPED:
        return replace(verdict, letter=_SWAPPED[verdict.letter])
    return verdict


def _exchanged(proposition: str) -> str:
    first, second = pivot(proposition)
    before, _, rest = proposition.partition("<pivotal>")
    slash = " / " if "/" in first + second else "/"
    return f"{before}<pivotal>{second}{slash}{first}</pivotal>{rest.partition('</pivotal>')[2]}"


# Reading judges/exam/data


def _rows(*path: str) -> list[dict[str, Any]]:
    text = files("maskbench").joinpath("judges", "exam", "data", *path).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _scenario(row: Mapping[str, Any]) -> Scenario:
    archetype: Archetype = row["archetype"]
    kind: Kind = "numerical" if archetype == "statistics" else "binary"
    direct, *others = [*row["questions"], None, None, None][:3]
    return Scenario(
        archetype=archetype,
        task_id=row["id"],
        kind=kind,
        proposition=row["proposition"],
        truth=row["truth"] if kind == "binary" else Range(*row["truth"]),
        system_prompt=row["system"],
        user_prompt=row["user"],
        questions=(direct, others[0], others[1]),
        first_turn=tuple(row["first_turn"]) if "first_turn" in row else None,
    )


def _question(row: Mapping[str, Any], known: Mapping[str, Scenario]) -> Question:
    lure = row.get("lure")
    named = isinstance(lure, str) and lure.startswith(_NAMED)
    return Question(
        item=row["id"],
        rule=row["rule"],
        scenario=_as_told(row, known[row["scenario"]]),
        elicitation=row["elicitation"],
        replies=tuple(row["replies"]),
        right=_verdict(row["verdict"]),
        why=row["why"],
        sort=row["sort"],
        about=row["scenario"],
        lure=_verdict(lure.removeprefix(_NAMED) if named else lure) if lure else None,
        named=named,
        also=Range(*row["also"]) if "also" in row else None,
    )


def _as_told(row: Mapping[str, Any], scenario: Scenario) -> Scenario:
    """The scenario as this reply has it: under an id of its own, with those turns that the row replaces."""
    first = tuple(row["first_turn"]) if "first_turn" in row else scenario.first_turn
    return replace(
        scenario,
        task_id=row["id"],
        system_prompt=row.get("system", scenario.system_prompt),
        user_prompt=row.get("user", scenario.user_prompt),
        first_turn=first,
    )


def _verdict(value: Any) -> Verdict:
    if isinstance(value, str):
        return BinaryVerdict(value)  # type: ignore[arg-type]  # tests hold the file to its letters
    absolute, relative = value["absolute"] or (None, None), value["relative"] or (None, None)
    return NumericalVerdict(*absolute, *relative)
