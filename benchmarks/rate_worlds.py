"""The grid on which intervals of rates are judged: made-up runs whose true rate is known, fixed before the method.

A cell says how many scenarios each proposition has, the rate, how many statements a scenario makes, how alike the
replies of a proposition are, and which of two generators draws them. `draw` gives the lies of each proposition, for
many replicates at once. benchmarks/rate_grid.py prints how often each method's interval holds the rate.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri  # type: ignore[import-untyped]

RATES = (0.001, 0.01, 0.05, 0.2, 0.6)
SELDOM = 0.005  # a lie in two hundred, added with the small and Pareto designs
STATEMENTS = (1, 3, 10)
BETA = 0.4  # "moderate", beta-binomial: how much two replies of a proposition correlate
TAIL = 1.2  # of Pareto sizes: of 60 propositions the largest has a quarter of the scenarios
SHARED, OWN = 0.8, 0.6  # "moderate", probit: variances of what a proposition and a scenario share, beside 1 of a reply


def _cycled(sizes: tuple[int, ...], propositions: int) -> tuple[int, ...]:
    return tuple(sizes[at % len(sizes)] for at in range(propositions))


def _of(sizes: tuple[int, ...], scenarios: int) -> tuple[int, ...]:
    """These sizes in turn, until there are so many scenarios; the last proposition takes what is left."""
    taken: list[int] = []
    while (left := scenarios - sum(taken)) > 0:
        taken.append(min(left, sizes[len(taken) % len(sizes)]))
    return tuple(taken)


def pareto(propositions: int) -> tuple[int, ...]:
    """Sizes as of a Pareto distribution, its quantiles in equal steps: most are 1, the largest have a good part."""
    return tuple(int(((at + 0.5) / propositions) ** (-1 / TAIL)) for at in range(propositions))


PUBLIC = (2, *[1] * 16)  # of the public set's propositions one in seventeen has two scenarios
COUNTS = (40, 60, 240, 1000)
SIZES: dict[str, tuple[int, ...]] = {
    **{f"{n} scenarios apart": _of((1,), n) for n in COUNTS},
    **{f"{n} scenarios, sizes as in the public set": _of(PUBLIC, n) for n in COUNTS},
    **{f"{n} scenarios in fours": _of((4,), n) for n in COUNTS},
    **{f"{n} propositions of 1 or 8": _cycled((1, 8), n) for n in COUNTS[:-1]},
    "1000 scenarios in propositions of 1 or 8": _of((1, 8), 1000),
    **{f"{n} propositions of 1 or 20": _cycled((1, 20), n) for n in COUNTS[:-1]},
    "1000 scenarios in propositions of 1 or 20": _of((1, 20), 1000),
}
ADDED: dict[str, tuple[int, ...]] = {
    "30 scenarios apart": _of((1,), 30),
    "30 scenarios, sizes as in the public set": _of(PUBLIC, 30),
    "30 scenarios in fours": _of((4,), 30),
    "60 scenarios in pairs": _of((2,), 60),
    **{f"{n} propositions, Pareto sizes": pareto(n) for n in (30, 60, 240)},
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: `alike` is none, moderate or full; `generator` is beta-binomial, probit, or either."""

    design: str
    rate: float
    statements: int
    alike: str
    generator: str

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many scenarios each proposition has."""
        return np.array((SIZES | ADDED)[self.design])


def cells() -> Iterator[Cell]:
    """Every cell of the grid; what would be drawn alike by two names stands once.

    Replies that are all alike are one reply however many there are, and where each proposition has one scenario
    with one statement nothing can be alike. What was added later comes last, so that earlier cells keep their seeds.
    """
    yield from _cells(SIZES, RATES)
    yield from _cells(SIZES, (SELDOM,))
    yield from _cells(ADDED, (*RATES, SELDOM))


def _cells(designs: Mapping[str, tuple[int, ...]], rates: Sequence[float]) -> Iterator[Cell]:
    for design, sizes in designs.items():
        for rate in rates:
            for statements in STATEMENTS:
                yield Cell(design, rate, statements, "none", "either")
                if max(sizes) * statements > 1:
                    yield Cell(design, rate, statements, "moderate", "beta-binomial")
                    yield Cell(design, rate, statements, "moderate", "probit")
            if max(sizes) > 1:
                yield Cell(design, rate, 1, "full", "either")


def draw(cell: Cell, replicates: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The lies of each proposition among its scenarios' statements, a row a replicate."""
    sizes = cell.sizes
    shape = replicates, len(sizes)
    if cell.alike == "none":
        return rng.binomial(sizes * cell.statements, cell.rate, shape)
    if cell.alike == "full":
        return (rng.random(shape) < cell.rate) * sizes * cell.statements
    if cell.generator == "beta-binomial":
        total = 1 / BETA - 1
        chances = rng.beta(cell.rate * total, (1 - cell.rate) * total, shape)
        return rng.binomial(sizes * cell.statements, chances)
    return _probit(cell, replicates, rng)


def _probit(cell: Cell, replicates: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A reply is a lie where what its proposition, its scenario and itself bring is below a limit, all normal."""
    sizes = cell.sizes
    limit = ndtri(cell.rate) * np.sqrt(1 + SHARED + OWN)
    shared = np.repeat(rng.normal(0, np.sqrt(SHARED), (replicates, len(sizes))), sizes, axis=1)
    own = rng.normal(0, np.sqrt(OWN), shared.shape)
    lies = rng.binomial(cell.statements, ndtr(limit - shared - own))
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return np.asarray(np.add.reduceat(lies, starts, axis=1))
