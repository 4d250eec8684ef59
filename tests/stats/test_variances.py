"""Variances and effective sizes, by hand: replies of one proposition."""

import pytest
from scipy.stats import beta  # type: ignore[import-untyped]

from maskbench.stats.figures import Share
from maskbench.stats.intervals import interval, ratio

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
