"""The section on an exam: the score by rule, leanings, failures, cost, the bar, and what was wrong to read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import shorten
from typing import Literal

from msgspec import Struct, structs

from maskbench.method.proposition import options
from maskbench.method.verdict import VerdictShown, as_record
from maskbench.plain import one_line
from maskbench.presentation.blocks import Block, Facts, Heading, How, Inline, ReplyCard, Sentence, Table, Words
from maskbench.presentation.format import pair, percent
from maskbench.presentation.sections.gate import passed
from maskbench.presentation.sections.story import verdict_words
from maskbench.presentation.words import cause
from maskbench.scenarios.exam.marks import (
    EXIT_CODES,
    Answer,
    ConditionShown,
    Confused,
    Marks,
    Score,
    Standing,
    wrong_of,
)
from maskbench.scenarios.exam.questions import LOGS, Paper, PaperSat
from maskbench.settings import Judging
from maskbench.store.exam_result import ExamResult, ExamUsage
from maskbench.store.record import About, PromptsUsed
from maskbench.types import Cause, Failure, Judgement

_TONES: Mapping[Standing, How] = {"qualified": "good", "not qualified": "bad", "not measurable": "strong"}
_TALLY = ("right", "of", "share", "95 %", "failed")
_ON_LOGS = {"statement": "report", "consistency": "list", "direct": "answer"}  # calls of the paper on logs
_SORTS = {"plain": "plain", "near_miss": "near misses", "hostile": "hostile"}
_READ = 600  # characters of a reply or a reason


class FailureShown(Struct, forbid_unknown_fields=True):
    """The failure by which a question has no verdict."""

    cause: Cause
    detail: str


class AnswerShown(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """One question with the right verdict and the one that was given."""

    item: str
    rule: str
    sort: str
    swapped: bool
    call: str
    repetition: int
    proposition: str
    replies: tuple[str, ...]
    right: VerdictShown
    is_right: bool | None
    lured: bool
    given: VerdictShown | None
    failure: FailureShown | None = None
    reason: str | None = None
    confidence: float | None = None


class ExamData(Score, kw_only=True):
    """`exam --json`: the score of a judge, with every answer."""

    schema: Literal[1]
    exit_code: int
    judge: str
    folder: str
    protocol: str
    judging: Judging
    prompts: PromptsUsed
    paper: PaperSat
    model: About
    maskbench: str
    note: str | None
    unasked: int
    usage: ExamUsage
    answers: list[AnswerShown]


def blocks(result: ExamResult, shown: int | None = None) -> Iterator[Block]:
    """An exam; `shown` wrong answers are given in full, the others counted (default: all of them)."""
    score, questions = result.score, result.paper.questions
    replies = len({question.item for question in questions})
    on = f"{len(questions):,} questions on {replies:,} replies"
    yield Sentence((Words(one_line(result.about.settings.judging.judge)), f", exam {result.paper.name}: {on}"))
    if result.paper.note:
        yield Sentence((result.paper.note,), "note")
    yield from _marks(result)
    yield from (_confusion(call, counts, _call(call, result.paper)) for call, counts in score.confusion.items())
    yield from _wrong(wrong_of(result.answers), shown, result.paper)
    yield Facts(tuple(_facts(result)))
    yield from _bar(score.conditions, score.obstacles)
    yield Sentence((Words(f"{score.standing.upper()}.", _TONES[score.standing]),))


def as_data(result: ExamResult) -> ExamData:
    """What `--json` prints of an exam, with every answer."""
    about = result.about
    return ExamData(
        **structs.asdict(result.score),
        schema=1,
        exit_code=EXIT_CODES[result.score.standing],
        judge=about.settings.judging.judge,
        folder=str(result.path),
        protocol=about.protocol,
        judging=about.settings.judging,
        prompts=about.prompts,
        paper=PaperSat.of(result.paper),
        model=about.models.binary,
        maskbench=about.maskbench,
        note=result.paper.note,
        unasked=result.unasked,
        usage=result.usage,
        answers=[_answer(answer) for answer in result.answers],
    )


def _answer(answer: Answer) -> AnswerShown:
    question, given = answer.question, answer.given
    shown = AnswerShown(
        item=question.item,
        rule=question.rule,
        sort=question.sort,
        swapped=question.swapped,
        call=question.call,
        repetition=answer.repetition,
        proposition=question.scenario.proposition,
        replies=question.replies,
        right=as_record(question.right),
        is_right=answer.right,
        lured=answer.lured,
        given=None,
    )
    if isinstance(given, Failure):
        return structs.replace(shown, failure=FailureShown(given.cause, given.detail))
    verdict = as_record(given.verdict)
    return structs.replace(shown, given=verdict, reason=given.reason, confidence=given.confidence)


def _marks(result: ExamResult) -> Iterator[Table]:
    """Right verdicts by rule, then by kind of call and sort of reply."""
    score = result.score
    rules = {rule: score.by_rule[rule] for rule in result.paper.rules if rule in score.by_rule}
    yield Table(("rule (a screen)", *_TALLY), _counted({**rules, "all": score.overall}))
    sorts = {_SORTS[sort]: marks for sort, marks in score.by_sort.items()} if len(score.by_sort) > 1 else {}
    calls = {_call(call, result.paper): marks for call, marks in score.by_call.items()}
    yield Table(("kind", *_TALLY), (*_counted(calls), *_counted(sorts)))


def _call(call: str, paper: Paper) -> str:
    """What was asked for, as people call it: on a log a report, a list, or the answer to a question that names it."""
    return _ON_LOGS.get(call, call) if paper.name.startswith(LOGS) else call


def _counted(by: Mapping[str, Marks]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (name, str(marks.right), str(marks.n), *pair(marks.estimate), str(marks.failed)) for name, marks in by.items()
    )


def _confusion(call: str, confused: Sequence[Confused], name: str) -> Table:
    counts = {(each.right, each.given): each.n for each in confused}
    given = ("A", "B", "C", "D", "failed") if "number" not in call else ("number", "another", "none", "failed")
    known = sorted({right for right, _ in counts}, key=("A", "B", "C", "D", "number", "none").index)
    rows = ((right, *(str(counts.get((right, each), 0)) for each in given)) for right in known)
    return Table((f"{name}: right ↓ given →", *given), tuple(rows))


def _wrong(wrong: Sequence[Answer], shown: int | None, paper: Paper) -> Iterator[Block]:
    """The wrong answers of an exam: `shown` of them to be read (None: all), the others counted."""
    if not wrong:
        return
    yield Heading(f"Wrong: {len(wrong)}")
    yield from (_to_read(answer, paper) for answer in wrong[:shown])
    if shown is not None and len(wrong) > shown:
        more = len(wrong) - shown
        yield Sentence((f"... and {more} more: exam --wrong {len(wrong)} prints all, --json holds them.",), "note")


def _to_read(answer: Answer, paper: Paper) -> ReplyCard:
    """One wrong answer: what was asked about, what is right and why, what the judge gave."""
    question, given = answer.question, answer.given
    order = ", options exchanged" if question.swapped else ""
    again = f", repetition {answer.repetition}" if answer.repetition > 1 else ""
    of = f"{question.scenario.archetype}, {_call(question.call, paper)}, {_SORTS[question.sort]}{order}{again}"
    proposition = question.scenario.proposition
    binary = question.scenario.kind == "binary"
    asked = options(proposition) if binary else (proposition.replace("<pivotal>", "").replace("</pivotal>", ""),)
    texts = [("reply", _short(reply)) for reply in question.replies]
    texts.append(("right", f"{verdict_words(question.right)}. {question.why}"))
    if isinstance(given, Judgement):
        reason = f". {_short(given.reason)}" if given.reason else ""
        texts.append(("given", f"{verdict_words(given.verdict)}{reason}"))
    claims = zip("AB" if binary else ("number",), map(one_line, asked), strict=True)
    return ReplyCard(f"{question.item} ({of})", claims=tuple(claims), texts=tuple(texts))


def _short(text: str) -> str:
    """A text of a model as far as it is printed."""
    return shorten(text, _READ, placeholder=" ...")


def _facts(result: ExamResult) -> Iterator[tuple[str, str]]:
    """What needs no table: what was left out, hostile replies, order, repetition, failures, cost."""
    score, orders, usage = result.score, result.score.orders, result.usage
    if result.unasked:
        yield (
            "not the whole exam",
            f"{result.unasked} of {len(result.paper.questions)} questions have not been asked. With --stop-early that "
            "is where the bar is missed even if all of them were answered rightly.",
        )
    if (hostile := score.hostile).replies:
        yield (
            "hostile replies",
            f"{hostile.right} of {hostile.replies} were judged rightly every time, and {hostile.lured} once got the "
            "verdict that they were after.",
        )
    if orders.pairs:
        yield (
            "order of the options",
            f"{orders.moved} of {orders.pairs} replies got another verdict once the options were exchanged "
            f"({orders.first} times whatever stood first, {orders.second} times whatever stood second).",
        )
    if (repeated := score.repeated).questions:
        yield "repeated", f"the same verdict every time on {repeated.same} of {repeated.questions} questions."
    if score.overall.failed:
        causes = ", ".join(f"{cause(name)} {count}" for name, count in sorted(score.causes.items()))
        yield "failures", f"{score.overall.failed}, neither right nor wrong ({causes}). run.log has them."
    reasoning = f" ({usage.reasoning_tokens:,} of them reasoning)" if usage.reasoning_tokens else ""
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out{reasoning}"
    yield "cost", f"{usage.answers:,} answers, {tokens}, {usage.seconds:,.1f} s."


def _bar(conditions: Sequence[ConditionShown], obstacles: Iterable[str]) -> Iterator[Block]:
    """The conditions of an exam's bar, and what keeps it from being measured."""
    if conditions:
        yield Table(("the bar (this project's own)", "found", "limit", ""), tuple(map(as_condition, conditions)))
    yield from map(one_line, obstacles)


def as_condition(condition: ConditionShown) -> tuple[Inline, ...]:
    """A line of the bar: what was found, its limit, and whether it is passed."""
    sign = "≤" if condition.at_most else ">" if condition.beyond else "≥"
    return condition.name, percent(condition.share), f"{sign} {percent(condition.limit)}", passed(condition.passed)
