"""What `maskbench plan` promises, held against data that it has not seen, written as CSV.

`python benchmarks/plan.py` writes docs/plans.csv, a row a cell: three questions, on a set like the starter set (a
proposition for each scenario) and on one whose propositions have Pareto sizes, planned by what is assumed and from
pilots. `promised` and `reached` are half-widths, or the chance that a limit is passed or a difference shown; `held` is
how often the range that a pilot gives holds what was reached. Scenarios of a proposition are Beta-binomial, and a
second run repeats some of the first one's draws, so that their outcomes on one scenario correlate by `common`. No
model is asked. Two minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv  # type: ignore[import-untyped]

from csv_tables import DOCS, write_grid
from maskbench.errors import UsageError
from maskbench.stats.intervals import by_cluster, ratio
from maskbench.stats.paired import tested
from maskbench.stats.planning import Answer, Clusters, Kind, Runs, Spread, answer, assumed, how_sure, measured

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SEED, REPLICATES, PILOTS, PILOT, POINTS, FLIPS = 20261123, 500, 60, 150, 5, 999
PARETO = np.floor(0.8 * (1 - (np.arange(400) + 0.5) / 400) ** (-1 / 1.3)).astype(np.int64) + 1
SETS = {"starter": np.ones(240, dtype=np.int64), "Pareto sizes": PARETO}
# What is wanted, P(lie), and how alike two scenarios of one proposition are.
QUESTIONS: tuple[tuple[Kind, float, float], ...] = (
    ("half_width", 0.06, 0.2),
    ("gate", 0.15, 0.05),
    ("difference", 0.15, 0.4),
)
ALIKE, MOVED = (0.2, 0.5), 0.3  # and how many propositions are others to the second run
ROUNDING = 0.02  # of what is simulated
COMMON = (0.35, 0.1)
HEAD = ("question", "p_lie", "set", "alike", "common", "planned_by", "scenarios", "of", "promised", "reached", "held")


@dataclass(frozen=True, slots=True)
class Cell:
    """A question, a set, how alike scenarios of a proposition are, and whether pilots tell what a plan rests on."""

    kind: Kind
    wanted: float
    p_lie: float
    name: str
    alike: float
    common: float
    from_pilots: bool

    @property
    def clusters(self) -> Clusters:
        """The set as a plan sees it."""
        sizes = SETS[self.name]
        return Clusters(int(sizes.sum()), float((sizes**2).sum() / sizes.sum()))


def cells() -> Iterator[Cell]:
    """The grid; where no two scenarios share a proposition they are alike in one way only."""
    for (kind, wanted, p), name, alike, pilots in product(QUESTIONS, SETS, ALIKE, (False, True)):
        if name != "starter" or alike == ALIKE[0]:
            yield Cell(kind, wanted, p, name, alike, COMMON[0], pilots)
    yield from (Cell(*QUESTIONS[-1], "starter", COMMON[1], COMMON[1], pilots) for pilots in (False, True))


def drawn(cell: Cell, n: int, rng: np.random.Generator) -> tuple[Floats, Floats, Ints]:
    """Lies of two runs on n scenarios of the set, and their propositions."""
    sizes, total = SETS[cell.name], 1 / cell.alike - 1
    ids = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))[:n]
    other = cell.p_lie - cell.wanted if cell.kind == "difference" else cell.p_lie
    at = rng.random(len(sizes))
    moved = np.where(rng.random(len(sizes)) < MOVED, rng.random(len(sizes)), at)
    chances: list[Floats] = [
        betaincinv(p * total, (1 - p) * total, where)[ids] for p, where in ((cell.p_lie, at), (other, moved))
    ]
    luck, by_itself = rng.random(n), (1 - MOVED) * cell.alike
    same = max(0.0, (cell.common - by_itself) / (1 - by_itself))
    again = np.where(rng.random(n) < same, luck, rng.random(n))
    return (luck < chances[0]).astype(np.float64), (again < chances[1]).astype(np.float64), ids


def shown(cell: Cell, n: int, rng: np.random.Generator) -> float:
    """The half-width of one run on n scenarios, or whether it passes, or whether a pair shows the difference."""
    first, second, ids = drawn(cell, n, rng)
    ones = np.ones(n)
    match cell.kind:
        case "half_width":
            found = ratio(first, ones, ones, ids)
            return 0.5 if found.low is None or found.high is None else (found.high - found.low) / 2
        case "gate":
            high = ratio(first, ones, ones, ids, 0.9).high
            return float(high is not None and high < cell.wanted)
        case "difference":
            return float(tested(by_cluster(second - first, ids), rng, FLIPS)[0] < 0.05)


def plans(cell: Cell, rng: np.random.Generator) -> Iterator[tuple[Answer, tuple[float, float] | None]]:
    """The plan by what is assumed, or the plans of pilots with what each leaves open."""
    if not cell.from_pilots:
        middle = cell.p_lie - cell.wanted / 2 if cell.kind == "difference" else cell.p_lie
        yield answer(assumed(middle), cell.kind, cell.wanted, cell.clusters), None
        return
    for _ in range(PILOTS):
        first, second, ids = drawn(cell, PILOT, rng)
        arms = np.array([first, second] if cell.kind == "difference" else [first])
        pilot = Runs(arms, tuple(range(len(arms))), ids, 1, 0.0)
        try:
            planned = answer(measured(pilot), cell.kind, cell.wanted, cell.clusters)
        except UsageError:  # this pilot lies more often than the limit allows
            continue

        def gives(spread: Spread, n: int = planned.scenarios) -> float:
            return float(spread.answers(cell.kind, cell.wanted, n, cell.clusters))

        yield planned, how_sure(pilot, gives)


def row(cell: Cell, replicates: int) -> list[str]:
    """The promise on average, and what comes of it; that is simulated at a few sizes, and between them a line."""
    rng = np.random.default_rng([SEED, *map(ord, f"{cell.kind}{cell.name}{cell.alike}")])
    planned = list(plans(cell, rng))
    sizes = [each.scenarios for each, _ in planned]
    points = np.unique(np.linspace(min(sizes), max(sizes), POINTS).astype(int))
    curve = [float(np.mean([shown(cell, n, rng) for _ in range(replicates)])) for n in points.tolist()]
    reached = np.interp(sizes, points, curve)
    ranges = [between for _, between in planned if between]
    held = [low - ROUNDING <= real <= high + ROUNDING for (low, high), real in zip(ranges, reached, strict=False)]
    return [
        f"{cell.kind} {cell.wanted:g}",
        f"{cell.p_lie:g}",
        cell.name,
        f"{cell.alike:g}",
        f"{cell.common:g}" if cell.kind == "difference" else "",
        f"pilots of {PILOT}" if cell.from_pilots else "assumption",
        f"{np.mean(sizes):.0f}",
        f"{cell.clusters.scenarios}",
        f"{np.mean([each.gives for each, _ in planned]):.3f}",
        f"{reached.mean():.3f}",
        f"{np.mean(held):.2f}" if held else "",
    ]


if __name__ == "__main__":
    write_grid(__doc__, DOCS / "plans.csv", HEAD, cells(), row, replicates=REPLICATES)
