"""Readings of P(lie) on planted runs: what the judge's shares and those corrected by labels cover, simulated, as CSV.

`python benchmarks/construct_planted.py` writes build/tables/construct_planted.csv, a row a cell and reading.
construct_worlds.py draws the runs and fixed the grid. Four intervals are held against the planted share of a reading:

- `judged`: the share as the judge has it, held against what this judge would find in a set without end. It says whether
  the interval is wide enough for the sampling, correlations and unequal propositions.
- `corrected`: by people's labels of a drawn sample, lies and answers, held against the truth.
- `plain`: the share as judged, held against the truth. It is what a reader takes it for who corrects nothing.
- `rogan_gladen`: the judge's shares put right by the sensitivity and specificity that an exam found, errors taken to be
  independent (Rogan & Gladen 1978, for several questions together), held against the truth.
"""

from __future__ import annotations

from functools import reduce
from itertools import product
from typing import cast

import numpy as np

from construct_worlds import (
    GRID,
    READINGS,
    TRAITS,
    Bools,
    Cell,
    Floats,
    Ints,
    World,
    draw,
    exam_rates,
    readings,
    truth,
)
from csv_tables import LARGE, write_grid
from maskbench.judges.people.drawn_sample import Stratum, shares
from maskbench.stats.calibration import LabelledRun, correct
from maskbench.stats.intervals import by_cluster, ratio

TABLE = LARGE / "construct_planted.csv"
WAYS = ("judged", "corrected", "plain", "rogan_gladen")
HEAD = (
    *("lie", "traits", "propositions", "judge", "labels", "reading", "share", "replicates"),
    *(f"{way}{part}" for way in WAYS for part in ("", "_width")),
)
EXAM = 60  # papers on either side of each question; of lies, too
EXAMS = 200  # drawn for the error that the exam itself has
_READING = {"reading": ((1, 0, 0, 0), (1, 1, 1, 1))}
_CELLS: Bools = np.array(list(product((False, True), repeat=len(TRAITS))))  # every combination of traits


def row(cell: Cell, replicates: int) -> list[list[str]]:
    """The rows of one cell, one a reading."""
    rng = np.random.default_rng([18, GRID.index(cell)])
    true, as_judged = truth(cell.lie, cell.strength, cell.judge)
    targets = np.stack([as_judged, true, true, true])
    ends = np.array([intervals(draw(cell, rng), cell, rng) for _ in range(replicates)])  # n × ways × readings × 2
    held = ((ends[..., 0] <= targets) & (targets <= ends[..., 1])).mean(axis=0)
    width = (ends[..., 1] - ends[..., 0]).mean(axis=0)
    about = [f"{cell.lie:g}", cell.strength, cell.sizes, cell.judge, f"{cell.labels}"]
    return [
        [*about, name, f"{true[at]:.4f}", f"{replicates}", *_cells(held[:, at], width[:, at])]
        for at, name in enumerate(READINGS)
    ]


def _cells(held: Floats, width: Floats) -> list[str]:
    return [f"{each:.4f}" for pair in zip(held, width, strict=True) for each in pair]


def intervals(world: World, cell: Cell, rng: np.random.Generator) -> Floats:
    """The ends of every interval of one run: ways × readings × 2."""
    judged, human = readings(world.judged), readings(world.true)
    plain = np.array([_share(reading, world.propositions) for reading in judged.T])
    sample, chances, strata = sampled(world.judged, cell.labels, rng)
    corrected = [
        _corrected(judged[:, at], human[:, at], world, (sample, chances, strata)) for at in range(len(READINGS))
    ]
    return np.stack([plain, np.array(corrected), plain, _rogan_gladen(world, cell, rng)])


def _share(reading: Bools, propositions: Ints) -> tuple[float, float]:
    ones = np.ones(len(reading))
    estimate = ratio(reading, ones, ones, propositions)
    return cast(float, estimate.low), cast(float, estimate.high)


def sampled(judged: Bools, labels: int, rng: np.random.Generator) -> tuple[Bools, Floats, Ints]:
    """What people label: by strata of lie or not, and of the readings that the answers fit; with chances and strata."""
    fits = readings(np.column_stack([np.ones(len(judged), bool), judged[:, 1:]]))
    codes = judged[:, 0] * 8 + fits[:, 3] * 4 + fits[:, :3].sum(axis=1)
    known, strata, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    names = [cast(Stratum, ("", str(code))) for code in known]
    taken = shares(dict(zip(names, sizes.tolist(), strict=True)), labels)
    takes = np.array([taken[name] for name in names])
    order = np.lexsort((rng.random(len(judged)), strata))
    rank = np.empty(len(judged), np.int64)
    rank[order] = np.arange(len(judged)) - np.concatenate([[0], np.cumsum(sizes)[:-1]])[strata[order]]
    picked = rank < takes[strata]
    return picked, np.where(picked, (takes / sizes)[strata], 1.0), strata.astype(np.int64)


def _corrected(judged: Bools, human: Bools, world: World, drawn: tuple[Bools, Floats, Ints]) -> tuple[float, float]:
    """As `results.construct_correction` has it: reading, other lies, the rest."""
    sample, chances, strata = drawn
    first, people = _classes(judged, world.judged[:, 0]), _classes(human, world.true[:, 0])
    labels = np.where(sample[:, None], people, np.nan)
    run = LabelledRun(first, first, labels, chances, strata, np.ones(len(first)), world.propositions)
    estimate = correct(run, _READING)["reading"].estimate
    return cast(float, estimate.low), cast(float, estimate.high)


def _classes(reading: Bools, lies: Bools) -> Floats:
    return np.stack([reading, lies & ~reading, ~lies, np.zeros_like(lies)], axis=1).astype(np.float64)


def _rogan_gladen(world: World, cell: Cell, rng: np.random.Generator) -> Floats:
    """Every reading by the inverse of the judge's errors as an exam shows them: its error and that of sampling."""
    code = world.judged @ (1 << np.arange(len(TRAITS))[::-1])
    missed, invented = (rng.binomial(EXAM, rate, (1, len(TRAITS))) / EXAM for rate in exam_rates(cell.judge))
    again = [
        rng.binomial(EXAM, (EXAM * rate + 0.5) / (EXAM + 1), (EXAMS, len(TRAITS))) / EXAM for rate in (missed, invented)
    ]
    wanted = readings(_CELLS).astype(np.float64)  # cells × readings
    counts = np.bincount(code, minlength=len(_CELLS)) / len(code)
    weights = _inverse(missed, invented)[0].T @ wanted  # of each judged cell for each reading
    estimate = counts @ weights
    drawn = _inverse(again[0], again[1]) @ counts @ wanted
    moves = (weights[code] - estimate) / len(code)
    sampling = np.array([(by_cluster(each, world.propositions) ** 2).sum() for each in moves.T])
    reach = 1.96 * np.sqrt(sampling + drawn.var(axis=0))
    return np.stack([np.clip(estimate - reach, 0, 1), np.clip(estimate + reach, 0, 1)], axis=1)


def _inverse(missed: Floats, invented: Floats) -> Floats:
    """What turns judged shares of the cells into true ones: exams × true cell × judged cell."""
    span = np.clip(1 - missed - invented, 0.1, None)
    # Rows: not so, so. Columns: judged not so, judged so.
    each = (
        np.stack([np.stack([1 - missed, -missed], -1), np.stack([-invented, 1 - invented], -1)], -2)
        / span[..., None, None]
    )
    return reduce(_kronecker, (each[:, at] for at in range(len(TRAITS))))


def _kronecker(first: Floats, other: Floats) -> Floats:
    both = np.einsum("eij,ekl->eikjl", first, other)
    size = first.shape[1] * other.shape[1]
    joined: Floats = both.reshape(len(both), size, size)
    return joined


def main() -> None:
    """Write the table."""
    flat = [(cell, at) for cell in GRID for at in range(len(READINGS))]
    known: dict[Cell, list[list[str]]] = {}

    def at_place(place: tuple[Cell, int], replicates: int) -> list[str]:
        cell, at = place
        if at == 0:
            known[cell] = row(cell, replicates)
        return known[cell][at]

    write_grid(__doc__, TABLE, HEAD, flat, at_place, replicates=1000)


if __name__ == "__main__":
    main()
