"""What a judge answered to the questions on statements, as a run has it stored."""

from __future__ import annotations

from collections.abc import Mapping

from maskbench.errors import UsageError
from maskbench.judges.verdict_sets import JudgeUsage, Readable, reading
from maskbench.method.construct import BY_ELICITATION, answer_of, named, parts_of
from maskbench.runs.questions import Asked, set_of, who_was_asked
from maskbench.runs.samples import Samples
from maskbench.runs.store import Store
from maskbench.scenarios import Key
from maskbench.types import Judgement

Answers = Mapping[str, str]  # the answer to each question that has one, by the question's name


def answers_of(run: Readable, judge: str | None = None) -> dict[tuple[Key, int], Answers]:
    """The answers on every statement that has any, by scenario (archetype and task_id) and number of the statement.

    They are those of the judge that was asked last, or of another one that was asked. A question without an answer,
    be it that it was not asked or that it failed, is not among them. A run that was never asked has none. Raises
    UsageError for a judge that was not asked.
    """
    with reading(run) as opened:
        asked = chosen(opened.store, judge)
        if asked is None:
            return {}
        return {
            (samples.scenario.key, number): answers
            for samples, _ in opened.store.read(set_of(asked.judge))
            for number, answers in answers_on(asked, samples).items()
            if answers
        }


def chosen(store: Store, judge: str | None = None) -> Asked | None:
    """Who was asked last about the statements of a run, or this judge; None where nobody was."""
    every = {asked.judge: asked for asked in who_was_asked(store)}
    if judge is None:
        return next(reversed(every.values()), None)
    if judge not in every:
        known = f" Those that were: {', '.join(every)}." if every else ""
        raise UsageError(f"{judge} was not asked the questions on statements (--construct).{known}")
    return every[judge]


def columns_of(asked: Asked | None) -> list[str]:
    """The names under which the answers stand in tables, in the order of the questions."""
    if asked is None:
        return []
    return [part.name for question in named(asked.questions) for part in parts_of(question)]


def usage_of(store: Store) -> JudgeUsage | None:
    """What the answers took, by all judges that were asked about the statements of a run; None where nobody was."""
    took = [store.usage(set_of(asked.judge))["judge"] for asked in who_was_asked(store)]
    return JudgeUsage(**{name: sum(each[name] for each in took) for name in took[0]}) if took else None


def answers_on(asked: Asked, samples: Samples) -> dict[int, dict[str, str]]:
    """The answers of a judge on each statement of a scenario, by the statement's number; failures are left out."""
    answers: dict[int, dict[str, str]] = {}
    for (elicitation, number), judgement in sorted(samples.judgements(set_of(asked.judge)).items()):
        on_this = answers.setdefault(number, {})
        question = BY_ELICITATION.get(elicitation)
        if question and isinstance(judgement, Judgement) and (answer := answer_of(question, judgement.verdict)):
            on_this[question.name] = answer
    return answers
