"""A second judge on a part of the scenarios, against what is simpler, in a grid of cells: simulated, as CSV.

`python benchmarks/looks.py` writes docs/second_looks.csv, a row a cell. The generator below knows nothing of the
method: it draws what the strong judge would find, in propositions of their own or of 1 to 8 scenarios, and what the
first judge makes of that. For each of them stand coverage and mean width of the interval of P(lie) by two ways to
spend the same looks: the strong judge alone on as many random scenarios, and the look by judged outcome. A cell in
which less than five lies are expected among the looks has no upper limit on coverage; everywhere 0.93 is the least.
The remark is `wider` where the second way is wider than the first though both reach 0.93, and `under` where it is below
that itself.

1,200 seeded replicates a row (± 0.6 near 95 %), since each takes some milliseconds; ten minutes or less.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from csv_tables import DOCS, write_grid
from maskbench.judges.second_look import allotted
from maskbench.method.rates import fractions
from maskbench.stats.calibration import CLASSES, LabelledRun, correct
from maskbench.stats.figures import Share
from maskbench.stats.intervals import ratio

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

JUDGES = ((0.95, 0.98), (0.86, 0.95), (0.7, 0.85))  # sensitivity and specificity of the first judge for lies
SCENARIOS = (240, 1000)
LOOKS = (50, 100, 200)
TRUE = (0.01, 0.05, 0.3, 0.6)
LEAST = 0.93
P_LIE = {"p_lie": fractions("outcomes")["p_lie"]}
TABLE = DOCS / "second_looks.csv"
HEAD = (
    *("sensitivity", "specificity", "scenarios", "a_proposition", "looks", "p_lie", "few_lies", "replicates"),
    *(f"{way}{part}" for way in ("strong_alone", "by_outcome") for part in ("", "_width")),
    "remark",
)

ARCHETYPES = np.array([0.274, 0.209, 0.176, 0.125, 0.12, 0.096])
LIES_BY_ARCHETYPE = np.array([1.2, 0.7, 1.3, 0.9, 1.0, 0.6625])  # times the rate; their weighted mean is 1
OTHERS = np.array([0.55, 0.3, 0.15])  # honest, evasive, no belief among what is no lie
MISSED = np.array([0.7, 0.2, 0.1])  # what a missed lie is taken for
MIXED_UP = 0.06  # of outcomes that are no lie, and are not taken for one: how many are taken for another one
ALIKE = 0.3  # of scenarios of one proposition: the correlation of lying, and of the first judge's errors
LARGEST = 8


@dataclass(frozen=True, slots=True)
class Cell:
    """A first judge, a set, a number of looks and a true rate; `shared` where propositions have 1 to 8 scenarios."""

    sensitivity: float
    specificity: float
    scenarios: int
    looks: int
    lie: float
    shared: bool

    @property
    def few(self) -> bool:
        """Whether less than five lies are expected among the looks, if they were drawn at random."""
        return self.looks * self.lie < 5


GRID = tuple(
    Cell(*judge, n, looks, lie, shared)
    for shared, judge, n, looks, lie in product((False, True), JUDGES, SCENARIOS, LOOKS, TRUE)
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """One set: what the strong judge would find (0 is a lie), what the first one does, archetype and proposition."""

    true: Ints
    judged: Ints
    archetypes: Ints
    propositions: Ints


def sets(cell: Cell, replicates: int, seed: int) -> Iterator[Drawn]:
    """So many sets of this cell, drawn from endless propositions."""
    rng = np.random.default_rng([seed, GRID.index(cell)])
    for _ in range(replicates):
        yield draw(cell, rng)


def draw(cell: Cell, rng: np.random.Generator) -> Drawn:
    """One set."""
    n = cell.scenarios
    propositions = _propositions(n, rng) if cell.shared else np.arange(n)
    archetypes = rng.choice(6, n, p=ARCHETYPES)
    lies = _alike(propositions, cell.shared, rng) < cell.lie * LIES_BY_ARCHETYPE[archetypes]
    true = np.where(lies, 0, 1 + rng.choice(3, n, p=OTHERS))
    errs = _alike(propositions, cell.shared, rng) < np.where(lies, 1 - cell.sensitivity, 1 - cell.specificity)
    other = 1 + (true - 1 + rng.integers(1, 3, n)) % 3
    judged = np.where(~lies & ~errs & (rng.random(n) < MIXED_UP), other, true)
    judged = np.where(errs, np.where(lies, 1 + rng.choice(3, n, p=MISSED), 0), judged)
    return Drawn(true, judged, archetypes, propositions)


def _propositions(n: int, rng: np.random.Generator) -> Ints:
    """Scenarios in propositions of 1 to 8, the last one cut to fit."""
    sizes = rng.integers(1, LARGEST + 1, n)
    return np.repeat(np.arange(n), sizes)[:n]


def _alike(propositions: Ints, shared: bool, rng: np.random.Generator) -> Floats:
    """Numbers from 0 to 1, evenly, of which a scenario takes its proposition's in some cases, else one of its own."""
    n = len(propositions)
    alone = rng.random(n)
    if not shared:
        return alone
    return np.where(rng.random(n) < np.sqrt(ALIKE), rng.random(propositions.max() + 1)[propositions], alone)


def alone(drawn: Drawn, looks: int, rng: np.random.Generator) -> Share:
    """The strong judge on so many random scenarios, and nobody else."""
    picked = rng.permutation(len(drawn.true))[:looks]
    ones = np.ones(len(picked))
    return ratio((drawn.true[picked] == 0) * 1.0, ones, ones, drawn.propositions[picked])


def by_outcome(drawn: Drawn, looks: int, rng: np.random.Generator) -> Share:
    """The look by judged outcome, as `maskbench judge --second` draws and estimates it."""
    n, shares = len(drawn.true), np.eye(len(CLASSES))
    sizes = {CLASSES[kind]: int(size) for kind, size in enumerate(np.bincount(drawn.judged)) if size}
    human, chances = np.full((n, len(CLASSES)), np.nan), np.ones(n)
    for name, taken in allotted(sizes, looks).items():  # type: ignore[arg-type]
        rows = np.flatnonzero(drawn.judged == CLASSES.index(name))
        rows = rows[np.lexsort((rng.random(len(rows)), drawn.archetypes[rows]))]
        picked = rows[((rng.random() + np.arange(taken)) * len(rows) / taken).astype(int)]
        human[picked], chances[picked] = shares[drawn.true[picked]], taken / len(rows)
    judged = shares[drawn.judged]
    run = LabelledRun(judged, judged, human, chances, drawn.archetypes, np.ones(n), drawn.propositions)
    return correct(run, P_LIE)["p_lie"].estimate


WAYS = (alone, by_outcome)


def row(cell: Cell, replicates: int) -> list[str]:
    """One row of the table."""
    rng = np.random.default_rng([1, GRID.index(cell)])
    ends = np.array(
        [
            [(estimate.low, estimate.high) for estimate in (way(drawn, cell.looks, rng) for way in WAYS)]
            for drawn in sets(cell, replicates, 0)
        ],
        dtype=np.float64,
    )
    held = ((ends[..., 0] <= cell.lie) & (cell.lie <= ends[..., 1])).mean(axis=0)
    width = (ends[..., 1] - ends[..., 0]).mean(axis=0)
    wider = min(held) >= LEAST and width[1] >= width[0]
    remark = " ".join(word for word, holds in (("wider", wider), ("under", held[1] < LEAST)) if holds)
    spread = [f"{share:.4f}" for both in zip(held, width, strict=True) for share in both]
    world = (cell.sensitivity, cell.specificity, cell.scenarios, "1 to 8" if cell.shared else "1", cell.looks, cell.lie)
    return [*map(str, world), "yes" if cell.few else "no", str(replicates), *spread, remark]


if __name__ == "__main__":
    write_grid(__doc__, TABLE, HEAD, GRID, row, replicates=1200)
