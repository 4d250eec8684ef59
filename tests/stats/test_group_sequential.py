"""Non-inferiority in several looks: what is spent, what the statistic is, and how often it is wrong."""

import numpy as np
import pytest

from maskbench.stats.group_sequential import LEVEL, Pairs, bounds, critical, looks, spent, statistic


def test_the_first_look_is_at_forty_propositions() -> None:
    """One looks at 40 propositions, then at even steps, and at the end; with fewer there is no look."""
    assert looks(240)[0] == 40
    assert looks(240)[-1] == 240
    assert len(looks(240)) <= 22
    assert looks(40) == (40,)
    assert looks(39) == ()


def test_all_of_the_level_is_spent_at_the_end() -> None:
    """Spending grows with the share of propositions, and comes to 5 %."""
    assert spent(0.2) < spent(0.5) < spent(1.0) == LEVEL


def test_a_single_look_needs_the_normal_quantile() -> None:
    """Where the first look is the last, the critical value is that of a plain one-sided test: 1.645."""
    assert critical((1.0,))[0] == pytest.approx(1.645, abs=0.002)


def test_looks_together_spend_the_level() -> None:
    """Of 20,000 normal walks no more than 5 %, and nearly that many, cross at one of 21 looks."""
    at = np.array(looks(240))
    walks = np.random.default_rng(0).normal(size=(20_000, 240)).cumsum(axis=1)[:, at - 1] / np.sqrt(at)
    crossed = (walks >= np.array(critical(tuple((at / 240).tolist())))).any(axis=1).mean()
    assert crossed == pytest.approx(LEVEL, abs=0.005)


def test_the_statistic_by_hand() -> None:
    """Two propositions, one worse by its whole weight: Σ e / sqrt(Σ e²), the variance as where the margin holds."""
    pairs = Pairs.of([4.0, 0.0], [0.0, 0.0], [4.0, 4.0])  # two propositions of four scenarios each
    e = np.array([4 - 0.05 * 4, -0.05 * 4])
    held, seen = 2 * 0.2125 + 0.05 - 0.05**2, 0.5 - 2 * 0.05 * 0.5 + 0.05**2  # of a pair: half of them are worse
    assert statistic(pairs, np.array([0.05]))[0] == pytest.approx(e.sum() / np.sqrt((e**2).sum() * held / seen))


def test_few_differences_do_not_make_the_variance_small() -> None:
    """With no scenario that differs the variance is that of scenarios at the margin: n · 0.05 · 0.95."""
    none = np.zeros(50)
    score = statistic(Pairs.of(none, none, none + 1), np.array([0.05]))[0]
    assert score == pytest.approx(-0.05 * 50 / np.sqrt(50 * 0.05 * 0.95))


@pytest.mark.parametrize("rarer", [0.01, 0.05, 0.2])
def test_no_more_than_five_percent_pass_or_fail_at_the_margin(rarer: float) -> None:
    """Where the second run lies 5 points more often, of 1,000 runs 5 % pass and 5 % fail at most, and chance."""
    at, draws = np.array(looks(240)), np.random.default_rng(5).random((1000, 240))
    more, less = (draws >= rarer) & (draws < 2 * rarer + 0.05), draws < rarer
    ones = np.ones(draws.shape)
    scores = np.column_stack(
        [statistic(Pairs.of(more[:, :n] * 1.0, less[:, :n] * 1.0, ones[:, :n]), np.full(1000, 0.05)) for n in at]
    )
    enough = (more | less).cumsum(axis=1)[:, at - 1] >= 20
    passed, failed = np.zeros(1000, dtype=bool), np.zeros(1000, dtype=bool)
    for first in range(len(at)):
        began = enough.argmax(axis=1) == first
        began &= enough.any(axis=1)
        if began.any():
            limits = np.array(critical(tuple((at[first:] / 240).tolist())))
            passed[began] = (scores[began][:, first:] <= -limits).any(axis=1)
            failed[began] = (scores[began][:, first:] >= limits).any(axis=1)
    assert passed.mean() <= LEVEL + 0.018
    assert failed.mean() <= LEVEL + 0.018


def test_the_interval_is_what_is_not_refuted() -> None:
    """The ends of the interval are the differences at which the statistic just does not reach the critical value."""
    rng = np.random.default_rng(2)
    draws = rng.random(200)
    more, less, ones = (draws < 0.1) * 1.0, (draws > 0.95) * 1.0, np.ones(200)
    pairs = Pairs.of(more, less, ones)
    low, high = bounds(pairs, pairs, 2.0)
    assert statistic(pairs, np.array([low - 0.002, low]))[0] >= 2.0
    assert statistic(pairs, np.array([low]))[0] < 2.0
    assert statistic(pairs, np.array([high]))[0] > -2.0
    assert statistic(pairs, np.array([high + 0.002]))[0] <= -2.0
    assert low < float((more - less).mean()) < high
