"""What `maskbench exam` says: the score by rule, leanings, failures, cost, the bar, and what was wrong to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import shorten
from typing import Any

from maskbench.judges.exam.marks import EXIT_CODES, Answer, Condition, Tally
from maskbench.judges.exam.sitting import Result
from maskbench.judges.verdict_sets import plain_note
from maskbench.method.judge_ask import options
from maskbench.method.verdict import to_json
from maskbench.plain import one_line
from maskbench.report.blocks import Block, Case, Facts, Heading, Inline, Sentence, Table, Words
from maskbench.report.format import pair, percent
from maskbench.report.sections.gate_check import passed
from maskbench.report.sections.story import verdict_words
from maskbench.report.words import cause
from maskbench.types import Failure, Judgement

_TONES = {"qualified": "good", "not qualified": "bad", "not measurable": "strong"}
_TALLY = ("right", "of", "share", "95 %", "failed")
_SORTS = {"plain": "plain", "near_miss": "near misses", "hostile": "hostile"}
_READ = 600  # characters of a reply or a reason


def blocks(result: Result, shown: int | None = None) -> Iterator[Block]:
    """An exam; `shown` wrong answers are given in full, the others counted (default: all of them)."""
    score, questions = result.score, result.paper.questions
    on = f"{len(questions)} questions on {len({question.item for question in questions})} replies"
    yield Sentence((Words(one_line(result.about["judge"])), f", exam {result.paper.name}: {on}"))
    if result.paper.note:
        yield Sentence((result.paper.note,), "note")
    yield from _tallies(result)
    yield from (_confusion(call, counts) for call, counts in score.confusion.items())
    yield from _wrong(score.wrong, shown)
    yield Facts(tuple(_facts(result)))
    if score.conditions:
        rows = tuple(map(_condition, score.conditions))
        yield Table(("the bar (this project's own)", "found", "limit", ""), rows)
    yield from map(one_line, score.obstacles)
    tone = _TONES[score.standing]
    yield Sentence((Words(f"{score.standing.upper()}.", tone),))  # type: ignore[arg-type]


def as_data(result: Result) -> dict[str, Any]:
    """What `--json` prints of an exam, with every answer."""
    score = result.score
    return {
        "schema": 1,
        "standing": score.standing,
        "exit_code": EXIT_CODES[score.standing],
        "judge": result.about["judge"],
        "folder": str(result.path),
        **{part: result.about[part] for part in ("protocol", "settings", "prompts", "paper", "model", "maskbench")},
        "note": result.paper.note,
        "overall": _tally(score.overall),
        "by_rule": {rule: _tally(tally) for rule, tally in score.by_rule.items()},
        "by_call": {call: _tally(tally) for call, tally in score.by_call.items()},
        "by_sort": {sort: _tally(tally) for sort, tally in score.by_sort.items()},
        "confusion": {
            call: [{"right": right, "given": given, "n": n} for (right, given), n in sorted(counts.items())]
            for call, counts in score.confusion.items()
        },
        "orders": {name: getattr(score.orders, name) for name in ("pairs", "moved", "first", "second")},
        "near_misses_by_rule": {rule: _tally(tally) for rule, tally in score.near_misses.items()},
        "hostile": {name: getattr(score.hostile, name) for name in ("replies", "right", "lured")},
        "unasked": result.unasked,
        "repeated": dict(zip(("questions", "same"), score.repeated, strict=True)),
        "failures": dict(score.causes),
        "bar": [
            {name: getattr(condition, name) for name in ("name", "found", "limit", "at_most", "beyond", "passed")}
            for condition in score.conditions
        ],
        "not_measurable_because": list(score.obstacles),
        "usage": dict(result.usage),
        "answers": [_answer(answer) for answer in result.answers],
    }


def _tally(tally: Tally) -> dict[str, Any]:
    share = tally.share
    ends = None if share.low is None else [share.low, share.high]
    return {"right": tally.right, "n": share.n, "share": share.value, "ci95": ends, "failed": tally.failed}


def _answer(answer: Answer) -> dict[str, Any]:
    question, given = answer.question, answer.given
    known: dict[str, Any] = {
        "item": question.item,
        "rule": question.rule,
        "sort": question.sort,
        "swapped": question.swapped,
        "call": question.call,
        "repetition": answer.repetition,
        "proposition": question.scenario.proposition,
        "replies": list(question.replies),
        "right": to_json(question.right),
        "is_right": answer.right,
        "lured": answer.lured,
    }
    if isinstance(given, Failure):
        return {**known, "given": None, "failure": {"cause": given.cause, "detail": given.detail}}
    return {**known, "given": to_json(given.verdict), "reason": given.reason, "confidence": given.confidence}


def _tallies(result: Result) -> Iterator[Table]:
    """Right verdicts by rule, then by kind of call and sort of reply."""
    score = result.score
    rules = {rule: score.by_rule[rule] for rule in result.paper.rules if rule in score.by_rule}
    yield Table(("rule (a screen)", *_TALLY), _counted({**rules, "all": score.overall}))
    sorts = {_SORTS[sort]: tally for sort, tally in score.by_sort.items()} if len(score.by_sort) > 1 else {}
    yield Table(("kind", *_TALLY), (*_counted(score.by_call), *_counted(sorts)))


def _counted(tallies: Mapping[str, Tally]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (name, str(tally.right), str(tally.share.n), *pair(tally.share), str(tally.failed))
        for name, tally in tallies.items()
    )


def _confusion(call: str, counts: Mapping[tuple[str, str], int]) -> Table:
    given = ("A", "B", "C", "D", "failed") if "number" not in call else ("number", "another", "none", "failed")
    known = sorted({right for right, _ in counts}, key=("A", "B", "C", "D", "number", "none").index)
    rows = ((right, *(str(counts.get((right, each), 0)) for each in given)) for right in known)
    return Table((f"{call}: right ↓ given →", *given), tuple(rows))


def _wrong(wrong: Sequence[Answer], shown: int | None) -> Iterator[Block]:
    if not wrong:
        return
    yield Heading(f"Wrong: {len(wrong)}")
    yield from map(_to_read, wrong[:shown])
    if shown is not None and len(wrong) > shown:
        more = len(wrong) - shown
        yield Sentence((f"... and {more} more: --wrong {len(wrong)} prints all, --json holds them.",), "note")


def _to_read(answer: Answer) -> Case:
    """One wrong answer: what was asked about, what is right and why, what the judge gave."""
    question, given = answer.question, answer.given
    order = ", options exchanged" if question.swapped else ""
    again = f", repetition {answer.repetition}" if answer.repetition > 1 else ""
    of = f"{question.scenario.archetype}, {question.call}, {_SORTS[question.sort]}{order}{again}"
    proposition = question.scenario.proposition
    binary = question.scenario.kind == "binary"
    asked = options(proposition) if binary else (proposition.replace("<pivotal>", "").replace("</pivotal>", ""),)
    texts = [("reply", _short(reply)) for reply in question.replies]
    texts.append(("right", f"{verdict_words(question.right)}. {question.why}"))
    if isinstance(given, Judgement):
        reason = f". {_short(given.reason)}" if given.reason else ""
        texts.append(("given", f"{verdict_words(given.verdict)}{reason}"))
    claims = zip("AB" if binary else ("number",), map(one_line, asked), strict=True)
    return Case(f"{question.item} ({of})", claims=tuple(claims), texts=tuple(texts))


def _short(text: str) -> str:
    return shorten(text, _READ, placeholder=" ...")


def _facts(result: Result) -> Iterator[tuple[str, str]]:
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
    questions, same = score.repeated
    if questions:
        yield "repeated", f"the same verdict every time on {same} of {questions} questions."
    if score.overall.failed:
        causes = ", ".join(f"{cause(name)} {count}" for name, count in sorted(score.causes.items()))
        yield "failures", f"{score.overall.failed}, neither right nor wrong ({causes}). exam.log has them."
    if result.about.get("plain_line"):
        yield "reasons", one_line(plain_note(result.about["judge"]))
    tokens = f"{usage['input_tokens']:,} tokens in, {usage['output_tokens']:,} out"
    reasoning = f" ({usage['reasoning_tokens']:,} of them reasoning)" if usage["reasoning_tokens"] else ""
    yield "cost", f"{usage['answers']:,} answers, {tokens}{reasoning}, {usage['seconds']:,.1f} s."


def _condition(condition: Condition) -> tuple[Inline, ...]:
    sign = "≤" if condition.at_most else ">" if condition.beyond else "≥"
    return condition.name, percent(condition.found), f"{sign} {percent(condition.limit)}", passed(condition.passed)
