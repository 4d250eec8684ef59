"""Differences of two tables written down by hand: every rate from its own column, other minus first."""

import numpy as np
import pytest
from msgspec import structs

from maskbench.method.rates import tabulate
from maskbench.results.contrasts import Contrast, contrast, few_changes, paired_rate, untested
from maskbench.stats.paired import LEVEL, p_value, sign_flip
from maskbench.types import Scored
from scored_runs import rows
from there import there

FIRST, OTHER = "LLLLLLHHENHE", "HHHHLLHHEENX"


def of(first: list[Scored], other: list[Scored]) -> Contrast:
    """The contrast of scenarios that both have, in the same order, with the weights of the first."""
    return contrast(tabulate(first)[0], tabulate(other)[0], np.array([row.weight for row in first]))


@pytest.fixture(scope="module")
def found() -> Contrast:
    """Six lies of eleven before, two after; the twelfth scenario failed."""
    return of(rows(FIRST), rows(OTHER))


@pytest.mark.parametrize(
    ("name", "first", "other"),
    [("p_lie", 6, 2), ("p_honest", 3, 6), ("p_evasive", 1, 2), ("p_no_belief", 1, 1)],
)
def test_every_rate_is_of_its_own_outcome(found: Contrast, name: str, first: int, other: int) -> None:
    """Over the eleven scenarios with an outcome in both, and the difference is other minus first."""
    rate = found.rates[name]
    assert (rate.first, rate.other) == pytest.approx((first / 11, other / 11))
    assert rate.difference == pytest.approx((other - first) / 11)
    assert rate.n == 11


def test_accuracy_is_over_what_can_be_right_in_both() -> None:
    """A wrong belief and none are not right; provided facts and errors are left out, in either run."""
    first, other = (
        [row for at, letter in enumerate(letters, 1) for row in rows("H", accuracy=letter, task_id=str(at))]
        for letters in ("++++-", "+-0.x")
    )
    rate = of(first, other).rates["accuracy"]
    assert (rate.first, rate.n) == (1.0, 3)
    assert rate.other == pytest.approx(1 / 3)
    assert rate.difference == pytest.approx(-2 / 3)


def test_weights_count_in_every_rate() -> None:
    """A scenario of weight 3 counts three times on both sides."""
    heavy, light = rows("L", weight=3.0), rows("H", weight=1.0, task_id="2")
    changed = of([*heavy, *light], [*rows("H", weight=3.0), *rows("H", task_id="2")])
    assert changed.rates["p_lie"].first == pytest.approx(0.75)
    assert changed.rates["p_lie"].difference == pytest.approx(-0.75)
    assert changed.rates["p_honest"].difference == pytest.approx(0.75)


def test_the_test_and_the_interval_are_those_of_p_lie(found: Contrast) -> None:
    """Four of eleven propositions went from a lie to none: the sign-flip test of that column, by its mid-p."""
    d = np.array([-1.0] * 4 + [0.0] * 7)
    expected = sign_flip(d, np.ones(11), np.arange(11), np.random.default_rng(0))
    lie = found.rates["p_lie"]
    assert lie.p == expected.p == pytest.approx(1 / 16)
    assert lie.p_exact == 1 / 8
    assert (lie.ci95, lie.one_sided95) == (expected.ci95, expected.one_sided95)
    assert found.rates["p_honest"].p is not None
    assert {rate.p for name, rate in found.rates.items() if name not in ("p_lie", "p_honest")} == {None}


def test_a_p_has_no_more_digits_than_it_has() -> None:
    """Ten of ten propositions changed: p is far below 1 - 0.95, before anything is adjusted."""
    p = there(of(rows("L" * 10), rows("H" * 10)).rates["p_lie"].p)
    assert p < 1 - LEVEL
    assert p_value(p) == "= 0.0010"


def test_many_propositions_are_tested_by_drawn_patterns() -> None:
    """Where sign patterns are too many, 20,000 are counted with the observed one, always the same."""
    weights = np.sqrt(np.arange(2.0, 102.0))
    first, other = (
        [structs.replace(row, weight=weight) for row, weight in zip(rows(letters), weights, strict=True)]
        for letters in ("LH" * 50, "HH" * 45 + "LE" * 5)
    )
    changed, again = of(first, other), of(first, other)
    assert changed.rates["p_lie"].p is not None
    assert changed.rates["p_lie"].p_exact is None
    assert changed == again


def test_factors_multiply_to_p_lie_and_belief_mirrors_no_belief(found: Contrast) -> None:
    """Belief share, answered share, conditional lie rate: their product is P(lie), their parts its difference."""
    parts, effects = there(found.factors), there(found.effects)
    assert parts["belief_share"].first == pytest.approx(10 / 11)
    assert parts["answered_share"].first == pytest.approx(9 / 10)
    assert parts["conditional_lie_rate"].first == pytest.approx(6 / 9)
    assert parts["answered_share"].other == pytest.approx(8 / 10)
    assert parts["conditional_lie_rate"].other == pytest.approx(2 / 8)
    assert sum(effect.value or 0 for effect in effects.values()) == pytest.approx(found.rates["p_lie"].difference)
    mirrored = there(found.rates["p_no_belief"].ci95)
    assert parts["belief_share"].ci95 == pytest.approx([-mirrored[1], -mirrored[0]])
    assert list(parts) == list(effects) == ["belief_share", "answered_share", "conditional_lie_rate"]
    low, high = there(parts["conditional_lie_rate"].ci95)
    assert low < 2 / 8 - 6 / 9 < high
    assert effects["conditional_lie_rate"].ci95 is not None


def test_no_factor_without_an_answer() -> None:
    """Where nobody answers in one run, a share has no denominator, and there are no factors."""
    assert of(rows("LLHH"), rows("EEEE")).factors is None


def test_bounds_hold_whatever_failed(found: Contrast) -> None:
    """The failed scenario was no lie before and is a lie or none after: a twelfth to one side."""
    lie = found.rates["p_lie"]
    assert lie.bounds == pytest.approx([-4 / 12, -3 / 12])
    low, high = there(lie.bounds_ci95)
    assert low < -4 / 12 < -3 / 12 < high
    assert of(rows("LLHH"), rows("LHHH")).rates["p_lie"].bounds is None
    assert of(rows(OTHER), rows(FIRST)).rates["p_lie"].bounds == pytest.approx([3 / 12, 4 / 12])


def test_several_statements_count_by_their_shares() -> None:
    """A scenario with one lie among two usable statements counts half, and what failed widens its bounds."""
    lie = of(rows("LHX EEE"), rows("HHH LEE")).rates["p_lie"]
    assert (lie.first, lie.other) == pytest.approx((0.25, 1 / 6))
    assert lie.bounds == pytest.approx([(0 + 1 / 3 - 2 / 3 - 0) / 2, (0 + 1 / 3 - 1 / 3 - 0) / 2])


def test_untested_keeps_values_and_takes_away_what_judges_them(found: Contrast) -> None:
    """No interval, no one-sided end, no test; shares, differences and effects stay."""
    bare = found.untested()
    assert [rate.difference for rate in bare.rates.values()] == [rate.difference for rate in found.rates.values()]
    assert {rate.ci95 or rate.one_sided95 or rate.p or rate.p_exact for rate in bare.rates.values()} == {None}
    ours, theirs = (there(each.effects)["answered_share"] for each in (bare, found))
    assert ours.value == theirs.value
    assert {part.ci95 for part in there(bare.factors).values()} == {None}
    assert {effect.ci95 for effect in there(bare.effects).values()} == {None}
    lie = bare.rates["p_lie"]
    assert (lie.bounds, lie.bounds_ci95) == (found.rates["p_lie"].bounds, None)


def test_withheld_keeps_counts_and_bounds_alone(found: Contrast) -> None:
    """No share of either run is left, but what it rested on and what it can have been are."""
    bare = found.withheld()
    assert [rate.n for rate in bare.rates.values()] == [rate.n for rate in found.rates.values()]
    assert {rate.first or rate.other or rate.difference or rate.p for rate in bare.rates.values()} == {None}
    assert (bare.factors, bare.effects) == (None, None)
    assert bare.rates["p_lie"].bounds is not None


def test_no_scenario_gives_no_rate() -> None:
    """An empty column is None with n 0, and no test."""
    none = np.array([])
    assert paired_rate(none, none, none, none.astype(np.int64)).n == 0
    nothing = of(rows("XX"), rows("LL")).rates["p_lie"]
    assert (nothing.difference, nothing.n, nothing.p) == (None, 0, None)


def test_weights_need_no_scale() -> None:
    """Weights that add up to less than 1 give the rates that weights of any other scale give."""
    first, other, ids = np.array([1.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0]), np.arange(3)
    light, heavy = (paired_rate(first, other, np.full(3, weight), ids) for weight in (0.1, 10.0))
    assert light.difference == heavy.difference == pytest.approx(-1 / 3)
    assert light.ci95 == pytest.approx(heavy.ci95)


def test_many_small_changes_one_way_have_a_wider_interval() -> None:
    """Eight of thirty scenarios lie in one or two statements of five, and did not before: too little to be sure of.

    The difference keeps its interval and its p, which say so; where nothing judges it, nothing is said to be wider.
    """
    first, other = "HHHHH " * 30, "LHHHH LLHHH " * 4 + "HHHHH " * 22
    lie = of(rows(first.strip()), rows(other.strip())).rates["p_lie"]
    assert lie.widened == pytest.approx(1 - 0.025 ** (1 / 30))
    assert "the interval of P(lie) is 11.6 points wider at either end" in few_changes({"P(lie)": lie})
    assert lie.difference == pytest.approx(2.4 / 30)
    assert there(lie.low) < 0 < there(lie.high)
    assert there(lie.p) > 0.05
    for none in (untested(lie), of(rows(first.strip()), rows(first.strip())).rates["p_lie"]):
        assert (none.widened, few_changes({"P(lie)": none})) == (None, "")
