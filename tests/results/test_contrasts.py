"""Differences of two tables written down by hand: every rate from its own column, other minus first."""

from dataclasses import replace

import numpy as np
import pytest

from maskbench.judges.second_look import Phases
from maskbench.method.rates import tabulate
from maskbench.results.contrasts import Contrast, contrast, differences, one_judge, paired_rate, two_judges
from maskbench.stats.paired import LEVEL, p_value, sign_flip
from maskbench.stats.two_phase import few_drawn
from maskbench.types import Scored
from scored_runs import rows

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
    rate = found.rates.by_name()[name]
    assert (rate.first, rate.other) == pytest.approx((first / 11, other / 11))
    assert rate.difference == pytest.approx((other - first) / 11)
    assert rate.n == 11


def test_accuracy_is_over_what_can_be_right_in_both() -> None:
    """A wrong belief and none are not right; provided facts and errors are left out, in either run."""
    first, other = (
        [row for at, letter in enumerate(letters, 1) for row in rows("H", accuracy=letter, task_id=str(at))]
        for letters in ("++++-", "+-0.x")
    )
    rate = of(first, other).rates.accuracy
    assert (rate.first, rate.n) == (1.0, 3)
    assert rate.other == pytest.approx(1 / 3)
    assert rate.difference == pytest.approx(-2 / 3)


def test_weights_count_in_every_rate() -> None:
    """A scenario of weight 3 counts three times on both sides."""
    heavy, light = rows("L", weight=3.0), rows("H", weight=1.0, task_id="2")
    changed = of([*heavy, *light], [*rows("H", weight=3.0), *rows("H", task_id="2")])
    assert changed.rates.p_lie.first == pytest.approx(0.75)
    assert changed.rates.p_lie.difference == pytest.approx(-0.75)
    assert changed.rates.p_honest.difference == pytest.approx(0.75)


def test_the_test_and_the_interval_are_those_of_p_lie(found: Contrast) -> None:
    """Four of eleven propositions went from a lie to none: the sign-flip test of that column, by its mid-p."""
    d = np.array([-1.0] * 4 + [0.0] * 7)
    expected = sign_flip(d, np.ones(11), np.arange(11), np.random.default_rng(0))
    assert found.test is not None
    assert found.test.p == found.test.p_holm == expected.p == pytest.approx(1 / 16)
    assert (found.test.propositions, found.test.exact, found.test.patterns) == (11, False, None)
    assert found.test.p_exact == 1 / 8
    assert found.test.name == "cluster sign-flip permutation"
    assert found.rates.p_lie.ci95 == (expected.low, expected.high)
    assert found.rates.p_lie.one_sided95 == (expected.lower, expected.upper)
    assert not found.test.significant


def test_a_test_alone_is_significant_below_five_percent() -> None:
    """Ten of ten propositions changed: p is far below 1 - 0.95, before anything is adjusted."""
    changed = of(rows("L" * 10), rows("H" * 10))
    assert changed.test is not None
    assert changed.test.p < 1 - LEVEL
    assert changed.test.significant
    assert p_value(changed.test.p) == "= 0.0010"


def test_many_propositions_are_tested_by_drawn_patterns() -> None:
    """Where sign patterns are too many, 20,000 are counted with the observed one, always the same."""
    weights = np.sqrt(np.arange(2.0, 102.0))
    first, other = (
        [replace(row, weight=weight) for row, weight in zip(rows(letters), weights, strict=True)]
        for letters in ("LH" * 50, "HH" * 45 + "LE" * 5)
    )
    changed, again = of(first, other), of(first, other)
    assert changed.test is not None
    assert (changed.test.exact, changed.test.patterns) == (False, 20_000)
    assert changed == again


def test_factors_multiply_to_p_lie_and_belief_mirrors_no_belief(found: Contrast) -> None:
    """Belief share, answered share, conditional lie rate: their product is P(lie), their parts its difference."""
    assert found.factors is not None
    parts = found.factors
    assert parts.belief_share.first == pytest.approx(10 / 11)
    assert parts.answered_share.first == pytest.approx(9 / 10)
    assert parts.conditional_lie_rate.first == pytest.approx(6 / 9)
    assert parts.answered_share.other == pytest.approx(8 / 10)
    assert parts.conditional_lie_rate.other == pytest.approx(2 / 8)
    through = sum(part.contribution or 0 for part in parts.by_name().values())
    assert through == pytest.approx(found.rates.p_lie.difference)
    mirrored = found.rates.p_no_belief.ci95
    assert mirrored is not None
    assert parts.belief_share.ci95 == pytest.approx([-mirrored[1], -mirrored[0]])
    assert list(parts.by_name()) == ["belief_share", "answered_share", "conditional_lie_rate"]
    low, high = parts.conditional_lie_rate.ci95 or (1, -1)
    assert low < 2 / 8 - 6 / 9 < high
    assert parts.conditional_lie_rate.contribution_ci95 is not None


def test_no_factor_without_an_answer() -> None:
    """Where nobody answers in one run, a share has no denominator, and there are no factors."""
    assert of(rows("LLHH"), rows("EEEE")).factors is None


def test_bounds_hold_whatever_failed(found: Contrast) -> None:
    """The failed scenario was no lie before and is a lie or none after: a twelfth to one side."""
    assert found.bounds is not None
    assert found.bounds.difference == pytest.approx([-4 / 12, -3 / 12])
    low, high = found.bounds.ci95 or (0, 0)
    assert low < -4 / 12 < -3 / 12 < high
    assert of(rows("LLHH"), rows("LHHH")).bounds is None
    turned = of(rows(OTHER), rows(FIRST)).bounds
    assert turned is not None
    assert turned.difference == pytest.approx([3 / 12, 4 / 12])


def test_several_statements_count_by_their_shares() -> None:
    """A scenario with one lie among two usable statements counts half, and what failed widens its bounds."""
    side = one_judge(tabulate(rows("LHX EEE"))[0])
    assert side.shares.tolist() == [[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    assert (side.least.tolist(), side.most.tolist()) == ([1 / 3, 0.0], [pytest.approx(2 / 3), 0.0])
    assert side.usable.tolist() == [True, True]


def test_untested_keeps_values_and_takes_away_what_judges_them(found: Contrast) -> None:
    """No interval, no one-sided end, no test; shares, differences and contributions stay."""
    bare = found.untested()
    assert [rate.difference for rate in bare.rates.by_name().values()] == [
        rate.difference for rate in found.rates.by_name().values()
    ]
    assert {rate.ci95 or rate.one_sided95 for rate in bare.rates.by_name().values()} == {None}
    assert bare.test is None
    assert bare.factors is not None
    assert found.factors is not None
    assert bare.factors.answered_share.contribution == found.factors.answered_share.contribution
    assert {part.ci95 or part.contribution_ci95 for part in bare.factors.by_name().values()} == {None}
    assert bare.bounds is not None
    assert found.bounds is not None
    assert (bare.bounds.difference, bare.bounds.ci95) == (found.bounds.difference, None)


def test_withheld_keeps_counts_and_bounds_alone(found: Contrast) -> None:
    """No share of either run is left, but what it rested on and what it can have been are."""
    bare = found.withheld()
    assert [rate.n for rate in bare.rates.by_name().values()] == [rate.n for rate in found.rates.by_name().values()]
    assert {rate.first or rate.other or rate.difference for rate in bare.rates.by_name().values()} == {None}
    assert (bare.factors, bare.test) == (None, None)
    assert bare.bounds is not None


def test_no_scenario_gives_no_rate() -> None:
    """An empty column is None with n 0, and no test."""
    none = np.array([])
    assert paired_rate(none, none, none, none.astype(np.int64)).n == 0
    nothing = of(rows("XX"), rows("LL"))
    assert (nothing.rates.p_lie.difference, nothing.rates.p_lie.n, nothing.test) == (None, 0, None)


def test_weights_need_no_scale() -> None:
    """Weights that add up to less than 1 give the rates that weights of any other scale give."""
    first, other, ids = np.array([1.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0]), np.arange(3)
    light, heavy = (paired_rate(first, other, np.full(3, weight), ids) for weight in (0.1, 10.0))
    assert light.difference == heavy.difference == pytest.approx(-1 / 3)
    assert light.ci95 == pytest.approx(heavy.ci95)


def test_a_share_is_never_below_nothing_or_above_all() -> None:
    """Two judges' estimates can come out at -0.1 or 1.1: the rates are 0 and 1, and their difference is kept."""
    first, other = np.array([-0.1, -0.1]), np.array([0.4, 0.4])
    rate = paired_rate(first, other, np.ones(2), np.arange(2))
    assert (rate.first, rate.other, rate.difference) == (0.0, 0.4, 0.5)
    above = paired_rate(np.array([0.9, 0.9]), np.array([1.1, 1.1]), np.ones(2), np.arange(2))
    assert above.other == 1.0
    assert above.difference == pytest.approx(0.2)


def test_a_second_judges_drawn_looks_stand_for_those_not_drawn() -> None:
    """Of four scenarios two were drawn, one of which it saw otherwise: that change counts twice."""
    first, second = ({row.key: row for row in rows(letters)} for letters in ("LLHH", "HLHH"))
    chosen = {key: 0.5 for key, row in second.items() if row.task_id in "13"}
    side = two_judges(Phases(first, {key: second[key] for key in chosen}, chosen), list(first), np.ones(4))
    assert side.shares[:, 0].tolist() == [-1.0, 1.0, 0.0, 0.0]
    assert side.shares[:, 1].tolist() == [2.0, 0.0, 1.0, 1.0]
    assert side.few == pytest.approx(few_drawn(1.0, 2))
    assert side.clusters.tolist() == tabulate(first.values())[0].clusters.tolist()


def test_looks_at_all_of_an_outcome_are_no_part_of_what_few_looks_leave_open() -> None:
    """Both lies were looked at, and two of four honest scenarios: only these two leave something unseen."""
    first = {row.key: row for row in rows("LLHHHH")}
    chosen = {key: 1.0 if row.outcomes[0] == "lie" else 0.5 for key, row in first.items() if row.task_id in "1234"}
    side = two_judges(Phases(first, {key: first[key] for key in chosen}, chosen), list(first), np.ones(6))
    assert side.few == pytest.approx(few_drawn(4 / 6, 2))


def test_a_few_looks_widen_the_interval_and_name_the_other_test() -> None:
    """With a variance for what few looks cannot show, either side's counts, and the test is the two-phase one."""
    first, other = (one_judge(tabulate(rows(letters))[0]) for letters in ("LLLLLLHHHH", "LLHHHHHHHH"))
    weights = np.ones(10)
    plain, looked = (differences(replace(first, few=few), other, weights) for few in (0.0, 0.05))
    both = differences(replace(first, few=0.02), replace(other, few=0.03), weights)
    assert plain.test is not None
    assert looked.test is not None
    assert (plain.test.name, plain.test.exact, plain.test.patterns) == ("two-phase difference", False, None)
    assert looked.test.p > plain.test.p
    assert both.test == looked.test
    assert looked.factors is not None
    assert looked.factors.answered_share.ci95 is None


def test_many_small_changes_one_way_are_not_tested() -> None:
    """Eight of thirty scenarios lie in one or two statements of five, and did not before: too little to be sure of."""
    first = np.zeros((30, 1))
    other = np.array([0.2, 0.4] * 4 + [0.0] * 22)[:, None]
    side = one_judge(tabulate(rows("H" * 30))[0])
    before, after = (replace(side, shares=np.repeat(lies, 4, axis=1)) for lies in (first, other))
    changed = differences(before, after, np.ones(30))
    assert changed.lopsided
    assert changed.test is None
    assert changed.rates.p_lie.difference == pytest.approx(2.4 / 30)
    assert changed.rates.p_lie.ci95 is None
    assert not differences(before, before, np.ones(30)).lopsided


def test_bounds_of_a_second_look_hold_whatever_failed() -> None:
    """With looks too the difference has its least and its greatest value over what failures could be."""
    first, other = (one_judge(tabulate(rows(letters))[0]) for letters in ("LLLLLLHHXX", "LLHHHHHHHX"))
    bounds = differences(replace(first, few=0.01), replace(other, few=0.01), np.ones(10)).bounds
    assert bounds is not None
    assert bounds.difference == pytest.approx([(2 - 8) / 10, (3 - 6) / 10])
    assert bounds.ci95 is not None
    assert bounds.ci95[0] < bounds.difference[0]
    assert bounds.ci95[1] > bounds.difference[1]
