"""A judge sits its exam: it is asked about the replies of a paper exactly as in a run, and into a run's folder.

The paper's replies stand where a subject's would, and what is asked about them is asked as by `maskbench judge`: each
repetition is a verdict set.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from maskbench.asking.begin import Taken, prepare
from maskbench.asking.judging.judge_again import Job, begin, check_judging, set_job
from maskbench.asking.watching import Unwatched, Watcher
from maskbench.errors import UsageError
from maskbench.method.asks import VERDICTS
from maskbench.method.forms import prompts_of
from maskbench.method.forms.hearing import Hearing
from maskbench.method.forms.prompts import Prompts
from maskbench.method.steps import REPLIES, Known, Slot, Step
from maskbench.method.tasks import verdicts
from maskbench.scenarios import Key, Remarks
from maskbench.scenarios.exam.marks import Answer, is_lost
from maskbench.scenarios.exam.papers import Stored, paper_for, replies_of
from maskbench.scenarios.exam.questions import JOINT, Paper, Question, stages
from maskbench.settings import Protocol, Settings, judge_sampling, reply_key, seed_of
from maskbench.store.exam_result import ExamResult, answers, result, set_of
from maskbench.store.folder import ExamFolder
from maskbench.store.protocol import Pass
from maskbench.store.store import Store
from maskbench.types import Ask, Kind, Model, Reply, Scenario

MOST = 20  # repetitions


def exam_settings(judge: str, style: str = "reasoning", protocol: Protocol = "maskbench") -> Settings:
    """The settings under which a judge sits its exam: those of a run with it, whose subject was scripted."""
    return Settings.of(
        subject="scripted/exam",
        judge=judge,
        numeric_judge=judge,
        scenarios="exam",  # until its paper is known, which it is called by
        judge_sampling=judge_sampling(protocol, style),
        judge_style=style,
        protocol=protocol,
        beliefs=JOINT,
    )


def examine(
    settings: Settings,
    out: Path,
    repeat: int = 1,
    environ: Mapping[str, str] | None = None,
    watcher: Watcher | None = None,
    command: Sequence[str] = (),
    judge: Model | None = None,
    paper: Paper | None = None,
    stop_early: bool = False,
) -> ExamResult:
    """Have the judge of these settings sit its exam `repeat` times, or take the exam in `out` up again.

    `judge` is a model of one's own, whose name the settings have to give; `paper` another exam than the judge's kind
    sits. With `stop_early` the first sitting ends, and no other begins, at the first of its stages after which the bar
    is missed whatever the rest would bring. It runs a loop of its own. Raises UsageError, ModelError, RunError
    (RunMismatch where `out` holds another exam), or Interrupted; whatever was answered is kept.
    """
    exam = _exam(settings, out, paper)
    return exam.sat(repeat, environ or {}, watcher or Unwatched(), command, judge, stop_early)


def forecast(settings: Settings, out: Path | None, repeat: int = 1, paper: Paper | None = None) -> tuple[int, float]:
    """How many questions are still to be judged, and about how many tokens their requests hold; asks nothing."""
    with TemporaryDirectory() as nowhere:
        exam = _exam(settings, out if out and ExamFolder(out).exists else Path(nowhere), paper)
        with closing(exam.folder.store() if exam.folder.exists else exam.begin(repeat, Unwatched())) as store:
            sittings = exam.sittings(store, repeat)
            return sum(each.left_out() for each in sittings), sum(each.job().left()[1] for each in sittings)


def default_name(judge: str, moment: str) -> str:
    """The name of a new exam's folder: time and judge."""
    return f"{moment}-{re.sub(r'[^A-Za-z0-9.=-]+', '-', judge).strip('-.')[:60]}"


def _exam(settings: Settings, out: Path, paper: Paper | None) -> _Exam:
    paper = paper or paper_for(settings.judging.judge)
    return _Exam(settings.having(scenarios=paper.name), ExamFolder(out), prompts_of(settings), paper)


@dataclass(frozen=True, slots=True)
class _Exam:
    """A judge and its paper, in a folder."""

    settings: Settings
    folder: ExamFolder
    prompts: Prompts
    paper: Paper

    def sat(
        self,
        repeat: int,
        environ: Mapping[str, str],
        watcher: Watcher,
        command: Sequence[str],
        own: Model | None,
        stop_early: bool = False,
    ) -> ExamResult:
        """Have every repetition done, as far as it is not, and what is stored then marked."""
        if not 1 <= repeat <= MOST:
            raise UsageError(f"--repeat {repeat}: give a number from 1 to {MOST}.")
        judges: dict[Kind, Model] | None = {"binary": own, "numerical": own} if own else None
        check_judging(self.folder, self.settings, VERDICTS, environ, judges, is_new=not self.folder.exists)
        if restored := self.folder.restore():
            watcher.tell(restored)
        with self.folder.writing("give this exam another --out"), closing(self.begin(repeat, watcher)) as store:
            for sitting in self.sittings(store, repeat, stop_early):
                if not (sitting.is_done() or sitting.is_lost()):
                    begin(job := sitting.job())
                    job.carry_out(environ, watcher, command, judges)
                if sitting.is_lost():
                    break
            return result(self.folder, store, self.paper, repeat)

    def begin(self, repeat: int, watcher: Watcher) -> Store:
        """The database with the paper's replies in it, new or checked to be of this same exam."""
        known = {question.scenario.key: question.scenario for question in self.paper.questions}
        taken = Taken(dict.fromkeys(known, 1.0), self.paper.hash, iter(known.values()), Remarks(), exam=True)

        def is_whole(store: Store) -> bool:
            return all(sitting.is_done() for sitting in self.sittings(store, repeat))

        store = prepare(self.folder, self.settings, self.prompts, taken, watcher, is_whole)
        try:
            asyncio.run(self._fill(store))
        except BaseException:
            store.close()
            raise
        return store

    async def _fill(self, store: Store) -> None:
        """Put the replies in, where they are not there yet; a store writes in the background of a loop."""
        replies = list(chain.from_iterable(_replies(self.paper, self.settings).values()))
        if store.usage(VERDICTS)["subject"]["answers"] < len(replies):
            for ask, run, text in replies:
                key = reply_key(self.settings, ask, run)
                store.put_reply(key, seed_of(key), ask, run, Reply(text))
            store.flush()

    def sittings(self, store: Store, repeat: int, stop_early: bool = False) -> list[_Sitting]:
        """The repetitions, of which the first may end early."""
        replies = _replies(self.paper, self.settings)
        return [
            _Sitting(self, store, replies, number, stages(self.paper) if stop_early and number == 1 else ())
            for number in range(1, repeat + 1)
        ]


@dataclass(frozen=True, slots=True)
class _Sitting:
    """One repetition of an exam; where it has stages, it ends once the bar cannot be reached any more."""

    exam: _Exam
    store: Store
    replies: Mapping[Key, Sequence[Stored]] = field(repr=False)
    number: int
    stages: Sequence[Collection[str]]  # by the ids of items

    @property
    def name(self) -> str:
        """The set that its verdicts are kept in."""
        return set_of(self.number)

    @property
    def paper(self) -> Sequence[Question]:
        """The questions."""
        return self.exam.paper.questions

    def job(self) -> Job:
        """The job of its set of verdicts."""
        exam = self.exam
        return set_job(exam.folder, self.store, exam.settings, self.name, exam.prompts, self.passes)

    def hearing(self) -> Hearing:
        """The hearing: with the repetition in the keys nothing is shared, and no seed goes out twice."""
        settings, prompts = self.exam.settings, self.exam.prompts
        keyed = prompts.hash if self.number == 1 else f"{prompts.hash} {self.number}"
        return Hearing(settings, replace(prompts, hash=keyed), self.name, settings.judging.shares_verdicts)

    def passes(self) -> list[Pass]:
        """What takes the replies to verdicts."""

        def alike(scenario: Scenario) -> tuple[Slot, ...]:
            return tuple(map(_slot, self.replies[scenario.key]))

        hearing = self.hearing()
        every = Pass(verdicts(hearing), hearing, after=self._as_replied, alike=alike)
        in_stages = [_Stage(self, items) for items in self.stages]
        return [replace(every, only=stage, before=stage.begin) for stage in in_stages] or [every]

    def _as_replied(self, scenario: Scenario, known: Known) -> list[Step]:
        """The replies of the paper that are not known yet."""
        replies = [stored for stored in self.replies[scenario.key] if _slot(stored) not in known]
        return [Step("subject", (_slot(stored),), partial(_asked, stored.ask)) for stored in replies]

    def answers(self) -> list[Answer]:
        """What is stored, by question."""
        return answers(self.store, self.paper, self.number)

    def is_done(self) -> bool:
        """Whether every question has its verdict."""
        return self.left_out() == 0

    def left_out(self) -> int:
        """How many questions have no verdict."""
        return len(self.paper) - sum(answer.right is not None for answer in self.answers())

    def is_lost(self) -> bool:
        """Whether a sitting that may end early misses the bar, whatever the rest would bring."""
        if not self.stages:
            return False
        had = self.answers()
        asked = {answer.question.scenario.key for answer in had}
        unasked = [question for question in self.paper if question.scenario.key not in asked]
        return bool(had and unasked) and is_lost(had, unasked)


class _Stage:
    """The scenarios of a stage, by their keys; none once the exam is lost."""

    def __init__(self, sitting: _Sitting, items: Collection[str]) -> None:
        """`items` are the ids of those that the stage is about."""
        self._sitting, self._is_begun = sitting, False
        self._keys = {each.scenario.key for each in sitting.paper if each.item in items}

    def begin(self) -> None:
        """Look whether the exam is lost, once."""
        if not self._is_begun:
            self._is_begun = True
            self._keys = set() if self._sitting.is_lost() else self._keys

    def __contains__(self, key: object) -> bool:
        return key in self._keys


def _replies(paper: Paper, settings: Settings) -> dict[Key, list[Stored]]:
    """The replies of a paper by scenario, each once."""
    replies: dict[Key, dict[Slot, Stored]] = defaultdict(dict)
    for question in paper.questions:
        replies[question.scenario.key] |= {_slot(stored): stored for stored in replies_of(question, settings)}
    return {key: list(stored.values()) for key, stored in replies.items()}


def _slot(stored: Stored) -> Slot:
    return Slot(REPLIES, stored.ask.elicitation, stored.run)


def _asked(ask: Ask, _: tuple[Slot, ...]) -> Ask:
    return ask
