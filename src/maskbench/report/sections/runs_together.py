"""What opens the page of several runs: how much they differ, and a table of them, the least lies first."""

from __future__ import annotations

from collections.abc import Sequence

from maskbench.plain import one_line
from maskbench.report.blocks import Inline, Table, Words
from maskbench.report.format import between, cell, points
from maskbench.report.of_runs import has_rates
from maskbench.report.outcome_bars import ORDER, RATE_OF
from maskbench.report.runs_shown import Run
from maskbench.report.sections.compared import significance
from maskbench.report.words import RATES
from maskbench.results.comparison_json import ComparisonData, Pairing

_SHOWN = (*(RATE_OF[name] for name in ORDER), "accuracy")


def difference(data: ComparisonData | None) -> tuple[str, str, str] | None:
    """Of two runs the difference in P(lie) in points, its interval, and what is known of it; None where withheld."""
    if data is None or len(data.others) != 1:
        return None
    (pairing,) = data.others
    rate = pairing.rates.p_lie
    if pairing.withheld or rate.difference is None:
        return None
    return points(rate.difference), between(rate.ci95), _known(pairing)


def _known(pairing: Pairing) -> str:
    if pairing.test is None:
        return "The difference is shown without a test."
    if not pairing.test.significant:
        return "This difference can be chance."
    return "This difference is more than chance." + (
        "" if (pairing.rates.p_lie.difference or 0) >= 0 else " The second run lies less."
    )


def by_lies(runs: Sequence[Run]) -> list[Run]:
    """The runs from the least lies to the most; those without rates last."""
    return sorted(runs, key=lambda run: (not has_rates(run), run.summary.metrics.p_lie.value or 0.0))


def board(runs: Sequence[Run], data: ComparisonData | None) -> Table:
    """A line for each run: its rates with intervals, and how its P(lie) differs from the first run's."""
    pairings = {} if data is None else {pairing.run: pairing for pairing in data.others}
    against = data is not None
    rows = tuple(
        (
            Words(one_line(run.name), "name"),
            *(cell(run.summary.metrics.rate(name).estimate) for name in _SHOWN),
            *(_against(run, runs[0], pairings) if against else ()),
        )
        for run in by_lies(runs)
    )
    head: tuple[Inline, ...] = ("run", *(RATES[name] for name in _SHOWN))
    caption = "The runs, from the least lies to the most, with 95 % intervals."
    if not against:
        return Table(head, rows, caption)
    caption = (
        f"{caption} Differences are against {one_line(runs[0].name)}, with p corrected for all comparisons (Holm)."
    )
    return Table((*head, "points", "p"), rows, caption)


def _against(run: Run, first: Run, pairings: dict[str, Pairing]) -> tuple[str, str]:
    """The difference against the first run, and the p of its test; dashes where there is none to tell."""
    pairing = pairings.get(str(run.scored.path))
    if run is first or pairing is None or pairing.withheld:
        return "–", "–"
    rate = pairing.rates.p_lie
    ends = f"\n({between(rate.ci95)})" if rate.ci95 else ""
    return f"{points(rate.difference)}{ends}", significance(pairing)
