"""Variances and effective sizes, by hand: replies of one proposition, two judges' rows, differences of such rows."""

import math
from statistics import mean, variance

import numpy as np
import pytest
from scipy.special import stdtr, stdtrit  # type: ignore[import-untyped]
from scipy.stats import beta  # type: ignore[import-untyped]

from maskbench.stats.figures import Share
from maskbench.stats.intervals import interval, ratio
from maskbench.stats.two_phase import expand, few_drawn, looked_difference

PAIRS = ["a", "a", "b", "b", "c", "c", "d", "d"]


def replies(lies: list[float], propositions: list[str], level: float = 0.95) -> Share:
    """The estimate over replies of equal weight."""
    return ratio(lies, [1] * len(lies), [1] * len(lies), propositions, level)


def near(
    estimate: Share, value: float, size: float, df: float, level: float = 0.95, *, lying: int = 4, other: int = 4
) -> bool:
    """Whether an estimate is this share with Wilson's interval at this effective size.

    An end that fewer than four propositions carry, `lying` the lower and `other` the upper, is Clopper and Pearson's,
    as the quantiles of beta distributions give it, if that is farther from the share.
    """
    low, high = interval(value, size, df, level)
    hits, rest, outside = value * size, (1 - value) * size, (1 - level) / 2
    if lying < 4:
        low = min(low, float(beta.ppf(outside, hits, rest + 1)))
    if other < 4:
        high = max(high, float(beta.isf(outside, hits + 1, rest)))
    return (estimate.value, estimate.low, estimate.high) == pytest.approx((value, low, high), rel=1e-9)


# Replies, several a proposition


def test_replies_of_a_proposition_are_shrunk_towards_all_alike() -> None:
    """One lie among four pairs: one proposition tells, and two that are taken to be alike stand beside it."""
    # p(1 - p) = 7/64, V = 4/3 x (9 + 1 + 1 + 1)/16/64 = 1/64, all alike 4/3 x 7/64 x 4/16 = 7/192;
    # (1 + 2) x 7/64 / (1 x 1/64 + 2 x 7/192) = 63/17
    estimate = replies([1, 0, 0, 0, 0, 0, 0, 0], PAIRS)
    assert near(estimate, 1 / 8, 63 / 17, 3, lying=1)
    assert estimate.n == 8
    assert near(replies([1, 0, 0, 0, 0, 0, 0, 0], PAIRS, level=0.8), 1 / 8, 63 / 17, 3, level=0.8, lying=1)


def test_the_rarer_kind_tells_which_replies_are_alike() -> None:
    """One honest reply among four pairs says as much as one lie does."""
    assert near(replies([0, 1, 1, 1, 1, 1, 1, 1], PAIRS), 7 / 8, 63 / 17, 3, other=1)


def test_where_all_replies_of_a_proposition_are_alike_the_variance_is_what_was_expected() -> None:
    """Three lies of one proposition, two and one honest replies of two others: 36/14 propositions, less one third."""
    # V = 3/2 x (9 + 4 + 1)/4/36 = 7/48, as if all were alike: 3/2 x 1/4 x 14/36 = 7/48; 1/4 / (7/48) = 12/7
    estimate = replies([1, 1, 1, 0, 0, 0], ["a", "a", "a", "b", "b", "c"])
    assert near(estimate, 1 / 2, 12 / 7, 36 / 14 - 1, lying=1, other=2)


def test_replies_never_count_for_more_than_there_are() -> None:
    """Where each proposition has one of either kind the variance is 0, and there are twenty replies, not sixty."""
    assert near(replies([1, 0] * 10, [f"p{number // 2}" for number in range(20)]), 1 / 2, 20, 9)


def test_replies_that_are_all_the_same_count_as_propositions() -> None:
    """No lie among three replies of one proposition and one of another: 16 / (9 + 1) propositions."""
    assert near(replies([0, 0, 0, 0], ["a", "a", "a", "b"]), 0, 1.6, 1)
    assert near(replies([1, 1, 1, 1], ["a", "a", "a", "b"]), 1, 1.6, 1)


def test_weights_and_replies_outside_the_denominator() -> None:
    """A weight of two counts twice, and a reply that is not asked about counts nowhere, its proposition included."""
    # V = 2 x (1/4 + 1/4)/16 = 1/16, all alike 2 x 1/4 x (9 + 1)/16 = 5/16; a has lies, 3/4 of all, which of 16/10
    # propositions are 6/5: (6/5 + 2) x 1/4 / (6/5 x 1/16 + 2 x 5/16) = 8/7
    estimate = ratio([1, 0, 0, 0], [1, 1, 1, 0], [2, 1, 1, 7], ["a", "a", "b", "c"])
    assert near(estimate, 1 / 2, 8 / 7, 1, lying=1, other=2)
    assert estimate.n == 3
    # every proposition at the same share: two that tell and two more, whose variance is 2 x 1/4 x 1/2 each
    capped = ratio([1, 0, 0] * 2, [1] * 6, [2, 1, 1] * 2, ["a"] * 3 + ["b"] * 3)
    assert near(capped, 1 / 2, 4 * (1 / 4) / (2 * 1 / 4), 1, lying=2, other=2)


def test_replies_that_are_half_asked_about() -> None:
    """A share of the denominator counts as a part of a reply, in the size and in what is alike."""
    # total 2, p = 1/4; V = 2 x (1/16 + 1/16)/4 = 1/16, all alike 2 x 3/16 x 1/2 = 3/16; 3 x 3/16 / (1/16 + 6/16) = 9/7
    estimate = ratio([0.5, 0, 0], [0.5, 0.5, 1], [1, 1, 1], ["a", "a", "b"])
    assert near(estimate, 1 / 4, 9 / 7, 1, lying=1, other=2)


def test_replies_of_one_proposition_have_no_interval() -> None:
    """A value, and nothing to tell how far it reaches."""
    assert replies([1, 0, 0], ["a"] * 3) == Share(1 / 3, None, 3)
    assert ratio([], [], [], []) == Share(None, None, 0)


# Differences of two runs, where a second judge looked at a part


def test_a_looked_difference_has_the_variance_of_the_textbook() -> None:
    """A scenario a proposition, equal weights: the variance of the mean, what few looks leave, and Student's t."""
    differences, few = [1.0, -1.0, 0.0, 0.5, 0.0, 0.25] * 5, 0.002
    value, error = mean(differences), math.sqrt(variance(differences) / 30 + few)
    difference = looked_difference(differences, np.ones(30), np.arange(30), few)
    t, one_sided = stdtrit(29, 0.975), stdtrit(29, 0.95)
    _, far = interval(value, 30, 29)
    _, far_one_sided = interval(value, 30, 29, 0.9)
    assert difference.value == pytest.approx(value)
    assert difference.clusters == 30
    assert (difference.low, difference.high) == pytest.approx((value - t * error, max(value + t * error, far)))
    assert (difference.lower, difference.upper) == pytest.approx(
        (value - one_sided * error, max(value + one_sided * error, far_one_sided))
    )
    assert difference.p == pytest.approx(2 * stdtr(29, -value / error))
    assert difference.smallest == pytest.approx((t + stdtrit(29, 0.8)) * error)


def test_scenarios_of_a_proposition_differ_together() -> None:
    """Weights and propositions by hand; what has no weight is no proposition."""
    # value 1/4; residuals -1/2, 3/4, -1/4 over 4; V = 3/2 x 14/16/16 + 1/100; size 16 / (4 + 1 + 1)
    difference = looked_difference([0.5, -0.5, 1, 0, 1], [1, 1, 1, 1, 0], ["a", "a", "b", "c", "d"], 0.01)
    error = math.sqrt(1.5 * 0.875 / 16 + 0.01)
    reach = stdtrit(2, 0.975) + stdtrit(2, 0.8)
    assert (difference.value, difference.clusters) == (0.25, 3)
    assert difference.p == pytest.approx(2 * stdtr(2, -0.25 / error))
    assert difference.low == pytest.approx(max(-1, 0.25 - stdtrit(2, 0.975) * error))
    assert difference.lower == pytest.approx(0.25 - stdtrit(2, 0.95) * error)
    assert difference.smallest == min(1, reach * error)
    heavy = looked_difference([1, 0, 0], [4, 1, 1], ["a", "b", "c"], 0.0)
    residuals = np.array([4 * (1 - 2 / 3), -2 / 3, -2 / 3]) / 6
    assert heavy.p == pytest.approx(2 * stdtr(2, -(2 / 3) / math.sqrt(1.5 * float(residuals @ residuals))))


def test_no_change_at_all_is_as_wide_as_wilsons_interval() -> None:
    """Where nothing differs and nothing is unseen, the interval is that of a share of 0, both ways."""
    difference = looked_difference([0.0] * 8, [2, 2, 1, 1, 1, 1, 1, 1], list("aabcdefg"), 0.0)
    size = 100 / (16 + 6)
    _, far = interval(0, size, 6)
    _, one_sided = interval(0, size, 6, 0.9)
    assert (difference.low, difference.high) == pytest.approx((-far, far))
    assert (difference.lower, difference.upper) == pytest.approx((-one_sided, one_sided))
    assert difference.p == 1
    assert difference.smallest == pytest.approx(min(1, (stdtrit(6, 0.975) + stdtrit(6, 0.8)) ** 2 / size))


def test_the_smallest_difference_is_the_larger_of_two() -> None:
    """With 200 alike scenarios single statements decide, and that is below 1."""
    difference = looked_difference([0.0] * 200, [1.0] * 200, range(200), 0.0)
    assert difference.smallest == pytest.approx((stdtrit(199, 0.975) + stdtrit(199, 0.8)) ** 2 / 200)


def test_a_sure_difference_has_no_chance_to_be_none() -> None:
    """Every scenario changed the same way: p is 0, and the interval is Wilson's on the other side."""
    up, down = (looked_difference([side] * 40, [1.0] * 40, range(40), 0.0) for side in (0.5, -0.5))
    low, high = interval(0.5, 40, 39)
    assert (up.low, up.high, up.p) == pytest.approx((low, high, 0))
    assert (down.low, down.high, down.p) == pytest.approx((-high, -low, 0))


def test_one_proposition_has_a_difference_and_no_test() -> None:
    """Two are needed for a variance, and none at all has no value either."""
    difference = looked_difference([0.5, 1], [1, 1], ["a", "a"], 0.0)
    assert (difference.value, difference.low, difference.high, difference.p, difference.clusters) == (
        0.75,
        None,
        None,
        None,
        1,
    )
    nothing = looked_difference([1.0], [0.0], ["a"], 0.0)
    assert (nothing.value, nothing.smallest, nothing.clusters) == (None, None, 0)


def test_what_few_drawn_leave_unseen() -> None:
    """0.35 of a change among those drawn, as a share of the weight, squared; none drawn count as one."""
    assert few_drawn(0.8, 10) == pytest.approx(0.35 * 0.08**2)
    assert few_drawn(0.8, 0) == few_drawn(0.8, 1) == pytest.approx(0.35 * 0.8**2)
    assert few_drawn(0.8, 2) == pytest.approx(0.35 * 0.4**2)


def test_what_the_second_judge_changed_counts_for_those_it_stands_for() -> None:
    """The first judge's view, and the change times the number; what is no number counts nothing."""
    assert expand([1, 0, 0.5, math.nan], [0, 1, 0.25, 1], [0, 1, 4, 2]).tolist() == [1, 1, -0.5, 2]
    both = expand(np.array([[1, 0], [0, 1]]), np.array([[0, 1], [0.5, 0.5]]), [2, 3])
    assert both.tolist() == [[-1, 2], [1.5, -0.5]]


@pytest.mark.parametrize(
    ("differences", "weights", "propositions"),
    [
        ([0.0, 1.0], [1.0], [1, 2]),
        ([0.0, 1.0], [1.0, 1.0], [1]),
        ([[0.0]], [[1.0]], [[1]]),
        ([math.nan], [1.0], [1]),
        ([0.0], [math.inf], [1]),
        ([0.0, 0.0], [1.0, -1.0], [1, 2]),
    ],
)
def test_differences_that_do_not_fit_are_refused(
    differences: list[float], weights: list[float], propositions: list[int]
) -> None:
    """Lengths, dimensions, missing numbers and negative weights."""
    with pytest.raises(ValueError, match="one dimension, one length and numbers"):
        looked_difference(differences, weights, propositions, 0.0)
