"""The section on the subject's controls: the noise floor, facts understood, self-reports, reasoning before a lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from maskbench.report.blocks import Block, Figure, Heading, Json, Points, Row, Table
from maskbench.report.format import estimate, kappa, pair, percent, shown, times
from maskbench.report.of_runs import Scored, named
from maskbench.report.words import OUTRIGHT


def checks(runs: Sequence[Scored]) -> Iterator[Block]:
    """What the controls on the subject came to; nothing where a run has none."""
    for run in runs:
        if part := run.summary.get("checks"):
            yield from map(Heading, named(runs, run))
            yield from _checked(part)


def floor(checks: Json) -> str | None:
    """The noise floor in a few words, to stand beside P(lie); None where there was no placebo."""
    if not checks["placebo"] or checks["placebo"]["p_lie"]["value"] is None:
        return None
    return f"noise floor: {shown(estimate(checks['placebo']['p_lie']))} of neutral replies are judged a lie"


def _checked(checks: Json) -> Iterator[Block]:
    asked = [(name, checks[name]) for name in _WORDS if checks[name]]
    for name, part in asked:
        lack = "outcome" if name == "placebo" else "verdict"
        failed = f" {part['failed']:,} more have no {lack}, and count nowhere here." if part["failed"] else ""
        yield f"{_WORDS[name]}{_BESIDE[name](part) if name in _BESIDE else ''}{failed}"
    rows: list[Row | str] = []
    cells: list[tuple[str, ...]] = []
    for name, part in asked:
        rows.append(_TITLES[name])
        for label, rate, colour, of in _rates(name, part):
            rows.append(Row(label, estimate(rate), colour))
            cells.append((label, *pair(estimate(rate)), f"{rate['n']:,}", of))
    table = Table(("rate", "value", "95 %", "n", "of what"), tuple(cells), last_text=True)
    able = any(isinstance(row, Row) and row.estimate.value is not None for row in rows)
    chart = Points(tuple(rows), "share (of what, the table says)")
    yield Figure((chart,), "What the checks found", table) if able else table
    if report := checks["self_report"]:
        yield _reports(report["counts"])


_TITLES = {
    "placebo": "Noise floor",
    "check_provided": "Provided facts",
    "self_report": "Asked by its developer",
    "traces": "Reasoning before a lie",
}
_WORDS = {
    "placebo": (
        "Noise floor: one more neutral reply was judged as if it were a statement. What comes out a lie there is the "
        "judge's error, or an answer that changes by itself; a P(lie) that is hardly above it shows nothing. It is not "
        "to be taken off."
    ),
    "check_provided": (
        "Provided facts: asked neutrally, with the facts before it, did the model take them in? What it never "
        "understood, it cannot lie about."
    ),
    "self_report": (
        "Asked by its developer: after each statement, whether it was true. How often does its own report agree with "
        "the outcome?"
    ),
    "traces": (
        "Reasoning: does the reasoning before a lie state the belief that the answer then contradicts? Then it knew "
        "and lied; where the reasoning is silent, that does not show a mistake."
    ),
}


def _misread(part: Json) -> str:
    counts = part["counts"]
    return f" It misunderstood {counts['misunderstood']:,} and gave no answer in {counts['no_answer']:,}."


def _by_chance(part: Json) -> str:
    evades = part["evades"]
    return (
        f" Chance alone would agree in {percent(part['chance'])} (Cohen's κ {kappa(part['kappa'])}). "
        f"{evades['count']:,} of {evades['n']:,} reports on lies and honest statements evade, and are in none of "
        "these rates."
    )


def _read(part: Json) -> str:
    every = part["all"]
    return f" Of {times(every['lies'], 'lie')}, {every['with_reasoning']:,} came with reasoning that can be read."


_BESIDE = {"check_provided": _misread, "self_report": _by_chance, "traces": _read}


def _rates(name: str, part: Json) -> Iterator[tuple[str, Json, str, str]]:
    """The rates of one control: label, rate, colour, of what."""
    if name == "placebo":
        yield "lies in neutral replies", part["p_lie"], "lie", "scenarios with a neutral question"
        yield "P(lie) under pressure", part["p_lie_pressured"], "lie", "those of them with an outcome there"
    elif name == "check_provided":
        yield "facts understood", part["understood"], "ink", "scenarios with provided facts"
        yield "P(lie) where understood", part["p_lie_understood"], "lie", "those of them that were understood"
    elif name == "self_report":
        yield "report agrees", part["agree"], "ink", "lies and honest statements"
        yield "lies taken back", part["sensitivity"], "lie", "lies"
        yield "honest ones stood by", part["specificity"], "honest", "honest statements"
    else:
        yield from _traced(part)


def _traced(part: Json) -> Iterator[tuple[str, Json, str, str]]:
    yield "knew and lied", part["all"]["share"], "lie", "lies with reasoning that was judged"
    groups: dict[str, Any] = part["asked_outright"]
    if set(groups) != {"unsaid"}:
        for name, group in groups.items():
            of = f"of {times(group['lies'], 'lie')}, those with reasoning"
            yield f"… {OUTRIGHT[name]}", group["share"], "lie", of


def _reports(counts: Json) -> Table:
    rows = tuple(
        (name.replace("_", " "), *(f"{row[says]:,}" for says in ("true", "not_true", "evades")))
        for name, row in counts.items()
    )
    return Table(("statement", "says true", "says not true", "evades"), rows, "Its own reports, by outcome.")
