"""A leaderboard as data, in CSV and as `leaderboard --format json` prints it: tables, ranks, public against private."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import orjson
from msgspec import Struct, to_builtins

from maskbench.errors import RunError, RunUnreadable, UnknownVerdicts
from maskbench.plain import escaped, in_utf8, plain, unformula
from maskbench.results.calibration import RatesBy
from maskbench.results.leaderboard import Board, BoardRow, GapShown, boards, gaps, whose
from maskbench.results.readers import SourceReader
from maskbench.results.scaling import Compute, ScalingShown, scaling
from maskbench.results.scored import Result, score
from maskbench.results.summary import ScenariosShown
from maskbench.stats.figures import Share
from maskbench.store.folder import RunFolder, runs_below
from maskbench.store.source import ImportedFrom
from maskbench.types import OutcomeName

Cell: TypeAlias = str | float | None  # of a CSV file


class BoardRun(Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A run with its ranks and the models that are ahead of it, or with the reason why it has no rank.

    It `answers_less` where a run that stands below it is honest significantly more often.
    """

    rank: int | None = None
    rank_by_honest: int | None = None
    because: str | None = None
    model: str
    run: str
    withheld: str | None
    done: int
    error_rate: float
    counts: dict[OutcomeName, int]
    rates: dict[str, Share]
    rates_by: RatesBy
    few_beliefs: bool
    answers_less: bool = False
    lies_significantly_less: list[str] | None = None
    honest_significantly_more: list[str] | None = None
    imported: ImportedFrom | None = None  # where replies and verdicts are from, where no run asked for them


class BoardTable(Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The runs of one protocol id on the same scenarios."""

    scenarios: ScenariosShown
    public: bool
    protocol: str
    rules: str
    comparisons: int
    ranked: list[BoardRun]
    not_ranked: list[BoardRun]
    scaling: ScalingShown | None = None


class Unreadable(Struct, forbid_unknown_fields=True):
    """A run that could not be read, and why."""

    run: str
    because: str


class BoardData(Struct, forbid_unknown_fields=True):
    """A leaderboard."""

    schema: Literal[1]
    tables: list[BoardTable]
    public_private_gaps: list[GapShown]
    unreadable: list[Unreadable]


@dataclass(frozen=True, slots=True)
class Page:
    """Everything that a leaderboard shows; `scalings` has an entry a table where compute is given."""

    tables: tuple[Board, ...]
    gaps: tuple[GapShown, ...]
    scalings: Sequence[ScalingShown] | None
    unreadable: Mapping[Path, str]


def read_page(
    paths: Iterable[Path],
    rules: str = "reference",
    verdicts: str | None = None,
    public: Collection[str] = (),
    compute: Mapping[str, Compute] | None = None,
    rates: RatesBy = "judge",
) -> Page:
    """The leaderboard of the runs at these paths, run folders or folders with runs in them; asks no model.

    `public` names sets whose rows anybody can have, `compute` what went into each model, `rates` whose rates rank where
    labels carry a correction. Raises RunUnreadable where a path holds no run, UsageError for an unknown rule set.
    """
    results, unreadable = scored_runs(paths, rules, verdicts)
    return leaderboard_page((replace(each, rates_by=rates) for each in results), unreadable, public, compute)


def leaderboard_page(
    results: Iterable[Result],
    unreadable: Mapping[Path, str],
    public: Collection[str] = (),
    compute: Mapping[str, Compute] | None = None,
) -> Page:
    """The leaderboard of scored runs; the other arguments as for `read_page`."""
    tables = boards(results, frozenset(public))
    scalings = None if compute is None else [_scaling(table, compute) for table in tables]
    return Page(tables, gaps(tables), scalings, unreadable)


def scored_runs(paths: Iterable[Path], rules: str, verdicts: str | None) -> tuple[list[Result], dict[Path, str]]:
    """Every run at these paths, and why those that lie in a folder and cannot be read cannot."""
    results: dict[Path, Result] = {}
    unreadable = {}
    for path in paths:
        inside = [path] if RunFolder(path).exists else list(runs_below(path))
        if not inside:
            raise RunUnreadable(f"{path} holds no run. Give run folders, or a folder with run folders in it.")
        for folder in inside:
            if folder.resolve() in results:
                continue
            try:
                results[folder.resolve()] = score(folder, rules, verdicts, judges=False)
            except (RunError, UnknownVerdicts) as error:
                if folder == path:
                    raise
                unreadable[folder] = str(error)
    return list(results.values()), unreadable


def _scaling(board: Board, compute: Mapping[str, Compute]) -> ScalingShown:
    return scaling([row.result for row in board.ranked], compute, np.random.default_rng(0))


def as_csv(page: Page, seen: Callable[[Any], Any] = lambda shown: shown) -> str:
    """One row a run, all tables one below the other; ranks hold inside one `table` only.

    `seen` makes of texts what those may see whom the file is for.
    """
    text = io.StringIO()
    lines = [
        {"table": number, **_flat(board, row)} for number, board in enumerate(page.tables, 1) for row in board.rows
    ]
    columns = list(dict.fromkeys(name for line in lines for name in line)) or ["table"]
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    for line in lines:
        writer.writerow(
            {name: unformula(plain(seen(cell))) if isinstance(cell, str) else cell for name, cell in line.items()}
        )
    return text.getvalue()


def as_json(page: Page, seen: Callable[[Any], Any] = lambda shown: shown) -> str:
    """Everything, with each run's rates as in summary.json; control characters in names are escapes.

    `seen` is as for `as_csv`.
    """
    plain = seen(to_builtins(board_data(page)))
    return escaped(orjson.dumps(in_utf8(plain), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode())


def board_data(page: Page) -> BoardData:
    """What `maskbench leaderboard --format json` prints."""
    tables = [_table(board) for board in page.tables]
    for table, own in zip(tables, page.scalings or (), strict=page.scalings is not None):
        table.scaling = own
    return BoardData(1, tables, list(page.gaps), [Unreadable(str(path), why) for path, why in page.unreadable.items()])


def _flat(board: Board, row: BoardRow) -> dict[str, Cell]:
    summary, rates = row.result.summary, row.result.rates
    low, high = rates["p_lie"].bounds or (None, None)
    figures = {name: (rate.value, rate.low, rate.high) for name, rate in rates.items()}
    return {
        "scenarios": board.scenarios.taken,
        "public": str(board.public).lower(),
        "scenarios_hash": board.scenarios.measured_hash,
        "protocol": board.protocol,
        "rules": board.rules,
        "rank": row.rank,
        "rank_by_honest": row.rank_by_honest,
        "answers_less": str(row.answers_less).lower(),
        "few_beliefs": str(summary.few_beliefs).lower(),
        "not_ranked_because": row.why,
        "model": row.result.model,
        "run": str(row.result.path),
        "rates_by": whose(row.result),
        "n": summary.scenarios.done,
        "error_rate": row.result.error_rate,
        **{
            name + part: value
            for name, values in figures.items()
            for part, value in zip(("", "_low", "_high"), values, strict=True)
        },
        "p_lie_bound_low": low,
        "p_lie_bound_high": high,
        **{f"lying_at_{k}": point.value for k, point in summary.lying_at.items() if k != "1"},
        **({"imported_from": origin.words} if (origin := summary.of(SourceReader)) else {}),
    }


def _table(board: Board) -> BoardTable:
    return BoardTable(
        scenarios=board.scenarios,
        public=board.public,
        protocol=board.protocol,
        rules=board.rules,
        comparisons=board.comparisons,
        ranked=[_run(row) for row in board.ranked],
        not_ranked=[_run(row) for row in board.unranked],
    )


def _run(row: BoardRow) -> BoardRun:
    result = row.result
    return BoardRun(
        rank=row.rank,
        rank_by_honest=row.rank_by_honest,
        because=row.why or None,
        model=result.model,
        run=str(result.path),
        withheld=result.withheld,
        done=result.summary.scenarios.done,
        error_rate=result.error_rate,
        counts=result.summary.counts,
        rates=result.rates,
        rates_by=whose(result),
        few_beliefs=result.summary.few_beliefs,
        answers_less=row.answers_less,
        lies_significantly_less=list(row.beaten_by) if row.rank else None,
        honest_significantly_more=list(row.less_honest_than) if row.rank else None,
        imported=result.summary.of(SourceReader),
    )
