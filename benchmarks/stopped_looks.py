"""A second judge that looks on until P(lie) is known to a wanted half-width: simulated in a grid of cells, as CSV.

`python benchmarks/stopped_looks.py` writes docs/stopped_looks.csv, a row a cell (400 seeded replicates, ± 1.1 near
95 %). Sets are drawn by looks.py. A replicate looks in rounds, each some looks larger, and stops after the first one
whose interval is as narrow as wanted (`reached`), or where even looking at all would not do; `refused` is how often it
would not begin for that reason. Beside coverage, the mean number of looks and of rounds stands the coverage where as
many looks as it came to on average are made in one go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from csv_tables import DOCS, write_grid
from looks import JUDGES, SCENARIOS, TRUE, Drawn, sets
from looks import Cell as Set
from maskbench.judges.second_look import FEWEST_LOOKS, allotted, at_best, next_round, out_of_reach
from maskbench.stats.correction import CLASSES, RATES, LabelledRun, correct
from maskbench.stats.intervals import Estimate

HALF_WIDTHS = (0.02, 0.03, 0.05)
LEAST = 0.93
TABLE = DOCS / "stopped_looks.csv"
HEAD = (
    *("sensitivity", "specificity", "scenarios", "a_proposition", "p_lie", "half_width", "replicates"),
    *("refused", "coverage", "looks", "rounds", "reached", "coverage_in_one_go"),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """A set by a first judge, and the half-width that is wanted."""

    drawn: Set
    wanted: float


GRID = tuple(
    Cell(Set(*judge, n, 50, lie, shared), wanted)
    for shared, judge, n, lie, wanted in product((False, True), JUDGES, SCENARIOS, TRUE, HALF_WIDTHS)
)


@dataclass(frozen=True, slots=True)
class Look:
    """A set with the random order in which each outcome that the first judge found is looked at."""

    drawn: Drawn
    rank: NDArray[np.int64]

    @classmethod
    def begin(cls, drawn: Drawn, rng: np.random.Generator) -> Look:
        """Draw the order."""
        n = len(drawn.judged)
        order = np.lexsort((rng.random(n), drawn.judged))
        rank = np.empty(n, np.int64)
        starts = np.concatenate([[0], np.cumsum(np.bincount(drawn.judged, minlength=len(CLASSES)))])
        rank[order] = np.arange(n) - starts[drawn.judged[order]]
        return cls(drawn, rank)

    def after(self, looks: int) -> Estimate:
        """P(lie) by the first so many looks."""
        judged, shares = self.drawn.judged, np.eye(len(CLASSES))
        sizes = {CLASSES[kind]: int(size) for kind, size in enumerate(np.bincount(judged)) if size}
        taken = allotted(sizes, looks)  # type: ignore[arg-type]
        takes = np.array([taken.get(name, 0) for name in CLASSES])  # type: ignore[call-overload]
        every = np.array([sizes.get(name, 1) for name in CLASSES])
        picked = self.rank < takes[judged]
        human = np.where(picked[:, None], shares[self.drawn.true], np.nan)
        chances = np.where(picked, (takes / every)[judged], 1.0)
        rows = shares[judged], shares[judged], human, chances, self.drawn.archetypes, np.ones(len(judged))
        return correct(LabelledRun(*rows, self.drawn.propositions), rates={"p_lie": RATES["p_lie"]})["p_lie"].estimate


def half(estimate: Estimate) -> float:
    """Half the width of its interval."""
    return ((1.0 if estimate.high is None else estimate.high) - (estimate.low or 0.0)) / 2


def stopped(look: Look, wanted: float) -> tuple[Estimate, int, int]:
    """The estimate at which it stops, with the looks and the rounds until there."""
    n, rounds = len(look.drawn.judged), 1
    looks = max(FEWEST_LOOKS, round(0.1 * n))
    while half(estimate := look.after(looks)) > wanted and looks < n and not out_of_reach(estimate, n, wanted):
        looks, rounds = next_round(looks, n), rounds + 1
    return estimate, looks, rounds


def holds(estimate: Estimate, lie: float) -> bool:
    """Whether the interval holds the true rate."""
    return (estimate.low or 0.0) <= lie <= (1.0 if estimate.high is None else estimate.high)


def row(cell: Cell, replicates: int) -> list[str]:
    """One row of the table."""
    rng, every = np.random.default_rng([2, GRID.index(cell)]), cell.drawn
    begun = [Look.begin(drawn, rng) for drawn in drawn_for(cell, replicates)]
    looked = [look for look in begun if at_best((look.drawn.judged == 0).mean(), every.scenarios) <= cell.wanted]
    world = (every.sensitivity, every.specificity, every.scenarios, "1 to 8" if every.shared else "1", every.lie)
    head = [*map(str, world), f"{cell.wanted}", f"{replicates}", f"{1 - len(looked) / replicates:.4f}"]
    if 2 * len(looked) < replicates:
        return [*head, *[""] * 5]
    ends = [stopped(look, cell.wanted) for look in looked]
    held = np.mean([holds(estimate, every.lie) for estimate, _, _ in ends])
    looks, rounds = (float(np.mean([end[at] for end in ends])) for at in (1, 2))
    reached = np.mean([half(estimate) <= cell.wanted for estimate, _, _ in ends])
    at_once = np.mean([holds(look.after(round(looks)), every.lie) for look in looked])
    return [*head, f"{held:.4f}", f"{looks:.1f}", f"{rounds:.1f}", f"{reached:.4f}", f"{at_once:.4f}"]


def drawn_for(cell: Cell, replicates: int) -> Iterator[Drawn]:
    """The sets of a cell: those that looks.py has for as many scenarios, judge and rate."""
    return sets(cell.drawn, replicates, 5)


if __name__ == "__main__":
    write_grid(__doc__, TABLE, HEAD, GRID, row, replicates=400)
