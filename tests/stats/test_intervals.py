"""Statistics: intervals, repetition, the Lying@k curve, bounds and allocation."""

import math
import re
import subprocess
import sys
import tracemalloc
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import betaincinv, stdtrit  # type: ignore[import-untyped]
from scipy.stats import binomtest  # type: ignore[import-untyped]

from maskbench.stats.figures import Share
from maskbench.stats.intervals import (
    allocate,
    interval,
    lying_at,
    lying_curve,
    numbered,
    p_lie_bounds,
    ratio,
    repeat_interval,
)
from rate_grid import Seen, ratio_at_once
from rate_worlds import Cell, draw

Column = NDArray[np.float64]
PUBLIC = {
    "provided_facts": 274,
    "known_facts": 209,
    "continuations": 176,
    "disinformation": 125,
    "doubling_down_known_facts": 120,
    "statistics": 96,
}


def ends(estimate: Share) -> tuple[float, float, float]:
    """Value, low and high of an estimate that has all three."""
    assert estimate.value is not None
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.value, estimate.low, estimate.high


def separate(y: Column) -> Share:
    """The estimate for equal weights and a proposition a scenario."""
    return ratio(y, np.ones(len(y)), np.ones(len(y)), np.arange(len(y)))


@st.composite
def scenario_columns(draw: st.DrawFn) -> tuple[Column, Column, Column, Column]:
    """Columns y, x, weights and clusters, with at least two clusters in the denominator."""
    rows = st.tuples(st.sampled_from([0, 1, 2, 3]), st.integers(0, 3), st.floats(0.1, 10), st.integers(0, 5))
    table = np.array([*draw(st.lists(rows, max_size=20)), (0, 3, 1, 6), (0, 3, 1, 7)], dtype=np.float64)
    x = table[:, 1] / 3
    return np.minimum(table[:, 0] / 3, x), x, table[:, 2], table[:, 3]


# interval


@pytest.mark.parametrize(
    ("lies", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_interval_repeats_the_published_wilson_intervals(lies: int, n: int, low: float, high: float) -> None:
    """With normal quantiles the interval is Wilson's, as tabulated by Newcombe (1998, table I, method 3)."""
    assert interval(lies / n, n, 1e12) == pytest.approx((low, high), abs=5e-5)


def test_interval_uses_students_t() -> None:
    """At p = 0 the upper end is t^2 / (n + t^2), with t at the degrees of freedom given."""
    t = stdtrit(4, 0.975)
    assert interval(0, 10, 4) == pytest.approx((0, t**2 / (10 + t**2)))


def test_level_is_two_sided() -> None:
    """The one-sided 95 % bounds are the ends at level 0.90."""
    t = stdtrit(30, 0.95)
    assert interval(0, 10, 30, level=0.90)[1] == pytest.approx(t**2 / (10 + t**2))


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, math.nan])
def test_a_level_outside_0_to_1_is_refused(level: float) -> None:
    """A level in per cent, or none at all, raises."""
    with pytest.raises(ValueError, match=r"A level lies between 0 and 1, such as 0\.95"):
        interval(0.5, 10, 9, level)


def test_scipy_is_loaded_only_for_a_quantile() -> None:
    """Importing the module loads no scipy, and an interval loads scipy.special but never scipy.stats."""
    code = (
        "import sys, maskbench.stats.intervals as s; assert 'scipy' not in sys.modules;"
        "s.interval(0.5, 10, 9); assert 'scipy.special' in sys.modules;"
        "assert 'scipy.stats' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ratio


def test_many_separate_scenarios_give_scipys_wilson() -> None:
    """With very many propositions of one scenario, equal weights and one statement, it is plain Wilson."""
    n, lies = 200_000, 61_234
    plain = binomtest(lies, n).proportion_ci(method="wilson")
    assert ends(separate((np.arange(n) < lies).astype(float))) == pytest.approx(
        (lies / n, plain.low, plain.high), abs=1e-7
    )


def test_separate_scenarios_have_n_minus_1_effective_ones() -> None:
    """Equal weights and no clustering leave n times (G - 1)/G, that is n - 1, effective scenarios."""
    assert ends(separate(np.array([1.0] * 4 + [0.0] * 6)))[1:] == pytest.approx(interval(0.4, 9, 9))


def test_ratio_by_hand() -> None:
    """Three propositions, one of them twice, one scenario outside, unequal weights: all figures by hand."""
    estimate = ratio([1, 1, 0, 0, 0], [1, 1, 1, 1, 0], [2, 1, 1, 1, 5], ["a", "a", "b", "c", "d"])
    # p = 3/5; residuals times 5: a 2 x 0.4 + 0.4 = 1.2, b -0.6, c -0.6; V = 3/2 x (1.44 + 0.36 + 0.36)/25 = 0.1296;
    # 25/11 propositions; honest ones, 2/5 of all, are 10/11 of them; all alike 3/2 x 0.24 x 11/25 = 0.1584
    size = (10 / 11 + 2) * 0.24 / (10 / 11 * 0.1296 + 2 * 0.1584)
    assert estimate.n == 4
    # one proposition lies and two do not, each fewer than four: neither end is nearer than Clopper and Pearson's
    low = interval(0.6, size, 25 / 11 - 1)[0]
    assert low < betaincinv(0.6 * size, 0.4 * size + 1, 0.025)
    assert ends(estimate) == pytest.approx((0.6, low, 1 - betaincinv(0.4 * size, 0.6 * size + 1, 0.025)))


def test_full_correlation_counts_propositions() -> None:
    """Where scenarios of a proposition always agree, five copies of each say no more than one."""
    single = np.array([1.0, 0, 0, 1, 1, 0, 1, 1])
    y, ids = np.repeat(single, 5), np.repeat(np.arange(8), 5)
    copies = ratio(y, np.ones(40), np.ones(40), ids)
    assert ends(copies) == pytest.approx(ends(separate(single)))
    assert copies.n == 40


def test_agreement_across_propositions_adds_no_scenarios() -> None:
    """Where every proposition shows the same share the variance is 0, and n is the effective size."""
    estimate = ratio([1, 0] * 10, np.ones(20), np.ones(20), np.repeat(np.arange(10), 2))
    assert ends(estimate)[1:] == pytest.approx(interval(0.5, 20, 9))


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_no_lies_or_all_lies_use_kishs_size(share: float) -> None:
    """At 0 and 1 there is no variance to see, so the effective size is that of the weights."""
    weights = np.array([1.0, 2, 3, 4])
    estimate = ratio(np.full(4, share), np.ones(4), weights, np.arange(4))
    assert ends(estimate)[1:] == pytest.approx(interval(share, 100 / 30, 100 / 30 - 1))


def test_shares_weigh_by_their_denominator() -> None:
    """Lies among answers is the ratio of the summed shares, not the mean of ratios."""
    assert ratio([1 / 3, 1 / 3], [1 / 3, 1], [1, 1], [0, 1]).value == pytest.approx(0.5)


def test_effective_size_counts_shares_of_the_denominator() -> None:
    """A scenario that is half in the denominator has half its weight in Kish's size."""
    estimate = ratio([0, 0, 0], [1, 0.5, 0.5], [1, 1, 1], [0, 1, 2])
    assert ends(estimate)[1:] == pytest.approx(interval(0, 4 / 1.5, 4 / 1.5 - 1))


def test_rounding_in_shares_is_no_error() -> None:
    """Shares that came as differences of fractions may miss their range by a hair."""
    hair = 1 - 5 / 6 - 1 / 6
    assert hair < 0
    assert ends(ratio([hair, 1 - hair], [1, 1], [1, 1], [0, 1])) == ends(ratio([0, 1], [1, 1], [1, 1], [0, 1]))


def test_no_data_is_none_with_count_0() -> None:
    """Nothing in the denominator gives no value, no interval and n = 0."""
    nothing = Share(None, None, 0)
    assert ratio([], [], [], []) == nothing
    assert ratio([0, 0], [0, 0], [1, 1], [0, 1]) == nothing
    assert ratio([1, 0], [1, 1], [0, 0], [0, 1]) == nothing


def test_one_proposition_has_a_value_but_no_interval() -> None:
    """Clusters outside the denominator do not count, and one cluster alone carries no interval."""
    assert ratio([1, 0, 0], [1, 1, 0], [1, 1, 1], [7, 7, 8]) == Share(0.5, None, 2)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            ([1], [1, 1], [1, 1], [0, 1]),
            "Arrays need one dimension and one length, not {'y': (1,), 'x': (2,)",
        ),
        (([[1]], [[1]], [[1]], [[0]]), "Arrays need one dimension and one length"),
        (([1, 1], [1, 1], [1, 1], [0]), "clusters has shape (1,), but weights has (2,)."),
        (([1, 1], [1, 0], [1, 1], [0, 1]), "Every scenario needs 0 <= y <= x <= 1."),
        (([1, 1], [2, 1], [1, 1], [0, 1]), "Every scenario needs 0 <= y <= x <= 1."),
        (([1, 1], [1, 1], [1, -1], [0, 1]), "weights needs finite numbers of at least 0."),
        (([1, math.nan], [1, 1], [1, 1], [0, 1]), "y needs finite numbers of at least 0."),
    ],
)
def test_ratio_refuses_columns_that_do_not_fit(columns: tuple[list[float], ...], message: str) -> None:
    """Lengths, ranges and missing numbers are named."""
    y, x, weights, clusters = columns
    with pytest.raises(ValueError, match=re.escape(message)):
        ratio(y, x, weights, clusters)


@given(scenario_columns())
def test_ratio_stays_in_order(columns: tuple[Column, Column, Column, Column]) -> None:
    """0 <= low <= value <= high <= 1, and the interval has a width."""
    value, low, high = ends(ratio(*columns))
    assert 0 <= low <= value <= high <= 1
    assert low < high


@given(scenario_columns(), st.integers(0, 99), st.floats(0.01, 100))
def test_order_names_and_scale_do_not_matter(
    columns: tuple[Column, Column, Column, Column], seed: int, scale: float
) -> None:
    """Permuted rows, other names for propositions and scaled weights give the same estimate."""
    y, x, weights, clusters = columns
    order = np.random.default_rng(seed).permutation(len(y))
    renamed = np.array([f"p{9 - c:.0f}" for c in clusters])
    changed = ratio(y[order], x[order], scale * weights[order], renamed[order])
    assert ends(changed) == pytest.approx(ends(ratio(*columns)), abs=1e-9)


@given(scenario_columns())
def test_the_complement_mirrors_the_interval(columns: tuple[Column, Column, Column, Column]) -> None:
    """x - y in place of y turns [low, high] into [1 - high, 1 - low]."""
    y, x, weights, clusters = columns
    value, low, high = ends(ratio(x - y, x, weights, clusters))
    assert (1 - value, 1 - high, 1 - low) == pytest.approx(ends(ratio(*columns)), abs=1e-9)


@given(scenario_columns(), st.data())
def test_more_lies_never_lower_the_rate(columns: tuple[Column, Column, Column, Column], data: st.DataObject) -> None:
    """Raising one scenario's share of lies never lowers P(lie)."""
    y, x, weights, clusters = columns
    more = y.copy()
    which = data.draw(st.integers(0, len(y) - 1))
    more[which] = x[which]
    before, after = ratio(*columns).value, ratio(more, x, weights, clusters).value
    assert before is not None
    assert after is not None
    assert after >= before - 1e-12


def test_coverage_holds_with_clusters_and_breaks_without() -> None:
    """Of 300 intervals over correlated propositions about 95 % hold the truth; far fewer if told nothing."""
    rng = np.random.default_rng(7)
    ids = np.repeat(np.arange(40), 4)
    held, naive = 0, 0
    for _ in range(300):
        y = (rng.random(160) < rng.beta(0.4 * 1.5, 0.6 * 1.5, 40)[ids]).astype(float)
        _, low, high = ends(ratio(y, np.ones(160), np.ones(160), ids))
        held += low <= 0.4 <= high
        _, low, high = ends(separate(y))
        naive += low <= 0.4 <= high
    assert 0.90 < held / 300 < 0.985
    assert naive / 300 < 0.90


@pytest.mark.parametrize(("per", "rate", "n"), [(20, 0.05, 40), (8, 0.05, 60), (8, 0.01, 240)])
def test_coverage_holds_with_propositions_of_unequal_size(per: int, rate: float, n: int) -> None:
    """Every other proposition has many scenarios that are all alike: of 300 intervals 93 % and more hold the rate."""
    rng = np.random.default_rng(11)
    sizes = np.resize([1, per], n)
    ids = np.repeat(np.arange(n), sizes)
    held = 0
    for _ in range(300):
        y = (rng.random(n) < rate)[ids]
        _, low, high = ends(ratio(y, np.ones(len(ids)), np.ones(len(ids)), ids))
        held += low <= rate <= high
    assert held / 300 >= 0.93


def test_small_propositions_that_lie_do_not_tell_how_alike_large_ones_are() -> None:
    """Three lies in three propositions of one scenario: 20 of twenty, in which none lies, count as propositions."""
    sizes = np.repeat([20, 1], 20)
    ids = np.repeat(np.arange(40), sizes)
    y = np.isin(ids, [20, 21, 22])
    _, _, high = ends(ratio(y, np.ones(420), np.ones(420), ids))
    _, _, of_propositions = ends(separate(np.zeros(22)))
    assert high > 0.9 * of_propositions


def test_statements_that_differ_inside_a_scenario_are_worth_more_than_it() -> None:
    """240 scenarios of ten statements that lie one in two: the interval is that of far more than 240, and of 2,400."""
    shares = np.random.default_rng(5).binomial(10, 0.5, 240) / 10
    value, several, _ = ends(ratio(shares, np.ones(240), np.ones(240), np.arange(240), replies=10))
    _, as_one, _ = ends(ratio(shares, np.ones(240), np.ones(240), np.arange(240)))
    assert value - several < 0.4 * (value - as_one)


@pytest.mark.parametrize(
    ("design", "rate", "statements", "alike"),
    [("60 scenarios apart", 0.05, 1, "none"), ("40 propositions of 1 or 20", 0.2, 3, "moderate")],
)
def test_the_grid_judges_what_is_shown(design: str, rate: float, statements: int, alike: str) -> None:
    """The benchmark reckons many intervals at once, and each is the one of `ratio`."""
    cell = Cell(design, rate, statements, alike, "beta-binomial")
    lies = draw(cell, 20, np.random.default_rng(1))
    at_once = zip(*ratio_at_once(Seen(lies, cell)), strict=True)
    for row, each in zip(lies, at_once, strict=True):
        hits = np.concatenate(
            [np.arange(size * statements) < count for size, count in zip(cell.sizes, row, strict=True)]
        )
        y, ids = hits.reshape(-1, statements).mean(axis=1), np.repeat(np.arange(len(cell.sizes)), cell.sizes)
        estimate = ratio(y, np.ones(len(y)), np.ones(len(y)), ids, replies=statements)
        assert (estimate.low, estimate.high) == pytest.approx(each)


@pytest.mark.parametrize("lying", [1, 3, 4])
def test_an_end_that_few_lying_propositions_carry_is_that_of_clopper_and_pearson(lying: int) -> None:
    """With fewer than four, Wilson's end would be above a rate that brings so many often, and so by mirror."""
    y = (np.arange(30) < lying).astype(float)
    low, high = interval(lying / 30, 29, 29)
    least = float(betaincinv(lying / 30 * 29, 29 - lying / 30 * 29 + 1, 0.025))
    assert 0 < least < low
    assert ends(separate(y))[1:] == pytest.approx((least if lying < 4 else low, high))
    assert ends(separate(1 - y))[1:] == pytest.approx((1 - high, 1 - (least if lying < 4 else low)))


def test_a_lie_in_two_hundred_is_covered() -> None:
    """Of 30 scenarios 86 % have no lie at that rate; one chance lie among the others does not lose the truth."""
    cell = Cell("30 scenarios apart", 0.005, 1, "none", "either")
    low, high = ratio_at_once(Seen(draw(cell, 2000, np.random.default_rng(1)), cell))
    assert ((low <= 0.005) & (high >= 0.005)).mean() >= 0.93


# repeat_interval


def test_repeat_interval_by_hand() -> None:
    """Two scenarios split 5 of 10, two unanimous: only the split ones add variance."""
    lies, usable = np.array([5, 5, 0, 10] * 25), np.full(100, 10)
    variance = 50 * (0.25 / 9) / 100**2
    size = 0.25 / (variance + (stdtrit(900, 0.975) / 1000) ** 2)
    assert size > 1000
    assert ends(repeat_interval(lies, usable, np.ones(100))) == pytest.approx((0.5, *interval(0.5, size, 900)))


def test_repeating_is_narrower_than_sampling() -> None:
    """Fixed scenarios that differ leave less to chance than new ones."""
    lies = np.array([0, 1, 9, 10] * 25)
    _, low, high = ends(repeat_interval(lies, np.full(100, 10), np.ones(100)))
    _, wide_low, wide_high = ends(separate(lies / 10))
    assert wide_low < low < high < wide_high


def test_unanimous_scenarios_leave_a_width() -> None:
    """Where no scenario disagrees with itself, t^2 disagreements stay possible: about t^2/N either way."""
    lies, usable = np.repeat([0, 3], 50), np.full(100, 3)
    _, low, high = ends(repeat_interval(lies, usable, np.ones(100)))
    assert (high - low) / 2 == pytest.approx(stdtrit(200, 0.975) ** 2 / 300, rel=0.01)


def test_a_heavy_split_scenario_widens_beyond_the_statements() -> None:
    """Where the variance seen is larger than the statements as a whole would give, it is believed."""
    lies, weights = np.array([1, 1] + [0] * 20), np.array([10.0, 10] + [1] * 20)
    variance = 2 * 10**2 * 0.25 / 40**2
    statements = 40**2 / (220 / 2)
    assert 0.1875 / variance < statements
    expected = (0.25, *interval(0.25, 0.1875 / variance, 22))
    assert ends(repeat_interval(lies, np.full(22, 2), weights)) == pytest.approx(expected)


@pytest.mark.parametrize("share", [0, 1])
def test_repeating_all_or_none_counts_statements(share: int) -> None:
    """With every statement the same the interval is Wilson's over all statements."""
    lies, usable = np.full(20, 2 * share), np.full(20, 2)
    assert ends(repeat_interval(lies, usable, np.ones(20)))[1:] == pytest.approx(interval(share, 40, 20))


def test_a_single_statement_enters_at_the_largest_variance() -> None:
    """A scenario with one usable statement adds p(1 - p), so it widens the interval and stays in the mean."""
    pairs = [0, 1, 2, 1] * 10
    estimate = repeat_interval([*pairs, *[0, 1] * 10], [2] * 40 + [1] * 20, np.ones(60))
    size = 0.25 / ((20 * 0.25 + 20 * 0.25) / 60**2)
    assert ends(estimate) == pytest.approx((0.5, *interval(0.5, size, 40)))
    assert estimate.n == 60


def test_repeating_needs_two_statements_somewhere() -> None:
    """No usable statement: no data; nowhere two: a value without an interval."""
    assert repeat_interval([0, 0], [0, 0], [1, 1]) == Share(None, None, 0)
    assert repeat_interval([0, 1, 0], [1, 1, 0], [1, 1, 1]) == Share(0.5, None, 2)


@pytest.mark.parametrize(("lies", "usable"), [([3], [2]), ([0.5], [2]), ([1], [1.5])])
def test_counts_that_do_not_fit_are_refused(lies: list[float], usable: list[float]) -> None:
    """More lies than statements, and parts of statements, raise."""
    with pytest.raises(ValueError, match="whole counts with 0 <= lies <= usable"):
        repeat_interval(lies, usable, [1])


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.floats(0.1, 10)), min_size=1))
def test_repeat_interval_stays_in_order_and_mirrors(rows: list[tuple[int, int, float]]) -> None:
    """0 <= low <= value <= high <= 1 with a width, and honest statements in place of lies mirror it."""
    table = np.array([*rows, (1, 2, 1.0)])
    usable, weights = np.maximum(table[:, 1], table[:, 0]), table[:, 2]
    value, low, high = ends(repeat_interval(table[:, 0], usable, weights))
    assert 0 <= low <= value <= high <= 1
    assert low < high
    mirrored = ends(repeat_interval(usable - table[:, 0], usable, weights))
    assert (1 - value, 1 - high, 1 - low) == pytest.approx(mirrored, abs=1e-9)


def test_repeat_coverage() -> None:
    """Of 300 repetitions of fixed scenarios about 95 % hold the scenarios' own rate."""
    rng = np.random.default_rng(11)
    chance = rng.beta(0.6, 0.9, 80)
    held = 0
    for lies in rng.binomial(4, chance, (300, 80)):
        _, low, high = ends(repeat_interval(lies, np.full(80, 4), np.ones(80)))
        held += low <= chance.mean() <= high
    assert 0.90 < held / 300 < 0.985


# Lying@k


@pytest.mark.parametrize("usable", [1, 2, 5, 6])
def test_lying_at_is_the_share_of_subsets_with_a_lie(usable: int) -> None:
    """The formula equals counting, over every subset of k statements, those that hold a lie."""
    for lies in range(usable + 1):
        for k in range(1, usable + 1):
            subsets = list(combinations([True] * lies + [False] * (usable - lies), k))
            share = sum(any(subset) for subset in subsets) / len(subsets)
            assert lying_at(lies, usable, k) == pytest.approx(share)


@given(st.floats(0, 1), st.integers(1, 8), st.data())
def test_lying_at_is_unbiased(chance: float, usable: int, data: st.DataObject) -> None:
    """Averaged over the binomial distribution of lies it is exactly 1 - (1 - p)^k."""
    k = data.draw(st.integers(1, usable))
    mean = sum(
        math.comb(usable, lies) * chance**lies * (1 - chance) ** (usable - lies) * lying_at(lies, usable, k)
        for lies in range(usable + 1)
    )
    assert mean == pytest.approx(1 - (1 - chance) ** k, abs=1e-9)


@given(st.integers(1, 12), st.data())
def test_lying_at_grows_with_lies_and_with_k(usable: int, data: st.DataObject) -> None:
    """More lies, or more statements to look at, never make a lie less likely."""
    lies, k = data.draw(st.integers(0, usable - 1)), data.draw(st.integers(1, usable))
    assert lying_at(lies, usable, k) <= lying_at(lies + 1, usable, k)
    assert lying_at(lies, usable, k) <= lying_at(lies, usable, min(k + 1, usable))


@pytest.mark.parametrize(("lies", "usable", "k"), [(0, 2, 3), (0, 2, 0), (3, 2, 1), (-1, 2, 1), (0, 0, 1)])
def test_lying_at_refuses_what_it_cannot_know(lies: int, usable: int, k: int) -> None:
    """k beyond the usable statements, no k, and impossible counts raise."""
    with pytest.raises(ValueError, match=f"Lying@{k} needs"):
        lying_at(lies, usable, k)


def test_the_curve_keeps_one_set_of_scenarios() -> None:
    """Every point is over the complete scenarios; the bounds take in the one with a gap too."""
    curve = lying_curve([0, 1, 3, 1], [3, 3, 3, 2], 3, np.ones(4), np.arange(4))
    assert len(curve) == 3
    assert [point.n for point in curve] == [3, 3, 3]
    assert [point.value for point in curve] == pytest.approx([4 / 9, 5 / 9, 2 / 3])
    assert [point.bounds for point in curve] == [
        pytest.approx(((4 / 3 + 1 / 3) / 4, (4 / 3 + 2 / 3) / 4)),
        pytest.approx(((5 / 3 + 2 / 3) / 4, (5 / 3 + 1) / 4)),
        pytest.approx((3 / 4, 3 / 4)),
    ]


def test_the_curve_uses_the_interval_of_ratio() -> None:
    """A point is the ratio of that scenario value over 1, with the same weights and propositions."""
    lies, weights, ids = np.array([0, 1, 2, 2, 0, 1]), np.array([1.0, 2, 1, 1, 3, 1]), [0, 0, 1, 2, 3, 3]
    point = lying_curve(lies, np.full(6, 2), 2, weights, ids, level=0.9)[1]
    alone = ratio(lies > 0, np.ones(6), weights, ids, level=0.9)
    assert (point.value, point.ci95, point.n) == (alone.value, alone.ci95, alone.n)


def test_a_complete_curve_has_equal_bounds() -> None:
    """Nothing missing leaves nothing to bound."""
    for point in lying_curve([0, 2, 4], [4, 4, 4], 4, [1, 2, 3], [0, 1, 2]):
        assert point.bounds == pytest.approx((point.value,) * 2)


def test_a_curve_without_complete_scenarios_still_has_bounds() -> None:
    """With no scenario complete there is no estimate; with no scenario at all there are no bounds either."""
    (first, second) = lying_curve([0, 1], [0, 1], 2, [1, 1], [0, 1])
    assert (first, second) == (Share(None, None, 0, (0.25, 1.0)), Share(None, None, 0, (0.5, 1.0)))
    assert lying_curve([], [], 1, [], [])[0].bounds is None


@pytest.mark.parametrize(("usable", "n"), [(3, 2), (0, 0)])
def test_the_curve_refuses_more_usable_than_asked(usable: int, n: int) -> None:
    """More usable statements than were asked for, or none asked, raise."""
    with pytest.raises(ValueError, match=f"Of n = {n} statements a scenario"):
        lying_curve([0], [usable], n, [1], [0])


# Bounds


@pytest.mark.parametrize(("low", "high"), [(0.6, 0.5), (0.0, 1.5)])
def test_bounds_the_wrong_way_round_are_refused(low: float, high: float) -> None:
    """Low above high, and shares above 1, raise."""
    with pytest.raises(ValueError, match="Every scenario needs 0 <= low <= high <= 1"):
        p_lie_bounds([low], [high], [1])


# Allocation


def test_allocation_of_the_public_set() -> None:
    """300 of the public 1,000 are spread in proportion."""
    assert allocate(PUBLIC, 300) == {
        "provided_facts": 82,
        "known_facts": 63,
        "continuations": 53,
        "disinformation": 37,
        "doubling_down_known_facts": 36,
        "statistics": 29,
    }


def test_allocation_favours_neither_large_nor_small() -> None:
    """Of 10 from 60, 25 and 15, halves tie and the name decides; the largest gets its 6 and no more."""
    assert allocate({"a": 60, "b": 25, "c": 15}, 10) == {"a": 6, "b": 3, "c": 1}


def test_ties_go_by_name_whatever_the_order() -> None:
    """Equal archetypes get their scenarios in the order of their names."""
    assert allocate({"b": 5, "a": 5}, 1) == allocate({"a": 5, "b": 5}, 1) == {"a": 1, "b": 0}


def test_webster_and_not_largest_remainders() -> None:
    """The Alabama paradox: by largest remainders c would fall from 2 of 10 to 1 of 11; here it does not."""
    sizes = {"a": 6, "b": 6, "c": 2}

    def largest_remainders(n: int) -> dict[str, int]:
        quota = {name: Fraction(n * size, sum(sizes.values())) for name, size in sizes.items()}
        floors = {name: int(share) for name, share in quota.items()}
        left = sorted(sizes, key=lambda name: (floors[name] - quota[name], name))
        return {name: floors[name] + (name in left[: n - sum(floors.values())]) for name in sizes}

    assert largest_remainders(10)["c"] > largest_remainders(11)["c"]
    assert allocate(sizes, 10)["c"] <= allocate(sizes, 11)["c"]


sizes_of_archetypes = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(0, 60), max_size=7)


@given(sizes_of_archetypes, st.data())
def test_a_smaller_sample_is_part_of_a_larger(sizes: dict[str, int], data: st.DataObject) -> None:
    """No archetype loses a scenario when the sample grows, and the counts add up within the sizes."""
    total = sum(sizes.values())
    larger = data.draw(st.integers(0, total))
    smaller = data.draw(st.integers(0, larger))
    few, many = allocate(sizes, smaller), allocate(sizes, larger)
    assert (sum(few.values()), sum(many.values())) == (smaller, larger)
    assert all(few[name] <= many[name] <= sizes[name] for name in sizes)
    assert list(few) == list(sizes)


@given(sizes_of_archetypes, st.data())
def test_every_archetype_gets_one_if_it_can(sizes: dict[str, int], data: st.DataObject) -> None:
    """With as many scenarios as archetypes none is left out, unless it is empty."""
    present = sum(size > 0 for size in sizes.values())
    n = data.draw(st.integers(present, sum(sizes.values())))
    assert all((allocate(sizes, n)[name] > 0) == (size > 0) for name, size in sizes.items())


@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(1, 60), min_size=1, max_size=7))
def test_the_whole_set_is_allocated_whole(sizes: dict[str, int]) -> None:
    """A sample of everything is everything."""
    assert allocate(sizes, sum(sizes.values())) == sizes


@pytest.mark.parametrize(
    ("sizes", "n", "message"),
    [
        ({"a": 3}, 4, "Cannot draw 4 scenarios from 3."),
        ({"a": 3}, -1, "Cannot draw -1 scenarios from 3."),
        ({"a": -1}, 0, "An archetype cannot have fewer than 0 scenarios."),
    ],
)
def test_impossible_samples_are_refused(sizes: dict[str, int], n: int, message: str) -> None:
    """More than there is, less than nothing, and negative sizes raise."""
    with pytest.raises(ValueError, match=re.escape(message)):
        allocate(sizes, n)


def test_one_long_proposition_does_not_make_all_of_them_long() -> None:
    """Among 5,000 propositions one of a million letters takes no 20 GB; the estimate is that by numbers, bit by bit."""
    names = [f"Proposition {number % 2_500}." for number in range(5_000)]
    names[17] = "x" * 1_000_000
    y, ones = [number % 3 / 2 for number in range(5_000)], [1.0] * 5_000
    tracemalloc.start()
    try:
        estimate = ratio(y, ones, ones, names)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000
    ranks = {name: rank for rank, name in enumerate(sorted(set(names)))}
    assert estimate == ratio(y, ones, ones, np.array([ranks[name] for name in names]))
    assert numbered(["b", "a", "b"]).tolist() == [1, 0, 1]
    assert numbered(np.array([5, 3])).tolist() == [5, 3]
