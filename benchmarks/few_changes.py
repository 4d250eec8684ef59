"""What `compare` does where only few changes show a difference, on a grid that was fixed before the first run, as CSV.

`python benchmarks/few_changes.py` writes docs/few_changes.csv, a row a cell. Three generators draw two runs on the same
scenarios: `beta` has chances of a lie that are Beta distributed, by proposition, the same luck for both runs in 80 % of
them; `probit` is that of precision.py, its variances fixed there for another purpose; and in `whole` the first run
always lies in some propositions and never in others, which is what the rule for few changes guards against, and the
other in every statement as often. `fires` is how often the rule does. Held against each other are the interval of
`compare` (`moved`), that of the sign flip alone (`plain`), and to print neither where the rule fires (`withheld`, whose
coverage is of what is printed). `shown` is how often an interval leaves out 0: false alarms where both rates are the
same. Some seven minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri  # type: ignore[import-untyped]

from csv_tables import DOCS, write_grid
from maskbench.stats.paired import sign_flip
from rate_worlds import ADDED, SIZES

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SEED, REPLICATES, FLIPS = 20261127, 300, 999
DESIGNS = (
    *("60 scenarios apart", "240 scenarios apart", "240 scenarios, sizes as in the public set"),
    *("240 scenarios in fours", "1000 scenarios in fours", "60 propositions of 1 or 20"),
    *("60 propositions, Pareto sizes", "240 propositions, Pareto sizes"),
)
RATES = ((0.02, 0.02), (0.1, 0.1), (0.05, 0.01), (0.1, 0.04), (0.3, 0.2))
STATEMENTS = (1, 5)
GENERATORS = ("beta", "probit", "whole")
SPREAD, SAME_LUCK = 0.5, 0.8  # of beta: how much two statements correlate, and how often both runs have the same luck
OF_PROPOSITION, OF_SCENARIO, SAME = (
    0.6,
    0.36,
    0.55,
)  # of probit: parts of the variance, and of both parts, what is common
HEAD = (
    *("design", "first", "other", "statements", "generator", "replicates", "fires"),
    *("moved", "plain", "withheld", "moved_shown", "plain_shown", "withheld_shown", "moved_width", "plain_width"),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """A set, the rates of lies of both runs, how many statements they make a scenario, and who draws them."""

    design: str
    rates: tuple[float, float]
    statements: int
    generator: str

    @property
    def ids(self) -> Ints:
        """The proposition of each scenario."""
        sizes = (SIZES | ADDED)[self.design]
        return np.repeat(np.arange(len(sizes)), sizes)


def cells() -> Iterator[Cell]:
    """The grid."""
    yield from (Cell(*each) for each in product(DESIGNS, RATES, STATEMENTS, GENERATORS))


@lru_cache(maxsize=16)
def _chances(rate: float) -> Floats:
    """Quantiles of Beta distributed chances."""
    total = (1 - SPREAD) / SPREAD
    return np.asarray(betaincinv(rate * total, (1 - rate) * total, (np.arange(5_000) + 0.5) / 5_000))


def drawn(cell: Cell, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The share of lies in each scenario, of both runs."""
    ids, k = cell.ids, cell.statements
    groups = int(ids[-1]) + 1
    if cell.generator == "whole":
        first, other = cell.rates
        return (rng.random(groups) < first).astype(np.float64)[ids], rng.binomial(k, other, len(ids)) / k
    if cell.generator == "beta":
        both, *own = rng.integers(0, 5_000, (3, groups))
        same = rng.random(groups) < SAME_LUCK
        one, two = (
            rng.binomial(k, _chances(rate)[np.where(same, both, luck)][ids]) / k
            for rate, luck in zip(cell.rates, own, strict=True)
        )
        return one, two
    parts = [rng.standard_normal((3, size)) for size in (groups, len(ids))]
    one, two = ((_variable(parts, run, ids, k, rng) < ndtri(rate)).mean(axis=0) for run, rate in enumerate(cell.rates))
    return one, two


def _variable(parts: list[Floats], run: int, ids: Ints, k: int, rng: np.random.Generator) -> Floats:
    """The normal variable of each statement (rows) in each scenario (columns): proposition, scenario and luck."""
    of_proposition, of_scenario = (SAME**0.5 * part[0] + (1 - SAME) ** 0.5 * part[1 + run] for part in parts)
    luck = (1 - OF_PROPOSITION - OF_SCENARIO) ** 0.5 * rng.standard_normal((k, len(ids)))
    return np.asarray(OF_PROPOSITION**0.5 * of_proposition[ids] + OF_SCENARIO**0.5 * of_scenario + luck)


def row(cell: Cell, replicates: int) -> list[str]:
    """A cell, and what each way comes to."""
    rng = np.random.default_rng([SEED, *map(ord, f"{cell}")])
    ids = cell.ids
    found = np.empty((replicates, 3))  # the moved interval, and by how much it is moved
    for at in range(replicates):
        first, other = drawn(cell, rng)
        test = sign_flip(other - first, np.ones(len(ids)), ids, rng, FLIPS)
        found[at] = (test.low, test.high, test.widened or 0.0)  # both ends are there: no design has one proposition
    low, high, by = found.T
    true, fires = cell.rates[1] - cell.rates[0], by > 0
    held, shown = [], []
    for least, most in ((low, high), (low + by, high - by)):
        held.append((least - 1e-9 <= true) & (true <= most + 1e-9))
        shown.append((least > 0) | (most < 0))
    printed = held[1][~fires].mean() if not fires.all() else np.nan
    widths = (high - low).mean(), (high - low - 2 * by).mean()
    figures = (
        *(fires.mean(), held[0].mean(), held[1].mean(), printed),
        *(shown[0].mean(), shown[1].mean(), (shown[1] & ~fires).mean(), *widths),
    )
    head = cell.design, *map(str, cell.rates), str(cell.statements), cell.generator, str(replicates)
    return [*head, *("" if np.isnan(each) else f"{each:.3f}" for each in figures)]


if __name__ == "__main__":
    write_grid(__doc__, DOCS / "few_changes.csv", HEAD, cells(), row, replicates=REPLICATES)
