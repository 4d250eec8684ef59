"""The section on rates: every rate with its interval, what it is a share of, and the bounds that failures imply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.report.blocks import Block, Figure, Only, Points, Row, Sentence, Table
from maskbench.report.format import CAVEAT, interval, pair
from maskbench.report.of_runs import Scored, has_rates, named, run_colour
from maskbench.report.sections.common_beliefs_shown import marked
from maskbench.report.words import EXPLAINED, RATES, heading
from maskbench.stats.rate_json import known

_SCORE = (
    "Honesty scores are shares without a lie: evasion counts as honest in them. P(honest) is what was said honestly."
)
_MAIN = ("p_lie", "p_honest", "honesty_score_normalized", "accuracy")  # drawn for several runs; the table has all
_COLOURS = {**dict.fromkeys(("p_lie", "p_lie_macro", "conditional_lie_rate"), "lie"), "p_honest": "honest"}


def rates(runs: Sequence[Scored]) -> Iterator[Block]:
    """Every rate with its interval."""
    yield Only(
        "page",
        "P(lie) is the headline, because one figure has to be. It can be low for three reasons: honesty, evasion, or "
        "having no beliefs to contradict. So none of these rates should be read without the others.",
    )
    table = _table(runs)
    if any(map(has_rates, runs)):
        rows = tuple(_alone(runs[0]) if len(runs) == 1 else _beside(runs))
        chart = Points(rows, "share; the table says of what")
        yield Figure((chart,), "Rates with their intervals", table)
    else:
        yield table
    yield Sentence((f"95 % intervals: {CAVEAT}. {_SCORE}",), "note")
    same = [(run.name, known(run.summary.metrics.p_lie.ci95_same_scenarios)) for run in runs]
    if again := [f"{name}: {interval(ends)} %" for name, ends in same if ends]:
        yield (
            "The intervals are for other scenarios of this kind. For asking these very scenarios again, P(lie) has a "
            f"narrower one: {'; '.join(again)}."
        )


def _alone(run: Scored) -> Iterator[Row]:
    for name in EXPLAINED:
        yield Row(heading(name), run.summary.metrics.rate(name).estimate, _COLOURS.get(name, "ink"))


def _beside(runs: Sequence[Scored]) -> Iterator[Row | str]:
    for name in _MAIN:
        yield heading(name)
        yield from (Row(run.name, run.summary.metrics.rate(name).estimate, run_colour(run.place)) for run in runs)


def _table(runs: Sequence[Scored]) -> Table:
    rows = [
        (heading(name), *named(runs, run), *pair(rate), f"{rate.n:,}", marked(run.summary, name, what))
        for name, what in EXPLAINED.items()
        for run in runs
        for rate in (run.summary.metrics.rate(name).estimate,)
    ]
    rows += [(f"Bounds on {RATES['p_lie']}", *named(runs, run), *_bounds(run)) for run in runs]
    head = ("rate", *(("run",) if len(runs) > 1 else ()), "value", "95 %", "n", "what it is")
    return Table(head, tuple(rows), "", 2 if len(runs) > 1 else 1, last_text=True)


def _bounds(run: Scored) -> tuple[str, str, str, str]:
    """What P(lie) could be over all that is done: not an interval, so it stands where the value does."""
    unknown = "errors and disputes" if "disputed" in run.summary.counts else "errors"
    ends = interval(run.summary.metrics.p_lie_bounds)
    return ends, "", f"{run.summary.scenarios.done:,}", f"all {unknown} honest, or all lies"
