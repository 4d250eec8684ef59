"""A comparison, and a plan for one, as a person reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from maskbench.plain import plain
from maskbench.report import pairings
from maskbench.report.format import CAVEAT, percent
from maskbench.report.format import between as between
from maskbench.report.format import points as points
from maskbench.report.pairings import NAMES as NAMES
from maskbench.report.pairings import finding as finding
from maskbench.report.terminal import add, figures, paper
from maskbench.stats.paired import p_value as p_value

WIDTH = 100  # of a comparison as a string

Json = Mapping[str, Any]


def print_comparison(data: Json, console: Console) -> None:
    """Print every pairing; it fits 80 columns."""
    console.print(Group(*_parts(data)))


def as_text(data: Json) -> str:
    """The same as a string, without colours."""
    out = StringIO()
    print_comparison(data, paper(out, WIDTH))
    return out.getvalue()


def as_html(data: Json) -> str:
    """The same for a notebook, escaped."""
    console = paper(StringIO(), WIDTH, record=True)
    print_comparison(data, console)
    return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")


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


def _parts(data: Json) -> Iterator[RenderableType]:
    for place, pairing in enumerate(data["others"]):
        if place:
            yield Text("\n" + "─" * 80 + "\n", style="dim")
        yield from _pairing(data, pairing)
    yield Text()
    yield _pairs(_about(data))


def _pairing(data: Json, pairing: Json) -> Iterator[RenderableType]:
    first, other = pairings.names(data, pairing)
    yield Text.assemble((other, "bold"), " against ", (first, "bold"))
    for line in pairing["warnings"]:
        yield Text(plain(line), style="yellow")
    yield Text()
    if pairing["withheld"]:
        yield Text(finding(data, pairing), style="bold red")
    else:
        yield _headline(pairing, data["comparisons"], first, other)
        yield Text(f"  ({CAVEAT})\n", style="dim")
        yield Text(finding(data, pairing))
    for reason in pairing["untested_because"] if not pairing["withheld"] else ():
        yield Text(f"No test: {plain(reason)}", style="bold red")
    if pairing["differs"]:
        yield Text()
        yield _folding(*pairings.differs(data, pairing))
    if not pairing["withheld"]:
        yield Text()
        yield _grid(*pairings.rates(data, pairing))
    if pairing.get("corrected"):
        from maskbench.report.sections.corrected_text import compared

        yield Text()
        yield from compared(pairing["corrected"], first, other)
    if pairing["factors"]:
        yield Text()
        yield _grid(*pairings.factors(data, pairing), gap=0)
    if pairing["non_inferiority"]:
        yield Text()
        yield from _non_inferiority(pairing["non_inferiority"])
    yield Text()
    yield _transitions(*pairings.transitions(pairing["transitions"], first, other))
    yield Text()
    yield _pairs(pairings.facts(data, pairing))


def _headline(pairing: Json, comparisons: int, first: str, other: str) -> Text:
    """P(lie) of the one and of the other, each figure beside its name, and the difference with its test."""
    lie, test = pairing["rates"]["p_lie"], pairing["test"]
    text = Text.assemble(
        f"  P(lie) {percent(lie['first']):>7}  {first}\n         {percent(lie['other']):>7}  {other}\n  ",
        (f"{points(lie['difference'])} points", "bold"),
    )
    if test is None:
        return text
    text.append(f", 95 % interval {between(lie['ci95'])}, p {p_value(test['p'])}")
    if comparisons > 1:
        text.append(f"\n  ({p_value(test['p_holm'])} after Holm for {comparisons:,} comparisons)")
    return text


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]], gap: int = 1) -> Table:
    """Figures in columns whose heads, the names of runs among them, stand over several lines."""
    table = figures(
        *(Text(pairings.stacked(name) if place in (1, 2) else name) for place, name in enumerate(head)), gap=gap
    )
    for row in rows:
        add(table, *row)
    return table


def _folding(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Texts in columns, all of which fold."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    for column in head:
        table.add_column(Text(column), overflow="fold")
    for row in rows:
        add(table, *row)
    return table


def _transitions(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = figures(*map(Text, head))
    for row in rows:
        add(table, *row)
    return table


def _non_inferiority(found: Json) -> Iterator[RenderableType]:
    margin = f"{100 * found['margin']:g} points"
    if found["all_shown"] is None:
        yield Text(f"Whether anything got worse by {margin} or more cannot be tested here.", style="bold red")
        return
    table = figures(f"worse by less than {margin}?", "loss at worst, one-sided 95 %", "")
    for name, rate in found["rates"].items():
        add(table, NAMES[name], f"{points(rate['worst'])}", "shown" if rate["shown"] else "not shown")
    yield table
    said = "Nothing got worse" if found["all_shown"] else "It is not shown that nothing got worse"
    yield Text(f"{said} by {margin} or more.", style="bold green" if found["all_shown"] else "bold red")


def _pairs(pairs: Iterator[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, said in pairs:
        table.add_row(Text(label, style="bold"), Text(said))
    return table


def _about(data: Json) -> Iterator[tuple[str, str]]:
    for place, run in enumerate((data["first"], *data["others"])):
        yield (
            "other" if place else "first",
            f"{plain(run['run'])}: {plain(run['subject'])} on {plain(run['scenarios'])}, protocol {run['protocol']}"
            + ("" if run["verdicts"] == "default" else f", verdicts {plain(run['verdicts'])}"),
        )
    yield "rules", f"{data['rules']}, for all of them"
    for note in data["notes"]:
        yield "note", plain(note)
