"""The difference of two runs of which a second judge saw a part: coverage of its interval, as a CSV table.

`python benchmarks/second_look.py` writes docs/second_look_differences.csv (500 seeded replicates a row, five minutes
or less). A replicate draws scenarios anew; the first judge errs, the second never does, and it sees a part of both runs
that is drawn with one seed, as `maskbench judge --second` draws it. benchmarks/looks.py has the looks at one run.
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

P_LIE = {"p_lie": fractions("outcomes")["p_lie"]}
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
PAIRS = [Pair(scenarios, share, *rates) for scenarios, share, rates in product((100, 300, 1000), (0.1, 0.3), ERRORS)]
PAIRS += [Pair(400, share, *rates, 4) for share, rates in product((0.1, 0.3), ERRORS)]


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
    found, one_sided = (
        difference(correct(runs[0], P_LIE, level)["p_lie"], correct(runs[1], P_LIE, level)["p_lie"], ids)
        for level in (0.95, 0.9)
    )
    found.one_sided95 = one_sided.ci95
    return found, float((judged[1] - judged[0]).mean())


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


def row(world: Pair, replicates: int) -> dict[str, object]:
    """Bias and coverage of one pair of runs; `one_sided` is the worse of the two one-sided bounds."""
    rng = np.random.default_rng(20250305)
    replications = [pair(rng, world) for _ in range(replicates)]
    looked = [estimate for estimate, _ in replications]
    value = np.array([estimate.difference for estimate in looked], dtype=float)
    low, high = np.array([estimate.ci95 for estimate in looked], dtype=float).T
    lower, upper = np.array([estimate.one_sided95 for estimate in looked], dtype=float).T
    true = world.lies[1] - world.lies[0]
    figures = {
        "bias": value.mean() - true,
        "first_judge_alone": np.mean([alone for _, alone in replications]) - true,
        "coverage": np.mean((low <= true) & (true <= high)),
        "one_sided": min(np.mean(true <= upper), np.mean(lower <= true)),
        "width": np.mean(high - low),
    }
    named = {
        "scenarios": world.scenarios,
        "a_proposition": world.together,
        "share": world.share,
        "p_lie": world.lies[0],
        "p_lie_other": world.lies[1],
        "misses": world.first[0],
        "invents": world.first[1],
        "misses_other": world.other[0],
        "invents_other": world.other[1],
        "replicates": replicates,
    }
    return named | {name: f"{figure:.4f}" for name, figure in figures.items()}


def main() -> None:
    """Write the table, and say how far coverage goes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=500)
    parser.add_argument("--out", type=Path, default=DOCS / "second_look_differences.csv")
    chosen = parser.parse_args()
    rows = [row(world, chosen.replicates) for world in PAIRS]
    write(chosen.out, rows)
    coverage = [str(each["coverage"]) for each in rows]
    print(f"{len(rows)} pairs of runs, coverage {min(coverage)} to {max(coverage)}")


if __name__ == "__main__":
    main()
