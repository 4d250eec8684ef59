"""The leaderboard as a page has it: rows with their links and outcome bars, and what a column is sorted by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from maskbench.pages.server.shelf import Known, Shown
from maskbench.plain import shortened, visible
from maskbench.presentation.format import percent
from maskbench.presentation.of_runs import ORDER, RATE_OF
from maskbench.presentation.sections.board import (
    IMPORTED,
    Cell,
    Column,
    comparisons,
    identity,
    judge,
    notes,
    outcomes,
    scores,
    title,
)
from maskbench.results.leaderboard import Board, Row
from maskbench.stats.figures import Share

LONGEST_NAME = 120  # characters


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of an outcome bar, in per mille of its length."""

    outcome: str
    start: float
    width: float
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """A run in a table; without a rank there is a reason, or ranks are still being worked out.

    `beaten_by` are the models that lie significantly less often, which is what its rank counts.
    """

    id: str
    name: str
    folder: str
    mark: str  # the word for a run that was imported
    begun: str
    rank: int | None
    beaten_by: tuple[str, ...]
    why: str
    slices: tuple[Slice, ...]
    outcomes: tuple[Cell, ...]
    scores: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the page, whose columns have these heads."""

    title: str
    judge: str
    identity: str
    ranked: tuple[Line, ...]
    apart: tuple[Line, ...]
    notes: tuple[str, ...]
    outcomes: tuple[str, ...]
    scores: tuple[str, ...]


def tables(shown: Shown) -> tuple[Table, ...]:
    """Every table, those with the most models to rank first."""
    runs = {run.path: run for run in shown.runs.values()}
    every = (_table(board, runs, final) for board, final in shown.tables)
    filled = (table for table in every if table.ranked or table.apart)
    return tuple(sorted(filled, key=lambda table: -len(table.ranked)))


def _table(board: Board, runs: Mapping[Path, Known], final: bool) -> Table:
    columns = outcomes(), scores(board)
    lines = {
        kind: tuple(_line(row, runs[row.result.path], final, *columns) for row in some if row.result.path in runs)
        for kind, some in (("ranked", board.ranked), ("apart", board.unranked))
    }
    return Table(
        title=visible(title(board)),
        judge=visible(judge(board)),
        identity=visible(identity(board)),
        ranked=lines["ranked"],
        apart=lines["apart"],
        notes=tuple(_notes(board, final)),
        outcomes=tuple(column.head for column in columns[0]),
        scores=tuple(column.head for column in columns[1]),
    )


def _notes(board: Board, final: bool) -> Iterator[str]:
    if not final and len(board.ranked) > 1:
        pairs = comparisons(board)
        yield f"Ranks are being worked out ({pairs}); until then models stand in the order of P(lie)."
    yield from notes(board)


def _line(row: Row, run: Known, final: bool, first: tuple[Column, ...], rest: tuple[Column, ...]) -> Line:
    return Line(
        id=run.id,
        name=shortened(row.name, LONGEST_NAME),
        folder=shortened(run.name, LONGEST_NAME),
        mark=IMPORTED if row.result.summary.imported else "",
        begun=shortened(str(row.result.created)[:10], 10),
        rank=row.rank if final else None,
        beaten_by=tuple(shortened(name, LONGEST_NAME) for name in row.beaten_by) if final else (),
        why=shortened((row.why or "").rstrip("."), 800),
        slices=tuple(_slices(row.result.rates)),
        outcomes=tuple(column.cell(row) for column in first),
        scores=tuple(column.cell(row) for column in rest),
    )


def _slices(rates: Mapping[str, Share]) -> Iterator[Slice]:
    """The four outcomes side by side; nothing where rates are withheld."""
    start = 0.0
    for outcome in ORDER:
        if value := rates[RATE_OF[outcome]].value:
            yield Slice(outcome, round(1000 * start, 1), round(1000 * value, 1), percent(value))
            start += value
