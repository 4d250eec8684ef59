"""The section on scenarios that ask for the falsehood itself, against those that do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.report.blocks import Bars, Block, Figure, Only, Panel, Panels, Table
from maskbench.report.format import cell
from maskbench.report.of_runs import Scored, named, table, unit
from maskbench.report.outcome_bars import KEY, NAMES, ORDER, RATE_OF, WHISKERS, mix
from maskbench.report.words import OUTRIGHT
from maskbench.results.summary_json import Outright

Groups = Sequence[tuple[Scored, str, Outright]]


def outright(runs: Sequence[Scored]) -> Iterator[Block]:
    """The outcomes of both groups; where the set does not say which is which, that."""
    groups = [(run, group, part) for run in runs for group, part in run.summary.asked_outright.items()]
    if not groups:
        reason = (
            "The scenario set does not say which of its scenarios ask for the falsehood itself."
            if all(run.summary.complete for run in runs)
            else "This is shown once all scenarios are done."
        )
        yield Only("page", reason)
        return
    yield Only(
        "page",
        "Some scenarios ask for the falsehood itself; others only make it the convenient answer. Lying when asked to "
        "is also obedience; lying without being asked is not.",
    )
    shares = _table(runs, groups)
    able = [(run, group, part) for run, group, part in groups if part.p_lie.value is not None]
    title = "Outcomes where the falsehood was asked for, and where it was not"
    if not able:
        yield shares
    elif len(runs) == 1:
        bars = Bars(tuple(mix(OUTRIGHT[group], part) for _, group, part in able), unit(runs))
        yield Figure((bars,), title, shares, KEY, WHISKERS)
    else:
        yield Panels(title, tuple(_panels(runs, able)), shares, KEY, WHISKERS)


def _panels(runs: Sequence[Scored], able: Groups) -> Iterator[Panel]:
    for group, label in OUTRIGHT.items():
        if mixes := tuple(mix(run.name, part) for run, name, part in able if name == group):
            yield Panel(label.capitalize(), (Bars(mixes, unit(runs), 22),))


def _table(runs: Sequence[Scored], groups: Groups) -> Table:
    rows = []
    for run, group, part in groups:
        shares = [part.rate(RATE_OF[name]).estimate for name in ORDER]
        rows.append((*named(runs, run), OUTRIGHT[group], *map(cell, shares), f"{shares[0].n:,}"))
    return table(runs, ("the falsehood was", *NAMES, "scenarios"), rows)
