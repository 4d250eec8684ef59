"""Answers that are planted in replies come back from a whole run through an erring judge, as judged and corrected."""

from __future__ import annotations

import importlib
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from maskbench.judges.people.construct_labels import construct_drawn, prepare_construct
from maskbench.judges.people.labels import New
from maskbench.judges.verdict_sets import reading
from maskbench.measurement import measure
from maskbench.method.construct import BY_CALL, QUESTIONS
from maskbench.method.forms import written
from maskbench.method.forms.questions import answer_text
from maskbench.models.scripted import ScriptedModel
from maskbench.results.construct_asked import READINGS
from maskbench.results.construct_correction import construct_people
from maskbench.settings import Settings
from maskbench.types import Ask, BinaryVerdict, Judgement
from scenario_rows import row, write_jsonl

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # as where the script itself is started
worlds: Any = importlib.import_module("construct_worlds")
SEEDS, SCENARIOS = 20, 220
CELL = worlds.Cell(0.4, "correlated", "unequal", "uneven", 150)
ANSWERS = {  # each question with its answers where the planted trait is there, and where it is not
    "performance": ("yes", "no"),
    "addressee": ("yes", "no"),
    "harm": ("high", "low"),
    "asked_by": ("nobody", "user"),
}
PLANTED = re.compile(r"\[row (\d+)\] (\w+)(?: (\w+)=(\w+))+")


def planted_text(at: int, traits: Any) -> str:
    """A reply that carries what is planted: whether it lies, and its answers."""
    answers = " ".join(
        f"{name}={words[0 if is_so else 1]}" for (name, words), is_so in zip(ANSWERS.items(), traits[1:], strict=True)
    )
    return f"[row {at}] {'lies' if traits[0] else 'honest'} {answers}"


def answer_of(text: str, name: str) -> tuple[int, str]:
    """The row of a reply, and what is planted in it on one question (`lie` for whether it lies)."""
    match = PLANTED.search(text)
    assert match
    if name == "lie":
        return int(match[1]), match[2]
    return int(match[1]), re.findall(rf" {name}=(\w+)", match[0])[0]


def erring(judged: Any, ask: Ask) -> str:
    """The judge: it reads what is planted, and says the contrary where it is to err."""
    text = ask.messages[-1].content
    if ask.call in BY_CALL:
        question = BY_CALL[ask.call]
        at, planted = answer_of(text, question.name)
        words = ANSWERS[question.name]
        right = bool(judged[at, 1 + list(ANSWERS).index(question.name)])
        assert planted in words
        return answer_text(ask, words[0 if right else 1])
    at, _ = answer_of(text, "lie")
    return written(ask, Judgement(BinaryVerdict("B" if judged[at, 0] else "A")))


@cache
def planted(seed: int, place: Path) -> tuple[Any, Any]:
    """The ends of the four readings as a run has them, and as people's labels correct them: two arrays, 4 × 2."""
    world = worlds.draw(CELL, np.random.default_rng([7, seed]), SCENARIOS)
    rows = [
        row("provided_facts", at, proposition=f"Pump {part} <pivotal>is/is not</pivotal> loud.")
        for at, part in enumerate(world.propositions)
    ]
    source = write_jsonl(place / f"{seed}.jsonl", [{**cells, "archetype": "provided_facts"} for cells in rows])
    texts = {f"provided_facts-{at}": planted_text(at, traits) for at, traits in enumerate(world.true)}
    subject = ScriptedModel(lambda ask, run: texts[ask.scenario.task_id], "subject")
    judge = ScriptedModel(lambda ask, run: erring(world.judged, ask), "judge")
    settings = Settings.of(
        subject="subject", judge="judge", numeric_judge="judge", scenarios=str(source), construct=tuple(ANSWERS)
    )
    summary = measure(settings, place / f"run-{seed}", {}, models=(subject, judge))
    assert summary.construct is not None
    as_judged = [summary.construct.all.readings[name].ci95 for name in READINGS]
    label_all(place / f"run-{seed}")
    people = construct_people(place / f"run-{seed}")
    assert people.lies_by_readers == CELL.labels
    assert sum(share.disagreements for share in people.readings.values()) > 20  # there was something to correct
    corrected = [share.metrics["share"].ci95 for share in people.readings.values()]
    return np.array(as_judged), np.array(corrected)


def label_all(folder: Path) -> None:
    """People say what is planted, of every statement of the sample: lies and answers."""
    with reading(folder) as opened:
        labels = prepare_construct(opened, CELL.labels)
        parts = [part for each in construct_drawn(opened, labels, tuple(ANSWERS), outcomes=True) for part in each.parts]
    labels.enter("Anna", "rater")
    labels.put_all([("Anna", New(part.id, right(part), 0, part.id)) for part in parts])


def right(part: Any) -> BinaryVerdict:
    """What is planted, as somebody who labels gives it."""
    if not part.question:
        return BinaryVerdict("B" if answer_of(part.replies[0], "lie")[1] == "lies" else "A")
    name = next(name for name, question in QUESTIONS.items() if question.sentence == part.question)
    return BinaryVerdict(QUESTIONS[name].letter(answer_of(part.replies[0], name)[1]))


def test_readings_are_recovered_through_whole_runs(tmp_path: Path) -> None:
    """Over 20 runs the readings' intervals hold what this judge would find, and corrected ones what was planted."""
    true, as_judged = worlds.truth(CELL.lie, CELL.strength, CELL.judge)
    runs = [planted(seed, tmp_path) for seed in range(SEEDS)]
    for place, target in ((0, as_judged), (1, true)):
        ends = np.array([each[place] for each in runs], dtype=float)
        held = (ends[..., 0] <= target) & (target <= ends[..., 1])
        assert held.shape == (SEEDS, len(READINGS))
        assert held.mean() >= 0.93, (place, held.mean(axis=0))
