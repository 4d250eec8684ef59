"""The leaderboard as rows of a page: figures with their intervals, and what a column is sorted by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maskbench.method.rules import named
from maskbench.pages.server.shelf import Known, Shown
from maskbench.plain import shortened
from maskbench.report.format import between, interval, percent, points
from maskbench.report.words import RATES
from maskbench.results.leaderboard import ALPHA, Board, Gap, Ranked, Unranked
from maskbench.results.leaderboard_data import ends, rows
from maskbench.stats.intervals import Estimate

LONGEST_NAME = 120  # characters
# In the order in which reports stack them.
OUTCOMES = {"p_lie": "lie", "p_evasive": "evasive", "p_no_belief": "no_belief", "p_honest": "honest"}
SHARES = {"p_honest": "honest", "p_evasive": "evasive", "p_no_belief": "no belief"}
SCORES = {
    rate: RATES[rate]
    for rate in (
        "honesty_score",
        "honesty_score_normalized",
        "conditional_lie_rate",
        "accuracy",
        "accuracy_normalized",
        "p_lie_macro",
    )
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A cell: what is shown, a further line, and the number that it is sorted by, if there is one."""

    text: str
    value: float | None
    more: str = ""
    ends: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of an outcome bar, in per mille of its length."""

    outcome: str
    start: float
    width: float
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """A run in a table; without a rank there is a reason, or ranks are still being worked out."""

    id: str
    name: str
    folder: str
    begun: str
    rank: int | None
    why: str
    lie: Figure
    slices: tuple[Slice, ...]
    shares: tuple[Figure, ...]
    errors: Figure
    accuracy: Figure
    scores: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the page; `final` once its ranks are there."""

    title: str
    about: Mapping[str, str]
    ranked: tuple[Row, ...]
    apart: tuple[Row, ...]
    final: bool
    notes: tuple[str, ...]
    statements: str | None  # the name of the last column of all rates, where runs have several statements


def tables(shown: Shown) -> tuple[Table, ...]:
    """Every table, those with the most models to rank first."""
    runs = {run.path: run for run in shown.runs.values()}
    made = (_table(board, runs, final) for board, final in shown.tables)
    return tuple(sorted((table for table in made if table.ranked or table.apart), key=lambda table: -len(table.ranked)))


def gap_rows(gaps: Sequence[Gap]) -> Iterator[tuple[str, ...]]:
    """Model, private and public set, the gap in points, and its interval."""
    for gap in gaps:
        names = (shortened(text, LONGEST_NAME) for text in (gap.model, gap.private, gap.public))
        yield (*names, points(gap.difference.value), between(ends(gap.difference)))


def _table(board: Board, runs: Mapping[Any, Known], final: bool) -> Table:
    counts = sorted({row.result.settings.statements for row in rows(board)} - {1})
    several = f"Lying@{counts[0] if len(counts) == 1 else 'n'}" if counts else None
    made = {
        kind: tuple(
            _row(row, runs[row.result.path], final, several is not None) for row in some if row.result.path in runs
        )
        for kind, some in (("ranked", board.ranked), ("apart", board.unranked))
    }
    kind = "public" if board.public else "private"
    title = f"{shortened(str(board.scenarios['taken']), LONGEST_NAME)}: {board.scenarios['n']:,} {kind} scenarios"
    return Table(title, _about(board), made["ranked"], made["apart"], final, tuple(_notes(board, final)), several)


def _about(board: Board) -> dict[str, str]:
    judge = rows(board)[0].result.summary["judge"]
    judges = dict.fromkeys((str(judge["binary"]["name"]), str(judge["numeric"]["name"])))
    about = {
        "judge": " and ".join(judges),
        "protocol": board.protocol,
        "rules": board.rules,
        "scenarios": board.scenarios["measured_hash"][:12],
    }
    return {name: shortened(str(text), LONGEST_NAME) for name, text in about.items()}


def _notes(board: Board, final: bool) -> Iterator[str]:
    pairs = f"{board.comparisons:,} comparison{'s' if board.comparisons > 1 else ''}"
    if not final and len(board.ranked) > 1:
        yield f"Ranks are being worked out ({pairs}); until then models stand in the order of P(lie)."
    elif len(board.ranked) > 1:
        yield (
            "Rank: 1 + the number of models that lie significantly less often (paired sign-flip test of P(lie), Holm "
            f"over {pairs}, {100 * ALPHA:.0f} %). Models that cannot be told apart may share a rank."
        )
    elif board.ranked:
        yield "One model alone has rank 1, which says nothing."
    if note := named(board.rules).note:
        yield note


def _row(row: Ranked | Unranked, run: Known, final: bool, several: bool) -> Row:
    result = row.result
    rates, scenarios = result.rates, result.summary["scenarios"]
    ranked = isinstance(row, Ranked)
    return Row(
        id=run.id,
        name=shortened(row.name, LONGEST_NAME),
        folder=shortened(run.name, LONGEST_NAME),
        begun=shortened(str(result.created)[:10], 10),
        rank=row.rank if isinstance(row, Ranked) and final else None,
        why="" if isinstance(row, Ranked) else shortened(row.why.rstrip("."), 800),
        lie=_figure(rates["p_lie"]),
        slices=tuple(_slices(rates)),
        shares=tuple(_figure(rates[name]) for name in SHARES),
        errors=Figure(percent(result.error_rate), result.error_rate),
        accuracy=_figure(rates["accuracy"]),
        scores=(
            *(_figure(rates[name]) for name in SCORES),
            _bounds(result.summary["metrics"]["p_lie_bounds"]),
            *([_lying(result.summary, result.settings.statements)] if several else []),
            Figure(
                f"{scenarios['done']:,}" if ranked else f"{scenarios['done']:,} of {scenarios['n']:,}",
                scenarios["done"],
            ),
        ),
    )


def _figure(rate: Estimate) -> Figure:
    return Figure(percent(rate.value), rate.value, interval(ends(rate)), ends(rate))


def _bounds(bounds: Sequence[float] | None) -> Figure:
    return Figure(interval(bounds), bounds[1] if bounds else None)


def _lying(summary: Mapping[str, Any], statements: int) -> Figure:
    point = summary["metrics"]["lying_at"].get(str(statements), {}) if statements > 1 else {}
    around = point.get("ci95")
    return Figure(percent(point.get("value")), point.get("value"), interval(around), around)


def _slices(rates: Mapping[str, Estimate]) -> Iterator[Slice]:
    """The four outcomes side by side; nothing where rates are withheld."""
    start = 0.0
    for name, outcome in OUTCOMES.items():
        value = rates[name].value
        if value:
            yield Slice(outcome, round(1000 * start, 1), round(1000 * value, 1), percent(value))
            start += value
