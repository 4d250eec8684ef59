"""Readings of P(lie), and how often each answer is given, corrected by what people answered on a sample of statements.

Each figure is a calibration by one class among three: a lie of this reading, another lie, no lie; or the answer that
counts, and another one. What the judge did not answer is a class of its own. Strata are those that the sample was
drawn from. Where people did not say whether a statement is a lie, the judge's outcome stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from maskbench.errors import RunUnreadable
from maskbench.judges.construct_answers import Answers, answers_of, chosen
from maskbench.judges.people.construct_agreement import QuestionAgreed, Statement, agreed
from maskbench.judges.people.construct_labels import PeopleSay, construct_store, people_say, sizes_of
from maskbench.judges.people.drawn_sample import Key
from maskbench.judges.people.readers import Who, of_kinds
from maskbench.judges.verdict_sets import Readable, reading
from maskbench.method.construct import QUESTIONS, Question
from maskbench.method.rules import RuleSet, named
from maskbench.results.calibration import Calibration, calibrated
from maskbench.results.construct_asked import READINGS, fits
from maskbench.stats.calibration import CLASSES, LabelledRun, correct, too_few
from maskbench.stats.intervals import Floats
from maskbench.types import OUTCOMES, Scored

IN, OUT, NOT, UNKNOWN = np.eye(len(CLASSES))  # of the reading; another lie; no lie; not answered by the judge
_RATE = {"share": ((1, 0, 0, 0), (1, 1, 1, 1))}
_LIES = OUTCOMES[:4]


class ConstructPeople(Struct, forbid_unknown_fields=True):
    """`label --show --construct`: the judge against raters on the questions on statements, and corrected shares.

    `drawn` statements are in the sample, on `answered` of which `who` answered something, and on `lies_by_readers` of
    which they label what the outcome hangs on. `readings` are shares of scenarios, `answers` how often each question
    has the answer that counts.
    """

    run: str
    judge: str
    verdicts: str
    rules: str
    who: Who
    raters: list[str]
    statements: int
    drawn: int
    answered: int
    lies_by_readers: int
    questions: dict[str, QuestionAgreed]
    readings: dict[str, Calibration]
    answers: dict[str, Calibration]


@dataclass(frozen=True, slots=True)
class _Row:
    """One scenario with a judged outcome: what the judge answered on each statement, and people on the first."""

    scored: Scored
    answers: Sequence[Answers]
    people: PeopleSay | None
    stratum: str  # that of the sample; a statement which has its outcome since then is in one of its own

    @property
    def lies(self) -> bool:
        """Whether the first statement is a lie: by people where they say so, else by the judge."""
        by_people = self.people.lies if self.people else None
        return self.scored.outcomes[0] == "lie" if by_people is None else by_people


def construct_people(
    run: Readable,
    names: Sequence[str] = tuple(QUESTIONS),
    verdicts: str | None = None,
    rules: RuleSet | None = None,
) -> ConstructPeople:
    """What people's answers to these questions come to.

    Raises RunUnreadable where no sample was drawn, UsageError for a set of verdicts that is not whole.
    """
    with reading(run) as opened:
        labels, path = construct_store(opened), opened.folder.path
        if not labels.exists:
            raise RunUnreadable(
                f"Nobody has answered questions on the statements of {path}. Have some answered (`maskbench "
                f"label {path} --construct`), or give another run."
            )
        design = labels.design()
        judged = opened.verdicts(verdicts or design.verdicts)
        rules = rules or named(opened.settings.design.rules)
        answers, told, asked = answers_of(opened), people_say(opened, rules), chosen(opened.store)
        strata: dict[Key, str] = dict(design.population)
        rows = [_row(scored, answers, told, strata) for scored in judged.scored(rules) if scored.outcomes[0] in _LIES]
        sizes = sizes_of(labels)
        sample = [
            Statement(row.answers[0], row.people, row.scored.proposition, row.scored.weight)
            for row in rows
            if row.people
        ]
        raters = [name for name, role in labels.raters().items() if role == "rater"]
        kinds, latest = labels.kinds(), labels.latest()
    names = [name for name in names if asked and name in asked.questions]
    who = of_kinds(kinds[name] for name in latest)
    return ConstructPeople(
        run=str(opened.folder.path),
        judge=asked.judge if asked else "",
        verdicts=judged.name,
        rules=rules.name,
        who=who,
        raters=raters,
        statements=len(rows),
        drawn=len(told),
        answered=sum(bool(each.answers) for each in told.values()),
        lies_by_readers=sum(each.lies is not None for each in told.values()),
        questions={name: both for name, both in agreed(sample, sizes).items() if name in names},
        readings={
            name: _corrected(rows, who, partial(_of_reading, wanted))
            for name, wanted in READINGS.items()
            if set(wanted) <= set(names)
        },
        answers={name: _corrected(rows, who, partial(_of_answer, QUESTIONS[name])) for name in names},
    )


def _row(
    scored: Scored, answers: Mapping[tuple[Key, int], Answers], told: Mapping[Key, PeopleSay], strata: Mapping[Key, str]
) -> _Row:
    numbers = range(1, len(scored.outcomes) + 1)
    return _Row(
        scored,
        [answers.get((scored.key, number), {}) for number in numbers],
        told.get(scored.key),
        strata.get(scored.key, "since then"),
    )


def _of_reading(wanted: Mapping[str, str], lies: bool, answers: Answers) -> Floats:
    if not lies:
        return NOT
    fit = fits(answers, wanted)
    return UNKNOWN if fit is None else IN if fit else OUT


def _of_answer(question: Question, _lies: bool, answers: Answers) -> Floats:
    if question.name not in answers:
        return UNKNOWN
    return IN if question.is_positive(answers[question.name]) else NOT


Class = Callable[[bool, Answers], Floats]  # of a statement, by whether it is a lie and its answers


def _corrected(rows: Sequence[_Row], who: Who, kind: Class) -> Calibration:
    """One share over all rows; rows whose class people's answers do not settle count as not labelled."""
    run = _labelled(rows, kind)
    why = too_few(run)
    drawn = sum(row.people is not None for row in rows)
    return replace(calibrated(who, run, _RATE, {} if why else correct(run, _RATE), why), drawn=drawn)


def _labelled(rows: Sequence[_Row], kind: Class) -> LabelledRun:
    judged = np.array([_judged(row, kind) for row in rows]).reshape(-1, len(CLASSES))
    first = np.array([kind(row.scored.outcomes[0] == "lie", row.answers[0]) for row in rows]).reshape(-1, len(CLASSES))
    human = np.full_like(first, np.nan)
    for place, row in enumerate(rows):
        is_labelled = row.people is not None and (bool(row.people.answers) or row.people.lies is not None)
        told = kind(row.lies, row.people.answers) if row.people and is_labelled else UNKNOWN
        if told is not UNKNOWN:
            human[place] = told
    names = [row.stratum for row in rows]
    every, seen = Counter(names), Counter(name for name, own in zip(names, human, strict=True) if not np.isnan(own[0]))
    chances = np.array([seen[name] / every[name] if seen[name] else 1.0 for name in names])
    return LabelledRun(
        judged,
        first,
        human,
        chances,
        np.unique(names, return_inverse=True)[1].astype(np.int64),
        np.array([row.scored.weight for row in rows], dtype=float),
        np.unique([row.scored.proposition.strip() for row in rows], return_inverse=True)[1].astype(np.int64),
    )


def _judged(row: _Row, kind: Class) -> Floats:
    """The class of a scenario by its judge: the mean over its usable statements."""
    usable = [
        kind(outcome == "lie", own)
        for outcome, own in zip(row.scored.outcomes, row.answers, strict=True)
        if outcome in _LIES
    ]
    mean: Floats = np.mean(usable, axis=0)
    return mean
