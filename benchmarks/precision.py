"""What `run --dry-run` says of a run's precision, held against simulated runs, written as CSV.

`python benchmarks/precision.py` writes docs/precision.csv, a row a cell of a grid that was fixed beforehand: four sets,
two numbers of scenarios that share a proposition's luck more or less than assumed, and two runs that have more or less
in common. `half_width` and `drop` are what the dry run prints; `seen` is the half-width that `ratio` gives on average,
and `shown` the share of pairs in which the test of `compare` shows that drop. Whether a statement is a lie is a normal
variable below a threshold (a probit model): a part of it belongs to the proposition, a part to the scenario, of both a
part is the same for both runs. No model is asked. A quarter of a minute.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri  # type: ignore[import-untyped]

from csv_tables import DOCS, write_grid
from maskbench.stats.intervals import by_cluster, ratio
from maskbench.stats.paired import tested
from maskbench.stats.precision import P_LIE, crowding, half_width, smallest_drop

Floats = NDArray[np.float64]
SEED, REPLICATES, FLIPS = 20261126, 1_000, 999
SETS = {
    "100 alone": np.ones(100, dtype=np.int64),
    "240 alone": np.ones(240, dtype=np.int64),
    "1,000 alone": np.ones(1_000, dtype=np.int64),
    "600, shared by four": np.full(150, 4),
    "Pareto sizes": np.floor(0.8 * (1 - (np.arange(400) + 0.5) / 400) ** (-1 / 1.3)).astype(np.int64) + 1,
}
OF_PROPOSITION = (0.35, 0.6, 0.8)  # parts of the normal variable: 0.6 makes outcomes correlate by some 0.4
SAME = (0.3, 0.55, 0.8)  # between runs, of what is not luck: 0.55 makes outcomes correlate by some 0.35
OF_SCENARIO = 0.9  # of the rest; what is left is luck
HEAD = ("set", "of_proposition", "same", "alike", "common", "half_width", "seen", "drop", "shown")


@dataclass(frozen=True, slots=True)
class Cell:
    """A set, and the parts of the variable that belong to the proposition and to both runs."""

    name: str
    of_proposition: float
    same: float


def cells() -> Iterator[Cell]:
    """The grid; a set without shared propositions is alike in one way only."""
    for name, part, same in product(SETS, OF_PROPOSITION, SAME):
        if not name.endswith("alone") or part == OF_PROPOSITION[1]:
            yield Cell(name, part, same)


def drawn(cell: Cell, drop: float, rng: np.random.Generator) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Lies of two runs on the set, the second with a smaller rate, and the propositions of the scenarios."""
    sizes = SETS[cell.name]
    ids = np.repeat(np.arange(len(sizes)), sizes)

    def pair(size: int) -> tuple[Floats, Floats]:
        both, *own = rng.standard_normal((3, size))
        one, other = (cell.same**0.5 * both + (1 - cell.same) ** 0.5 * each for each in own)
        return one, other

    rest = 1 - cell.of_proposition
    parts = ((cell.of_proposition, pair(len(sizes))), (rest * OF_SCENARIO, pair(len(ids))))
    runs = []
    for run, rate in enumerate((P_LIE, P_LIE - drop)):
        luck = (rest * (1 - OF_SCENARIO)) ** 0.5 * rng.standard_normal(len(ids))
        variable = luck + parts[0][0] ** 0.5 * parts[0][1][run][ids] + parts[1][0] ** 0.5 * parts[1][1][run]
        runs.append((variable < ndtri(rate)).astype(np.float64))
    return runs[0], runs[1], ids


def row(cell: Cell, replicates: int) -> list[str]:
    """What is printed of the set, and what comes of it."""
    rng = np.random.default_rng([SEED, *map(ord, f"{cell.name}{cell.of_proposition}{cell.same}")])
    sizes = SETS[cell.name]
    n, crowded = int(sizes.sum()), crowding(map(str, np.repeat(np.arange(len(sizes)), sizes)))
    half, drop = half_width(n, crowded), smallest_drop(n, crowded)
    if half is None or drop is None:
        raise SystemExit(f"{cell.name} is too small a set to say anything.")
    ones, halves, shown, alike, common = np.ones(n), [], [], [], []
    for _ in range(replicates):
        first, second, ids = drawn(cell, drop, rng)
        found = ratio(first, ones, ones, ids)
        halves.append(0.5 if found.low is None or found.high is None else (found.high - found.low) / 2)
        shown.append(tested(by_cluster(second - first, ids), rng, FLIPS)[0] < 0.05)
        common.append(float(np.corrcoef(first, second)[0, 1]))
        e = first - first.mean()
        totals, squares = by_cluster(e, ids), by_cluster(e * e, ids)
        pairs = (by_cluster(ones, ids) ** 2 - by_cluster(ones, ids)).sum()
        alike.append(float((totals**2 - squares).sum() / pairs / e.var()) if pairs else np.nan)
    seen = (np.mean(alike), np.mean(common), half, np.mean(halves), drop, np.mean(shown))
    return [cell.name, f"{cell.of_proposition:g}", f"{cell.same:g}", *("" if np.isnan(x) else f"{x:.3f}" for x in seen)]


if __name__ == "__main__":
    write_grid(__doc__, DOCS / "precision.csv", HEAD, cells(), row, replicates=REPLICATES)
