"""The section on the subject's controls: their figures, by what each declares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from maskbench.method.controls import CONTROLS, Controls
from maskbench.method.controls.control import Control, Shown
from maskbench.method.controls.self_reports import SelfReport
from maskbench.method.controls.traces import Traces
from maskbench.presentation.blocks import Block, Heading, Points, Row, Table, chart_or_table
from maskbench.presentation.format import kappa, pair, percent, times
from maskbench.presentation.of_runs import Scored, named
from maskbench.presentation.words import OUTRIGHT


def controls(runs: Sequence[Scored]) -> Iterator[Block]:
    """What the controls on the subject came to; nothing where a run has none."""
    for run in runs:
        if run.summary.checks:
            yield from map(Heading, named(runs, run))
            yield from _checked(run.summary.checks)


def _checked(checks: Controls) -> Iterator[Block]:
    asked = [(control, part) for control in CONTROLS if (part := getattr(checks, control.setting))]
    for control, part in asked:
        failed = f" {part.failed:,} more have no {control.lacks}, and count nowhere here." if part.failed else ""
        yield f"{control.text}{control.beside(part)}{_BESIDE.get(control.setting, _nothing)(part)}{failed}"
    rows: list[Row | str] = []
    cells: list[tuple[str, ...]] = []
    for control, part in asked:
        rows.append(control.title)
        for rate in _rates(control, part):
            rows.append(Row(rate.label, rate.rate, rate.colour))
            cells.append((rate.label, *pair(rate.rate), f"{rate.rate.n:,}", rate.of))
    table = Table(("rate", "value", "95 %", "n", "of what"), tuple(cells), last_text=True)
    chart = Points(tuple(rows), "share; the table says of what")
    yield chart_or_table(chart, "What the controls came to", table)
    if checks.self_report:
        yield _reports(checks.self_report)


def _rates(control: Control[Any], part: Any) -> Iterator[Shown]:
    yield from control.rates(part)
    if isinstance(part, Traces):
        yield from _by_what_was_asked(part)


# What needs the words of the report, and so cannot stand in a control's declaration


def _by_chance(part: SelfReport) -> str:
    return (
        f" Chance alone would agree in {percent(part.chance)} (Cohen's κ {kappa(part.kappa)}). "
        f"{part.evades.count:,} of {part.evades.n:,} reports on lies and honest statements evade, and are in none of "
        "these rates."
    )


def _nothing(_: Any) -> str:
    return ""


_BESIDE: Mapping[str, Callable[[Any], str]] = {"self_report": _by_chance}


def _by_what_was_asked(part: Traces) -> Iterator[Shown]:
    if set(part.asked_outright) != {"unsaid"}:
        for name, group in part.asked_outright.items():
            of = f"of {times(group.lies, 'lie')}, those with reasoning"
            yield Shown(f"… {OUTRIGHT[name]}", group.share, "lie", of)


def _reports(report: SelfReport) -> Table:
    rows = tuple(
        (name.replace("_", " "), *(f"{row[says]:,}" for says in ("true", "not_true", "evades")))
        for name, row in report.counts.items()
    )
    return Table(("statement", "says true", "says not true", "evades"), rows, "Its own reports, by outcome.")
