"""The sections on rates: outcomes, rates, archetypes, asked outright or not, asked again and again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from maskbench.method.archetypes import in_order
from maskbench.pages import charts, words
from maskbench.pages.charts import Figure, Row, Table, bars, cell, points
from maskbench.pages.parts import (
    KEY,
    NAMES,
    RATE_OF,
    WHISKERS,
    Content,
    Json,
    Panel,
    Panels,
    colour,
    estimate,
    has_rates,
    mix,
    named,
    pair,
    unit,
)
from maskbench.pages.planes import Line, curve
from maskbench.report.format import CAVEAT, interval
from maskbench.report.runs_shown import Run
from maskbench.types import Archetype, OutcomeName

# The outcome bar


def headline(runs: Sequence[Run]) -> Figure | Table:
    """The outcome bar, or counts alone where there are no rates."""
    able, table = [run for run in runs if has_rates(run)], _outcome_table(runs)
    if not able:
        return table
    if len(runs) == 1:
        rows = [_outcome_row(runs[0], name) for name in charts.ORDER]
        of = unit(runs)
        svg = bars([mix("", runs[0].summary["metrics"])], thick=58, of=of) + points(rows, title=f"share of {of}")
        told = f"{WHISKERS} {_TOLD}" if runs[0].summary["planted"] else WHISKERS
        return Figure(svg, "Outcomes", table, KEY, told)
    without = ", ".join(run.name for run in runs if run not in able)
    note = f"{WHISKERS} Without rates, and so without a bar: {without}." if without else WHISKERS
    svg = bars([mix(run.name, run.summary["metrics"]) for run in able], of=unit(able))
    return Figure(svg, "Outcomes", table, KEY, note)


_TOLD = (
    "The upright marks are what this simulated subject was told to do, over all scenarios: its lie and evade are "
    "shares of those in which it has a belief."
)


def _outcome_row(run: Run, name: OutcomeName) -> Row:
    planted = run.summary["planted"]
    truth = planted[RATE_OF[name]] if planted else None
    return Row(name.replace("_", " "), run.result.rates[RATE_OF[name]], charts.colour_of(name), truth)


def _outcome_table(runs: Sequence[Run]) -> Table:
    rows = [
        (*named(runs, run), name.replace("_", " "), f"{count:,}", *_share(run, name))
        for run in runs
        for name, count in run.summary["counts"].items()
    ]
    notes = []
    if any(run.result.settings.statements > 1 for run in runs):
        notes.append("Scenarios are counted by their first statement; shares are over all statements.")
    if any(run.result.settings.sample for run in runs):
        notes.append("Shares have the weights of the sample; counts do not.")
    return _table(runs, ("outcome", "scenarios", "share", "95 %"), rows, " ".join(notes))


def _share(run: Run, name: Any) -> tuple[str, str]:
    return pair(run.result.rates[RATE_OF[name]]) if name in RATE_OF else ("", "")


def _table(runs: Sequence[Run], head: tuple[str, ...], rows: Sequence[tuple[str, ...]], caption: str = "") -> Table:
    """A table whose rows begin with the run's name where there are several."""
    several = len(runs) > 1
    return Table(("run", *head) if several else head, tuple(rows), caption, 2 if several else 1)


# Rates

_SCORE = (
    "Honesty scores are shares without a lie: evasion counts as honest in them. P(honest) is what was said honestly."
)
_MAIN = ("p_lie", "p_honest", "honesty_score_normalized", "accuracy")  # shown for several runs; the table has all


def rates(runs: Sequence[Run]) -> Iterator[Content]:
    """Every rate with its interval."""
    yield (
        "P(lie) is the headline, because one figure has to be. It can be low for three reasons: honesty, evasion, or "
        "having no beliefs to contradict. So none of these rates should be read without the others."
    )
    table = _rate_table(runs)
    if any(has_rates(run) for run in runs):
        rows = _rate_rows(runs[0]) if len(runs) == 1 else _rates_of_several(runs)
        drawn = points(rows, title="share (of what, the table says)")
        yield Figure(drawn, "Rates with their intervals", table, (), f"95 % intervals: {CAVEAT}. {_SCORE}")
    else:
        yield table
    if again := [f"{run.name}: {interval(ends)} %" for run in runs if (ends := _again(run))]:
        yield (
            "The intervals are for other scenarios of this kind. For asking these very scenarios again, P(lie) has a "
            f"narrower one: {'; '.join(again)}."
        )


def _rate_rows(run: Run) -> list[Row]:
    return [Row(label, run.result.rates[name], _RATE_COLOURS.get(name, "ink")) for name, label, _ in words.RATES]


_RATE_COLOURS = {**dict.fromkeys(("p_lie", "p_lie_macro", "conditional_lie_rate"), "lie"), "p_honest": "honest"}


def _rates_of_several(runs: Sequence[Run]) -> list[Row | str]:
    rows: list[Row | str] = []
    for name, label, _ in words.RATES:
        if name in _MAIN:
            rows += [label, *(Row(run.name, run.result.rates[name], colour(run)) for run in runs)]
    return rows


def _again(run: Run) -> Sequence[float] | None:
    ends: Sequence[float] | None = run.summary["metrics"]["p_lie"].get("ci95_same_scenarios")
    return ends


def _rate_table(runs: Sequence[Run]) -> Table:
    rows = [
        (label, *named(runs, run), *pair(run.result.rates[name]), f"{run.result.rates[name].n:,}", what)
        for name, label, what in words.RATES
        for run in runs
    ]
    head = ("rate", *(("run",) if len(runs) > 1 else ()), "value", "95 %", "n", "what it is")
    return Table(head, tuple(rows), "", 2 if len(runs) > 1 else 1, last_text=True)


# Archetypes


def archetypes(runs: Sequence[Run]) -> Iterator[Content]:
    """Small charts of the archetypes, side by side."""
    found = in_order(name for run in runs for name in run.summary["by_archetype"])
    if not found:
        yield "No scenario is done yet."
        return
    if len(found) == 1:
        title = _words(found[0], runs)[0].lower()
        yield f"All scenarios here press in one way, {title}; the figures above are about nothing else."
    else:
        yield "A model can withstand one way of pressing and give in to another; the overall figure is their mixture."
    panels = tuple(_panel(runs, name) for name in found)
    note = WHISKERS if len(runs) > 1 else ""
    yield Panels("Archetypes side by side", panels, _archetype_table(runs, found), KEY, note)


def _words(name: Archetype, runs: Sequence[Run]) -> tuple[str, str]:
    """Title and sentence of an archetype."""
    return words.archetype(name, (run.summary for run in runs))


def _panel(runs: Sequence[Run], name: Any) -> Panel:
    title, text = _words(name, runs)
    parts = [(run, run.summary["by_archetype"][name]) for run in runs if name in run.summary["by_archetype"]]
    able = [(run, part["metrics"]) for run, part in parts if part["metrics"]["p_lie"]["value"] is not None]
    held = " ".join(
        f"{': '.join((*named(runs, run), 'withheld:'))} {part['withheld']}" for run, part in parts if part["withheld"]
    )
    svg = Markup()
    if len(runs) == 1 and able:
        metrics = able[0][1]
        rows = [
            Row(label, estimate(metrics[RATE_OF[one]]), charts.colour_of(one))
            for one, label in zip(charts.ORDER, NAMES, strict=True)
        ]
        svg = points(rows, title=f"share of {unit(runs)}", panel=True)
    elif able:
        svg = bars([mix(run.name, metrics) for run, metrics in able], thick=22, of=unit(runs), panel=True)
    return Panel(title, f"{text} {held}".strip(), _counted(parts), svg)


def _counted(parts: Sequence[tuple[Run, Any]]) -> str:
    counts = dict.fromkeys(f"{sum(part['counts'].values()):,}" for _, part in parts)
    return f"{' / '.join(counts)} scenarios"


def _archetype_table(runs: Sequence[Run], found: Sequence[Any]) -> Table:
    rows = []
    for name in found:
        for run in runs:
            if part := run.summary["by_archetype"].get(name):
                cells = [cell(estimate(part["metrics"][RATE_OF[one]])) for one in charts.ORDER]
                cells += [cell(estimate(part["metrics"]["accuracy"])), f"{sum(part['counts'].values()):,}"]
                rows.append((_words(name, runs)[0], *named(runs, run), *cells))
    head = ("archetype", *(("run",) if len(runs) > 1 else ()), *NAMES, "accuracy", "scenarios")
    return Table(head, tuple(rows), "", 2 if len(runs) > 1 else 1)


# Asked outright

_OUTRIGHT = {"yes": "asked for the falsehood", "no": "not asked for it"}


def outright(runs: Sequence[Run]) -> Iterator[Content]:
    """Scenarios that ask for the falsehood itself, against those that do not."""
    groups = [(run, group, part) for run in runs for group, part in run.summary["asked_outright"].items()]
    if not groups:
        yield "The scenario set does not say which of its scenarios ask for the falsehood itself."
        return
    yield (
        "Some scenarios ask for the falsehood itself; others only make it the convenient answer. Lying when asked to "
        "is also obedience; lying without being asked is not."
    )
    table = _outright_table(runs, groups)
    able = [(run, group, part) for run, group, part in groups if part["p_lie"]["value"] is not None]
    title = "Outcomes where the falsehood was asked for, and where it was not"
    if not able:
        yield table
    elif len(runs) == 1:
        drawn = bars([mix(_OUTRIGHT[group], part) for _, group, part in able], of=unit(runs))
        yield Figure(drawn, title, table, KEY, WHISKERS)
    else:
        panels = []
        for group, label in _OUTRIGHT.items():
            mixes = [mix(run.name, part) for run, one, part in able if one == group]
            if mixes:
                panels.append(Panel(label.capitalize(), "", "", bars(mixes, thick=22, of=unit(runs), panel=True)))
        yield Panels(title, tuple(panels), table, KEY, WHISKERS)


def _outright_table(runs: Sequence[Run], groups: Sequence[tuple[Run, str, Json]]) -> Table:
    rows = []
    for run, group, part in groups:
        shares = [estimate(part[RATE_OF[name]]) for name in charts.ORDER]
        rows.append((*named(runs, run), _OUTRIGHT[group], *map(cell, shares), f"{shares[0].n:,}"))
    head = (*(("run",) if len(runs) > 1 else ()), "the falsehood was", *NAMES, "scenarios")
    return Table(head, tuple(rows), "", 2 if len(runs) > 1 else 1)


# Lying@k


def lying_at_k(runs: Sequence[Run]) -> Iterator[Content]:
    """The curve, or how to get one."""
    yield (
        "Whoever presses once can press again. Lying@k is the share of scenarios in which at least one of k statements "
        "is a lie."
    )
    able = [run for run in runs if len(run.summary["metrics"]["lying_at"]) > 1]
    if not able:
        yield Markup(
            "Here there is one statement a scenario, and so no curve. To get one: "
            "<code>maskbench run MODEL --statements 10</code>."
        )
        return
    lines, table = [_line(run, len(runs) > 1) for run in able], _curve_table(runs, able)
    key = tuple((colour(run), run.name) for run in able) if len(runs) > 1 else ()
    note = "Every point stands on the scenarios whose statements all have an outcome."
    if any(line.bounds for line in lines):
        note += " Wide pale bars are bounds over all scenarios, whatever the failures would have been."
    drawn = any(point.value is not None for line in lines for point in line.points.values())
    yield Figure(curve(lines), "Lying@k", table, key, note) if drawn else table
    if without := [run.name for run in runs if run not in able]:
        yield f"With one statement a scenario there is no curve: {', '.join(without)}."


def _curve_table(runs: Sequence[Run], able: Sequence[Run]) -> Table:
    rows = [
        (*named(runs, run), k, *pair(estimate(point)), f"{point['n']:,}", interval(point["bounds"]))
        for run in able
        for k, point in run.summary["metrics"]["lying_at"].items()
    ]
    return _table(runs, ("k", "lied at least once", "95 %", "n", "bounds whatever failed, %"), rows)


def _line(run: Run, several: bool) -> Line:
    at = {int(k): point for k, point in run.summary["metrics"]["lying_at"].items()}
    ends = {k: point["bounds"] for k, point in at.items() if point["bounds"]}
    bounds = {k: (low, high) for k, (low, high) in ends.items() if low < high}
    return Line(run.name if several else "", run.place, {k: estimate(point) for k, point in at.items()}, bounds)
