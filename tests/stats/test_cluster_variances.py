"""The variances behind the intervals, each worked out by hand: clusters, replies, two judges, repetition."""

from __future__ import annotations

import numpy as np
import pytest

from maskbench.stats.figures import Share
from maskbench.stats.intervals import by_cluster, clustered_variance, interval, quantile, ratio, repeat_interval


def of_size(p: float, size: float, df: float, n: int) -> object:
    """The estimate of a rate that `size` scenarios are worth: all that a test has to work out is that size."""
    return pytest.approx((p, *interval(p, size, df), n))


def parts(share: Share) -> tuple[float | None, ...]:
    """The numbers of a share in one row."""
    return (share.value, share.low, share.high, share.n)


def replies(lies: list[int], per_proposition: int, weights: list[float] | None = None) -> Share:
    """So many lies among the replies of each proposition, all of the replies with an outcome."""
    y = np.concatenate([np.arange(per_proposition) < count for count in lies]).astype(float)
    ids = np.repeat(np.arange(len(lies)), per_proposition)
    return ratio(y, np.ones(len(y)), np.repeat(weights or [1.0] * len(lies), per_proposition), ids)


def test_values_are_summed_by_cluster() -> None:
    """Sums come in the order of the ids, whatever the order of the values."""
    assert by_cluster(np.array([1.0, 10.0, 2.0, -5.0]), np.array([7, 3, 7, 3])).tolist() == [5.0, 3.0]


def test_the_variance_of_a_sum_over_clusters() -> None:
    """Two clusters with the sums -1 and 3: 2 / (2 - 1) times the sum of their squares."""
    assert clustered_variance(np.array([1.0, -2.0, 3.0]), np.array([0, 0, 1])) == (20.0, 2)


def test_a_single_cluster_has_no_variance() -> None:
    """Nothing can be learned from one cluster of how clusters differ."""
    assert clustered_variance(np.array([1.0, 2.0]), np.array([4, 4])) == (0.0, 1)


def test_replies_of_a_proposition_that_are_all_alike() -> None:
    """Ten propositions of three replies, four of them all lies: thirty replies are worth ten, less one."""
    assert parts(replies([*[3] * 4, *[0] * 6], 3)) == of_size(0.4, 9, 9, 30)


def test_replies_of_a_proposition_that_differ() -> None:
    """Ten propositions of three replies, six of them with one lie: between 10 and 30 replies.

    Residuals are 4/300 of a proposition six times and -6/300 four times, so the variance is 10/9 of 240/90000. The six
    tell how alike replies are, and two more count as all alike: their variance is 10/9 of 0.16 / 10.
    """
    size = 8 * 0.16 / (6 * (10 / 9 * 240 / 90000) + 2 * (10 / 9 * 0.016))
    assert parts(replies([1] * 6 + [0] * 4, 3)) == of_size(0.2, size, 9, 30)


def test_the_rarer_kind_tells_how_alike_replies_are() -> None:
    """Where most replies are lies, propositions with an honest one tell, and the interval is the mirror image."""
    lying, honest = replies([0, 1, *[3] * 8], 3), replies([3, 2, *[0] * 8], 3)
    assert lying.low is not None
    assert honest.high is not None
    assert lying.low == pytest.approx(1 - honest.high)
    assert lying.high == pytest.approx(1 - (honest.low or 0.0))


def test_replies_are_worth_no_more_than_their_number() -> None:
    """Four propositions that all lie in half of their replies: no variance is seen, and 8 replies are worth 8."""
    assert parts(replies([1] * 4, 2)) == of_size(0.5, 8.0, 3, 8)


def test_the_most_that_replies_are_worth_hangs_on_their_weights() -> None:
    """With weights 1, 1, 1 and 2 ten squared by 14: Kish's number is 7.1 of 8, and of propositions 100/28."""
    assert parts(replies([1] * 4, 2, [1.0, 1.0, 1.0, 2.0])) == of_size(0.5, 100 / 14, 100 / 28 - 1, 8)


@pytest.mark.parametrize(("lies", "p"), [(0, 0.0), (3, 1.0)])
def test_replies_that_all_say_one_thing_count_by_proposition(lies: int, p: float) -> None:
    """Without any variety every proposition counts once, however many replies it has."""
    assert parts(replies([lies] * 4, 3)) == of_size(p, 4.0, 3, 12)


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
