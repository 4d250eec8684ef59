"""How many looks of a strong judge a half-width takes, held against looks that are drawn and estimated."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import looks
from maskbench.judges.looks_needed import FirstJudge, Rates, half_width, looks_needed

RATES = Rates(0.1, 0.2, 0.1)


def test_planned_looks_are_as_narrow_as_drawn_ones() -> None:
    """What is expected beforehand is at most what the estimates have on average, and no tenth less."""
    cell = looks.Cell(0.86, 0.95, 1000, 100, 0.3, shared=False)
    rng = np.random.default_rng(7)
    estimates = [looks.by_outcome(drawn, cell.looks, rng) for drawn in looks.sets(cell, 40, 5)]
    reached = np.mean([((each.high or 0) - (each.low or 0)) / 2 for each in estimates])
    others = Rates(0.3, 0.3 * 0.7, 0.15 * 0.7)
    expected = half_width(others, FirstJudge(0.86, 0.95), 1000, 1000, 100)
    assert 0.97 * reached <= expected <= 1.12 * reached


def test_more_scenarios_take_fewer_looks() -> None:
    """The first judge's work takes the place of the second one's, down to what its errors leave."""
    needed = [looks_needed(RATES, FirstJudge(), n, n, 0.03) for n in (500, 700, 1_000, 3_000)]
    assert None not in needed
    assert all(more < fewer for fewer, more in pairwise(needed) if fewer and more)
    assert (needed[-1] or 0) > 100


def test_a_better_first_judge_takes_fewer_looks() -> None:
    """So does one that errs less."""
    good, bad = (
        looks_needed(RATES, judge, 800, 800, 0.03) for judge in (FirstJudge(0.95, 0.98), FirstJudge(0.7, 0.85))
    )
    assert good is not None
    assert bad is not None
    assert good < bad


def test_too_few_scenarios_are_never_enough() -> None:
    """Where even a look at all would not do there is no number."""
    assert looks_needed(RATES, FirstJudge(), 200, 200, 0.03) is None
    assert half_width(RATES, FirstJudge(), 200, 200, 200) == pytest.approx(1.06 * 0.0418, rel=0.01)
