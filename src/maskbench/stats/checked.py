"""Corrected rates whose intervals hold what a third person shows of the labels: the statistics alone.

She labels, beside every scenario on which raters differ, a random part of those on which they agree. What she changes
there estimates how often labels are wrong, by the outcome that raters came to; two-phase sampling for stratification
(Särndal, Swensson & Wretman 1992, chapter 9). An error that she shares with them shows nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from maskbench.stats.correction import RATES, Corrected, LabelledRun, calibrate, correct
from maskbench.stats.intervals import Floats

FEWEST_CHECKS = 20  # scenarios that raters agree on: of fewer the interval would say little


def checks_of(run: LabelledRun, third: Floats, agreed: NDArray[np.bool_]) -> LabelledRun | None:
    """The labelled rows on which raters agree, with the third person's outcomes; None where she saw too few.

    `third` is n × 4 with rows of NaN where she labelled nothing, `agreed` says where nobody had to decide anything.
    """
    parts = np.zeros(len(run.weights))
    if run.labelled.any():
        calibration = calibrate(run)
        parts[calibration.rows] = calibration.parts
    rows = agreed & run.labelled
    human, n = run.human[rows], int(rows.sum())
    if int((~np.isnan(third[rows, 0])).sum()) < min(FEWEST_CHECKS, n) or not n:
        return None
    groups = np.zeros(n, dtype=np.int64)
    return LabelledRun(human, human, third[rows], np.ones(n), groups, parts[rows], run.clusters[rows])


def correct_checked(
    run: LabelledRun,
    checks: LabelledRun,
    level: float = 0.95,
    rates: Mapping[str, tuple[Sequence[float], Sequence[float]]] = RATES,
) -> dict[str, Corrected]:
    """Every rate by the raters, with an interval that holds both: as if they were right, and as if the third one was.

    Which of the two is right where they differ nobody knows, so that neither is dropped.
    """
    right, wrong = correct(run, level, rates), correct(run, level, rates, checks)
    return {name: _both(right[name], wrong[name]) for name in right}


def contradicted(checks: LabelledRun) -> float:
    """On which share of what raters agree on the third person differs from them on whether it is a lie."""
    calibration = calibrate(checks)
    differ = checks.human[calibration.rows, 0] != checks.first[calibration.rows, 0]
    return float(calibration.parts @ differ)


def too_rare(rate: float, differ: float) -> bool:
    """Whether lies, or what is none, are no more frequent than people differ on them, so that all could be errors."""
    return differ > 0 and min(rate, 1 - rate) <= differ


def _both(right: Corrected, wrong: Corrected) -> Corrected:
    first, other = right.estimate, wrong.estimate
    if first.value is None or first.low is None or first.high is None:
        return right
    if other.value is None or other.low is None or other.high is None:
        return replace(right, estimate=replace(first, low=0.0, high=1.0))
    either = replace(first, low=min(first.low, other.low), high=max(first.high, other.high))
    calibration = max(right.calibration, wrong.calibration) + (other.value - first.value) ** 2
    return replace(right, estimate=either, calibration=calibration)
