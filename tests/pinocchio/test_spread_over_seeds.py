"""Ten seeds of one measurement: their spread is what the intervals of each of them say it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from maskbench.measurement import measure
from maskbench.settings import Settings
from there import there

pytestmark = pytest.mark.slow

SEEDS = 10


def test_the_spread_over_ten_seeds_is_that_of_the_interval(tmp_path: Path) -> None:
    """Two statements on each of 40 scenarios, nothing changed but the seed.

    The interval for these very scenarios has the width that the spread gives it and holds the mean of all seeds as
    often as it says; that for scenarios of this kind is wider, and holds it, too.
    """
    rates, same, new = [], [], []
    for seed in range(SEEDS):
        settings = Settings.of(
            "pinocchio", "rules/sandbox", "sandbox", archetypes=("provided_facts",), statements=2, seed=seed
        )
        summary = measure(settings, tmp_path / str(seed), {})
        lie = summary.rates["p_lie"]
        rates.append(there(lie.value))
        same.append(there(there(summary.same_scenarios).ci95))
        new.append(there(lie.ci95))
    spread, mean = float(np.std(rates, ddof=1)), float(np.mean(rates))
    half_width = float(np.mean([(high - low) / 2 for low, high in same]))
    assert len(set(rates)) > SEEDS / 4
    assert 0.44 < 1.96 * spread / half_width < 1.62  # chi-square with 9 degrees of freedom, 99 %
    assert sum(low <= mean <= high for low, high in same) >= 8  # of 10 at 95 %: fewer come once in 90 times
    assert sum(low <= mean <= high for low, high in new) >= 9
    assert np.mean([high - low for low, high in new]) > 2 * half_width
