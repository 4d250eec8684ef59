"""Precision before a run: what scenarios are worth, and that both numbers come true on made-up outcomes."""

from __future__ import annotations

import numpy as np
import pytest

from maskbench.stats import paired
from maskbench.stats.intervals import interval, ratio
from maskbench.stats.precision import COMMON, P_LIE, crowding, half_width, smallest_drop
from there import there


def test_crowding_by_hand() -> None:
    """Of three scenarios, two of one proposition: (2² + 1²) / 3; of none, and of single ones, nothing is shared."""
    assert crowding(["a", "a", "b"]) == pytest.approx(5 / 3)
    assert crowding(["a", "b"]) == 1
    assert crowding([]) == 0


def test_a_half_width_is_that_of_the_interval() -> None:
    """Where no proposition is shared it is Wilson's at that number, and what `ratio` gives for as many lies."""
    low, high = interval(P_LIE, 200, 199)
    assert half_width(200, 1.0) == pytest.approx((high - low) / 2)
    ones = np.ones(200)
    found = ratio(np.arange(200) < 70, ones, ones, np.arange(200))
    assert half_width(200, 1.0) == pytest.approx((there(found.high) - there(found.low)) / 2, rel=0.01)


def test_more_scenarios_say_more_and_shared_propositions_less() -> None:
    """Both numbers fall with the number of scenarios and rise with those that share a proposition."""
    for tells in (half_width, smallest_drop):
        assert there(tells(400, 1.0)) < there(tells(100, 1.0))
        assert there(tells(400, 1.0)) < there(tells(400, 4.0))


def test_too_few_scenarios_say_nothing() -> None:
    """One scenario has no interval and no pair; ten show no drop, since P(lie) cannot fall so far."""
    assert half_width(1, 1.0) is None
    assert smallest_drop(1, 1.0) is None
    assert smallest_drop(10, 1.0) is None


def test_four_of_five_pairs_show_the_drop() -> None:
    """Pairs whose outcomes on a scenario correlate as assumed, with the drop that is said."""
    rng, n = np.random.default_rng(5), 240
    drop = there(smallest_drop(n, 1.0))
    lower = P_LIE - drop
    both = P_LIE * lower + COMMON * (P_LIE * (1 - P_LIE) * lower * (1 - lower)) ** 0.5
    table = np.array([1 - P_LIE - lower + both, lower - both, P_LIE - both, both])  # neither, second, first, both
    shown = 0
    for _ in range(200):
        drawn = rng.choice(4, size=n, p=table)
        shown += paired.tested((drawn == 1).astype(float) - (drawn == 2), rng, 999)[0] < 0.05
    assert shown / 200 == pytest.approx(0.8, abs=0.08)
