"""Planted runs for the questions on statements: what the generator draws."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # as where the scripts themselves are started
worlds: Any = importlib.import_module("construct_worlds")
benchmark: Any = importlib.import_module("construct_planted")


def test_the_judge_errs_as_often_as_planted() -> None:
    """In a large run shares, errors and nesting are those of the grid, and propositions are unequal."""
    cell = worlds.Cell(0.4, "correlated", "unequal", "uneven", 0)
    world = worlds.draw(cell, np.random.default_rng(1), 60_000)
    errors = worlds.JUDGES["uneven"]
    assert world.true.mean(axis=0) == pytest.approx([0.4, *worlds.SHARES], abs=0.02)
    for at in range(len(worlds.TRAITS)):
        true, judged = world.true[:, at], world.judged[:, at]
        assert (~judged[true]).mean() == pytest.approx(errors.missed[at], abs=0.01)
        assert judged[~true].mean() == pytest.approx(errors.invented[at], abs=0.01)
    shares = worlds.readings(world.true).mean(axis=0)
    assert shares[0] > shares[1] > shares[2] > 0
    assert set(np.bincount(world.propositions)) >= {1, 2, 5, 15}
    assert np.corrcoef(world.true.T)[0, 3] > 0.1


def test_an_interval_comes_from_each_way() -> None:
    """One replicate gives four readings an interval by each of the four ways, around a share in between."""
    cell = worlds.GRID[-1]
    rng = np.random.default_rng(2)
    ends = benchmark.intervals(worlds.draw(cell, rng), cell, rng)
    assert ends.shape == (len(benchmark.WAYS), len(worlds.READINGS), 2)
    assert (ends[..., 0] < ends[..., 1]).all()
    assert ((ends >= 0) & (ends <= 1)).all()
