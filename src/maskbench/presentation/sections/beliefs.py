"""The section on beliefs: how they are held, how often they are true, and how often they are contradicted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from maskbench.method.rates import rates, tabulate
from maskbench.presentation.blocks import Bars, Block, Figure, Mix, Only, Segment, Table, folded
from maskbench.presentation.format import cell, times
from maskbench.presentation.of_runs import Scored, facts_given, has_rates, named
from maskbench.presentation.runs_shown import HELD, Held, Run
from maskbench.presentation.sections import reports_on_logs
from maskbench.presentation.words import ABSENT
from maskbench.presentation.words import HELD as SORTS
from maskbench.stats.figures import NO_DATA, Share
from maskbench.stats.intervals import ratio

_ASKED: tuple[Held, ...] = tuple(held for held in HELD if held != "open")
_SHADES: Mapping[Held, str] = {"firm": "firm", "loose": "loose", "joint": "unknown", "absent": "no-belief"}
_KEY = tuple((_SHADES[held], SORTS[held][0]) for held in _ASKED)


@dataclass(frozen=True, slots=True)
class _Sort:
    """One sort of belief: in how many scenarios, which share of those asked for and not open, and their rates."""

    count: int
    share: Share
    rates: Mapping[str, Share]

    def of(self, rate: str) -> Share:
        """A rate of these scenarios."""
        return self.rates.get(rate, NO_DATA)


_Sorts = Mapping[Held, _Sort]


def beliefs(runs: Sequence[Scored]) -> Iterator[Block]:
    """How beliefs are held, where the runs were read that closely, and why they are absent."""
    on_logs = reports_on_logs.alone(runs)  # what a list names is neither firm nor loose
    if not on_logs:
        yield Only(
            "page",
            "Honesty is held against what the model itself believes. A lie takes a belief, and means more where the "
            "belief is firm. Accuracy is another matter: whether the belief is true.",
        )
    asked = [run for run in runs if _asked(run)]
    if not asked:
        is_begun = any(sum(run.summary.counts.values()) for run in runs)
        given = "Nothing was asked neutrally here: where facts are provided, they play the belief."
        yield given if is_begun else "No scenario is done yet."
        return
    if not on_logs and (read := [run for run in asked if isinstance(run, Run)]):
        yield from _held(runs, read)
    yield from (_absence(runs, run) for run in asked)


def _asked(run: Scored) -> int:
    """In how many scenarios something was asked neutrally."""
    summary = run.summary
    return sum(summary.counts.values()) - facts_given(summary)


def _held(runs: Sequence[Scored], asked: Sequence[Run]) -> Iterator[Block]:
    sorts = [(run, _sorts(run)) for run in asked]
    table, able = _table(runs, sorts), [(run, own) for run, own in sorts if has_rates(run)]
    if not able:
        yield from folded("How often there is a belief, and how it is held", table)
        return
    bars = Bars(tuple(_mix(runs, run, own) for run, own in able), "beliefs asked for")
    title = "How beliefs are held"
    note = (
        f"Brackets: 95 % intervals of the firm share and of the absent one. Numerical: {SORTS['joint'][1]}. The table "
        "has how often each sort is true, and how often it was contradicted."
    )
    yield Figure((bars,), title, table, _KEY, note)


def _sorts(run: Run) -> _Sorts:
    """Every sort of belief that a run has, from one table of its scenarios."""
    names = np.array([held for held in _ASKED for _ in run.held[held]], dtype=object)
    table, _ = tabulate(row for held in _ASKED for row in run.held[held])
    masks = {held: names == held for held in _ASKED}
    return {
        held: _Sort(
            int(own.sum()),
            ratio(own.astype(float), np.ones(len(own)), table.weights, table.clusters),
            rates(table.where(own)) if own.any() and held != "absent" else {},
        )
        for held, own in masks.items()
    }


def _mix(runs: Sequence[Scored], run: Run, sorts: _Sorts) -> Mix:
    parts = (Segment(SORTS[held][0], _SHADES[held], sorts[held].share) for held in _ASKED)
    return Mix("".join(named(runs, run)), tuple(parts))


def _table(runs: Sequence[Scored], asked: Sequence[tuple[Run, _Sorts]]) -> Table:
    rows = [(*named(runs, run), *_cells(held, sorts[held], run)) for run, sorts in asked for held in _ASKED]
    several = len(runs) > 1
    head = (*(("run",) if several else ()), "belief", "scenarios", "share", "true", "contradicted", "what it is")
    return Table(head, tuple(rows), "", 2 if several else 1, last_text=True)


def _cells(held: Held, sort: _Sort, run: Run) -> tuple[str, ...]:
    """One sort of belief: how many, what share, how often true, how often contradicted, and what it is."""
    name, what = SORTS[held]
    shares = [sort.share, sort.of("accuracy_normalized"), sort.of("p_lie")]
    told = [cell(each) for each in shares] if has_rates(run) else ["–", cell(NO_DATA), cell(NO_DATA)]
    return name, f"{sort.count:,}", *told, what


def _absence(runs: Sequence[Scored], run: Scored) -> str:
    """In how many scenarios there is no stable belief, and why."""
    reasons = run.summary.no_belief_reasons
    why = "; ".join(f"{ABSENT[name][0]} in {count:,} ({ABSENT[name][1]})" for name, count in reasons.items() if count)
    who = "".join(f"{name}: a" for name in named(runs, run)) or "A"
    absent = f"{sum(reasons.values()):,} of the {times(_asked(run), 'scenario')} in which it was asked for"
    missing = len(run.held["open"]) if isinstance(run, Run) else 0
    lost = f" In {missing:,} more, the verdicts that would decide are missing." if missing else ""
    return f"{who} stable belief was absent in {absent}{f': {why}' if why else ''}.{lost}"
