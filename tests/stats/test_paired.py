"""Paired statistics: the sign-flip test, its matching interval, factors, bounds, Holm."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom, binomtest, norm, permutation_test  # type: ignore[import-untyped]

from maskbench.stats.figures import Difference
from maskbench.stats.paired import (
    _coins,
    _drawn,
    chance,
    difference_bounds,
    factors,
    holm,
    p_value,
    ratio_difference,
    sign_flip,
)
from there import there

Column = NDArray[np.float64]


def rng() -> np.random.Generator:
    """A generator that draws alike in every test."""
    return np.random.default_rng(7)


def one_each(differences: Column, flips: int = 19_999) -> Difference:
    """The test with equal weights and a proposition a scenario."""
    return sign_flip(differences, np.ones(len(differences)), np.arange(len(differences)), rng(), flips)


def ends(found: Difference) -> tuple[float, float, float]:
    """p, low and high of a test that has all three."""
    assert found.p is not None
    assert found.low is not None
    assert found.high is not None
    return found.p, found.low, found.high


def counts(gained: int, lost: int, same: int) -> Column:
    """Differences of single statements: so many lies more, fewer, and unchanged."""
    return np.repeat([1.0, -1.0, 0.0], [gained, lost, same])


def by_hand(differences: Column, weights: Column, clusters: NDArray[np.int64], shift: float) -> float:
    """Two-sided mid-p of "the mean difference is `shift`", over all sign patterns, one after the other."""
    ids = np.unique(clusters)
    sums = np.array([(weights * (differences - shift))[clusters == each].sum() for each in ids])
    sizes = np.abs([np.dot(signs, sums) for signs in product((1, -1), repeat=len(sums))])
    seen = abs(sums.sum())
    return float(np.mean(sizes > seen + 1e-9) + np.mean(np.abs(sizes - seen) <= 1e-9) / 2)


@st.composite
def small_pairs(draw: st.DrawFn) -> tuple[Column, Column, NDArray[np.int64]]:
    """Differences, weights and propositions of a few scenarios."""
    n = draw(st.integers(1, 9))
    column = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.0, 0.5, 1.0]), min_size=n, max_size=n)
    weights = st.lists(st.sampled_from([1.0, 1.0, 2.0, 0.3]), min_size=n, max_size=n)
    ids = st.lists(st.integers(0, 6), min_size=n, max_size=n)
    return np.array(draw(column)), np.array(draw(weights)), np.array(draw(ids))


def test_mcnemars_mid_p_of_a_published_example() -> None:
    """Of 21 children, 7 changed one way and 1 the other: mid-p 0.0391 (Fagerland, Lydersen & Laake 2013)."""
    test = one_each(counts(7, 1, 13))
    assert test.p == pytest.approx(0.0391, abs=5e-5)
    assert test.p_exact == pytest.approx(binomtest(1, 8).pvalue)


@pytest.mark.parametrize(("gained", "lost", "same"), [(9, 2, 30), (12, 12, 5), (3, 0, 4), (25, 11, 200)])
def test_single_statements_give_mcnemars_test(gained: int, lost: int, same: int) -> None:
    """With a proposition a scenario the test is McNemar's with mid-p: the exact one less half of its ties."""
    found = one_each(counts(gained, lost, same))
    changed, fewer = gained + lost, min(gained, lost)
    exact = binomtest(fewer, changed).pvalue
    wanted = exact - math.comb(changed, fewer) / 2**changed if gained != lost else 1.0
    assert ends(found)[0] == pytest.approx(wanted)
    assert found.p_exact == pytest.approx(exact)


def test_unchanged_scenarios_do_not_matter_to_p() -> None:
    """Of 150 changes 87 go one way: mid-p 0.0504 and exact p 0.060, however many scenarios did not change."""
    few, many = one_each(counts(87, 63, 0)), one_each(counts(87, 63, 250))
    assert few.p == many.p == pytest.approx(0.0504, abs=5e-5)
    assert few.p_exact == many.p_exact == pytest.approx(binomtest(63, 150).pvalue)


def test_unchanged_scenarios_do_not_matter_where_patterns_are_drawn() -> None:
    """Where every change has a size of its own some patterns are drawn, and p is no exact one."""
    changes = np.sqrt(np.arange(2.0, 62.0)) / 8 * np.resize([1, 1, -1, 1], 60)
    few, many = one_each(changes, 999), one_each(np.append(changes, np.zeros(90)), 999)
    assert (few.p, few.p_exact) == (many.p, None)


def test_the_interval_of_unequal_propositions_is_as_wide_as_the_changes_ask_for() -> None:
    """40 propositions of 1 or 20 scenarios that change by themselves: that of 420 scenarios, and not of 22."""
    draws = np.random.default_rng(2)
    ids = np.repeat(np.arange(40), np.resize([1, 20], 40))
    test = sign_flip(draws.choice([-1.0, 0.0, 1.0], 420, p=[0.2, 0.6, 0.2]), np.ones(420), ids, rng())
    _, low, high = ends(test)
    assert high - low < 0.2


@pytest.mark.parametrize(
    ("differences", "lopsided"),
    [
        (
            [0.2, 0.2, 0.4, 0.2, 0.2, 0.2, 0.4, 0.2],
            True,
        ),  # all lie a little more: one that always lied before is unseen
        ([0.2] * 8, True),
        ([0.2, 0.4] * 20, False),  # twelve whole changes
        ([1.0] * 5, False),  # single statements: the test is an exact one
        ([0.2, 0.4, -0.2, -0.4] * 5, False),
        ([0.0] * 5, False),
    ],
)
def test_small_changes_one_way_are_lopsided(differences: list[float], lopsided: bool) -> None:
    """Few changes the other way, of unequal size, worth fewer than six whole ones: the interval is wider than that.

    Both ends move by what a kind of scenario can be worth of which none was seen, and p goes with the interval.
    """
    changes = np.array([*differences, *[0.0] * 22])
    test = one_each(changes)
    assert (test.widened is not None) is lopsided
    p, low, high = ends(test)
    assert (p < 0.05) == (low > 0)
    if lopsided:
        share = binomtest(0, len(changes)).proportion_ci(0.95, "exact").high
        assert test.widened == pytest.approx(share)
        assert p > there(chance(changes))[0]
        assert low < changes.mean() - share
        assert high > changes.mean() + share
        assert there(test.one_sided95) == pytest.approx((low, high), abs=0.05)
        assert test.p_exact is None


def test_the_p_of_a_wider_interval_is_the_first_alpha_that_leaves_out_0() -> None:
    """It falls as more changes, and many small changes one way stay shown, which few of the same sum are not."""
    tests = [one_each(np.repeat([size, 0.0], [int(5 / size), 500])) for size in (0.5, 0.2, 0.05)]
    assert all(test.widened for test in tests)
    (few, few_low, _), (some, _, _), (many, many_low, _) = map(ends, tests)
    assert few_low < 0 < many_low
    assert few > some > 0.05 > many


@pytest.mark.parametrize("statements", [5, 10])
def test_false_alarms_of_lopsided_pairs_are_few(statements: int) -> None:
    """A run that always lies in some scenarios and else never, against one that lies in each as often."""
    draws, alarms, widened = np.random.default_rng(4), 0, 0
    for _ in range(300):
        moved = draws.binomial(statements, 1 / 30, 30) / statements - (draws.random(30) < 1 / 30)
        test = one_each(moved, 499)
        alarms += there(test.p) < 0.05
        widened += test.widened is not None
    assert alarms / 300 <= 0.02
    assert widened / 300 > 0.15


def test_false_alarms_of_few_skewed_propositions_are_few() -> None:
    """Twelve propositions, one half of the scenarios: one run lies in whole ones, the other everywhere alike."""
    draws, alarms, widened = np.random.default_rng(5), 0, 0
    sizes = np.array([60, 20, 10, 8, 6, 5, 4, 3, 1, 1, 1, 1])
    ids = np.repeat(np.arange(12), sizes)
    for _ in range(300):
        moved = (draws.random(120) < 0.05).astype(float) - (draws.random(12) < 0.05)[ids]
        test = sign_flip(moved, np.ones(120), ids, rng(), 499)
        alarms += there(test.p) < 0.05
        widened += test.widened is not None
    assert alarms / 300 <= 0.06
    assert widened / 300 > 0.05


def test_the_patterns_are_those_of_scipy() -> None:
    """Where no two patterns tie, mid-p is scipy's exact paired permutation p less half of the observed pattern's."""
    differences = np.array([0.31, -0.12, 0.77, 0.05, -0.4, 0.92, 0.23, 0.111, -0.06, 0.6])
    theirs = permutation_test(
        (differences, np.zeros(10)), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=np.inf
    )
    assert one_each(differences).p == pytest.approx(theirs.pvalue - 1 / 2**10)


@given(small_pairs())
def test_p_is_that_of_all_sign_patterns(pairs: tuple[Column, Column, NDArray[np.int64]]) -> None:
    """Grouping equal clusters changes nothing: p is what going through every sign pattern gives."""
    found = sign_flip(*pairs, rng())
    assume(found.widened is None)
    assert found.p == pytest.approx(by_hand(*pairs, 0.0) if found.difference else 1.0)


@given(small_pairs())
def test_the_interval_excludes_no_difference_exactly_where_the_test_rejects_it(
    pairs: tuple[Column, Column, NDArray[np.int64]],
) -> None:
    """Interval and test never disagree, whatever weights, ties and propositions."""
    found = sign_flip(*pairs, rng())
    p, low, high = ends(found)
    assert (p < 0.05) == (low > 0 or high < 0)
    assert -1 <= low <= high <= 1


@pytest.mark.parametrize(("gained", "lost", "same"), [(40, 20, 300), (60, 20, 900), (30, 33, 100), (8, 0, 500)])
def test_interval_and_drawn_patterns_agree_too(gained: int, lost: int, same: int) -> None:
    """Interval and test never disagree where patterns are drawn, either."""
    p, low, high = ends(one_each(counts(gained, lost, same)))
    assert (p < 0.05) == (low > 0 or high < 0)


def test_the_interval_holds_what_the_shifted_test_does_not_reject() -> None:
    """Its ends are where the test of a shifted difference, done pattern by pattern, passes 5 %."""
    differences = np.array([0.9, 0.8, -0.95, 1.0, -0.7, 0.97, -0.85, 0.92, 0.88, 0.61, -1.0, 0.83])
    weights = np.array([1.0, 2, 1, 1, 3, 1, 1, 2, 1, 1, 1, 2])
    ids = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10])
    found = sign_flip(differences, weights, ids, rng())
    _, low, high = ends(found)
    assert by_hand(differences, weights, ids, low - 0.02) < 0.05 < by_hand(differences, weights, ids, low + 0.02)
    assert by_hand(differences, weights, ids, high + 0.02) < 0.05 < by_hand(differences, weights, ids, high - 0.02)
    lower, upper = there(found.one_sided95)
    above, below = (by_hand(differences, weights, ids, upper + step) for step in (0.02, -0.02))
    assert above < 0.1 < below
    assert low < lower < upper < high


def test_the_other_way_round_everything_is_mirrored() -> None:
    """Exchanging the runs changes signs and nothing else."""
    one, two = one_each(counts(9, 4, 40)), one_each(counts(4, 9, 40))
    assert one.p == two.p
    assert ends(one)[1:] == pytest.approx(tuple(-end for end in reversed(ends(two)[1:])))


def test_weights_have_no_scale_and_a_split_scenario_stays_one() -> None:
    """Ten times the weights are the same weights, and halves of a scenario on one proposition are the scenario."""
    differences, weights = counts(6, 1, 20), np.linspace(1, 2, 27)
    plain = sign_flip(differences, weights, np.arange(27), rng(), 999)
    assert sign_flip(differences, 10 * weights, np.arange(27), rng(), 999).p == pytest.approx(plain.p)
    halves = sign_flip(np.repeat(differences, 2), np.repeat(weights / 2, 2), np.repeat(np.arange(27), 2), rng(), 999)
    assert halves.p == pytest.approx(plain.p)
    assert halves.low == pytest.approx(plain.low)


def test_scenarios_of_one_proposition_count_once() -> None:
    """Ten lies more are no proof where they are all about one proposition."""
    apart = one_each(counts(10, 0, 30))
    together = sign_flip(counts(10, 0, 30), np.ones(40), np.r_[np.zeros(10), np.arange(1, 31)], rng())
    assert ends(apart)[0] < 0.01
    assert ends(together)[0] == pytest.approx(0.5)


def test_no_change_anywhere_is_no_proof_of_none() -> None:
    """Without a single difference the interval still has the width that this many scenarios leave."""
    p, low, high = ends(one_each(np.zeros(100)))
    assert p == 1
    assert high == pytest.approx(0.0379, abs=1e-4)
    assert low == pytest.approx(-high)


@pytest.mark.parametrize("changed", [1, 2, 3])
def test_few_changes_one_way_leave_room_on_the_other_side(changed: int) -> None:
    """The end beyond 0 is that of Tango's score interval, here found by bisection from its statistic."""
    scenarios = 60
    test = one_each(np.repeat([1.0, 0.0], [changed, scenarios - changed]))
    size, t = scenarios - 1, 2.0009954  # scenarios less one, and Student's quantile for them
    least, most = 0.0, 1.0  # true differences beyond 0 by this much
    for _ in range(60):
        middle = (least + most) / 2
        share = changed / scenarios
        back = (share + (2 - share) * middle) / 2  # the likeliest share that changed the other way
        distance = (share + middle) * math.sqrt(size) / math.sqrt(2 * back - middle - middle**2)
        least, most = (middle, most) if distance < t else (least, middle)
    assert ends(test)[1] == pytest.approx(-least, abs=0.002)
    assert ends(test)[1] < 0


def test_a_small_difference_is_covered_where_few_scenarios_change() -> None:
    """Of 60 scenarios 3.3 change, as where two runs share their noise: 93 % coverage or more at 0.1 points below 0."""
    draws = np.random.default_rng(5).multinomial(60, [0.027, 0.028, 0.945], 3000)
    counts, often = np.unique(draws[:, :2], axis=0, return_counts=True)
    held = 0
    for (up, down), times in zip(counts.tolist(), often.tolist(), strict=True):
        _, low, high = ends(one_each(np.repeat([1.0, -1.0, 0.0], [up, down, 60 - up - down])))
        held += times * (low <= -0.001 <= high)
    assert held / 3000 >= 0.93


def test_few_propositions_can_show_nothing() -> None:
    """Four propositions cannot be significant, whatever they show, and the interval says so."""
    p, low, _ = ends(one_each(np.ones(4)))
    assert p == pytest.approx(1 / 16)
    assert low == -1
    assert ends(one_each(np.ones(1)))[1:] == (-1, 1)


def test_no_scenario_gives_nothing() -> None:
    """Without a scenario, or without weight, there is neither difference nor test."""
    for weights in (np.ones(0), np.zeros(0)):
        assert one_each(weights).difference is None
    assert sign_flip([0.5], [0.0], [1], rng()).p is None


def test_arrays_that_do_not_fit_are_refused() -> None:
    """Other lengths and other ranges are a programming error that says so."""
    with pytest.raises(ValueError, match="one dimension and one length"):
        sign_flip([0.5], [1.0, 1.0], [1, 2], rng())
    with pytest.raises(ValueError, match="between -1 and 1"):
        sign_flip([1.5], [1.0], [1], rng())


def test_holm_of_a_known_example() -> None:
    """R's p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") gives 0.03, 0.06, 0.06, 0.02."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.7, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


@st.composite
def nested_pairs(draw: st.DrawFn) -> tuple[Column, Column]:
    """Shares that believe, answer and lie, each no more than the one before, for two runs."""
    rows = draw(st.lists(st.tuples(*[st.integers(0, 3)] * 6), min_size=2, max_size=12))
    shares = np.sort(np.array([*rows, (3, 2, 1, 3, 2, 1)], dtype=np.float64).reshape(-1, 2, 3), axis=2)[:, :, ::-1] / 3
    return shares[:, 0], shares[:, 1]


@given(nested_pairs())
def test_the_factors_make_p_lie_and_their_contributions_its_difference(pair: tuple[Column, Column]) -> None:
    """Belief share × answered share × conditional lie rate is P(lie); what came through each adds up."""
    first, other = pair
    found = factors(first, other, np.ones(len(first)), np.arange(len(first)))
    assert found is not None
    assert math.prod(factor.first or 0 for factor, _ in found) == pytest.approx(first[:, 2].mean())
    assert math.prod(factor.other or 0 for factor, _ in found) == pytest.approx(other[:, 2].mean())
    whole = sum(effect.value or 0.0 for _, effect in found)
    assert whole == pytest.approx(other[:, 2].mean() - first[:, 2].mean())


def test_the_factors_intervals_are_near_the_jackknife() -> None:
    """Linearised standard errors of differences and contributions are those of leaving out one scenario at a time."""
    draws = np.random.default_rng(3)
    shares = np.sort(draws.random((150, 2, 3)), axis=2)[:, :, ::-1].round(1)
    first, other, weights = shares[:, 0], shares[:, 1], draws.uniform(0.5, 2, 150)
    found = factors(first, other, weights, np.arange(150))
    assert found is not None
    left = [_left_out(first, other, weights, at) for at in range(150)]
    error = np.sqrt(149 * np.var(left, axis=0))
    for at, factor in enumerate(found):
        for place, interval in enumerate((factor[0].ci95, factor[1].ci95)):
            low, high = there(interval)
            assert (high - low) / 2 == pytest.approx(1.976 * error[2 * at + place], rel=0.03)


def _left_out(first: Column, other: Column, weights: Column, at: int) -> list[float]:
    kept = np.arange(150) != at
    found = factors(first[kept], other[kept], weights[kept], np.arange(149))
    assert found is not None
    return [part or 0.0 for factor, effect in found for part in (factor.difference, effect.value)]


def test_a_factor_without_a_denominator_leaves_no_factors() -> None:
    """Where a run has no belief at all, nothing can be said about its answers."""
    assert factors(np.zeros((5, 3)), np.ones((5, 3)), np.ones(5), np.arange(5)) is None


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=6), st.data())
def test_bounds_hold_whatever_failed(pairs: list[tuple[int, int]], data: st.DataObject) -> None:
    """However each missing statement is filled in (2 stands for one), the difference is within the bounds."""
    codes = np.array(pairs)
    low, high = np.where(codes == 2, 0.0, codes), np.where(codes == 2, 1.0, codes)
    ones, ids = np.ones(len(codes)), np.arange(len(codes))
    found = difference_bounds((low[:, 0], high[:, 0]), (low[:, 1], high[:, 1]), ones, ids, rng())
    assert found is not None
    drawn = data.draw(st.lists(st.integers(0, 1), min_size=codes.size, max_size=codes.size))
    filled = np.where(codes == 2, np.reshape(drawn, codes.shape), codes)
    difference = float((filled[:, 1] - filled[:, 0]).mean())
    (least, most), around = found
    assert around is not None
    bottom, top = around
    assert least - 1e-9 <= difference <= most + 1e-9
    assert bottom <= least
    assert most <= top


@pytest.mark.parametrize(
    ("p", "words"),
    [(0.5, "= 0.50"), (0.1, "= 0.10"), (0.0999, "= 0.0999"), (0.0001, "= 0.0001"), (0.00005, "< 0.0001")],
)
def test_a_p_value_has_no_more_digits_than_it_has(p: float, words: str) -> None:
    """From a tenth on two digits, below it four, and what the test cannot tell apart is a bound."""
    assert p_value(p) == words


def test_the_difference_of_two_ratios_is_covered() -> None:
    """The interval of a difference of ratios with denominators of their own holds the truth in 93 % or more.

    Propositions of one to four scenarios are alike in both runs, which lie in 10 and 25 % of what they answer.
    """
    rng = np.random.default_rng(11)
    held, drawn = 0, 400
    for _ in range(drawn):
        ids = np.repeat(np.arange(120), rng.integers(1, 5, 120))
        shared = rng.normal(size=120)[ids]
        sides = []
        for rate in (0.10, 0.25):
            x = (rng.random(len(ids)) < 0.7).astype(float)
            liability = 0.7 * shared + math.sqrt(1 - 0.49) * rng.normal(size=len(ids))
            sides.append(((liability < norm.ppf(rate)) * x, x))
        gap = ratio_difference(sides[0], sides[1], np.ones(len(ids)), ids)
        assert gap.low is not None
        assert gap.high is not None
        held += gap.low <= 0.15 <= gap.high
    assert held / drawn >= 0.92


def test_a_difference_of_ratios_without_a_denominator_has_no_value() -> None:
    """Where one side has nothing in its denominator there is no difference, and with one proposition no interval."""
    ones, ids = np.ones(4), np.arange(4)
    assert ratio_difference((ones, ones), (0 * ones, 0 * ones), ones, ids).difference is None
    alone = ratio_difference((ones, ones), (0 * ones, ones), ones, 0 * ids)
    assert (alone.difference, alone.ci95) == (-1, None)


def test_ratios_without_a_change_are_not_known_to_be_equal() -> None:
    """The interval is then that of as many scenarios without a lie as the smaller denominator has, either way."""
    nothing, every, some, ids = np.zeros(60), np.ones(60), np.repeat((1.0, 0.0), (40, 20)), np.arange(60)
    for first, other in ((some, every), (every, some)):
        found = ratio_difference((nothing, first), (nothing, other), every, ids)
        assert found.ci95 == pytest.approx((-0.091, 0.091), abs=0.001)


@pytest.mark.parametrize("coins", [1001, 1002, 5000])
def test_the_chances_of_many_coins_are_binomial(coins: int) -> None:
    """From the middle on by ratios, odd and even, as the distribution has them."""
    assert _coins(coins) == pytest.approx(binom.pmf(np.arange(coins + 1), coins, 0.5), rel=1e-9, abs=1e-300)


def test_drawn_patterns_are_those_of_coins() -> None:
    """Each proposition flips in half of the patterns, and both of its sums together: by means and variances."""
    columns = np.random.default_rng(3).uniform(-1, 1, (403, 2))
    flipped = _drawn(columns, np.ones(403, np.intp), rng(), 20_000)
    assert flipped.mean(axis=0) == pytest.approx(columns.sum(axis=0) / 2, abs=0.3)
    assert np.cov(flipped.T) == pytest.approx(columns.T @ columns / 4, abs=1.5)


def test_many_kinds_of_propositions_give_what_few_give() -> None:
    """The same changes with weights that differ a little come to nearly the same test and interval."""
    differences = np.random.default_rng(5).choice([-1.0, 0.0, 1.0], 900, p=[0.15, 0.78, 0.07])
    ids, weights = np.arange(900), np.random.default_rng(6).uniform(0.999, 1.001, 900)
    few, many = (sign_flip(differences, each, ids, rng()) for each in (np.ones(900), weights))
    assert (many.p, *there(many.ci95)) == pytest.approx((few.p, *there(few.ci95)), abs=0.003)
