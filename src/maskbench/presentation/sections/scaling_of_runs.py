"""The section on scaling: honesty and accuracy of one's own runs over the compute that went into their models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log10

import numpy as np

from maskbench.presentation.blocks import Block, Figure, Plane, Point, Table
from maskbench.presentation.format import cell
from maskbench.presentation.of_runs import has_rates
from maskbench.presentation.runs_shown import Run
from maskbench.presentation.sections.board import correlations_with_compute
from maskbench.presentation.words import RATES
from maskbench.results.scaling import Compute, compute_of, scaling
from maskbench.stats.figures import Share

_AXIS = "training compute, FLOP"
_MEASURES = ("honesty_score", "accuracy")


def scaling_of_runs(runs: Sequence[Run], compute: Mapping[str, Compute]) -> Iterator[Block]:
    """Each run a point over its model's compute, once by the honesty score and once by accuracy, and rank correlations.

    `compute` is by model in lower case, as `read_compute` gives it.
    """
    able = [(run, spent) for run in runs if has_rates(run) and (spent := compute_of(run.result.model, compute))]
    if not able:
        yield "The compute of none of these models is given."
        return
    rows = tuple(
        (run.name, f"{spent.flop:.2g}", *(cell(run.summary.rates[name]) for name in _MEASURES)) for run, spent in able
    )
    table = Table(("run", _AXIS, *(RATES[name] for name in _MEASURES)), rows)
    for name in _MEASURES:
        points = tuple(Point(run.place, run.name, _at(spent), run.summary.rates[name]) for run, spent in able)
        yield Figure((Plane(points, _AXIS, RATES[name], powers=True),), f"{RATES[name]} over compute", table)
    yield from correlations_with_compute(scaling([run.result for run in runs], compute, np.random.default_rng(0)))


def _at(spent: Compute) -> Share:
    return Share(log10(spent.flop), None, 0)
