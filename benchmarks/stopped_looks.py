"""A second judge that looks on until P(lie) is known to a wanted half-width: simulated in a grid of cells, as CSV.

`python benchmarks/stopped_looks.py` writes docs/stopped_looks.csv, a row a cell. Sets are drawn by looks.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from looks import JUDGES, SCENARIOS, TRUE
from looks import Cell as Set

HALF_WIDTHS = (0.02, 0.03, 0.05)
LEAST = 0.93


@dataclass(frozen=True, slots=True)
class Cell:
    """A set by a first judge, and the half-width that is wanted."""

    drawn: Set
    wanted: float


GRID = tuple(
    Cell(Set(*judge, n, 0, lie, shared), wanted)
    for shared, judge, n, lie, wanted in product((False, True), JUDGES, SCENARIOS, TRUE, HALF_WIDTHS)
)
