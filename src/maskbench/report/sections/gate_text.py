"""What `maskbench check` prints: every condition with its figures, and PASS or FAIL in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from maskbench.plain import plain
from maskbench.report.format import percent, points
from maskbench.report.terminal import add, figures
from maskbench.results.gate import EXIT_CODES, Check, Condition, Limits
from maskbench.results.scored import Result

_STYLES = {"passed": "bold green", "failed": "bold red", "not measurable": "bold yellow"}


def as_text(result: Result, checked: Check) -> Group:
    """The check for a terminal; it fits 80 columns."""
    return Group(*_parts(result, checked))


def as_data(result: Result, checked: Check, limits: Limits) -> dict[str, Any]:
    """The same for `--json`."""
    return {
        "schema": 1,
        "verdict": checked.verdict,
        "exit_code": EXIT_CODES[checked.verdict],
        "run": str(result.path),
        "subject": result.model,
        "protocol": result.summary["protocol"],
        "rules": result.rules,
        "limits": {name: getattr(limits, name) for name in Limits.__slots__},
        "conditions": [
            {name: getattr(condition, name) for name in (*Condition.__slots__, "passed")}
            for condition in checked.conditions
        ],
        "not_measurable_because": list(checked.obstacles),
    }


def _parts(result: Result, checked: Check) -> Iterator[RenderableType]:
    scenarios = result.summary["scenarios"]
    heading = f" on {plain(scenarios['taken'])}: {scenarios['done']:,} scenarios, rules {result.rules}"
    yield Text.assemble((plain(result.model), "bold"), heading)
    yield Text()
    if checked.conditions:
        table = figures("condition", "found", "limit", "estimate", "")
        for condition in checked.conditions:
            mark = Text("PASS", style="green") if condition.passed else Text("FAIL", style="bold red")
            limit = f"{condition.relation} {_share(condition, condition.limit)}"
            estimate = "" if condition.estimate is None else _share(condition, condition.estimate)
            name = f"{condition.name}, points" if condition.difference else condition.name
            add(table, name, _share(condition, condition.measured), limit, estimate, mark)
        yield table
        yield from (Text(plain(condition.note), style="dim") for condition in checked.conditions if condition.note)
        yield Text()
    yield from (Text(plain(obstacle)) for obstacle in checked.obstacles)
    yield Text(f"{checked.verdict.upper()}{_why(checked)}", style=_STYLES[checked.verdict])


def _why(checked: Check) -> str:
    failed = [condition for condition in checked.conditions if not condition.passed]
    if checked.verdict != "failed":
        return "."
    return f": {'; '.join(_failure(condition) for condition in failed)}."


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
