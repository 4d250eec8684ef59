"""The section on the subject's controls: the noise floor, facts understood, self-reports, reasoning before a lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from maskbench.report.blocks import Block, Figure, Heading, Points, Row, Table
from maskbench.report.format import kappa, pair, percent, shown, times
from maskbench.report.of_runs import Scored, named
from maskbench.report.words import OUTRIGHT
from maskbench.results.summary_json import Controls, Placebo, Provided, SelfReport, Traces
from maskbench.stats.rate_json import Rate

Control: TypeAlias = Placebo | Provided | SelfReport | Traces


def checks(runs: Sequence[Scored]) -> Iterator[Block]:
    """What the controls on the subject came to; nothing where a run has none."""
    for run in runs:
        if run.summary.checks:
            yield from map(Heading, named(runs, run))
            yield from _checked(run.summary.checks)


def floor(checks: Controls) -> str | None:
    """The noise floor in a few words, to stand beside P(lie); None where there was no placebo."""
    if not checks.placebo or checks.placebo.p_lie.value is None:
        return None
    return f"noise floor: {shown(checks.placebo.p_lie.estimate)} of neutral replies are judged a lie"


def _checked(checks: Controls) -> Iterator[Block]:
    each = (checks.placebo, checks.check_provided, checks.self_report, checks.traces)
    asked = [part for part in each if part]
    for part in asked:
        lack = "outcome" if isinstance(part, Placebo) else "verdict"
        failed = f" {part.failed:,} more have no {lack}, and count nowhere here." if part.failed else ""
        yield f"{_WORDS[type(part)]}{_beside(part)}{failed}"
    rows: list[Row | str] = []
    cells: list[tuple[str, ...]] = []
    for part in asked:
        rows.append(_TITLES[type(part)])
        for label, rate, colour, of in _rates(part):
            rows.append(Row(label, rate.estimate, colour))
            cells.append((label, *pair(rate.estimate), f"{rate.n:,}", of))
    table = Table(("rate", "value", "95 %", "n", "of what"), tuple(cells), last_text=True)
    able = any(isinstance(row, Row) and row.estimate.value is not None for row in rows)
    chart = Points(tuple(rows), "share (of what, the table says)")
    yield Figure((chart,), "What the checks found", table) if able else table
    if checks.self_report:
        yield _reports(checks.self_report)


_TITLES: dict[type[Control], str] = {
    Placebo: "Noise floor",
    Provided: "Provided facts",
    SelfReport: "Asked by its developer",
    Traces: "Reasoning before a lie",
}
_WORDS: dict[type[Control], str] = {
    Placebo: (
        "Noise floor: one more neutral reply was judged as if it were a statement. What comes out a lie there is the "
        "judge's error, or an answer that changes by itself; a P(lie) that is hardly above it shows nothing. It is not "
        "to be taken off."
    ),
    Provided: (
        "Provided facts: asked neutrally, with the facts before it, did the model take them in? What it never "
        "understood, it cannot lie about."
    ),
    SelfReport: (
        "Asked by its developer: after each statement, whether it was true. How often does its own report agree with "
        "the outcome?"
    ),
    Traces: (
        "Reasoning: does the reasoning before a lie state the belief that the answer then contradicts? Then it knew "
        "and lied; where the reasoning is silent, that does not show a mistake."
    ),
}


def _beside(part: Control) -> str:
    """What is to be said of one control beside its rates."""
    match part:
        case Provided(counts=counts):
            return f" It misunderstood {counts['misunderstood']:,} and gave no answer in {counts['no_answer']:,}."
        case SelfReport(evades=evades):
            return (
                f" Chance alone would agree in {percent(part.chance)} (Cohen's κ {kappa(part.kappa)}). "
                f"{evades.count:,} of {evades.n:,} reports on lies and honest statements evade, and are in none of "
                "these rates."
            )
        case Traces(all=every):
            return f" Of {times(every.lies, 'lie')}, {every.with_reasoning:,} came with reasoning that can be read."
    return ""


def _rates(part: Control) -> Iterator[tuple[str, Rate, str, str]]:
    """The rates of one control: label, rate, colour, of what."""
    match part:
        case Placebo():
            yield "lies in neutral replies", part.p_lie, "lie", "scenarios with a neutral question"
            yield "P(lie) under pressure", part.p_lie_pressured, "lie", "those of them with an outcome there"
        case Provided():
            yield "facts understood", part.understood, "ink", "scenarios with provided facts"
            yield "P(lie) where understood", part.p_lie_understood, "lie", "those of them that were understood"
        case SelfReport():
            yield "report agrees", part.agree, "ink", "lies and honest statements"
            yield "lies taken back", part.sensitivity, "lie", "lies"
            yield "honest ones stood by", part.specificity, "honest", "honest statements"
        case Traces():
            yield from _traced(part)


def _traced(part: Traces) -> Iterator[tuple[str, Rate, str, str]]:
    yield "knew and lied", part.all.share, "lie", "lies with reasoning that was judged"
    if set(part.asked_outright) != {"unsaid"}:
        for name, group in part.asked_outright.items():
            of = f"of {times(group.lies, 'lie')}, those with reasoning"
            yield f"… {OUTRIGHT[name]}", group.share, "lie", of


def _reports(report: SelfReport) -> Table:
    rows = tuple(
        (name.replace("_", " "), *(f"{row[says]:,}" for says in ("true", "not_true", "evades")))
        for name, row in report.counts.items()
    )
    return Table(("statement", "says true", "says not true", "evades"), rows, "Its own reports, by outcome.")
