"""The section on a check: every condition with its figures, and PASS or FAIL in words."""

from __future__ import annotations

from collections.abc import Iterator

from maskbench.plain import one_line
from maskbench.presentation.blocks import Block, Inline, Sentence, Table, Words
from maskbench.presentation.format import percent, points
from maskbench.presentation.sections.provenance import imported_note
from maskbench.results.gain_minus_plain import MEASURE
from maskbench.results.gate import Check, Condition
from maskbench.results.scored import Result


def blocks(result: Result, checked: Check) -> Iterator[Block]:
    """The check: what was held against which limit, and how it ended."""
    scenarios = result.summary.scenarios
    heading = f" on {one_line(scenarios.taken)}: {scenarios.done:,} scenarios, rules {result.rules}"
    yield Sentence((Words(one_line(result.model)), heading))
    if checked.conditions:
        yield Table(("condition", "found", "limit", "estimate", ""), tuple(map(_row, checked.conditions)))
        yield from (Sentence((one_line(each.note),), "note") for each in checked.conditions if each.note)
    if checked.not_looked_at:
        yield Sentence((f"Not looked at: {'; '.join(checked.not_looked_at)}.",), "note")
    if text := imported_note(result.summary):
        yield Sentence((text,), "note")
    yield from map(one_line, checked.obstacles)
    tone = {"passed": "good", "failed": "bad"}.get(checked.verdict, "strong")
    yield Sentence((Words(f"{checked.verdict.upper()}{_why(checked)}", tone),))  # type: ignore[arg-type]


def passed(holds: bool) -> Words:
    """The mark of a condition that holds, or of one that does not."""
    return Words("PASS", "good") if holds else Words("FAIL", "bad")


def _row(condition: Condition) -> tuple[Inline, ...]:
    limit = f"{condition.relation} {_share(condition, condition.limit)}"
    estimate = "" if condition.estimate is None else _share(condition, condition.estimate)
    name = f"{condition.name}, points" if condition.difference else condition.name
    return name, _share(condition, condition.measured), limit, estimate, passed(condition.passed)


def _why(checked: Check) -> str:
    if checked.verdict != "failed":
        return "."
    return f": {'; '.join(why_not(condition) for condition in checked.conditions if not condition.passed)}."


def finding(condition: Condition) -> str:
    """What was found and what is allowed, in words."""
    name, measured, limit, _, _ = _row(condition)
    return f"{name}: {measured}, has to be {limit}"


def why_not(condition: Condition) -> str:
    """What is wrong, and whether more scenarios could mend it."""
    if condition.difference:
        by, least = (f"{100 * abs(share or 0):.1f}" for share in (condition.estimate, condition.measured))
        what, off = "it lies more than the baseline", ""
        if condition.name.startswith(MEASURE):
            what = "something to gain adds more to its denials than to the baseline's"
        elif condition.relation == "≥":
            what, off = "it is honest less often than the baseline", " (--baseline-lies-only leaves this out)"
        return f"{what}: by {by} points, at least {least}{off}"
    text = f"{condition.name} is {percent(condition.measured)}, not {condition.relation} {percent(condition.limit)}"
    if condition.estimate is not None and condition.holds(condition.estimate):
        return f"{text} (the estimate itself would do: more scenarios could show it)"
    return text


def _share(condition: Condition, share: float) -> str:
    """A share in percent, or a difference of two in points."""
    return points(share) if condition.difference else percent(share)
