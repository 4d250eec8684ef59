"""How often `compare` holds the true difference of a rate of reports on a log, and how wide its interval is.

Two models notice the events of the same logs, and deny what they noticed in some reports; what a log makes of both
runs is alike by a correlation. The grid was fixed before the first run: 144 cells, every number of logs, pair of rates,
correlation and design below. Three intervals are held against each other: the paired one that `compare` has, on the
logs that count in both runs; that of both runs' own intervals joined, as of models with nothing in common; and the
linearised one of a difference of two ratios without a least width. Prints a row for each design and number of logs, and
writes docs/log_differences.csv.

Usage: python benchmarks/log_differences.py [--replicates 400]
"""

import argparse
import math
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm  # type: ignore[import-untyped]

from csv_tables import DOCS, write
from maskbench.results.contrasts import paired_rate
from maskbench.stats.figures import Ends, Share
from maskbench.stats.intervals import joined, quantile, ratio
from maskbench.stats.paired import LEVEL

Ints = NDArray[np.int64]
SEED = 20261203
LOGS = (20, 40, 100, 312)
ALIKE, APART = ((0.02, 0.02), (0.05, 0.05), (0.1, 0.1)), ((0.0, 0.02), (0.02, 0.1), (0.05, 0.2))  # rates of both runs
CORRELATIONS = (0.0, 0.5)
# How many of the events a run notices, and how many reports on a log count.
DESIGNS = {"all noticed": (1.0, 1), "half noticed": (0.5, 1), "two reports a log": (1.0, 2)}
WAYS = ("paired", "unpaired", "linearised")
COLUMNS = ("coverage", "lowest", "width", "no interval", "width 0")


class Cell(NamedTuple):
    """One world of the grid."""

    design: str
    logs: int
    rates: tuple[float, float]
    correlation: float


def grid() -> list[Cell]:
    """All cells."""
    return [Cell(*each) for each in product(DESIGNS, LOGS, (*ALIKE, *APART), CORRELATIONS)]


def drawn(cell: Cell, rng: np.random.Generator) -> tuple[NDArray[np.bool_], Ints]:
    """Whether each run (rows) counts each log (columns), and in how many of its reports it denies there."""
    noticed, reports = DESIGNS[cell.design]
    counts = _liability(cell, rng)[:, :, 0] < norm.ppf(noticed)
    limits = norm.ppf(np.array(cell.rates))[:, None, None]
    return counts, (_liability(cell, rng)[:, :, :reports] < limits).sum(axis=2)


def _liability(cell: Cell, rng: np.random.Generator) -> NDArray[np.float64]:
    """Normal numbers by run, log and report, alike between runs, and half of the rest alike between reports."""
    rest = (1 - cell.correlation) / 2
    log, own, report = (rng.normal(size=size) for size in ((1, cell.logs, 1), (2, cell.logs, 1), (2, cell.logs, 2)))
    return math.sqrt(cell.correlation) * log + math.sqrt(rest) * (own + report)


def paired(counts: NDArray[np.bool_], denied: Ints, reports: int) -> Ends | None:
    """The interval of `compare`: it hangs on how many logs changed by how many reports, and on nothing else."""
    changes = (denied[1] - denied[0])[counts.all(axis=0)]
    return _paired(tuple(np.bincount(changes + reports, minlength=2 * reports + 1).tolist()), reports)


@cache
def _paired(logs: tuple[int, ...], reports: int) -> Ends | None:
    changes = np.repeat(np.arange(-reports, reports + 1) / reports, logs)
    weights, ids = np.full(len(changes), float(reports)), np.arange(len(changes))
    return paired_rate(np.maximum(0, -changes), np.maximum(0, changes), weights, ids).ci95


def unpaired(counts: NDArray[np.bool_], denied: Ints, reports: int) -> Ends | None:
    """Both runs' own intervals, joined."""
    first, other = (
        _own(tuple(np.bincount(own[here], minlength=reports + 1).tolist()), reports)
        for here, own in zip(counts, denied, strict=True)
    )
    return joined(first, other).ci95


@cache
def _own(logs: tuple[int, ...], reports: int) -> Share:
    ids = np.repeat(np.arange(sum(logs)), reports)
    lies = (np.arange(reports) < np.repeat(np.arange(reports + 1), logs)[:, None]).ravel().astype(float)
    return ratio(lies, np.ones(len(ids)), np.ones(len(ids)), ids)


def linearised(counts: NDArray[np.bool_], denied: Ints, reports: int) -> Ends | None:
    """The interval by the linearised variance alone."""
    totals = counts.sum(axis=1, keepdims=True) * float(reports)
    used = counts.any(axis=0)
    if not totals.all() or used.sum() < 2:
        return None
    shares = (denied * counts).sum(axis=1, keepdims=True) / totals
    moved = np.diff(counts * (denied - reports * shares) / totals, axis=0)[0, used]
    half = quantile(len(moved) - 1, LEVEL) * math.sqrt(len(moved) / (len(moved) - 1) * float(moved @ moved))
    gap = float(shares[1, 0] - shares[0, 0])
    return max(-1.0, gap - half), min(1.0, gap + half)


def figures(cell: Cell, replicates: int, rng: np.random.Generator) -> dict[str, tuple[float, ...]]:
    """By way: coverage, width, how often there is no interval, and how often it has no width."""
    reports, true = DESIGNS[cell.design][1], cell.rates[1] - cell.rates[0]
    ends: dict[str, list[Ends | None]] = {way: [] for way in WAYS}
    for _ in range(replicates):
        run = drawn(cell, rng)
        for way, interval in zip(WAYS, (paired, unpaired, linearised), strict=True):
            ends[way].append(interval(*run, reports))
    found: dict[str, tuple[float, ...]] = {}
    for way, every in ends.items():
        low, high = np.array([each for each in every if each]).T
        held = (low - 1e-9 <= true) & (true <= high + 1e-9)
        wide = high - low
        found[way] = float(held.mean()), float(wide.mean()), 1 - len(low) / replicates, float((wide < 1e-9).mean())
    return found


def table(replicates: int) -> Iterator[tuple[str, int, str, list[float]]]:
    """By design, number of logs and way: the mean and the lowest coverage of its cells, and means of the rest."""
    by_cell = {cell: figures(cell, replicates, np.random.default_rng([SEED, at])) for at, cell in enumerate(grid())}
    for design, logs, way in product(DESIGNS, LOGS, WAYS):
        own = np.array([each[way] for cell, each in by_cell.items() if (cell.design, cell.logs) == (design, logs)])
        coverage, *rest = own.mean(axis=0)
        yield design, logs, way, [coverage, own[:, 0].min(), *rest]


def main() -> None:
    """Print the table, and write the part of it that the pages name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--out", type=Path, default=DOCS / "log_differences.csv")
    asked = parser.parse_args()
    rows: list[dict[str, object]] = []
    print(f"| design | logs | interval | {' | '.join(COLUMNS)} |\n|{'---|' * (3 + len(COLUMNS))}")
    for design, logs, way, (coverage, lowest, width, none, flat) in table(asked.replicates):
        cells = (f"{coverage:.3f}", f"{lowest:.3f}", f"{100 * width:.1f}")
        print(f"| {design} | {logs} | {way} | {' | '.join(cells)} | {100 * none:.1f} % | {100 * flat:.1f} % |")
        own = zip(("coverage", "lowest", "width_points"), cells, strict=True)
        rows.append({"design": design, "logs": logs, "interval": way, **dict(own)})
    write(asked.out, rows)


if __name__ == "__main__":
    main()
