"""Planning: how many scenarios answer a question, what those of one proposition are worth, and what pilots tell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import ArrayLike

from maskbench.errors import UsageError
from maskbench.stats.intervals import interval, ratio
from maskbench.stats.planning import (
    ALIKE,
    LOW,
    Clusters,
    Kind,
    Runs,
    answer,
    assumed,
    correlation,
    how_sure,
    measured,
    smallest_difference,
)

APART = Clusters(5_000, 1.0)
PARETO = Clusters(1_000, 20.0)


def runs(shares: Sequence[ArrayLike], clusters: ArrayLike | None = None, arms: tuple[int, ...] = ()) -> Runs:
    """Runs on the same scenarios, of a proposition each where none are given."""
    table = np.array(shares, dtype=np.float64)
    ids = np.arange(table.shape[1]) if clusters is None else np.asarray(clusters)
    return Runs(table, arms or tuple(range(len(table))), ids, 1, 0.0)


def test_a_half_width_is_just_reached() -> None:
    """With the planned number the interval is as narrow as wanted, and with one scenario fewer it is not."""
    n = answer(assumed(0.1), "half_width", 0.03, APART).scenarios
    for size, narrow in ((n, True), (n - 1, False)):
        low, high = interval(0.1, size, size - 1)
        assert (high - low <= 0.06) is narrow


def test_a_planned_run_has_the_interval_that_was_planned() -> None:
    """`ratio` on as many scenarios, each of a proposition of its own, gives the wanted interval."""
    found = answer(assumed(0.1), "half_width", 0.03, APART)
    lies = np.arange(found.scenarios) < round(0.1 * found.scenarios)
    ones = np.ones(found.scenarios)
    estimate = ratio(lies * 1.0, ones, ones, np.arange(found.scenarios))
    assert estimate.low is not None
    assert estimate.high is not None
    assert (estimate.high - estimate.low) / 2 == pytest.approx(found.gives, rel=0.01)


def test_a_limit_is_passed_nineteen_times_in_twenty() -> None:
    """From the planned number on, runs at the rate pass with 95 % power; those at the limit in 5 % or so."""
    n, rng = answer(assumed(0.05), "gate", 0.1, APART).scenarios, np.random.default_rng(1)
    passes = []
    for rate in (0.05, 0.1):
        lies = rng.binomial(n, rate, 4_000)
        passes.append(np.mean([interval(count / n, n, n - 1, 0.9)[1] < 0.1 for count in lies.tolist()]))
    assert passes[0] >= 0.94
    assert passes[1] <= 0.055


def test_one_lie_more_never_takes_a_planned_pass_away() -> None:
    """The chance comes and goes as whole lies do: the planned number is behind the last gap."""
    assert answer(assumed(0.02), "gate", 0.1, APART).scenarios == 87


def test_a_difference_takes_the_textbooks_number() -> None:
    """Two runs that share nothing take twice the variance of a share, times (2.80/D)²."""
    apart = assumed(0.5)
    n = answer(apart, "difference", 0.2, APART).scenarios
    assert n == pytest.approx(2 * 0.25 * (1 - correlation(0.7, 1)) * (2.80 / 0.2) ** 2, rel=0.05)


@pytest.mark.parametrize(("kind", "wanted"), [("half_width", 0.05), ("gate", 0.3), ("difference", 0.2)])
def test_scenarios_that_share_propositions_are_worth_less(kind: Kind, wanted: float) -> None:
    """On a set with large propositions the same question takes more scenarios, or the whole set is too few."""
    one, shared = (answer(assumed(0.2), kind, wanted, clusters) for clusters in (APART, PARETO))
    assert one.is_enough
    assert shared.scenarios > one.scenarios


def test_a_sample_has_its_part_of_a_proposition() -> None:
    """Of one scenario nobody shares the proposition; of the whole set as many do as there are."""
    assert PARETO.sampled([1, 1_000]).tolist() == [1.0, 20.0]


def test_what_the_set_cannot_do_is_said() -> None:
    """No more scenarios are planned than there are; what they do is told, and the smallest difference they show."""
    small = Clusters(100, 1.0)
    for kind, wanted in (("half_width", 0.02), ("gate", 0.4), ("difference", 0.05)):
        found = answer(assumed(), kind, wanted, small)  # type: ignore[arg-type]
        assert (found.scenarios, found.is_enough) == (100, False)
    shown = smallest_difference(assumed(), small)
    assert shown is not None
    assert assumed().answers("difference", shown, 100, small) == pytest.approx(0.8, abs=0.01)
    assert answer(assumed(), "difference", shown, small).is_enough


@pytest.mark.parametrize(
    ("kind", "wanted", "message"),
    [
        ("half_width", 0.0, "nothing to plan for"),
        ("difference", 3.0, "Give a share such as"),
        ("gate", 0.35, "is not to pass"),
        ("gate", 0.1, "is not to pass"),
    ],
)
def test_what_no_number_answers_is_refused(kind: Kind, wanted: float, message: str) -> None:
    """A width of nothing, a difference that is none, and a limit that the model does not keep to."""
    with pytest.raises(UsageError, match=message):
        answer(assumed(), kind, wanted, APART)


def test_a_pilot_tells_how_alike_scenarios_of_a_proposition_are() -> None:
    """Beta-binomial propositions: their correlation is found, and P(lie) with it; without any pair it is assumed."""
    rng, ids = np.random.default_rng(3), np.repeat(np.arange(2_000), 4)
    chances = rng.beta(0.3 * 1.5, 0.7 * 1.5, 2_000)  # a correlation of 1 / (1.5 + 1)
    found = measured(runs([(rng.random(8_000) < chances[ids]) * 1.0], ids))
    assert found.p_lie == pytest.approx(0.3, abs=0.02)
    assert found.alike == pytest.approx(0.4, abs=0.03)
    assert found.sources == {"p_lie": "measured", "alike": "measured", "shared": "assumed"}
    single = measured(runs([(rng.random(500) < 0.3) * 1.0]))
    assert (single.alike, single.sources["alike"]) == (ALIKE, "assumed")


def test_two_arms_tell_what_they_share_and_repeats_do_not() -> None:
    """The correlation of two subjects' outcomes is that of their scenarios; two runs of one arm tell nothing of it."""
    rng = np.random.default_rng(4)
    chances = rng.beta(1, 1, 20_000)
    two = [(rng.random(20_000) < chances) * 1.0 for _ in range(2)]
    assert measured(runs(two)).shared == pytest.approx((1 / 12) / 0.25, abs=0.02)
    again = measured(runs(two, arms=(0, 0)))
    assert (again.shared, again.sources["shared"]) == (correlation(0.7, 1), "assumed")


def test_several_statements_vary_less() -> None:
    """With more statements a scenario's share of lies varies less, so that fewer scenarios do."""
    one, ten = (answer(assumed(0.3, k), "half_width", 0.05, APART).scenarios for k in (1, 10))
    assert ten < one
    assert correlation(0.7, 10) > correlation(0.7, 1) > correlation(LOW, 1)


def test_a_larger_pilot_is_surer() -> None:
    """The range of what a plan gives holds it, and narrows with the pilot; one without a lie leaves it open, too."""
    rng, widths = np.random.default_rng(5), []
    for size in (60, 2_000):
        pilot = runs([(rng.random(size) < 0.2) * 1.0])
        low, high = how_sure(pilot, lambda spread: float(spread.answers("half_width", 0.05, 250, APART)))
        assert low < 0.05 < high
        widths.append(high - low)
    assert widths[1] < widths[0] / 3
    none = runs([np.zeros(60)])
    low, high = how_sure(none, lambda spread: float(spread.answers("gate", 0.05, 100, APART)))
    assert low < 0.5 < high


def test_failures_take_more_scenarios() -> None:
    """Scenarios without an outcome are planned for; before a limit they count as lies."""
    shares = np.where(np.arange(400) % 10 == 0, np.nan, (np.arange(400) % 4 == 1) * 1.0)
    lossy = Runs(shares[None], (0,), np.arange(400), 1, 0.1)
    whole = Runs(shares[None], (0,), np.arange(400), 1, 0.0)
    for kind, wanted in (("half_width", 0.05), ("gate", 0.5)):
        sizes = [answer(measured(each), kind, wanted, APART).scenarios for each in (lossy, whole)]  # type: ignore[arg-type]
        assert sizes[0] > sizes[1]
    with pytest.raises(ValueError, match="No scenario"):
        measured(runs([np.full(3, np.nan)]))
