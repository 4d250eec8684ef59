"""A second judge on a part of the scenarios, against what is simpler, in a grid of cells: simulated, as Markdown.

`python benchmarks/looks.py` prints every cell. The generator below knows nothing of the method: it draws what the
strong judge would find, in propositions of their own or of 1 to 8 scenarios, and what the first judge makes of that.
For each of them stand coverage and mean width of the interval of P(lie) by three ways to spend the same looks: the
strong judge alone on as many random scenarios, the look of before (every scenario that the first judge is unsure of,
and some of the others), and the look by judged outcome. A cell in which less than five lies are expected among the
looks has no upper limit on coverage; everywhere 0.93 is the least.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

JUDGES = ((0.95, 0.98), (0.86, 0.95), (0.7, 0.85))  # sensitivity and specificity of the first judge for lies
SCENARIOS = (240, 1000)
LOOKS = (50, 100, 200)
RATES = (0.01, 0.05, 0.3, 0.6)
LEAST = 0.93

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
    for shared, judge, n, looks, lie in product((False, True), JUDGES, SCENARIOS, LOOKS, RATES)
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
