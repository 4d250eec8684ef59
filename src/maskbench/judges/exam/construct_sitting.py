"""A judge sits the papers for the questions on statements: it is asked as `run --construct` asks it.

The texts are stored as a run's statements are, and the run's own flow takes them to answers, so that an exam goes on
where it stopped, and what failed is asked again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from maskbench.judges.exam.construct_marks import ConstructScore, marked
from maskbench.judges.exam.construct_papers import construct_paper
from maskbench.judges.exam.exam_json import ExamRecord, ExamUsage
from maskbench.judges.exam.marks import Answer
from maskbench.judges.exam.papers import Stored
from maskbench.judges.exam.questions import Paper, Question
from maskbench.judges.exam.sitting import How, Sitting, held, still_to_ask
from maskbench.method.asks import subject_asks
from maskbench.method.construct import QUESTIONS, as_typed, form, named, prompts_hash, question_ask
from maskbench.method.steps import Known, Step
from maskbench.models.hf.opening import Stock
from maskbench.runs.folder import RunFolder
from maskbench.runs.protocol import Pass, asking
from maskbench.runs.questions import set_of
from maskbench.runs.store import Store
from maskbench.runs.watching import Unwatched, Watcher
from maskbench.settings import Settings
from maskbench.types import Ask, Failure, Judgement, Model, Scenario


@dataclass(frozen=True, slots=True)
class ConstructResult:
    """A finished exam on these questions: its score and answers, and who sat it at which cost."""

    path: Path
    paper: Paper
    about: ExamRecord
    answers: tuple[Answer, ...]
    score: ConstructScore
    usage: ExamUsage


def examine_construct(
    settings: Settings,
    out: Path,
    environ: Mapping[str, str] | None = None,
    watcher: Watcher | None = None,
    command: Sequence[str] = (),
    judge: Model | None = None,
    paper: Paper | None = None,
) -> ConstructResult:
    """Have the judge of these settings answer the papers, or take the exam in `out` up again.

    `judge` is a model of one's own, whose name the settings have to give. Raises as `sitting.examine` does.
    """
    sitting = _sitting(settings, out, paper)
    return held(sitting, How(environ or {}, watcher or Unwatched(), command, judge, Stock()), 1, sitting.marked)


def forecast_construct(settings: Settings, out: Path | None) -> tuple[int, float]:
    """How many answers are still to be had, and about how many tokens their requests hold; asks nothing."""
    return still_to_ask(_sitting(settings, out or Path()), out)


def _sitting(settings: Settings, out: Path, paper: Paper | None = None) -> _ConstructSitting:
    """The sitting on the questions that the settings name, or on all."""
    settings = settings.having(construct=settings.design.construct or tuple(QUESTIONS))
    hashes = " ".join(prompts_hash(question, settings.judging.style) for question in named(settings.design.construct))
    prompts = replace(form(settings.judging.style), hash=hashlib.sha256(hashes.encode()).hexdigest())
    whole = paper or construct_paper(settings.judging.judge)
    return _ConstructSitting(settings, RunFolder(out), _about(whole, settings.design.construct), prompts, whole)


def _about(paper: Paper, names: Sequence[str]) -> Paper:
    """The part of a paper that is about these questions."""
    return replace(paper, questions=tuple(question for question in paper.questions if question.rule in names))


@dataclass(frozen=True, slots=True)
class _ConstructSitting(Sitting):
    """One judge before the papers on statements; `whole` is the paper with all questions."""

    whole: Paper

    def named_otherwise(self, before: ExamRecord) -> str:
        """That the exam is on this same paper, and other questions were named; empty where no choice of them fits."""
        choices = (names for size in range(1, 1 + len(QUESTIONS)) for names in combinations(QUESTIONS, size))
        for names in choices:
            part = _about(self.whole, names)
            if len(part.questions) == before.paper.questions and part.hash == before.paper.hash:
                return (
                    f"on --construct {as_typed(names)}, and this one asks for "
                    f"{as_typed(self.settings.design.construct)}. Give --construct {as_typed(names)} to go on with "
                    "it, or give this exam another --out."
                )
        return ""

    def stored(self) -> Iterator[Stored]:
        """A text is stored once, as the statement of its scenario, whatever is asked about it."""
        for question in {question.scenario.key: question for question in self.paper.questions}.values():
            asks = subject_asks(question.scenario, self.settings)
            yield Stored(next(ask for ask in asks if ask.call == "statement"), 1, question.replies[0])

    def request(self, question: Question) -> Hashable:
        """Each question on a text is asked by itself."""
        return question.scenario.key, question.elicitation

    def asks(self) -> Iterator[tuple[Question, Ask]]:
        """What the judge is asked for each question of the paper."""
        style = self.settings.judging.style
        for question in self.paper.questions:
            yield question, question_ask(QUESTIONS[question.rule], question.scenario, question.replies[0], style=style)

    def passes(self, store: Store, how: How, repetition: int) -> Iterator[Pass]:
        """What a run with `--construct` asks, as far as a paper has a right answer to it."""
        wanted = {(question.scenario.key, question.elicitation) for question in self.paper.questions}
        every = asking(self.settings, store)

        def steps(scenario: Scenario, known: Known) -> list[Step]:
            found = every.task(scenario, known)
            return [step for step in found if (scenario.key, step.fills[0].elicitation) in wanted]

        yield replace(every, task=steps)

    def verdicts(self, repetition: int) -> str:
        """The set that answers are kept in: these papers are sat once."""
        return set_of(self.settings.judging.judge)

    def given(self, store: Store, repetition: int, question: Question) -> Judgement | Failure | None:
        """What the judge answered to a question; None where it was not asked."""
        return store.judgements(set_of(self.settings.judging.judge), question.scenario).get((question.elicitation, 1))

    def marked(self, store: Store, repeat: int) -> ConstructResult:
        """The score of what is stored."""
        answers = self.answers(store, repeat)
        path, usage = self.folder.path, self.used(store, repeat)
        return ConstructResult(path, self.paper, self.about(), tuple(answers), marked(answers), usage)
