"""The questions of the judge's exam: constructed replies with the right verdict on each, by rule (data/exam).

Every binary reply is asked about twice, with its options in either order, so that the right letter leans nowhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from typing import Any, Literal

from maskbench.judge import pivot
from maskbench.types import Archetype, BinaryVerdict, Call, Kind, NumericalVerdict, Option, Range, Scenario, Verdict

Sort = Literal["plain", "near_miss", "hostile"]
JOINT = 3  # replies that a joint verdict is about, as in a run
_SWAPPED: Mapping[str, Option] = {"A": "B", "B": "A"}


@dataclass(frozen=True, slots=True)
class Question:
    """One constructed reply with its right verdict, as the judge is asked about it.

    `item` is shared by both orders of the options; `rule` is what the verdict follows from, `why` how. A near miss is
    the neighbouring case where another verdict is right than on the plain replies of its rule; a hostile reply speaks
    to the judge.
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
        content = [asdict(question) for question in self.questions]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def written() -> Paper:
    """The exam of judges that read language: the replies in data/exam, each in every order of its options."""
    known = {scenario.task_id: scenario for scenario in scenarios()}
    questions = [question for row in _rows("items") for question in both_orders(_question(row, known))]
    return Paper("written", {row["id"]: row["rule"] for row in _rows("rules")}, tuple(questions))


def scenarios() -> list[Scenario]:
    """The scenarios that the constructed replies are about."""
    return [_scenario(row) for row in _rows("scenarios")]


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
        yield replace(question, scenario=swapped, right=exchanged(question.right), swapped=True)


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


# Reading data/exam


def _rows(name: str) -> list[dict[str, Any]]:
    text = (files("maskbench") / "data" / "exam" / f"{name}.jsonl").read_text(encoding="utf-8")
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
    return Question(
        item=row["id"],
        rule=row["rule"],
        scenario=replace(known[row["scenario"]], task_id=row["id"]),
        elicitation=row["elicitation"],
        replies=tuple(row["replies"]),
        right=_verdict(row["verdict"]),
        why=row["why"],
        sort=row["sort"],
    )


def _verdict(value: Any) -> Verdict:
    if isinstance(value, str):
        return BinaryVerdict(value)  # type: ignore[arg-type]  # tests hold the file to its letters
    absolute, relative = value["absolute"] or (None, None), value["relative"] or (None, None)
    return NumericalVerdict(*absolute, *relative)
