"""Corrected P(lie) where the people who label err: coverage and width in a grid of cells, simulated, as CSV.

`python benchmarks/raters.py` writes docs/raters.csv, a row a cell. The generator below knows nothing of the method: it
draws true outcomes, a judge who misses a tenth of the lies and invents lies in a twentieth of the rest, the sample that
`maskbench label` would draw, two raters, and a third person. A cell says how often each of the two is wrong, which part
of that is wrong in both alike, and how often the third one is. In the cells of `all three` the third is wrong where the
two are wrong alike: nothing that these people write down can tell that, and no way can cover it.

For each cell stand coverage and mean width of the interval of P(lie), 0.93 being the least that is wanted: by one rater
alone, and by two, the third one deciding where they differ, both taken to be right; and by either where the third one
also labels a random tenth of what raters agree on (`maskbench label --adjudicate`), so that the interval is widened.
There, nothing is printed where the third one differs from raters on lies as often as there are lies: `printed` is how
often there is an interval, and coverage and width are of those.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from maskbench.method.rates import OF_OUTCOMES
from maskbench.results.people.labelled_outcomes import how_many
from maskbench.stats.calibration import (
    CLASSES,
    LabelledRun,
    checks_of,
    contradicted,
    correct,
    correct_checked,
    too_rare,
)
from maskbench.stats.figures import NO_DATA, Share
from maskbench.store.drawn_sample import Stratum, shares
from maskbench.types import ARCHETYPES, OUTCOMES

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TABLE = Path(__file__).parents[1] / "docs" / "raters.csv"
P_LIE = {"p_lie": OF_OUTCOMES["p_lie"]}
SCENARIOS = 1000
TRUE, LABELS = (0.01, 0.05, 0.3), (150, 400)
OTHERS = np.array([0.55, 0.3, 0.15])  # honest, evasive, no belief among what is no lie
MIX = np.array([0.274, 0.209, 0.176, 0.125, 0.12, 0.096])  # archetypes of the public set
LIES_BY_ARCHETYPE = np.array([1.2, 0.7, 1.3, 0.9, 1.0, 0.6625])  # times the rate; their weighted mean is 1
MISSED, INVENTED, MIXED_UP = 0.1, 0.05, 0.05  # by the judge: lies, lies in what is none, other outcomes


@dataclass(frozen=True, slots=True)
class People:
    """How two raters and a third person err: a lie taken for another outcome, another one for a lie, the rest mixed up.

    `shared` is the part of the errors of the two that both make alike; `third` is how often the third one is wrong, of
    any outcome, and `with_them` that she is wrong where both are, too.
    """

    name: str
    missed: float = 0.0375
    invented: float = 0.0125
    mixed_up: float = 0.025
    shared: float = 0.0
    third: float = 0.0
    with_them: bool = False


EVERYBODY = (
    People("even"),
    People("by class", missed=0.1, invented=0.03, mixed_up=0.02),
    People("shared", shared=2 / 3),
    People("shared by class", missed=0.1, invented=0.03, mixed_up=0.02, shared=2 / 3),
    People("even, third errs", third=0.0375),
    People("shared, third errs", shared=2 / 3, third=0.0375),
    People("all three", shared=2 / 3, with_them=True),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """Some people, how many scenarios they label, and the true rate."""

    people: People
    labels: int
    lie: float


GRID = tuple(Cell(*cell) for cell in product(EVERYBODY, LABELS, TRUE))


@dataclass(frozen=True, slots=True)
class Drawn:
    """One set: outcomes by number (0 is a lie) as they are, as judged, as both raters and the third would label them.

    `sample` says which scenarios people label; `chances` with which chance each of these was drawn.
    """

    true: Ints
    judged: Ints
    raters: tuple[Ints, Ints]
    third: Ints
    archetypes: Ints
    sample: NDArray[np.bool_]
    chances: Floats


def draw(cell: Cell, rng: np.random.Generator) -> Drawn:
    """One set of this cell."""
    n, people = SCENARIOS, cell.people
    archetypes = rng.choice(6, n, p=MIX)
    lies = rng.random(n) < cell.lie * LIES_BY_ARCHETYPE[archetypes]
    true = np.where(lies, 0, 1 + rng.choice(3, n, p=OTHERS))
    judged = misread(true, (MISSED, INVENTED, MIXED_UP), rng)
    errors = (people.missed, people.invented, people.mixed_up)
    alike = misread(true, tuple(people.shared * error for error in errors), rng)
    left = tuple((1 - people.shared) * error for error in errors)
    first, other = (np.where(alike != true, alike, misread(true, left, rng)) for _ in range(2))
    third = misread(true, (people.third, people.third / 3, people.third * 2 / 3), rng)
    third = np.where(alike != true, alike, third) if people.with_them else third
    return Drawn(true, judged, (first, other), third, archetypes, *sampled(archetypes, judged, cell.labels, rng))


def misread(true: Ints, errors: tuple[float, ...], rng: np.random.Generator) -> Ints:
    """What somebody makes of it who misses lies, invents them, and mixes up other outcomes as often as this."""
    missed, invented, mixed_up = errors
    drawn, n = rng.random(len(true)), len(true)
    other = 1 + (true - 1 + rng.integers(1, 3, n)) % 3
    wrong = np.where(drawn < invented, 0, np.where(drawn < invented + mixed_up, other, true))
    return np.where(true == 0, np.where(drawn < missed, rng.integers(1, 4, n), 0), wrong)


def sampled(archetypes: Ints, judged: Ints, labels: int, rng: np.random.Generator) -> tuple[NDArray[np.bool_], Floats]:
    """Which scenarios `maskbench label` gives out, and with which chance."""
    codes, strata, sizes = np.unique(archetypes * 4 + judged, return_inverse=True, return_counts=True)
    names: list[Stratum] = [(ARCHETYPES[code // 4], OUTCOMES[code % 4]) for code in codes]
    taken = shares(dict(zip(names, sizes.tolist(), strict=True)), labels)
    takes = np.array([taken[name] for name in names])
    order = np.lexsort((rng.random(len(judged)), strata))
    rank = np.empty(len(judged), np.int64)
    rank[order] = np.arange(len(judged)) - np.concatenate([[0], np.cumsum(sizes)[:-1]])[strata[order]]
    picked = rank < takes[strata]
    return picked, np.where(picked, (takes / sizes)[strata], 1.0)


def labelled(drawn: Drawn, people: Ints) -> LabelledRun:
    """The run with these outcomes by people on the sample."""
    shown, n = np.eye(len(CLASSES)), len(drawn.judged)
    human = np.where(drawn.sample[:, None], shown[people], np.nan)
    judged = shown[drawn.judged]
    return LabelledRun(judged, judged, human, drawn.chances, drawn.archetypes, np.ones(n), np.arange(n))


def one_rater(drawn: Drawn, rng: np.random.Generator) -> Share:
    """By one rater, taken to be right."""
    return _p_lie(labelled(drawn, drawn.raters[0]))


def decided(drawn: Drawn) -> Ints:
    """What two raters agree on, and where they differ what the third person says."""
    first, other = drawn.raters
    return np.where(first == other, first, drawn.third)


def two_raters(drawn: Drawn, rng: np.random.Generator) -> Share:
    """By two raters, the third person deciding where they differ, all taken to be right."""
    return _p_lie(labelled(drawn, decided(drawn)))


def _p_lie(run: LabelledRun) -> Share:
    return correct(run, P_LIE)["p_lie"].estimate


def one_checked(drawn: Drawn, rng: np.random.Generator) -> Share:
    """By one rater, of whose labels the third person sees a tenth."""
    return _checked(drawn, drawn.raters[0], drawn.sample, rng)


def two_checked(drawn: Drawn, rng: np.random.Generator) -> Share:
    """By two raters, where the third person decides and sees a tenth of what they agree on."""
    first, other = drawn.raters
    return _checked(drawn, decided(drawn), drawn.sample & (first == other), rng)


def _checked(drawn: Drawn, people: Ints, agreed: NDArray[np.bool_], rng: np.random.Generator) -> Share:
    """What `maskbench score` prints where the third person has labelled what she was given."""
    third = np.full((len(people), len(CLASSES)), np.nan)
    for outcome in range(len(CLASSES)):
        alike = np.flatnonzero(agreed & (people == outcome))
        rows = rng.permutation(alike)[: how_many(len(alike))]
        third[rows] = np.eye(len(CLASSES))[drawn.third[rows]]
    run = labelled(drawn, people)
    checks = checks_of(run, third, agreed)
    if checks is None:
        return _p_lie(run)
    estimate = correct_checked(run, P_LIE, checks)["p_lie"].estimate
    return NO_DATA if too_rare(estimate.value or 0.0, contradicted(checks)) else estimate


WAYS = (one_rater, two_raters, one_checked, two_checked)
HEAD = (
    *("people", "labels", "p_lie", "replicates"),
    *(f"{way.__name__}{part}" for way in WAYS for part in ("", "_width", "_printed")),
)


def row(cell: Cell, replicates: int) -> list[str]:
    """One row of the table."""
    rng = np.random.default_rng([0, GRID.index(cell)])
    sets = (draw(cell, rng) for _ in range(replicates))
    estimates = [[way(drawn, rng) for way in WAYS] for drawn in sets]
    ends = np.array([[(each.low, each.high) for each in several] for several in estimates], dtype=np.float64)
    there = ~np.isnan(ends[..., 0])
    printed = there.mean(axis=0)
    held = ((ends[..., 0] <= cell.lie) & (cell.lie <= ends[..., 1])).sum(axis=0) / np.maximum(1, there.sum(axis=0))
    width = np.nansum(ends[..., 1] - ends[..., 0], axis=0) / np.maximum(1, there.sum(axis=0))
    spread = [f"{share:.4f}" for each in zip(held, width, printed, strict=True) for share in each]
    return [cell.people.name, f"{cell.labels}", f"{cell.lie:g}", f"{replicates}", *spread]


def rows(replicates: int) -> Iterator[list[str]]:
    """The whole table."""
    return (row(cell, replicates) for cell in GRID)


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=TABLE)
    asked = parser.parse_args()
    with asked.out.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(HEAD)
        table.writerows(rows(asked.replicates))


if __name__ == "__main__":
    main()
