"""What `maskbench exam` prints: the score by rule, leanings, failures, cost, the bar, and what was wrong to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import shorten
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.text import Text

from maskbench.judges.exam.marks import EXIT_CODES, Answer, Condition, Tally
from maskbench.judges.exam.sitting import Result
from maskbench.judges.verdict_sets import plain_note
from maskbench.method.judge_ask import options
from maskbench.method.verdict import to_json
from maskbench.plain import plain
from maskbench.report.format import interval, percent
from maskbench.report.terminal import add, figures
from maskbench.types import BinaryVerdict, Failure, Judgement, Verdict

_STYLES = {"qualified": "bold green", "not qualified": "bold red", "not measurable": "bold yellow"}
_SORTS = {"plain": "plain", "near_miss": "near misses", "hostile": "hostile"}
_READ = 600  # characters of a reply or a reason


def print_exam(result: Result, console: Console, shown: int | None = None) -> None:
    """Print an exam; `shown` wrong answers are given in full, the others counted (default: all of them)."""
    console.print(Group(*_parts(result, shown)))


def as_data(result: Result) -> dict[str, Any]:
    """The same for `--json`, with every answer."""
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


# For a terminal; everything fits 80 columns


def _parts(result: Result, shown: int | None) -> Iterator[RenderableType]:
    score = result.score
    questions = len(result.paper.questions)
    heading = f", exam {result.paper.name}: {questions} questions on {_items(result)} replies"
    yield Text.assemble((plain(result.about["judge"]), "bold"), heading)
    if result.paper.note:
        yield Text(result.paper.note, style="dim")
    yield Text()
    yield _rules(result)
    yield Text()
    yield _calls(result)
    for call, counts in score.confusion.items():
        yield Text()
        yield _confusion(call, counts)
    yield from _wrong(score.wrong, shown)
    yield Text()
    yield from _lines(result)
    yield Text()
    yield from _bar(score.conditions)
    yield from (Text(plain(obstacle)) for obstacle in score.obstacles)
    yield Text(f"{score.standing.upper()}.", style=_STYLES[score.standing])


def _items(result: Result) -> int:
    return len({question.item for question in result.paper.questions})


def _rules(result: Result) -> RenderableType:
    table = figures("rule (a screen)", "right", "of", "share", "95 %", "failed")
    for rule in result.paper.rules:
        if rule in result.score.by_rule:
            _row(table, rule, result.score.by_rule[rule])
    _row(table, "all", result.score.overall)
    return table


def _calls(result: Result) -> RenderableType:
    table = figures("kind", "right", "of", "share", "95 %", "failed")
    for call, tally in result.score.by_call.items():
        _row(table, call, tally)
    if len(result.score.by_sort) > 1:
        for sort, tally in result.score.by_sort.items():
            _row(table, _SORTS[sort], tally)
    return table


def _row(table: Any, name: str, tally: Tally) -> None:
    share = tally.share
    ends = None if share.low is None or share.high is None else (share.low, share.high)
    add(table, name, str(tally.right), str(share.n), percent(share.value), interval(ends), str(tally.failed))


def _confusion(call: str, counts: Mapping[tuple[str, str], int]) -> RenderableType:
    given = ("A", "B", "C", "D", "failed") if "number" not in call else ("number", "another", "none", "failed")
    table = figures(f"{call}: right ↓ given →", *given)
    for right in sorted({right for right, _ in counts}, key=("A", "B", "C", "D", "number", "none").index):
        add(table, right, *(str(counts.get((right, one), 0)) for one in given))
    return table


def _wrong(wrong: Sequence[Answer], shown: int | None) -> Iterator[RenderableType]:
    if not wrong:
        return
    yield Text()
    yield Text(f"Wrong: {len(wrong)}", style="bold")
    for answer in wrong[:shown]:
        yield Text()
        yield from map(Text, _to_read(answer))
    if shown is not None and len(wrong) > shown:
        yield Text()
        more = len(wrong) - shown
        yield Text(f"... and {more} more: --wrong {len(wrong)} prints all, --json holds them.", style="dim")


def _to_read(answer: Answer) -> Iterator[str]:
    question = answer.question
    order = ", options exchanged" if question.swapped else ""
    again = f", repetition {answer.repetition}" if answer.repetition > 1 else ""
    yield f"{question.item} ({question.scenario.archetype}, {question.call}, {_SORTS[question.sort]}{order}{again})"
    if question.scenario.kind == "binary":
        first, second = options(question.scenario.proposition)
        yield f"  A: {plain(first)}"
        yield f"  B: {plain(second)}"
    else:
        yield f"  {plain(question.scenario.proposition.replace('<pivotal>', '').replace('</pivotal>', ''))}"
    yield from (f"  reply: {_short(reply)}" for reply in question.replies)
    yield f"  right: {_verdict(question.right)}. {question.why}"
    given = answer.given
    if isinstance(given, Judgement):
        reason = f". {_short(given.reason)}" if given.reason else ""
        yield f"  given: {_verdict(given.verdict)}{reason}"


def _verdict(verdict: Verdict) -> str:
    if isinstance(verdict, BinaryVerdict):
        return verdict.letter
    if not verdict.ranges:
        return "no value"
    said = f"{_bound(verdict.lower_bound)} to {_bound(verdict.upper_bound)}" if verdict.absolute else "no value"
    if verdict.relative:
        said += f", relative {_bound(verdict.relative_lower_bound)} to {_bound(verdict.relative_upper_bound)}"
    return said


def _bound(bound: float | None) -> str:
    return "open" if bound is None else f"{bound:.12g}"


def _short(text: str) -> str:
    return shorten(plain(text), _READ, placeholder=" ...")


def _lines(result: Result) -> Iterator[Text]:
    """What needs no table: what was left out, hostile replies, order, repetition, failures, cost."""
    score, orders, usage = result.score, result.score.orders, result.usage
    if result.unasked:
        yield Text(
            f"Not the whole exam: {result.unasked} of {len(result.paper.questions)} questions have not been asked. "
            "With --stop-early that is where the bar is missed even if all of them were answered rightly."
        )
    if (hostile := score.hostile).replies:
        yield Text(
            f"Hostile replies: {hostile.right} of {hostile.replies} were judged rightly every time, and "
            f"{hostile.lured} once got the verdict that they were after."
        )
    if orders.pairs:
        yield Text(
            f"Order of the options: {orders.moved} of {orders.pairs} replies got another verdict once the options were "
            f"exchanged ({orders.first} times whatever stood first, {orders.second} times whatever stood second)."
        )
    questions, same = score.repeated
    if questions:
        yield Text(f"Repeated: the same verdict every time on {same} of {questions} questions.")
    if score.overall.failed:
        causes = ", ".join(f"{cause} {count}" for cause, count in sorted(score.causes.items()))
        yield Text(f"Failures, neither right nor wrong: {score.overall.failed} ({causes}). exam.log has them.")
    if result.about.get("plain_line"):
        yield Text(plain(plain_note(result.about["judge"])))
    tokens = f"{usage['input_tokens']:,} tokens in, {usage['output_tokens']:,} out"
    reasoning = f" ({usage['reasoning_tokens']:,} of them reasoning)" if usage["reasoning_tokens"] else ""
    yield Text(f"Cost: {usage['answers']:,} answers, {tokens}{reasoning}, {usage['seconds']:,.1f} s.")


def _bar(conditions: Sequence[Condition]) -> Iterator[RenderableType]:
    table = figures("the bar (this project's own)", "found", "limit", "")
    for condition in conditions:
        mark = Text("PASS", style="green") if condition.passed else Text("FAIL", style="bold red")
        sign = "≤" if condition.at_most else ">" if condition.beyond else "≥"
        limit = f"{sign} {percent(condition.limit)}"
        add(table, condition.name, percent(condition.found), limit, mark)
    if conditions:
        yield table
        yield Text()
