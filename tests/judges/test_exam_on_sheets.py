"""The exam of a judge that judges neutral replies together: sheets that differ in a neighbour, and what they show."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from flows import command
from maskbench.judges.exam.marks import is_right
from maskbench.judges.exam.papers import NEIGHBOUR, on_sheets, paper_for, replies_of
from maskbench.judges.exam.questions import Paper, Question, written
from maskbench.judges.exam.result import Result
from maskbench.judges.exam.sitting import exam_settings, examine, forecast
from maskbench.method.forms.case import judged
from maskbench.method.proposition import options
from maskbench.settings import Settings
from maskbench.types import Ask, BinaryVerdict, Failure, Letter, Place, Reply

WRITTEN = written()
SETTINGS: Settings = exam_settings("the judge").having(judge_beliefs="together")


def few(number: int) -> Paper:
    """The first belief replies of the written paper, in both orders."""
    beliefs = [q for q in WRITTEN.questions if q.elicitation and isinstance(q.right, BinaryVerdict)]
    return replace(WRITTEN, questions=tuple(beliefs[:number]))


Judging = Callable[[Ask, list[Letter]], Sequence[Letter | None]]


class Knowing:
    """A judge that knows every right verdict, and what the neighbour asserts; `habit` is what it makes of them."""

    together = True

    def __init__(self, paper: Paper, habit: Judging) -> None:
        self.name = "the judge"
        self._habit = habit
        self._right = {(q.scenario.proposition, q.replies[0]): q.right for q in paper.questions}
        self.requests = 0

    async def ask(self, ask: Ask) -> Sequence[Reply | Failure]:
        self.requests += 1
        letters = self._habit(ask, [self._knows(ask, text) for text in judged(ask).replies])
        entries = [
            {"reason": "r", "code": code, "verdict": letter, "evasion": None}
            for code, letter in zip(judged(ask).codes, letters, strict=True)
            if letter
        ]
        return [Reply(json.dumps({"verdicts": entries}), sent={"temperature": 0})]

    def _knows(self, ask: Ask, text: str) -> Letter:
        first, _ = options(ask.scenario.proposition)
        right = self._right.get((ask.scenario.proposition, text))
        return right.letter if isinstance(right, BinaryVerdict) else "A" if text == first else "B"

    def describe(self) -> dict[str, Any]:
        return {"name": self.name}

    async def close(self) -> None:
        pass


def sat(place: Path, habit: Judging, number: int = 60) -> Result:
    """The exam of a judge with this habit on some belief replies."""
    paper = few(number)
    return examine(SETTINGS, place / "exam", judge=Knowing(paper, habit), paper=on_sheets(paper))


def _neighbour(ask: Ask, letters: list[Letter]) -> Letter:
    return letters[ask.each.index(NEIGHBOUR)]


# The sheets


def test_every_belief_reply_stands_on_two_sheets() -> None:
    """Each item is asked in both orders of its options and beside both neighbours; other questions stay as they are."""
    paper = on_sheets(WRITTEN)
    beliefs = [q for q in WRITTEN.questions if q.elicitation and isinstance(q.right, BinaryVerdict)]
    sheets = [q for q in paper.questions if q.variant]
    assert len(sheets) == 2 * len(beliefs)
    assert {(q.item, q.swapped, q.variant) for q in sheets} == {
        (q.item, q.swapped, variant) for q in beliefs for variant in "AB"
    }
    assert [q for q in paper.questions if not q.variant] == [q for q in WRITTEN.questions if q not in beliefs]
    assert all(q.right == next(b.right for b in beliefs if (b.item, b.swapped) == (q.item, q.swapped)) for q in sheets)


def test_two_sheets_differ_in_one_neighbour_alone() -> None:
    """All replies of both are the same but the neighbour, which asserts the first option on one of them."""
    sheets: dict[tuple[str, bool], dict[str, dict[Place, str]]] = {}
    for question in on_sheets(WRITTEN).questions:
        if question.variant:
            stored = {(s.ask.elicitation, s.run): s.text for s in replies_of(question, SETTINGS)}
            sheets.setdefault((question.item, question.swapped), {})[question.variant] = stored
            assert stored[NEIGHBOUR] == options(question.scenario.proposition)["AB".index(question.variant)]
            assert stored[question.elicitation, question.run] == question.replies[0]
    for both in sheets.values():
        first, other = both["A"], both["B"]
        assert {place for place in first if first[place] != other[place]} == {NEIGHBOUR}
        assert first.keys() == other.keys()


def test_sheets_are_shared_and_hold_what_a_run_could_ask() -> None:
    """A sheet has up to five replies at places that a run has, and more than half of them hold several questions."""
    by_sheet: dict[str, list[Question]] = {}
    for question in on_sheets(WRITTEN).questions:
        if question.variant:
            by_sheet.setdefault(question.scenario.task_id, []).append(question)
    sizes = [len(sheet) for sheet in by_sheet.values()]
    assert max(sizes) <= 4
    assert sum(size > 1 for size in sizes) > len(sizes) / 2
    for sheet in by_sheet.values():
        assert len({(q.elicitation, q.run) for q in sheet}) == len(sheet)
        assert all(question.scenario == sheet[0].scenario for question in sheet)


def test_the_ordinary_papers_keep_their_hash() -> None:
    """Without sheets a paper is the one that older exams were on."""
    assert paper_for("openai/gpt-4o").hash == WRITTEN.hash
    assert paper_for("openai/gpt-4o", together=True).hash != WRITTEN.hash
    assert WRITTEN.hash.startswith("b727ac6488ef")


# What a judge's habits come to


def test_a_judge_that_keeps_replies_apart_moves_nothing(tmp_path: Path) -> None:
    """All pairs are there, none moved, everything is right; one request a sheet, none shared between twins."""
    paper = few(60)
    judge = Knowing(paper, lambda ask, letters: letters)
    result = examine(SETTINGS, tmp_path / "exam", judge=judge, paper=on_sheets(paper))
    assert result.score.neighbours is not None
    assert (result.score.neighbours.pairs, result.score.neighbours.moved) == (60, 0)
    assert result.score.overall.share == 1.0
    assert judge.requests == len({q.scenario.key for q in on_sheets(paper).questions}) == result.usage.answers
    assert next(each for each in result.score.conditions if "neighbour" in each.name).passed


@pytest.mark.parametrize(
    ("habit", "least"),
    [
        (lambda ask, letters: [_neighbour(ask, letters)] * len(letters), 1.0),
        (lambda ask, letters: [letters[0], *letters[:-1]], 0.2),
        (lambda ask, letters: [*letters[1:], letters[-1]], 0.2),
    ],
    ids=["the neighbour's", "the previous one's", "the next one's"],
)
def test_a_judge_that_copies_a_neighbour_is_caught(tmp_path: Path, habit: Judging, least: float) -> None:
    """Verdicts taken from the neighbour, from the reply before or from the one after fail the bar, and are counted."""
    result = sat(tmp_path, habit)
    neighbours = result.score.neighbours
    assert neighbours is not None
    assert neighbours.moved >= least * neighbours.pairs
    assert neighbours.followed == neighbours.moved
    condition = next(each for each in result.score.conditions if "neighbour" in each.name)
    assert not condition.passed
    assert result.score.standing == "not qualified"


def test_a_judge_that_is_wrong_but_steady_is_not_said_to_move(tmp_path: Path) -> None:
    """Being wrong in the same way on both sheets is no dependence on a neighbour."""
    result = sat(tmp_path, lambda ask, letters: ["A"] * len(letters))
    assert result.score.neighbours is not None
    assert result.score.neighbours.moved == 0
    assert result.score.overall.share is not None
    assert result.score.overall.share < 0.7


def test_a_verdict_that_is_left_out_is_a_failure_of_its_question(tmp_path: Path) -> None:
    """The others of the sheet are marked; a pair with a failure is no pair."""
    result = sat(tmp_path, lambda ask, letters: [None, *letters[1:]] if len(letters) > 1 else [None])
    assert result.score.overall.failed > 0
    assert result.score.overall.right == result.score.overall.n > 0
    assert result.score.neighbours is not None
    assert 0 < result.score.neighbours.pairs < 60
    assert all(is_right(answer.question.right, answer.given.verdict) for answer in result.answers if answer.right)  # type: ignore[union-attr]


# By the command line


def test_the_command_sits_it_and_prints_it(tmp_path: Path) -> None:
    """`exam --judge-beliefs together` says how many verdicts moved, also as JSON, and asks nothing again."""
    words = ("exam", "sim-judge", "--judge-beliefs", "together", "--out", tmp_path / "exam")
    shown = command(*words, env={"COLUMNS": "160"})
    assert "of 366 replies got another verdict beside another neighbour" in shown.out
    assert "--judge-beliefs together" in shown.err
    data = orjson.loads(command(*words, "--json", env={}).out)
    assert data["neighbours"] == {"pairs": 366, "moved": 0, "followed": 0}
    assert data["paper"]["name"] == "simulated, beliefs together"
    assert data["judging"]["beliefs"] == "together"


def test_an_exam_in_the_other_form_is_another_one(tmp_path: Path) -> None:
    """A folder with an exam whose replies were judged apart is refused, by the paper that differs."""
    command("exam", "sim-judge", "--out", tmp_path / "exam", env={})
    refused = command("exam", "sim-judge", "--judge-beliefs", "together", "--out", tmp_path / "exam", env={})
    assert refused.code == 2
    assert "with the paper simulated, and this one asks for simulated, beliefs together." in refused.err


def test_the_forecast_counts_sheets_once() -> None:
    """Twice as many verdicts on beliefs are less than twice the tokens, since a sheet is one request."""
    apart = forecast(SETTINGS.having(judge_beliefs="apart"), None, paper=few(120))
    together = forecast(SETTINGS, None, paper=on_sheets(few(120)))
    assert together[0] == 2 * apart[0]
    assert together[1] < 1.5 * apart[1]
