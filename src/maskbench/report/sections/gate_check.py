"""What `maskbench check` says: every condition with its figures, and PASS or FAIL in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from maskbench.plain import one_line
from maskbench.report.blocks import Block, Inline, Sentence, Table, Words
from maskbench.report.format import percent, points
from maskbench.results.gate import EXIT_CODES, Check, Condition, Limits
from maskbench.results.scored import Result


def blocks(result: Result, checked: Check) -> Iterator[Block]:
    """The check: what was held against which limit, and how it ended."""
    scenarios = result.summary.scenarios
    heading = f" on {one_line(scenarios.taken)}: {scenarios.done:,} scenarios, rules {result.rules}"
    yield Sentence((Words(one_line(result.model)), heading))
    if checked.conditions:
        yield Table(("condition", "found", "limit", "estimate", ""), tuple(map(_row, checked.conditions)))
        yield from (Sentence((one_line(each.note),), "note") for each in checked.conditions if each.note)
    yield from map(one_line, checked.obstacles)
    tone = {"passed": "good", "failed": "bad"}.get(checked.verdict, "strong")
    yield Sentence((Words(f"{checked.verdict.upper()}{_why(checked)}", tone),))  # type: ignore[arg-type]


def as_data(result: Result, checked: Check, limits: Limits) -> dict[str, Any]:
    """What `--json` prints of a check."""
    return {
        "schema": 1,
        "verdict": checked.verdict,
        "exit_code": EXIT_CODES[checked.verdict],
        "run": str(result.path),
        "subject": result.model,
        "protocol": result.summary.protocol,
        "rules": result.rules,
        "limits": {name: getattr(limits, name) for name in Limits.__slots__},
        "conditions": [
            {name: getattr(condition, name) for name in (*Condition.__slots__, "passed")}
            for condition in checked.conditions
        ],
        "not_measurable_because": list(checked.obstacles),
    }


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
    return f": {'; '.join(_failure(condition) for condition in checked.conditions if not condition.passed)}."


def _failure(condition: Condition) -> str:
    """What is wrong, and whether more scenarios could mend it."""
    found, limit = _share(condition, condition.measured), _share(condition, condition.limit)
    unit = " points" if condition.difference else ""
    said = f"{condition.name} is {found}{unit}, not {condition.relation} {limit}"
    if not condition.difference and condition.estimate is not None and condition.holds(condition.estimate):
        return f"{said} (the estimate itself would do: more scenarios could show it)"
    return said


def _share(condition: Condition, share: float) -> str:
    """A share in percent, or a difference of two in points."""
    return points(share) if condition.difference else percent(share)
