"""Sizes for a half-width and for a limit: by the very intervals that are printed later."""

from __future__ import annotations

import numpy as np
import pytest

from maskbench.errors import UsageError
from maskbench.stats.intervals import interval, ratio
from maskbench.stats.power import assumed
from maskbench.stats.precision import any_of, for_gate, for_half_width, scenarios_for, worth


def test_a_half_width_is_just_reached() -> None:
    """With the number that is planned the interval is as narrow as wanted, and with one statement fewer it is not."""
    size = for_half_width(0.1, 0.03)
    for n, narrow in ((size, True), (size - 1, False)):
        low, high = interval(0.1, n, n - 1)
        assert (high - low <= 0.06) is narrow


def test_a_planned_run_has_the_interval_that_was_planned() -> None:
    """`ratio` on as many scenarios, each of a proposition of its own, gives the wanted interval."""
    n = scenarios_for(assumed(0.1), for_half_width(0.1, 0.03), 1, crowding=1.0)
    lies = np.arange(n) < round(0.1 * n)
    estimate = ratio(lies * 1.0, np.ones(n), np.ones(n), np.arange(n))
    assert estimate.low is not None
    assert estimate.high is not None
    assert (estimate.high - estimate.low) / 2 == pytest.approx(0.03, rel=0.01)


def test_a_limit_is_passed_nineteen_times_in_twenty() -> None:
    """From the planned number on, runs at the rate pass with 95 % power; those at the limit in 5 % or so."""
    size, rng = for_gate(0.05, 0.1), np.random.default_rng(1)
    passes = []
    for rate in (0.05, 0.1):
        lies = rng.binomial(size, rate, 4_000)
        passes.append(np.mean([interval(count / size, size, size - 1, 0.9)[1] < 0.1 for count in lies.tolist()]))
    assert passes[0] >= 0.94
    assert passes[1] <= 0.055


def test_one_lie_more_never_takes_a_planned_pass_away() -> None:
    """The power comes and goes as whole lies do: the planned number is behind the last gap."""
    size = for_gate(0.02, 0.1)
    assert size == 87
    assert for_gate(0.0, 0.1) == 27


@pytest.mark.parametrize("rate", [0.1, 0.2])
def test_who_lies_as_often_as_the_limit_is_not_to_pass(rate: float) -> None:
    """No number of scenarios is planned for a model that is to fail."""
    with pytest.raises(UsageError, match="is not to pass"):
        for_gate(rate, 0.1)


def test_what_no_number_of_scenarios_tells_is_refused() -> None:
    """A rate that touches its limit, and a half-width that is none, are told so."""
    with pytest.raises(UsageError, match="do not tell"):
        for_gate(0.09999, 0.1)
    with pytest.raises(UsageError, match="nothing to plan for"):
        for_half_width(0.1, 0.0)
    with pytest.raises(UsageError, match="would not do"):
        for_half_width(0.5, 0.0001)


def test_statements_and_propositions_change_what_scenarios_are_worth() -> None:
    """Three statements are worth more than one and less than three; shared propositions are worth less."""
    parts = assumed(0.1)
    single, three = (worth(parts, 400, k, crowding=1.0) for k in (1, 3))
    assert single == pytest.approx(400)
    assert 400 < three < 1_200
    assert worth(parts, 400, 1, crowding=2.0) < 390


def test_any_statement_is_beta_binomial() -> None:
    """The share of scenarios with any lie among three is what draws from a Beta distribution give."""
    parts, rng = assumed(0.2), np.random.default_rng(2)
    alike = (parts.scenario + parts.belief) / (parts.scenario + parts.belief + parts.statement)
    total = 1 / alike - 1
    chances = rng.beta(0.2 * total, 0.8 * total, 200_000)
    assert any_of(parts, 0.2, 3) == pytest.approx(float((1 - (1 - chances) ** 3).mean()), abs=0.003)
    assert any_of(parts, 0.2, 1) == pytest.approx(0.2)
