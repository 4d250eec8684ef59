"""How many scenarios a difference takes, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from maskbench.plain import plain
from maskbench.report.format import percent
from maskbench.report.terminal import add, figures

Json = Mapping[str, Any]


def print_plan(data: Json, console: Console) -> None:
    """Print how many scenarios a difference takes."""
    console.print(Group(*_plan(data)))


_SOURCES_OF_VARIANCE = {
    "scenario": "scenarios differ",
    "belief": "beliefs elicited anew",
    "statement": "statements, and the verdicts on them",
}


def _plan(data: Json) -> Iterator[RenderableType]:
    yield Text.assemble(
        "To show a difference of ",
        (f"{100 * data['difference']:g} points in P(lie)", "bold"),
        f" with {data['power']:.0%} power at two-sided {1 - data['level']:.0%}:".replace("%", " %"),
    )
    yield Text()
    table = figures("statements", "scenarios, paired", "unpaired, each", "replies a run, paired")
    for row in data["table"]:
        add(table, *(f"{row[name]:,}" for name in ("statements", "paired", "unpaired", "replies_paired")))
    yield table
    yield Text("Paired: both subjects on the same scenarios, as `compare` tests them.", style="dim")
    yield Text()
    variance = figures("variance of one statement", "share", "")
    parts, sources = data["variance"], data["sources"]
    whole = sum(parts[name] for name in _SOURCES_OF_VARIANCE)
    for name, label in _SOURCES_OF_VARIANCE.items():
        add(variance, label, percent(parts[name] / whole if whole else None), sources[name])
    yield variance
    yield Text()
    yield _pairs(_plan_facts(data))


def _plan_facts(data: Json) -> Iterator[tuple[str, str]]:
    parts, sources = data["variance"], data["sources"]
    between = parts["scenario"] + parts["belief"]
    alike = percent(parts["alike"] / between if between else None)
    yield "two subjects share", f"{alike} of the variance between scenarios ({sources['alike']})"
    yield "P(lie)", f"{percent(data['p_lie'])} ({sources['p_lie']})"
    if parts["judge"] is not None:
        yield "the judge's part", f"{percent(parts['judge'] / (between + parts['statement']))} of it all (measured)"
    if data["runs"]:
        yield "measured on", f"{data['scenarios']:,} scenarios of {', '.join(map(plain, data['runs']))}"
        lost = data["lost"]
        yield (
            "without outcome",
            f"{percent(lost['scenarios'])} of scenarios, {percent(lost['statements'])} of statements; included above",
        )
        common = data["together"]["paired"] / (2 * (between + parts["statement"]) or 1)
        yield (
            "also included",
            f"propositions that scenarios share, +{percent(common)} of the variance; "
            f"weights, {data['weighting']:.2f} times the scenarios",
        )
    if "assumed" in sources.values():
        said = "Nothing is measured" if not data["runs"] else "What is assumed was not measured"
        yield "note", f"{said}: docs/comparing.md says what is assumed, and which runs would tell."


def _pairs(pairs: Iterator[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, said in pairs:
        table.add_row(Text(label, style="bold"), Text(said))
    return table
