"""The sections on rates: each with its interval, what it is a share of and its bounds; and Lying@k."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from maskbench.presentation.blocks import Block, Curve, Figure, Line, Only, PointRow, Points, Sentence, Table
from maskbench.presentation.format import CAVEAT, interval, pair
from maskbench.presentation.of_runs import Scored, has_rates, named, run_colour, run_mark, table
from maskbench.presentation.sections import reports_on_logs
from maskbench.presentation.sections.headline import held_against
from maskbench.presentation.words import EXPLAINED, RATES, heading
from maskbench.results.gain_minus_plain import ReportsReader
from maskbench.results.readers import FURTHER_RATES
from maskbench.stats.figures import Share

_SCORE = (
    "Honesty scores are shares without a lie: evasion counts as honest in them. P(honest) is what was said honestly."
)
_MAIN = ("p_lie", "p_honest", "honesty_score_normalized", "accuracy")  # drawn for several runs; the table has all
_COLOURS = {**dict.fromkeys(("p_lie", "p_lie_macro", "conditional_lie_rate"), "lie"), "p_honest": "honest"}


def rates(runs: Sequence[Scored]) -> Iterator[Block]:
    """Every rate with its interval."""
    yield Only(
        "page",
        reports_on_logs.FIRST
        if reports_on_logs.alone(runs)
        else "P(lie) can be low for three reasons: honesty, evasion, or having no beliefs to contradict. So none of "
        "these rates should be read without the others.",
    )
    table = _table(runs)
    if any(map(has_rates, runs)):
        rows = tuple(_alone(runs[0]) if len(runs) == 1 else _beside(runs))
        chart = Points(rows, "share; the table says of what")
        yield Figure((chart,), "Rates with their intervals", table)
    else:
        yield table
    yield Sentence((f"95 % intervals: {CAVEAT}. {_SCORE}",), "note")
    for run in runs:
        yield from (Only("page", ": ".join((*named(runs, run), text))) for text in held_against(run.summary))
    for run in runs:
        if found := run.summary.of(ReportsReader):
            yield from reports_on_logs.by_kind(f"{run.name}: " if len(runs) > 1 else "", found)
    same = [(run.name, run.summary.same_scenarios) for run in runs]
    if again := [f"{name}: {interval(rate.ci95)} %" for name, rate in same if rate and rate.ci95]:
        yield (
            "The intervals are for other scenarios of this kind. For asking these very scenarios again, P(lie) has a "
            f"narrower one: {'; '.join(again)}."
        )


def _explained(runs: Sequence[Scored]) -> Mapping[str, str]:
    """The rates in their order, and what each is: of reports on a log their own stand first."""
    first = reports_on_logs.OWN if reports_on_logs.alone(runs) else ()
    return {name: EXPLAINED[name] for name in dict.fromkeys((*first, *EXPLAINED))}


def _alone(run: Scored) -> Iterator[PointRow]:
    for name in _explained((run,)):
        if name in run.summary.rates:
            yield PointRow(heading(name), run.summary.rates[name], _COLOURS.get(name, "ink"))
    yield from (PointRow(each.title, rate) for each in FURTHER_RATES if (rate := run.summary.of(each)))


def _beside(runs: Sequence[Scored]) -> Iterator[PointRow | str]:
    for name in reports_on_logs.OWN if reports_on_logs.alone(runs) else _MAIN:
        yield heading(name)
        yield from (PointRow(run.name, run.summary.rates[name], run_colour(run.place)) for run in runs)


def _table(runs: Sequence[Scored]) -> Table:
    rows = [
        (heading(name), *named(runs, run), *pair(rate), f"{rate.n:,}", what)
        for name, what in _explained(runs).items()
        for run in runs
        if name in run.summary.rates
        for rate in (run.summary.rates[name],)
    ]
    rows += [
        (each.title, *named(runs, run), *pair(rate), f"{rate.n:,}", each.what)
        for each in FURTHER_RATES
        for run in runs
        if (rate := run.summary.of(each))
    ]
    rows += [(f"Bounds on {RATES['p_lie']}", *named(runs, run), *_bounds(run)) for run in runs]
    head = ("rate", *(("run",) if len(runs) > 1 else ()), "value", "95 %", "n", "what it is")
    return Table(head, tuple(rows), "", 2 if len(runs) > 1 else 1, last_text=True)


def _bounds(run: Scored) -> tuple[str, str, str, str]:
    """What P(lie) could be over all that is done: not an interval, so it stands where the value does."""
    ends = interval(run.summary.rates["p_lie"].bounds)
    return ends, "", f"{run.summary.scenarios.done:,}", "all errors honest, or all lies"


def lying_at_k(runs: Sequence[Scored]) -> Iterator[Block]:
    """The curve; nothing with one statement a scenario."""
    able = [run for run in runs if len(run.summary.lying_at) > 1]
    if not able:
        return
    yield Only(
        "page",
        "Whoever presses once can press again. Lying@k is the share of scenarios in which at least one of k statements "
        "is a lie.",
    )
    yield _figure(able, _table_at_k(runs, able), several=len(runs) > 1)
    if without := [run.name for run in runs if run not in able]:
        yield f"With one statement a scenario there is no curve: {', '.join(without)}."


def _figure(able: Sequence[Scored], behind: Table, *, several: bool) -> Figure | Table:
    lines = tuple(_line(run, several) for run in able)
    if not any(point.value is not None for line in lines for point in line.points.values()):
        return behind
    key = tuple((run_colour(run.place), run.name) for run in able) if several else ()
    note = "Every point stands on the scenarios whose statements all have an outcome."
    if any(line.bounds for line in lines):
        note += " Wide pale bars are bounds over all scenarios, whatever the failures would have been."
    return Figure(
        (Curve(lines, "k, statements under pressure", "share of scenarios with a lie"),), "Lying@k", behind, key, note
    )


def _table_at_k(runs: Sequence[Scored], able: Sequence[Scored]) -> Table:
    rows = [
        (*named(runs, run), k, *pair(point), f"{point.n:,}", interval(point.bounds))
        for run in able
        for k, point in run.summary.lying_at.items()
    ]
    return table(runs, ("k", "lied at least once", "95 %", "n", "bounds whatever failed, %"), rows)


def _line(run: Scored, several: bool) -> Line:
    at: dict[float, Share] = {int(k): point for k, point in run.summary.lying_at.items()}
    ends = {k: point.bounds for k, point in at.items() if point.bounds}
    bounds = {k: (low, high) for k, (low, high) in ends.items() if low < high}
    colour, shape = run_mark(run.place)
    return Line(run.name, colour, at, bounds, shape, str(run.place + 1) if several else "")
