"""The section on beliefs: how they are held, how often they are true, and how often they are contradicted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from maskbench.method.rates import rates, tabulate
from maskbench.presentation.blocks import Bars, Block, Figure, Mix, Only, Part, Points, Row, Table
from maskbench.presentation.format import cell, times
from maskbench.presentation.of_runs import Scored, facts_given, has_rates, named
from maskbench.presentation.runs_shown import HELD, Held, Run, share
from maskbench.presentation.sections.provenance import whose_beliefs
from maskbench.presentation.words import ABSENT
from maskbench.presentation.words import HELD as SORTS
from maskbench.stats.figures import NO_DATA

_ASKED: tuple[Held, ...] = tuple(held for held in HELD if held != "open")
_SHADES: Mapping[Held, str] = {"firm": "firm", "loose": "loose", "joint": "unknown", "absent": "no-belief"}
_KEY = tuple((_SHADES[held], SORTS[held][0]) for held in _ASKED)


def beliefs(runs: Sequence[Scored]) -> Iterator[Block]:
    """How beliefs are held, where the runs were read that closely, and why they are absent."""
    yield Only(
        "page",
        "Honesty is held against what the model itself believes. A lie takes a belief, and means more where the belief "
        "is firm. Accuracy is another matter: whether the belief is true.",
    )
    for run in runs:
        if text := whose_beliefs(run.summary):
            yield ": ".join((*named(runs, run), text))
    asked = [run for run in runs if _asked(run)]
    if not asked:
        is_begun = any(sum(run.summary.counts.values()) for run in runs)
        given = "Nothing was asked neutrally here: where facts are provided, they play the belief."
        yield given if is_begun else "No scenario is done yet."
        return
    if read := [run for run in asked if isinstance(run, Run)]:
        yield from _held(runs, read)
    yield from (_absence(runs, run) for run in asked)


def _asked(run: Scored) -> int:
    """In how many scenarios something was asked neutrally."""
    summary = run.summary
    return sum(summary.counts.values()) - facts_given(summary) - summary.accuracy_counts.get("not_asked", 0)


def _held(runs: Sequence[Scored], asked: Sequence[Run]) -> Iterator[Block]:
    table, able = _table(runs, asked), [run for run in asked if has_rates(run)]
    if not able:
        yield table
        return
    bars = Bars(tuple(_mix(runs, run) for run in able), "beliefs asked for")
    rows = Points(tuple(row for run in able for row in _by_firmness(runs, run)), "share of these beliefs")
    title = "How beliefs are held; how often each sort is true, and how often contradicted under pressure"
    note = (
        "The brackets below a bar are the 95 % intervals of the firm share (left) and, counted from the right end, "
        f"of the absent one (right). Numerical: {SORTS['joint'][1]}."
    )
    yield Figure((bars, rows) if rows.rows else (bars,), title, table, _KEY, note)


def _mix(runs: Sequence[Scored], run: Run) -> Mix:
    parts = (Part(SORTS[held][0], _SHADES[held], share(run, held)) for held in _ASKED)
    return Mix("".join(named(runs, run)), tuple(parts))


def _by_firmness(runs: Sequence[Scored], run: Run) -> Iterator[Row | str]:
    yield from named(runs, run)
    for held in ("firm", "loose", "joint"):
        if rows := run.held[held]:
            rated, name = rates(tabulate(rows)[0]), SORTS[held][0]
            yield Row(f"{name}: true", rated["accuracy_normalized"])
            yield Row(f"{name}: contradicted", rated["p_lie"], "lie")


def _table(runs: Sequence[Scored], asked: Sequence[Run]) -> Table:
    rows = [(*named(runs, run), *_sort(run, held)) for run in asked for held in _ASKED]
    several = len(runs) > 1
    head = (*(("run",) if several else ()), "belief", "scenarios", "share", "true", "contradicted", "what it is")
    return Table(head, tuple(rows), "", 2 if several else 1, last_text=True)


def _sort(run: Run, held: Held) -> tuple[str, ...]:
    """One sort of belief: how many, what share, how often true, how often contradicted, and what it is."""
    scored, (name, what) = run.held[held], SORTS[held]
    rated = rates(tabulate(scored)[0]) if scored and has_rates(run) and held != "absent" else {}
    cells = [cell(rated.get(rate, NO_DATA)) for rate in ("accuracy_normalized", "p_lie")]
    return name, f"{len(scored):,}", cell(share(run, held)) if has_rates(run) else "–", *cells, what


def _absence(runs: Sequence[Scored], run: Scored) -> str:
    """In how many scenarios there is no stable belief, and why."""
    reasons = run.summary.no_belief_reasons
    why = "; ".join(f"{ABSENT[name][0]} in {count:,} ({ABSENT[name][1]})" for name, count in reasons.items() if count)
    who = "".join(f"{name}: a" for name in named(runs, run)) or "A"
    absent = f"{sum(reasons.values()):,} of the {times(_asked(run), 'scenario')} in which it was asked for"
    missing = len(run.held["open"]) if isinstance(run, Run) else 0
    lost = f" In {missing:,} more, the verdicts that would decide are missing." if missing else ""
    return f"{who} stable belief was absent in {absent}{f': {why}' if why else ''}.{lost}"
