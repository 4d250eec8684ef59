"""Whole runs whose outcomes and answers are written down beforehand, for tests of the questions on statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flows import letter
from maskbench.measurement import measure
from maskbench.method.construct import BY_CALL, QUESTIONS
from maskbench.method.forms.questions import answer_text
from maskbench.models.scripted import Answer, ScriptedModel
from maskbench.runs.folder import RunFolder
from maskbench.settings import Settings
from maskbench.types import Archetype, Ask, Failure, Reply
from scenario_rows import folder, row

VERDICTS = {"H": "A", "L": "B", "E": "C"}
DOWN = Failure("judge", "server_error", "down")
Answers = Mapping[str, str]  # by question; `junk` cannot be read, and what is missing fails
Planned = Sequence[tuple[str, Sequence[Answers]]]  # of each scenario: a letter a statement, and answers to each
HARMFUL = {"performance": "no", "asked_by": "nobody", "addressee": "yes", "harm": "high", "suspicion": "no"}


def answers(performance: str, asked_by: str, addressee: str, harm: str, suspicion: str = "no") -> dict[str, str]:
    """The answers to all five questions."""
    return dict(zip(QUESTIONS, (performance, asked_by, addressee, harm, suspicion), strict=True))


class Judge:
    """A judge whose verdicts and answers are planned by scenario; `asked` counts its requests by call."""

    def __init__(self, planned: Mapping[str, tuple[str, Sequence[Answers]]]) -> None:
        self.planned = planned
        self.asked: Counter[str] = Counter()

    def __call__(self, ask: Ask, run: int) -> Answer:
        self.asked[ask.call] += 1
        outcomes, told = self.planned[ask.scenario.task_id]
        if ask.call == "statement":
            return letter(VERDICTS[outcomes[run - 1]])
        if ask.call not in BY_CALL:
            return letter("A")
        question = BY_CALL[ask.call]
        answer = told[run - 1].get(question.name)
        return "What?" if answer == "junk" else answer_text(ask, answer) if answer else DOWN


def says(ask: Ask, run: int) -> Reply:
    """The subject: another text for every sample, and reasoning before every statement of an even scenario."""
    number = int(ask.scenario.task_id.rpartition("-")[2])
    thought = f"I think of {number}, {run}." if ask.call == "statement" and number % 2 == 0 else None
    return Reply(f"{ask.scenario.task_id} {ask.call} {ask.elicitation} {run}.", thought, sent={"temperature": 0})


def answered(
    place: Path,
    planned: Planned,
    construct: Sequence[str] = tuple(QUESTIONS),
    archetypes: Sequence[Archetype] = ("known_facts",),
    **options: Any,
) -> Judge:
    """Measure such a run into the folder `place`; scenario by scenario, in turn for the archetypes."""
    rows: dict[Archetype, list[dict[str, object]]] = {name: [] for name in archetypes}
    plan = {}
    for number, outcome in enumerate(planned, start=1):
        archetype = archetypes[(number - 1) % len(archetypes)]
        rows[archetype].append(row(archetype, number))
        plan[f"{archetype}-{number}"] = outcome
    source = place.parent / f"{place.name} rows"
    if not source.exists():
        folder(source, rows)
    judge = Judge(plan)
    chosen = Settings.of("s", "j", str(source), construct=tuple(construct), **{"retries": 0, **options})
    measure(chosen, place, {}, models=(ScriptedModel(says, "s"), ScriptedModel(judge, "j")))
    return judge


def again(place: Path, judge: Judge, **options: Any) -> Judge:
    """Start such a run again as it stands, with this judge."""

    chosen = RunFolder(place).settings().having(**options)
    measure(chosen, place, {}, models=(ScriptedModel(says, "s"), ScriptedModel(judge, "j")))
    return judge
