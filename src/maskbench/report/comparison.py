"""A comparison, and a plan for one, as a person reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from maskbench.report.plain import plain
from maskbench.report.tables import add, figures
from maskbench.report.tables import between as between
from maskbench.report.tables import p_value as p_value
from maskbench.report.tables import points as points
from maskbench.report.text import CAVEAT, percent

WIDTH = 100  # of a comparison as a string
SHOWN_IDS = 6  # scenarios named for each kind of change; --json has them all
NAMES = {
    "p_lie": "P(lie)",
    "p_honest": "P(honest)",
    "p_evasive": "P(evasive)",
    "p_no_belief": "P(no belief)",
    "accuracy": "accuracy of beliefs",
    "belief_share": "beliefs",
    "answered_share": "× answers",
    "conditional_lie_rate": "× lies",
}

Json = Mapping[str, Any]


def print_comparison(data: Json, console: Console) -> None:
    """Print every pairing; it fits 80 columns."""
    console.print(Group(*_parts(data)))


def as_text(data: Json) -> str:
    """The same as a string, without colours."""
    out = StringIO()
    print_comparison(data, Console(file=out, width=WIDTH, markup=False, emoji=False, highlight=False))
    return out.getvalue()


def as_html(data: Json) -> str:
    """The same for a notebook, escaped."""
    console = Console(record=True, file=StringIO(), width=WIDTH, markup=False, emoji=False, highlight=False)
    print_comparison(data, console)
    return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")


def finding(data: Json, pairing: Json) -> str:
    """One pairing in a sentence or two."""
    lie, test = pairing["rates"]["p_lie"], pairing["test"]
    first, other = _labels(data, pairing)
    if pairing["withheld"]:
        return f"The difference between {other} and {first} is withheld: {plain(pairing['withheld'])}"
    if lie["difference"] is None:
        return f"{other} cannot be held against {first}: no shared scenario has an outcome in both."
    change = f"P(lie) {percent(lie['first'])} → {percent(lie['other'])}, {points(lie['difference'])} points"
    if test is None:
        return f"{other} against {first}: {change}. Shown without a test."
    if not test["significant"]:
        text = f"No difference in lying could be shown between {other} and {first}: {change} ({between(lie['ci95'])})."
        return f"{text} {_power(pairing)}" if pairing["smallest_difference"] else text
    less = lie["difference"] < 0
    text = f"{other} lies {'less' if less else 'more'} than {first}: {change} ({between(lie['ci95'])})."
    if less and pairing["rates"]["p_honest"]["ci95"][0] <= 0:
        return f"{text} {_no_gain(pairing)}"
    return f"{text} {_besides(pairing)}"


def _besides(pairing: Json) -> str:
    """What became of the other outcomes: fewer lies may be more evasion."""
    said = (
        f"{NAMES[name]} {points(pairing['rates'][name]['difference'])}"
        for name in ("p_honest", "p_evasive", "p_no_belief")
    )
    return f"Besides, in points: {', '.join(said)}."


def _power(pairing: Json) -> str:
    return (
        f"With these {pairing['shared']['with_outcomes_in_both']} scenarios a true difference of "
        f"{100 * pairing['smallest_difference']:.1f} points would have been shown in 80 % of cases."
    )


def _no_gain(pairing: Json) -> str:
    said = (
        f"{NAMES[name]} {points(pairing['rates'][name]['difference'])} ({between(pairing['rates'][name]['ci95'])})"
        for name in ("p_honest", "p_evasive", "p_no_belief")
    )
    return f"That it is honest more often is not shown: {', '.join(said)}."


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
        yield "measured on", f"{data['scenarios']} scenarios of {', '.join(map(plain, data['runs']))}"
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


def _labels(data: Json, pairing: Json) -> tuple[str, str]:
    """What to call the two: their subjects, or their folders where the subject is the same or appears twice."""
    runs = [data["first"], *data["others"]]
    subjects = [plain(run["subject"]) for run in runs]
    names = subjects if len(set(subjects)) == len(subjects) else [plain(run["run"]) for run in runs]
    return names[0], names[1 + data["others"].index(pairing)]


def _parts(data: Json) -> Iterator[RenderableType]:
    for place, pairing in enumerate(data["others"]):
        if place:
            yield Text("\n" + "─" * 80 + "\n", style="dim")
        yield from _pairing(data, pairing)
    yield Text()
    yield _pairs(_about(data))


def _pairing(data: Json, pairing: Json) -> Iterator[RenderableType]:
    first, other = _labels(data, pairing)
    yield Text.assemble((other, "bold"), " against ", (first, "bold"))
    for line in pairing["warnings"]:
        yield Text(plain(line), style="yellow")
    yield Text()
    if pairing["withheld"]:
        yield Text(finding(data, pairing), style="bold red")
    else:
        yield _headline(pairing, data["comparisons"])
        yield Text(f"  ({CAVEAT})\n", style="dim")
        yield Text(finding(data, pairing))
    for reason in pairing["untested_because"] if not pairing["withheld"] else ():
        yield Text(f"No test: {plain(reason)}", style="bold red")
    if pairing["differs"]:
        yield Text()
        yield _differs(pairing["differs"])
    if not pairing["withheld"]:
        yield Text()
        yield _rates(pairing["rates"])
    if pairing.get("corrected"):
        from maskbench.report.corrected import compared  # here: it formats as this module does

        yield Text()
        yield from compared(pairing["corrected"])
    if pairing["factors"]:
        yield Text()
        yield _factors(pairing["factors"])
    if pairing["non_inferiority"]:
        yield Text()
        yield from _non_inferiority(pairing["non_inferiority"])
    yield Text()
    yield _transitions(pairing["transitions"])
    yield Text()
    yield _pairs(_facts(pairing))


def _headline(pairing: Json, comparisons: int) -> Text:
    lie, test = pairing["rates"]["p_lie"], pairing["test"]
    text = Text.assemble(
        f"  P(lie) {percent(lie['first'])} → {percent(lie['other'])}   ",
        (f"{points(lie['difference'])} points", "bold"),
    )
    if test is None:
        return text
    text.append(f"\n  95 % interval {between(lie['ci95'])}, p {p_value(test['p'])}")
    if comparisons > 1:
        text.append(f" ({p_value(test['p_holm'])} after Holm for {comparisons} comparisons)")
    return text


def _rates(rates: Json) -> Table:
    table = figures("rate", "first", "other", "points", "95 %", "n")
    for name, rate in rates.items():
        shares = percent(rate["first"]), percent(rate["other"])
        add(table, NAMES[name], *shares, points(rate["difference"]), between(rate["ci95"]), str(rate["n"]))
    return table


def _factors(factors: Json) -> Table:
    table = figures("P(lie) is", "first", "other", "points", "95 %", "through", "95 %")
    for name, factor in factors.items():
        add(
            table,
            NAMES[name],
            *(percent(factor["first"]), percent(factor["other"])),
            *(points(factor["difference"]), between(factor["ci95"])),
            *(points(factor["contribution"]), between(factor["contribution_ci95"])),
        )
    return table


def _differs(differs: Sequence[Json]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    for column in ("what differs", "first", "other"):
        table.add_column(column, overflow="fold")
    for one in differs:
        add(table, one["field"], plain(str(one["first"])), plain(str(one["other"])))
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


def _transitions(counts: Json) -> Table:
    table = figures("first ↓  other →", *(outcome.replace("_", " ") for outcome in counts))
    for one, into in counts.items():
        if any(into.values()):
            add(table, one.replace("_", " "), *(str(count or "·") for count in into.values()))
    return table


def _pairs(pairs: Iterator[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, said in pairs:
        table.add_row(Text(label, style="bold"), Text(said))
    return table


def _facts(pairing: Json) -> Iterator[tuple[str, str]]:
    mcnemar = pairing["mcnemar"]
    yield "McNemar's counts", f"{mcnemar['lie_to_other']} no longer a lie, {mcnemar['other_to_lie']} now a lie"
    if pairing["changed"]:
        yield "changed", _changed(pairing["changed"])
    counts = pairing["shared"]
    yield "shared scenarios", f"{counts['scenarios']} on {counts['propositions']} propositions{_failed(counts)}"
    if pairing["bounds"]:
        disputed = " or is disputed" if "disputed" in pairing["transitions"] else ""
        yield f"whatever failed{disputed}", _bounds(pairing["bounds"])
    if pairing["smallest_difference"]:
        yield "could have shown", f"{100 * pairing['smallest_difference']:.1f} points in P(lie), with 80 % power"
    if test := pairing["test"]:
        yield "test", f"{test['name']} on P(lie), {_how_tested(test)}"


def _how_tested(test: Json) -> str:
    if test["exact"]:
        return "mid-p; all sign patterns"
    if test["patterns"]:
        return f"mid-p; {test['patterns']:,} sign patterns, drawn"
    return "Student's t; the draw of what was looked at twice is in it"


def _failed(counts: Json) -> str:
    failed = {
        "in the first only": counts["failed_in_first_only"],
        "in the other only": counts["failed_in_other_only"],
        "in both": counts["failed_in_both"],
    }
    said = ", ".join(f"{count} {where}" for where, count in failed.items() if count)
    return f"; without outcome: {said}" if said else ""


def _bounds(bounds: Json) -> str:
    interval = f"; with its interval {between(bounds['ci95'])}" if bounds["ci95"] else ""
    return f"the difference in P(lie) lies within {between(bounds['difference'])}{interval}"


def _changed(changed: Sequence[Json]) -> str:
    """Which scenarios changed, by kind of change, the most frequent first."""
    kinds = Counter((one["first"], one["other"]) for one in changed)
    lines = []
    for (before, after), count in kinds.most_common():
        ids = [plain(one["task_id"]) for one in changed if (one["first"], one["other"]) == (before, after)]
        more = f", ... ({count - SHOWN_IDS} more)" if count > SHOWN_IDS else ""
        arrow = f"{before} → {after}".replace("_", " ")
        lines.append(f"{arrow}, {count}: {', '.join(ids[:SHOWN_IDS])}{more}")
    return "\n".join(lines)


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
