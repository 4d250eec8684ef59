"""A leaderboard as data: CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson
from msgspec import to_builtins

from maskbench.method.rates import RATES
from maskbench.plain import escaped, plain, unformula
from maskbench.results.leaderboard import Board, Gap, Ranked, Unranked
from maskbench.results.scaling import Correlation, Scaling
from maskbench.results.scored import Result
from maskbench.stats.intervals import Estimate

Row = Ranked | Unranked


@dataclass(frozen=True, slots=True)
class Page:
    """Everything that a leaderboard shows; `scalings` has an entry a table where compute is given."""

    tables: tuple[Board, ...]
    gaps: tuple[Gap, ...]
    scalings: Sequence[Scaling] | None
    unreadable: Mapping[Path, str]


def rows(board: Board) -> tuple[Row, ...]:
    """Every run on a table, ranked ones first."""
    return (*board.ranked, *board.unranked)


def as_csv(page: Page) -> str:
    """One row a run, all tables one below the other; ranks hold inside one `table` only."""
    text = io.StringIO()
    lines = [
        {"table": number, **_flat(board, row)} for number, board in enumerate(page.tables, 1) for row in rows(board)
    ]
    columns = list(dict.fromkeys(name for line in lines for name in line)) or ["table"]
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    for line in lines:
        writer.writerow(
            {name: unformula(plain(cell)) if isinstance(cell, str) else cell for name, cell in line.items()}
        )
    return text.getvalue()


def as_json(page: Page) -> str:
    """Everything, with each run's metrics as in summary.json."""
    tables = []
    for place, board in enumerate(page.tables):
        made = _board_data(board)
        if page.scalings is not None:
            made["scaling"] = _scaling_data(page.scalings[place])
        tables.append(made)
    gaps = [{**asdict(gap), "difference": _estimate(gap.difference)} for gap in page.gaps]
    unreadable = [{"run": str(path), "because": why} for path, why in page.unreadable.items()]
    return dumps({"schema": 1, "tables": tables, "public_private_gaps": gaps, "unreadable": unreadable})


def dumps(data: Mapping[str, Any]) -> str:
    """JSON that can be printed: control characters in names are escapes."""
    return escaped(orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode())


def _flat(board: Board, row: Row) -> dict[str, Any]:
    summary, rates = row.result.summary, row.result.rates
    bounds = summary.metrics.p_lie_bounds or (None, None)
    return {
        "scenarios": board.scenarios.taken,
        "public": str(board.public).lower(),
        "scenarios_hash": board.scenarios.measured_hash,
        "protocol": board.protocol,
        "rules": board.rules,
        "rank": row.rank if isinstance(row, Ranked) else None,
        "not_ranked_because": None if isinstance(row, Ranked) else row.why,
        "model": row.result.model,
        "run": str(row.result.path),
        "n": summary.scenarios.done,
        "error_rate": row.result.error_rate,
        **{
            name + part: value
            for name in (*RATES, "p_lie_macro")
            for part, value in zip(("", "_low", "_high"), _values(rates[name]), strict=True)
        },
        "p_lie_bound_low": bounds[0],
        "p_lie_bound_high": bounds[1],
        **{f"lying_at_{k}": point.value for k, point in summary.metrics.lying_at.items() if k != "1"},
    }


def _values(rate: Estimate) -> tuple[float | None, float | None, float | None]:
    return rate.value, rate.low, rate.high


def _board_data(board: Board) -> dict[str, Any]:
    return {
        "scenarios": to_builtins(board.scenarios),
        "public": board.public,
        "protocol": board.protocol,
        "rules": board.rules,
        "comparisons": board.comparisons,
        "ranked": [
            {"rank": row.rank, **_run(row.result), "lies_significantly_less": list(row.beaten_by)}
            for row in board.ranked
        ],
        "not_ranked": [{"because": row.why, **_run(row.result)} for row in board.unranked],
    }


def _run(result: Result) -> dict[str, Any]:
    summary = result.summary
    return {
        "model": result.model,
        "run": str(result.path),
        "withheld": result.withheld,
        "done": summary.scenarios.done,
        "error_rate": result.error_rate,
        "counts": summary.counts,
        "metrics": to_builtins(summary.metrics),
    }


def _scaling_data(scaling: Scaling) -> dict[str, Any]:
    correlations = {measure: _correlation(found) for measure, found in scaling.correlations.items()}
    return {"statements": scaling.statements, "spearman": correlations, "left_out": list(scaling.left_out)}


def _correlation(found: Correlation) -> dict[str, Any]:
    return {
        "value": found.value,
        "ci95_over_models": found.over_models,
        "ci95_over_families": found.over_families,
        "models": found.models,
        "families": found.families,
    }


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {"value": estimate.value, "ci95": ends(estimate), "n": estimate.n}


def ends(rate: Estimate) -> tuple[float, float] | None:
    """Both ends of an interval, or None."""
    return None if rate.low is None or rate.high is None else (rate.low, rate.high)
