"""How many scenarios a difference takes, and what the answer rests on."""

from __future__ import annotations

from collections.abc import Iterator

from maskbench.plain import one_line
from maskbench.report.blocks import Block, Facts, Sentence, Table, Words
from maskbench.report.format import percent
from maskbench.types import Json

_COLUMNS = {
    "statements": "statements",
    "paired": "scenarios, paired",
    "unpaired": "unpaired, each",
    "replies_paired": "replies a run, paired",
}
_SOURCES_OF_VARIANCE = {
    "scenario": "scenarios differ",
    "belief": "beliefs elicited anew",
    "statement": "statements, and the verdicts on them",
}


def blocks(data: Json) -> Iterator[Block]:
    """What it takes by statements a scenario, and where the variance comes from."""
    yield Sentence(
        (
            "To show a difference of ",
            Words(f"{100 * data['difference']:g} points in P(lie)"),
            f" with {data['power']:.0%} power at two-sided {1 - data['level']:.0%}:".replace("%", " %"),
        )
    )
    yield Table(tuple(_COLUMNS.values()), tuple(tuple(f"{row[name]:,}" for name in _COLUMNS) for row in data["table"]))
    yield Sentence(("Paired: both subjects on the same scenarios, as `compare` tests them.",), "note")
    parts, sources = data["variance"], data["sources"]
    whole = sum(parts[name] for name in _SOURCES_OF_VARIANCE)
    rows = (
        (label, percent(parts[name] / whole if whole else None), sources[name])
        for name, label in _SOURCES_OF_VARIANCE.items()
    )
    yield Table(("variance of one statement", "share", ""), tuple(rows))
    yield Facts(tuple(_facts(data)))


def _facts(data: Json) -> Iterator[tuple[str, str]]:
    parts, sources = data["variance"], data["sources"]
    between = parts["scenario"] + parts["belief"]
    alike = percent(parts["alike"] / between if between else None)
    yield "two subjects share", f"{alike} of the variance between scenarios ({sources['alike']})"
    yield "P(lie)", f"{percent(data['p_lie'])} ({sources['p_lie']})"
    if parts["judge"] is not None:
        yield "the judge's part", f"{percent(parts['judge'] / (between + parts['statement']))} of it all (measured)"
    if data["runs"]:
        yield "measured on", f"{data['scenarios']:,} scenarios of {one_line(', '.join(data['runs']))}"
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
