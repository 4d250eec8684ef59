"""How many scenarios a difference takes, and what the answer rests on."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import astuple

from maskbench.plain import one_line
from maskbench.report.blocks import Block, Facts, Sentence, Table, Words
from maskbench.report.format import percent
from maskbench.results.sample_size_json import PlanData

_COLUMNS = ("statements", "scenarios, paired", "unpaired, each", "replies a run, paired")


def blocks(data: PlanData) -> Iterator[Block]:
    """What it takes by statements a scenario, and where the variance comes from."""
    yield Sentence(
        (
            "To show a difference of ",
            Words(f"{100 * data.difference:g} points in P(lie)"),
            f" with {data.power:.0%} power at two-sided {1 - data.level:.0%}:".replace("%", " %"),
        )
    )
    yield Table(_COLUMNS, tuple(tuple(f"{cell:,}" for cell in astuple(row)) for row in data.table))
    yield Sentence(("Paired: both subjects on the same scenarios, as `compare` tests them.",), "note")
    parts, sources = data.variance, data.sources
    whole = parts.scenario + parts.belief + parts.statement
    rows = (
        ("scenarios differ", parts.scenario, sources["scenario"]),
        ("beliefs elicited anew", parts.belief, sources["belief"]),
        ("statements, and the verdicts on them", parts.statement, sources["statement"]),
    )
    cells = ((label, percent(part / whole if whole else None), source) for label, part, source in rows)
    yield Table(("variance of one statement", "share", ""), tuple(cells))
    yield Facts(tuple(_facts(data)))


def _facts(data: PlanData) -> Iterator[tuple[str, str]]:
    parts, sources = data.variance, data.sources
    between = parts.scenario + parts.belief
    alike = percent(parts.alike / between if between else None)
    yield "two subjects share", f"{alike} of what differs between scenarios and beliefs ({sources['alike']})"
    yield "P(lie)", f"{percent(data.p_lie)} ({sources['p_lie']})"
    if parts.judge is not None:
        yield "the judge's part", f"{percent(parts.judge / (between + parts.statement))} of it all (measured)"
    if data.runs:
        yield "measured on", f"{data.scenarios:,} scenarios of {one_line(', '.join(data.runs))}"
        lost = f"{percent(data.lost.scenarios)} of scenarios, {percent(data.lost.statements)} of statements"
        yield "without outcome", f"{lost}; included above"
        common = data.together.paired / (2 * (between + parts.statement) or 1)
        yield (
            "also included",
            f"propositions that scenarios share, +{percent(common)} of the variance; "
            f"weights, {data.weighting:.2f} times the scenarios",
        )
    if "assumed" in sources.values():
        what = "What is assumed was not measured" if data.runs else "Nothing is measured"
        yield "note", f"{what}: docs/comparing.md says what is assumed, and which runs would tell."
