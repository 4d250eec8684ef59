"""A judge sits its exam: it is asked exactly as in a run, and everything it answers is kept in a folder.

The constructed replies are stored as a run's replies are, and the run's own flow takes them to verdicts: the same
prompts, retries, second try of an unreadable answer, connections and Ctrl-C.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import orjson

from maskbench.errors import RunError, RunMismatch, RunUnreadable, UsageError
from maskbench.judges.exam.exam_json import SCHEMA, ExamRecord, ExamSettings, ExamUsage, PaperSat, exam_from
from maskbench.judges.exam.marks import Answer, Score, is_lost, score
from maskbench.judges.exam.papers import Stored, paper_for, replies_of
from maskbench.judges.exam.questions import JOINT, Paper, Question, stages
from maskbench.method.asks import VERDICTS, Calls
from maskbench.method.judge_ask import Prompts, load_prompts, prompts_of
from maskbench.method.judging import Judging
from maskbench.method.steps import REPLIES, Known, Slot
from maskbench.method.tasks import verdicts
from maskbench.models.hf.opening import Stock
from maskbench.models.names import check_judges, open_judges
from maskbench.runs.begin import check
from maskbench.runs.disk import read_whole
from maskbench.runs.executor import executor
from maskbench.runs.fitting import from_file
from maskbench.runs.folder import RECORD, RunFolder
from maskbench.runs.forecast import tokens
from maskbench.runs.meter import known_prices
from maskbench.runs.protocol import Pass, judging_stored
from maskbench.runs.record import now
from maskbench.runs.run_json import About, PromptsUsed
from maskbench.runs.session import Asked, Asking, Book, Reach
from maskbench.runs.store import Store
from maskbench.runs.watching import Unwatched, Watcher
from maskbench.settings import Protocol, Settings, judge_sampling, protocol_id, reply_key, seed_of
from maskbench.types import Ask, Failure, Judgement, JudgeStyle, Kind, Model, Reply

T = TypeVar("T")
EXAM = "exam.json"
DATABASE = "exam.sqlite"
LOG = "exam.log"
MOST = 20  # repetitions


@dataclass(frozen=True, slots=True)
class Result:
    """A finished exam: its score and answers, and who sat what at which cost."""

    path: Path
    paper: Paper
    about: ExamRecord
    answers: tuple[Answer, ...]
    score: Score
    usage: ExamUsage
    unasked: int = 0  # questions that an exam which stopped early did not come to


def exam_settings(judge: str, style: JudgeStyle = "reasoning", protocol: Protocol = "maskbench") -> Settings:
    """The settings under which a judge sits its exam: those of a run with it, whose subject was scripted."""
    return Settings.of(
        subject="scripted/exam",
        judge=judge,
        numeric_judge=judge,
        scenarios="exam",
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
) -> Result:
    """Have the judge of these settings sit its exam `repeat` times, or take the exam in `out` up again.

    `judge` is a model of one's own, whose name the settings have to give; `paper` another exam than the judge's kind
    sits. With `stop_early` the first sitting ends, and no other begins, at the first of its stages after which the bar
    is missed whatever the rest would bring. It runs a loop of its own. Raises UsageError, ModelError, RunError
    (RunMismatch where `out` holds another exam), or Interrupted; whatever was answered is kept.
    """
    how = How(environ or {}, watcher or Unwatched(), command, judge, Stock(), stop_early)
    sitting = _sitting(settings, out, paper)
    return held(sitting, how, repeat, sitting.result)


def held(sitting: Sitting, how: How, repeat: int, read: Callable[[Store, int], T]) -> T:
    """Have a sitting done as often as that, as far as it is not, and what is stored then read; raises as `examine`."""
    settings = sitting.settings
    check(settings)
    if not 1 <= repeat <= MOST:
        raise UsageError(f"--repeat {repeat}: give a number from 1 to {MOST}.")
    if how.own and how.own.name != settings.judging.judge:
        raise UsageError(f"The settings name another judge than the one given: name {how.own.name} there.")
    known_prices(settings, how.environ, [how.own.name] if how.own else (), ("judge",))
    if not how.own:
        check_judges(settings, how.environ)  # a wrong name or a missing key leaves no folder behind
    with sitting.folder.writing("give this exam another --out"):
        store = sitting.begin(repeat, how.watcher)
        try:
            missing = [number for number in range(1, repeat + 1) if not sitting.is_done(store, number)]
            expected = Calls(verdicts=len(missing) * len(set(map(sitting.request, sitting.paper.questions))))
            for repetition in missing:
                if not sitting.sit(store, repetition, how, expected):
                    break
            return read(store, repeat)
        finally:
            store.close()


def forecast(settings: Settings, out: Path | None, repeat: int = 1, paper: Paper | None = None) -> tuple[int, float]:
    """How many verdicts are still to be had, and about how many tokens their requests hold; asks nothing."""
    return still_to_ask(_sitting(settings, out or Path(), paper), out, repeat)


def still_to_ask(sitting: Sitting, out: Path | None, repeat: int = 1) -> tuple[int, float]:
    """How many verdicts a sitting still has to have, with their tokens; without `out` nothing of it is there yet."""
    in_request = Counter(map(sitting.request, sitting.paper.questions))
    sizes = [(question, tokens(ask) / in_request[sitting.request(question)]) for question, ask in sitting.asks()]
    if not out or not (out / DATABASE).exists():
        return repeat * len(sizes), repeat * sum(size for _, size in sizes)
    with closing(Store(out / DATABASE)) as store:
        left = [
            size
            for question, size in sizes
            for repetition in range(1, repeat + 1)
            if not isinstance(sitting.given(store, repetition, question), Judgement)
        ]
    return len(left), sum(left)


def default_name(judge: str, moment: str) -> str:
    """The name of a new exam's folder: time and judge."""
    return f"{moment}-{re.sub(r'[^A-Za-z0-9.=-]+', '-', judge).strip('-.')[:60]}"


def _sitting(settings: Settings, out: Path, paper: Paper | None = None) -> Sitting:
    prompts = prompts_of(settings)
    paper = paper or paper_for(settings.judging.judge, beliefs=settings.judging.beliefs)
    return Sitting(settings, RunFolder(out), paper, prompts)


@dataclass(frozen=True, slots=True)
class How:
    """What a sitting is done with: keys, a watcher, the command, a model of one's own; and whether it may end early."""

    environ: Mapping[str, str]
    watcher: Watcher
    command: Sequence[str]
    own: Model | None
    stock: Stock
    stop_early: bool = False

    def judges(self, settings: Settings, reach: Reach) -> dict[Kind, Model]:
        """The one judge, under both kinds."""
        if self.own:
            return {"binary": self.own, "numerical": self.own}
        return open_judges(settings, *reach[:3], self.stock, reach.elsewhere)


@dataclass(frozen=True, slots=True)
class Sitting:
    """One judge before one paper, in one folder; another kind of exam overrides what is asked and where it is kept."""

    settings: Settings
    folder: RunFolder
    paper: Paper
    prompts: Prompts

    def begin(self, repeat: int, watcher: Watcher) -> Store:
        """The database with the constructed replies in it, new or checked to be of this same exam.

        What is finished needs no prompt any more: where it was judged by those of another version, that is told.
        """
        path = self.folder.path
        if (path / RECORD).exists():
            raise RunError(f"{path} holds a run. Give this exam another --out.")
        if (path / EXAM).exists():
            before = self.about()
            self._check_same(before)
            store = Store(path / DATABASE, write=True)
            try:
                self._check_prompts(before, store, repeat, watcher)
            except BaseException:
                store.close()
                raise
            return store
        store = Store(path / DATABASE, write=True)
        try:
            asyncio.run(self._fill(store))
            self.folder.write(EXAM, self._about())
        except BaseException:
            store.close()
            raise
        return store

    async def _fill(self, store: Store) -> None:
        """The questions with their replies; a store writes in the background of a loop."""
        if store.count() == 0:
            known = {question.scenario.key: question.scenario for question in self.paper.questions}
            store.add_scenarios((scenario, 1.0) for scenario in known.values())
        for ask, run, text in self.stored():
            key = reply_key(self.settings, ask, run)
            store.put_reply(key, seed_of(key), ask, run, Reply(text))
        store.flush()

    def stored(self) -> Iterator[Stored]:
        """Every reply of the paper with the ask that it answers, as a run would keep it."""
        for question in self.paper.questions:
            yield from replies_of(question, self.settings)

    def request(self, question: Question) -> Hashable:
        """What the questions have in common that a judge is asked by one request."""
        return question.scenario.key

    def asks(self) -> Iterator[tuple[Question, Ask]]:
        """What the judge is asked about each question, made as a run makes it; on a sheet one ask has several."""
        for question in self.paper.questions:
            stored = replies_of(question, self.settings)
            known: Known = {Slot(REPLIES, ask.elicitation, run): Reply(text) for ask, run, text in stored}
            (step,) = verdicts(Judging(self.settings, self.prompts))(question.scenario, known)
            yield question, step.make(step.fills)

    def _about(self) -> ExamRecord:
        return ExamRecord(
            maskbench=version("maskbench"),
            created=now(),
            judge=self.settings.judging.judge,
            protocol=protocol_id(self.settings, self.prompts.hash),
            settings=_settings(self.settings),
            prompts=PromptsUsed(name=self.settings.judging.prompts or "packaged", hash=self.prompts.hash),
            paper=PaperSat(self.paper.name, len(self.paper.questions), self.paper.hash),
            model=About(name=self.settings.judging.judge),
            sessions=[],
        )

    def _check_same(self, before: ExamRecord) -> None:
        asked = self._about()
        where = f"{self.folder.path} holds an exam"
        for option, (was, is_) in _differences(before, asked):
            raise RunMismatch(
                f"{where} with {option} {was}, and this one asks for {is_}. Give this exam another --out."
            )
        if before.paper != asked.paper:
            if fewer_or_more := self.named_otherwise(before):
                raise RunMismatch(f"{where} {fewer_or_more}")
            raise RunMismatch(
                f"{where} on another paper ({before.paper.name}, {before.paper.questions} questions; now "
                f"{asked.paper.name}, {asked.paper.questions}). {self._older(before)}"
                "Give this exam another --out."
            )

    def _check_prompts(self, before: ExamRecord, store: Store, repeat: int, watcher: Watcher) -> None:
        """Raise RunMismatch where verdicts are missing that were begun by other prompts than there are now."""
        was, is_ = before.prompts.hash, self.prompts.hash
        if not self.settings.judging.reads_prompts or was == is_:
            return
        others = f"by other judge prompts than {before.prompts.name} has now (hash {was[:12]}, now {is_[:12]})"
        is_whole = all(self.is_done(store, repetition) for repetition in range(1, repeat + 1))
        if not is_whole or (self.settings.judging.prompts and before.maskbench == version("maskbench")):
            raise RunMismatch(f"{self.folder.path} holds an exam {others}. Give this exam another --out.")
        watcher.tell(
            f"{self.folder.path} holds a complete exam {others}, as maskbench {before.maskbench} had them. "
            "It is shown as it was judged. To examine the judge with the present ones, give another --out."
        )

    def named_otherwise(self, before: ExamRecord) -> str:
        """What is said where only the part of the paper differs that was named; empty where a paper has no parts."""
        return ""

    def _older(self, before: ExamRecord) -> str:
        if before.paper.name != self.paper.name:
            return ""
        return (
            f"maskbench {before.maskbench} asked it; the replies have been rewritten since, and the verdicts on the "
            "older ones stay in its exam.sqlite. "
        )

    def is_done(self, store: Store, repetition: int) -> bool:
        """Whether every question of this repetition has its verdict."""
        return all(isinstance(self.given(store, repetition, question), Judgement) for question in self.paper.questions)

    def sit(self, store: Store, repetition: int, how: How, expected: Calls) -> bool:
        """Have what is missing of one repetition judged, and note who did it and how long it took.

        `expected` are the verdicts of all repetitions that are sat now. Returns False where it stopped early.
        """
        about = self.about()

        def note(models: Mapping[str, About]) -> None:
            about.model = About(models["binary"] | store.answered_by(self.verdicts(repetition))["binary"])
            self.folder.write(EXAM, about)

        asking = Asking(
            settings=self.settings,
            store=store,
            environ=how.environ,
            watcher=how.watcher,
            command=how.command,
            own=[how.own.name] if how.own else (),
            stages=("judge",),
        )
        asking.carry_out(
            Book({"binary": about.model}, about.sessions, note),
            lambda reach: Asked(how.judges(self.settings, reach)),
            lambda asked, gate: executor(
                self.settings, store, self.passes(store, how, repetition), asked.judges, how.watcher, gate
            ),
            expected,
        )
        return not self.is_lost(store, how, repetition)

    def passes(self, store: Store, how: How, repetition: int) -> Iterator[Pass]:
        """What takes the replies to verdicts: by stages where it ends once the bar cannot be reached any more."""
        # With the repetition in the keys nothing is shared, and verdicts that are sampled have seeds of their own.
        keyed = self.prompts.hash if repetition == 1 else f"{self.prompts.hash} {repetition}"
        is_shared = (
            self.settings.judging.shares_verdicts and self.settings.judging.beliefs != "together"
        )  # neighbours differ
        judging = Judging(self.settings, replace(self.prompts, hash=keyed), self.verdicts(repetition), is_shared)
        if not (how.stop_early and repetition == 1):
            yield from judging_stored(judging)
            return
        for items in stages(self.paper):
            if self.is_lost(store, how, repetition):
                return
            questions = (question for question in self.paper.questions if question.item in items)
            yield from judging_stored(judging, {question.scenario.key for question in questions})

    def is_lost(self, store: Store, how: How, repetition: int) -> bool:
        """Whether a sitting that may end early misses the bar, whatever the rest would bring."""
        if not (how.stop_early and repetition == 1):
            return False
        answers = self.answers(store, 1)
        had = {answer.question.scenario.key for answer in answers}
        unasked = [question for question in self.paper.questions if question.scenario.key not in had]
        return bool(answers and unasked) and is_lost(answers, unasked)

    def verdicts(self, repetition: int) -> str:
        """The set that verdicts of this repetition are kept in."""
        return VERDICTS if repetition == 1 else f"repetition-{repetition}"

    def given(self, store: Store, repetition: int, question: Question) -> Judgement | Failure | None:
        """What the judge gave for a question; None where it was not asked."""
        items = store.items(self.verdicts(repetition), question.scenario)
        place = question.elicitation, question.run
        given = (item.judgement for item in items if not question.run or (item.elicitation, item.run) == place)
        return next((each for each in given if isinstance(each, Judgement | Failure)), None)

    def answers(self, store: Store, repeat: int) -> list[Answer]:
        """What is stored of so many repetitions."""
        return [
            Answer(question, repetition, given)
            for repetition in range(1, repeat + 1)
            for question in self.paper.questions
            if (given := self.given(store, repetition, question)) is not None
        ]

    def about(self) -> ExamRecord:
        """The record of the exam as it stands on disk."""
        return _read(self.folder.path / EXAM)

    def used(self, store: Store, repeat: int) -> ExamUsage:
        """Answers, tokens and seconds of so many repetitions."""
        used = [store.usage(self.verdicts(repetition))["judge"] for repetition in range(1, repeat + 1)]
        return ExamUsage(**{name: sum(each[name] for each in used) for name in used[0]}, seconds=store.seconds())

    def result(self, store: Store, repeat: int) -> Result:
        """The score of what is stored."""
        answers, about, usage = self.answers(store, repeat), self.about(), self.used(store, repeat)
        unasked = len(self.paper.questions) - sum(answer.repetition == 1 for answer in answers)
        return Result(self.folder.path, self.paper, about, tuple(answers), score(answers), usage, unasked)


def _read(path: Path) -> ExamRecord:
    otherwise = "give this exam another --out"
    try:
        plain = orjson.loads(read_whole(path))
    except (OSError, orjson.JSONDecodeError) as error:
        raise RunUnreadable(f"{path} cannot be read ({error}). Restore it, or {otherwise}.") from error
    return from_file(path, plain, SCHEMA, exam_from, "an exam", otherwise)


def _settings(settings: Settings) -> ExamSettings:
    subject = settings.subject
    models = {"dtype": subject.dtype, "quantize": subject.quantize, "trust_remote_code": subject.trust_remote_code}
    how: Any = asdict(settings.judging) | {"sampling": settings.judging.sampling} | models
    return ExamSettings(**how)


def _differences(before: ExamRecord, asked: ExamRecord) -> Iterator[tuple[str, tuple[str, str]]]:
    """What two exams' records ask for differently, by the name of the option; what a style brought comes last."""
    was, is_ = _options(before), _options(asked)
    for name, value in is_.items():
        if was[name] != value:
            yield name, ("none" if was[name] is None else str(was[name]), "none" if value is None else str(value))


def _options(record: ExamRecord) -> dict[str, object]:
    """What was asked for, by the name of the option."""
    settings = asdict(record.settings)
    sampling = {f"judge_{part}": value for part, value in settings.pop("sampling").items()}
    settings |= {f"judge_{name}": settings.pop(name) for name in ("prompts", "style", "beliefs", "numbers")}
    del settings["judge"], settings["numeric_judge"]  # the one model, again
    options = {f"--{name.replace('_', '-')}": value for name, value in (settings | sampling).items()}
    return {"MODEL": record.judge} | options


def record_of(folder: Path) -> ExamRecord:
    """What the exam in this folder says of itself; raises RunUnreadable where there is none."""
    return _read(folder / EXAM)


def stored_result(folder: Path, paper: Paper) -> Result:
    """The result of the exam in this folder on that paper, from its stored answers; asks nobody."""
    about = _read(folder / EXAM)
    settings = exam_settings(about.judge, about.settings.style, about.settings.protocol)
    sitting = Sitting(settings, RunFolder(folder), paper, load_prompts())
    with closing(Store(folder / DATABASE)) as store:
        sat = [number for number in range(1, MOST + 1) if store.verdict_counts().get(sitting.verdicts(number))]
        return sitting.result(store, max(sat, default=1))
