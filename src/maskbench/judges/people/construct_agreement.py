"""How far the judge agrees with people on the questions on statements, and people with each other.

Units are statements, weighted to the whole run by the strata that they were drawn from; clusters are propositions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from msgspec import Struct

from maskbench.judges.construct_answers import Answers
from maskbench.judges.people.construct_labels import PeopleSay
from maskbench.method.construct import QUESTIONS, Question
from maskbench.stats.agreement import Agreed, Pairs, agreement


class QuestionAgreed(Struct, forbid_unknown_fields=True):
    """One question: the judge against people, and each two raters."""

    judge: Agreed
    raters: dict[str, Agreed]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of the sample: what the judge and people answer on it, its proposition and its weight in the run."""

    judge: Answers
    people: PeopleSay
    proposition: str
    weight: float


def agreed(statements: Sequence[Statement], populations: Mapping[str, int]) -> dict[str, QuestionAgreed]:
    """Every question that anybody has answered; `populations` are how many statements each stratum has in the run."""
    names = sorted({name for each in statements for name in each.people.raters})
    answered = {name for each in statements for own in each.people.raters.values() for name in own}
    answered |= {name for each in statements for name in each.people.answers}
    return {
        name: _question(question, statements, populations, names)
        for name, question in QUESTIONS.items()
        if name in answered
    }


def _question(
    question: Question, statements: Sequence[Statement], populations: Mapping[str, int], names: Sequence[str]
) -> QuestionAgreed:
    def by(rater: str) -> list[str | None]:
        return [each.people.raters.get(rater, {}).get(question.name) for each in statements]

    people = [each.people.answers.get(question.name) for each in statements]
    judge = [each.judge.get(question.name) for each in statements]
    sides = {name: answers for name in names if any(answers := by(name))}
    pairs = {
        f"{first} / {other}": _pair(question, sides[first], sides[other], statements, populations)
        for first, other in combinations(sides, 2)
    }
    return QuestionAgreed(_pair(question, judge, people, statements, populations), pairs)


def _pair(
    question: Question,
    first: Sequence[str | None],
    other: Sequence[str | None],
    statements: Sequence[Statement],
    populations: Mapping[str, int],
) -> Agreed:
    """Two who answer, on what both have answered."""
    both = [
        (each, (question.answers.index(a), question.answers.index(b)))
        for each, a, b in zip(statements, first, other, strict=True)
        if a is not None and b is not None
    ]
    had = Counter(each.people.stratum for each, _ in both)
    weights = [each.weight * populations[each.people.stratum] / had[each.people.stratum] for each, _ in both]
    pairs = Pairs(
        np.array([values for _, values in both], dtype=np.int64).reshape(-1, 2),
        np.array(weights, dtype=float),
        _clusters([each for each, _ in both]),
    )
    return agreement(pairs, question.answers)


def _clusters(statements: Sequence[Statement]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    known: dict[str, int] = {}
    numbers = [known.setdefault(each.proposition.strip(), len(known)) for each in statements]
    return np.array(numbers, dtype=np.int64)
