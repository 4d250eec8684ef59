"""The result of an exam: the marks of the answers in its folder. Nobody is asked.

Each repetition is a verdict set of the folder, of which the first is its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from maskbench.errors import MaskbenchError, RunMismatch, RunUnreadable, UsageError
from maskbench.method.asks import VERDICTS
from maskbench.method.forms import form_of
from maskbench.scenarios.exam.marks import Answer, Score, score
from maskbench.scenarios.exam.papers import paper_for
from maskbench.scenarios.exam.questions import LOGS, Paper, Question
from maskbench.settings import Settings
from maskbench.store.folder import RECORD, ExamFolder
from maskbench.store.record import Record
from maskbench.store.store import Store
from maskbench.store.verdict_sets import JudgeUsage

_AGAIN = "repetition-"  # what the name of a verdict set begins with after the first repetition


class ExamUsage(JudgeUsage, forbid_unknown_fields=True):
    """Answers, tokens as the endpoint counts them, and seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class ExamResult:
    """A finished exam: its score and answers, and who sat what at which cost."""

    path: Path
    paper: Paper
    about: Record
    answers: tuple[Answer, ...]
    score: Score
    usage: ExamUsage
    unasked: int = 0  # questions that an exam which stopped early did not come to


def set_of(repetition: int) -> str:
    """The name of the verdict set that a repetition is kept in."""
    return VERDICTS if repetition == 1 else f"{_AGAIN}{repetition}"


def answers(store: Store, questions: Iterable[Question], repetition: int) -> list[Answer]:
    """The judge's answers to these questions in one repetition; a question that it was not asked is left out."""
    found = []
    for question in questions:
        judged = store.samples(question.scenario, name := set_of(repetition)).judgements(name)
        own = [given for (elicitation, _), given in judged.items() if elicitation == question.elicitation]
        found += [Answer(question, repetition, given) for given in own]
    return found


def result(folder: ExamFolder, store: Store, paper: Paper, repeat: int) -> ExamResult:
    """The marks of what is stored of so many repetitions."""
    had = [answer for number in range(1, repeat + 1) for answer in answers(store, paper.questions, number)]
    used = [store.usage(set_of(number))["judge"] for number in range(1, repeat + 1)]
    facts = ["seconds", *(f"seconds {set_of(number)}" for number in range(2, repeat + 1))]
    usage = ExamUsage(
        **{name: sum(each[name] for each in used) for name in used[0]}, seconds=sum(map(store.seconds, facts))
    )
    unasked = len(paper.questions) - sum(answer.repetition == 1 for answer in had)
    return ExamResult(folder.path, paper, folder.read(), tuple(had), score(had), usage, unasked)


def stored_result(path: Path) -> ExamResult:
    """The result of the exam in this folder, from its stored answers; asks nobody.

    Raises RunUnreadable where there is none, or none with an answer, and RunMismatch for a paper of another version.
    """
    record = ExamFolder(path).read()
    if (paper := paper_of(record)) is None:
        raise RunMismatch(
            f"{path} holds an exam on the paper {record.scenarios.name} as maskbench {record.maskbench} had it, and it "
            "has been rewritten since. Use that maskbench, or examine the judge anew into another --out."
        )
    folder = ExamFolder(path)
    with closing(folder.store()) as store:
        if not answers(store, paper.questions, 1):
            raise RunUnreadable(f"{path} holds an exam without an answer so far. Take it up again.")
        return result(folder, store, paper, 1 + sum(name.startswith(_AGAIN) for name in record.verdict_sets))


def paper_of(record: Record) -> Paper | None:
    """The paper that was sat, whole or short; None where it is none of this version's."""
    papers = []
    for in_short, logs in product((False, True), (False, True)):
        with suppress(UsageError):  # no short paper for judges that read no language, none on logs for rules
            papers.append(paper_for(record.settings.judging.judge, in_short, logs))
    about = record.scenarios
    return next((paper for paper in papers if (paper.name, paper.hash) == (about.name, about.hash)), None)


def exam_of(
    judge: str, settings: Settings, prompts: str, places: Iterable[Path], *, logs: bool = False
) -> ExamResult | None:
    """The last exam below these folders that this judge sat, asked as in the settings of a run; None for none.

    One on reports on a log is about another prompt: it counts for runs of such reports (`logs`), and for no others.

    `prompts` is the hash of the run's judge prompts, which a judge that is a rule does not read. An exam on a paper
    that this version does not have, and one that is damaged, tell nothing.
    """
    fitting = [
        (about.created, folder)
        for folder, about in _records(places)
        if about.settings.judging.judge == judge
        and about.scenarios.name.startswith(LOGS) == logs
        and _asked_alike(about, settings, prompts)
    ]
    for _, folder in sorted(fitting, reverse=True):
        with suppress(MaskbenchError):
            return stored_result(folder)
    return None


def _records(places: Iterable[Path]) -> Iterator[tuple[Path, Record]]:
    for place in dict.fromkeys(place.resolve() for place in places):
        for file in sorted(place.glob(f"*/{RECORD}")) if place.is_dir() else ():
            with suppress(MaskbenchError):
                yield file.parent, ExamFolder(file.parent).read()


def _asked_alike(about: Record, settings: Settings, prompts: str) -> bool:
    how, judging = about.settings.judging, settings.judging
    same = (form_of(how).style, how.sampling) == (form_of(judging).style, judging.sampling)
    return same and (about.prompts.hash == prompts or not judging.reads_prompts)
