"""The difference of two runs of which a second judge saw a part: coverage of its interval, as a CSV table.

`python benchmarks/second_look.py` writes docs/second_look_differences.csv (400 seeded replicates a row, ten minutes
or less). A replicate draws scenarios anew; the first judge errs, the second never does, and it sees a part of both runs
that is drawn with one seed, as `maskbench judge --second` draws it. In the rows with `up` and `down` the second run is
the first one but for so many scenarios, which change with all of their proposition. benchmarks/looks.py has the looks
at one run.
"""

import argparse
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from csv_tables import DOCS, write
from maskbench.judges.second_look import allotted
from maskbench.method.rates import fractions
from maskbench.stats.calibration import CLASSES, LabelledRun, correct, difference
from maskbench.stats.figures import Difference
from maskbench.types import OutcomeName

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RATES = fractions("outcomes") | fractions("beliefs")
HEAD = (
    *("scenarios", "a_proposition", "share", "rate", "p_lie", "p_lie_other", "misses", "invents", "misses_other"),
    *("invents_other", "before", "up", "down", "replicates"),
)
TIE = 1e-9  # ends that are the true difference but for rounding hold it
ALIKE = 0.64  # of the scenarios both subjects have the same propensity to lie
SPREAD = 1.5  # of propensities: the two parameters of their Beta distribution add up to this
ARCHETYPES = 6
OTHERS = (0.55, 0.3, 0.15)  # honest, evasive, no belief among what is no lie
NAMES: dict[int, OutcomeName] = {0: "lie", 1: "honest", 2: "evasive", 3: "no_belief"}  # the columns of CLASSES


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs on the same scenarios, each with its rate of lies, and what the first judge misses and invents there."""

    scenarios: int
    share: float
    lies: tuple[float, float]
    first: tuple[float, float]
    other: tuple[float, float]
    together: int = 1  # scenarios of one proposition


@dataclass(frozen=True, slots=True)
class Draw:
    """What one seed gives to the draws of both runs: the order of the scenarios, and where each outcome's begins."""

    archetypes: Ints
    order: Floats
    starts: Floats


ERRORS = (
    ((0.4, 0.4), (0.14, 0.14), (0.14, 0.14)),
    ((0.4, 0.2), (0.14, 0.14), (0.14, 0.14)),
    ((0.4, 0.4), (0.25, 0.02), (0.02, 0.02)),
    ((0.1, 0.1), (0.05, 0.05), (0.05, 0.05)),
)


@dataclass(frozen=True, slots=True)
class Steady:
    """A run, and once more with a rate that goes `up` in some scenarios and `down` in others; the judge errs alike."""

    scenarios: int
    share: float
    rate: str
    before: float  # the share of scenarios in which the rate's outcome stands, the first run's
    up: float
    down: float
    together: int = 1

    @property
    def hit(self) -> int:
        """The column of the rate."""
        return RATES[self.rate][0].index(1)

    @property
    def true(self) -> float:
        """The difference of the rate."""
        columns = np.full(len(CLASSES), REST)
        columns[self.hit], columns[1] = self.before, 1 - self.before - 2 * REST
        moved = columns.copy()
        moved[self.hit] += self.up - self.down
        moved[1] -= self.up - self.down
        hit, of = (np.array(part) for part in RATES[self.rate])
        return float(moved @ hit / (moved @ of) - columns @ hit / (columns @ of))


REST, ERRS = 0.1, 0.05  # of outcomes beside the rate's and those it takes from; of what the judge reads
PAIRS: list[Pair | Steady] = [
    Pair(scenarios, share, *rates) for scenarios, share, rates in product((100, 300, 1000), (0.1, 0.3), ERRORS)
]
PAIRS += [Pair(400, share, *rates, 4) for share, rates in product((0.1, 0.3), ERRORS)]
PAIRS += [
    Steady(scenarios, share, rate, before, *moved, together)
    for (scenarios, together), share, rate, before, moved in product(
        ((100, 1), (300, 1), (1000, 1), (400, 4)),
        (0.3, 0.9, 1.0),
        ("p_lie", "p_no_belief", "accuracy_normalized"),
        (0.05, 0.4),
        ((0.01, 0.0), (0.03, 0.01)),
    )
]


def pair(rng: np.random.Generator, world: Pair) -> tuple[Difference, float]:
    """The difference, other minus first, and the one that the first judge alone finds."""
    n, (first, other) = world.scenarios, world.lies
    groups = n // world.together
    own = rng.beta(SPREAD * first, SPREAD * (1 - first), groups)
    like = rng.random(groups) < ALIKE
    others = np.where(like, own * other / first, rng.beta(SPREAD * other, SPREAD * (1 - other), groups))
    ids = np.repeat(np.arange(groups), world.together)
    seed = Draw(rng.integers(0, ARCHETYPES, n), rng.random(n), rng.random(len(CLASSES)))
    runs, judged = [], []
    for chances, errors in ((own, world.first), (others, world.other)):
        true, by_first = outcomes(rng, chances[ids], errors)
        runs.append(looks(by_first, true, ids, seed, round(world.share * n)))
        judged.append((by_first == 0).astype(float))
    return _difference(runs[0], runs[1], "p_lie"), float((judged[1] - judged[0]).mean())


def _difference(first: LabelledRun, other: LabelledRun, rate: str) -> Difference:
    wanted = {rate: RATES[rate]}
    found, one_sided = (
        difference(correct(first, wanted, level)[rate], correct(other, wanted, level)[rate], first.clusters)
        for level in (0.95, 0.9)
    )
    found.one_sided95 = one_sided.ci95
    return found


def steady(rng: np.random.Generator, world: Steady) -> tuple[Difference, float]:
    """The difference, other minus first, and the one that the first judge alone finds."""
    n, groups = world.scenarios, world.scenarios // world.together
    ids = np.repeat(np.arange(groups), world.together)
    chances = np.full(len(CLASSES), REST)
    chances[world.hit], chances[1] = world.before, 1 - world.before - 2 * REST
    true = rng.choice(len(CLASSES), n, p=chances)
    moves, hit = rng.random(groups)[ids], world.hit
    up = (true == 1) & (moves < world.up / chances[1])
    down = (true == hit) & (moves > 1 - world.down / chances[hit])
    later = np.where(up, hit, np.where(down, 1, true))
    slip = np.where(rng.random(n) < ERRS, rng.integers(1, len(CLASSES), n), 0)
    seed = Draw(rng.integers(0, ARCHETYPES, n), rng.random(n), rng.random(len(CLASSES)))
    judged = [(kinds + slip) % len(CLASSES) for kinds in (true, later)]
    runs = [
        looks(seen, kinds, ids, seed, round(world.share * n)) for seen, kinds in zip(judged, (true, later), strict=True)
    ]
    hits, of = (np.array(part) for part in RATES[world.rate])
    alone = [float(hits[seen].sum() / of[seen].sum()) for seen in judged]
    return _difference(runs[0], runs[1], world.rate), alone[1] - alone[0]


def outcomes(rng: np.random.Generator, chances: Floats, errors: tuple[float, float]) -> tuple[Ints, Ints]:
    """The outcome of every scenario, 0 being a lie, and what the first judge takes it for."""
    lies = rng.random(len(chances)) < chances
    others = 1 + rng.choice(3, len(chances), p=OTHERS)
    true = np.where(lies, 0, others)
    errs = rng.random(len(chances)) < np.where(lies, *errors)
    return true, np.where(errs, np.where(lies, others, 0), true)


def looks(judged: Ints, true: Ints, ids: Ints, seed: Draw, wanted: int) -> LabelledRun:
    """A run as the first judge saw it, with the second one's outcomes where it looked."""
    shares, n = np.eye(len(CLASSES)), len(judged)
    human, chances = np.full((n, len(CLASSES)), np.nan), np.ones(n)
    sizes = {NAMES[kind]: int(size) for kind, size in enumerate(np.bincount(judged)) if size}
    for name, taken in allotted(sizes, wanted).items():
        rows = np.flatnonzero(judged == CLASSES.index(name))
        rows = rows[np.lexsort((seed.order[rows], seed.archetypes[rows]))]
        picked = rows[((seed.starts[CLASSES.index(name)] + np.arange(taken)) * len(rows) / taken).astype(int)]
        human[picked], chances[picked] = shares[true[picked]], taken / len(rows)
    return LabelledRun(shares[judged], shares[judged], human, chances, seed.archetypes, np.ones(n), ids)


def row(world: Pair | Steady, replicates: int) -> dict[str, object]:
    """Bias and coverage of one pair of runs; `one_sided` is the worse of the two one-sided bounds."""
    rng = np.random.default_rng(20250305)
    if isinstance(world, Pair):
        replications = [pair(rng, world) for _ in range(replicates)]
        true = world.lies[1] - world.lies[0]
    else:
        replications = [steady(rng, world) for _ in range(replicates)]
        true = world.true
    looked = [estimate for estimate, _ in replications if estimate.ci95]
    value = np.array([estimate.difference for estimate in looked], dtype=float)
    low, high = np.array([estimate.ci95 for estimate in looked], dtype=float).T
    lower, upper = np.array([estimate.one_sided95 for estimate in looked], dtype=float).T
    figures = {
        "bias": value.mean() - true,
        "first_judge_alone": np.mean([alone for _, alone in replications]) - true,
        "coverage": np.mean((low - TIE <= true) & (true <= high + TIE)),
        "one_sided": min(np.mean(true <= upper + TIE), np.mean(lower - TIE <= true)),
        "width": np.mean(high - low),
    }
    return dict.fromkeys(HEAD, "") | _named(world, replicates) | {name: f"{each:.4f}" for name, each in figures.items()}


def _named(world: Pair | Steady, replicates: int) -> dict[str, object]:
    """The cells that say which row this is."""
    named: dict[str, object] = {
        "scenarios": world.scenarios,
        "a_proposition": world.together,
        "share": world.share,
        "replicates": replicates,
    }
    if isinstance(world, Steady):
        return named | {"rate": world.rate, "before": world.before, "up": world.up, "down": world.down}
    return named | {
        "rate": "p_lie",
        "p_lie": world.lies[0],
        "p_lie_other": world.lies[1],
        "misses": world.first[0],
        "invents": world.first[1],
        "misses_other": world.other[0],
        "invents_other": world.other[1],
    }


def main() -> None:
    """Write the table, and say how far coverage goes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--out", type=Path, default=DOCS / "second_look_differences.csv")
    chosen = parser.parse_args()
    rows = [row(world, chosen.replicates) for world in PAIRS]
    write(chosen.out, rows)
    coverage = [str(each["coverage"]) for each in rows]
    print(f"{len(rows)} pairs of runs, coverage {min(coverage)} to {max(coverage)}")


if __name__ == "__main__":
    main()
