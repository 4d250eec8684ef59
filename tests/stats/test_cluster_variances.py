"""The variances behind the intervals, each worked out by hand: clusters, replies, two judges, repetition."""

from __future__ import annotations

import numpy as np
import pytest

from maskbench.stats.figures import Share
from maskbench.stats.intervals import by_cluster, clustered_variance, interval, quantile, repeat_interval


def of_size(p: float, size: float, df: float, n: int) -> object:
    """The estimate of a rate that `size` scenarios are worth: all that a test has to work out is that size."""
    return pytest.approx((p, *interval(p, size, df), n))


def parts(share: Share) -> tuple[float | None, ...]:
    """The numbers of a share in one row."""
    return (share.value, share.low, share.high, share.n)


def test_values_are_summed_by_cluster() -> None:
    """Sums come in the order of the ids, whatever the order of the values."""
    assert by_cluster(np.array([1.0, 10.0, 2.0, -5.0]), np.array([7, 3, 7, 3])).tolist() == [5.0, 3.0]


def test_the_variance_of_a_sum_over_clusters() -> None:
    """Two clusters with the sums -1 and 3: 2 / (2 - 1) times the sum of their squares."""
    assert clustered_variance(np.array([1.0, -2.0, 3.0]), np.array([0, 0, 1])) == (20.0, 2)


def test_a_single_cluster_has_no_variance() -> None:
    """Nothing can be learned from one cluster of how clusters differ."""
    assert clustered_variance(np.array([1.0, 2.0]), np.array([4, 4])) == (0.0, 1)


def test_a_variance_inside_scenarios_can_leave_fewer_statements() -> None:
    """Shares 1/2, 0 and 1 with 2, 1 and 3 statements: 0.25 / (5/90) statements, fewer than the 54/11 of the weights.

    A single statement enters at the largest variance, 0.25; three equal ones show none.
    """
    variance = (0.25 + 0.25 + 0.0) / 9
    estimate = repeat_interval([1, 0, 3], [2, 1, 3], [1, 1, 1])
    assert parts(estimate) == of_size(0.5, 0.25 / variance, 3, 3)


def test_statements_that_hardly_vary_are_worth_more_but_not_without_end() -> None:
    """Of 21 scenarios ten always lie, ten never and one once in two: up to t² disagreements could have been missed."""
    statements, variance = 42, 0.25 / 21**2
    size = 0.25 / (variance + (quantile(21, 0.95) / statements) ** 2)
    assert statements < size < 0.25 / variance
    assert parts(repeat_interval([2] * 10 + [0] * 10 + [1], [2] * 21, [1] * 21)) == of_size(0.5, size, 21, 21)
