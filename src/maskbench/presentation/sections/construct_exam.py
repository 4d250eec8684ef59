"""What `maskbench exam --construct` says: each question's sensitivity and specificity, the bar, and what was wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct, structs

from maskbench.judges.exam.construct_marks import ConstructScore, QuestionMarks, Sides, word
from maskbench.judges.exam.marks import Answer, Marks, wrong_of
from maskbench.judges.exam.questions import PaperSat
from maskbench.judges.exam.result import ExamUsage, Result
from maskbench.plain import one_line
from maskbench.presentation.blocks import Block, Case, Facts, Sentence, Table, Words
from maskbench.presentation.format import pair
from maskbench.presentation.sections.exam import (
    SORTS,
    TONES,
    FailureShown,
    bar,
    circumstances,
    short,
    wrong_answers,
)
from maskbench.presentation.words import cause
from maskbench.runs.record import About, PromptsUsed
from maskbench.settings import Judging
from maskbench.types import ARCHETYPES, Failure, Judgement


class ConstructAnswer(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """One question of the paper with the right answer and the one that was given."""

    item: str
    question: str
    sort: str
    archetype: str
    right: str
    given: str | None
    is_right: bool | None
    lured: bool
    reason: str | None = None
    failure: FailureShown | None = None


class ConstructExamData(ConstructScore, kw_only=True):
    """`exam --construct --json`: what a judge's answers to the questions on statements come to, with all of them.

    Of the `unmeasured` questions the paper has right answers of one side alone: the standing says nothing of them.
    """

    schema: int
    unmeasured: list[str]
    exit_code: int
    judge: str
    folder: str
    judging: Judging
    prompts: PromptsUsed
    paper: PaperSat
    model: About
    maskbench: str
    note: str | None
    usage: ExamUsage
    answers: list[ConstructAnswer]


def construct_data(result: Result[ConstructScore]) -> ConstructExamData:
    """What `--json` prints of such an exam, with every answer."""
    return ConstructExamData(
        **structs.asdict(result.score),
        **circumstances(result),
        unmeasured=list(result.score.lacking),
        answers=[_answer(answer) for answer in result.answers],
    )


def _answer(answer: Answer) -> ConstructAnswer:
    question, given = answer.question, answer.given
    shown = ConstructAnswer(
        item=question.scenario.task_id,
        question=question.rule,
        sort=question.sort,
        archetype=question.scenario.archetype,
        right=word(answer, question.right),
        given=None,
        is_right=answer.right,
        lured=answer.lured,
    )
    if isinstance(given, Failure):
        shown.failure = FailureShown(given.cause, given.detail)
    else:
        shown.given, shown.reason = word(answer, given.verdict), given.reason
    return shown


def construct_blocks(result: Result[ConstructScore], shown: int | None = None) -> Iterator[Block]:
    """An exam on the questions on statements; `shown` wrong answers are given in full (default: all of them)."""
    score, questions = result.score, result.paper.questions
    texts = len({question.scenario.key for question in questions})
    on = f"exam {result.paper.name}: {len(questions):,} questions on {texts:,} texts"
    yield Sentence((Words(one_line(result.about.settings.judging.judge)), f", {on}"))
    if result.paper.note:
        yield Sentence((result.paper.note,), "note")
    yield _overall(score.questions)
    yield _apart(score.questions)
    yield _by_archetype(score.questions)
    yield from wrong_answers(wrong_of(result.answers), shown, _to_read)
    yield Facts(tuple(_facts(result)))
    yield from bar(score.conditions, score.obstacles)
    yield Sentence((Words(score.standing.upper(), TONES[score.standing]), f"{_extent(score)}."))


def _extent(score: ConstructScore) -> str:
    """What the standing is about, where the paper cannot tell it of all questions; the end of a sentence."""
    measured = [name for name in score.questions if name not in score.lacking]
    if not score.lacking or not measured or score.obstacles:
        return ""
    lacking: dict[str, list[str]] = {}
    for name, side in score.lacking.items():
        lacking.setdefault(side, []).append(name)
    parts = (f"{', '.join(names)} (no {side} in this paper)" for side, names in lacking.items())
    named = " and ".join([*([", ".join(measured[:-1])] if measured[1:] else []), measured[-1]])
    return f" on {named}; nothing was measured on {' and '.join(parts)}"


def _overall(questions: Mapping[str, QuestionMarks]) -> Table:
    head = ("question", "sensitivity", "95 %", "of", "specificity", "95 %", "of", "right to the word", "failed")
    return Table(head, tuple(_row(name, marks) for name, marks in questions.items()))


def _row(name: str, marks: QuestionMarks) -> tuple[str, ...]:
    cells = [cell for side in _both(marks.overall) for cell in (*pair(side.estimate), str(side.n))]
    return (name, *cells, f"{marks.exact.right}/{marks.exact.n}", str(marks.exact.failed))


def _both(sides: Sides) -> tuple[Marks, Marks]:
    return sides.sensitivity, sides.specificity


def _apart(questions: Mapping[str, QuestionMarks]) -> Table:
    rows = ((name, *(_counted(marks.by_sort.get(sort)) for sort in SORTS)) for name, marks in questions.items())
    return Table(("sensitivity · specificity", *SORTS.values()), tuple(rows))


def _by_archetype(questions: Mapping[str, QuestionMarks]) -> Table:
    rows = (
        (name, *(_counted(marks.by_archetype.get(each)) for each in ARCHETYPES)) for name, marks in questions.items()
    )
    return Table(("sensitivity · specificity", *(each.replace("_", " ") for each in ARCHETYPES)), tuple(rows))


def _counted(sides: Sides | None) -> str:
    """Right positives of all, then right negatives of all."""
    return " · ".join(f"{side.right}/{side.n}" for side in _both(sides)) if sides else "–"


def _to_read(answer: Answer) -> Case:
    question, given = answer.question, answer.given
    of = f"{question.rule}, {question.scenario.archetype}, {SORTS[question.sort]}"
    why = f". {question.why}" if question.why else ""
    texts = [("reply", short(question.replies[0])), ("right", f"{word(answer, question.right)}{why}")]
    if isinstance(given, Judgement):
        reason = f". {short(given.reason)}" if given.reason else ""
        texts.append(("given", f"{word(answer, given.verdict)}{reason}"))
    claims = (("system", short(question.scenario.system_prompt)), ("user", short(question.scenario.user_prompt)))
    return Case(f"{question.scenario.task_id} ({of})", claims=claims, texts=tuple(texts))


def _facts(result: Result[ConstructScore]) -> Iterator[tuple[str, str]]:
    """What needs no table: what the paper cannot tell, hostile texts, failures, cost."""
    score, usage = result.score, result.usage
    if score.lacking:
        yield "told by one side", f"the paper has answers of one side alone to {', '.join(score.lacking)}."
    if (hostile := score.hostile).replies:
        yield (
            "hostile texts",
            f"{hostile.right} of {hostile.replies} got the right answer to every question, and {hostile.lured} got an "
            "answer that they were after.",
        )
    if score.causes:
        causes = ", ".join(f"{cause(name)} {count}" for name, count in sorted(score.causes.items()))
        yield "failures", f"{sum(score.causes.values())}, neither right nor wrong ({causes}). run.log has them."
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    yield "cost", f"{usage.answers:,} answers, {tokens}, {usage.seconds:,.1f} s."
