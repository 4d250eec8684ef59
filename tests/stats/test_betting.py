"""Bets that a rate is below a limit: what they are worth, how often they are wrong, and the design that they save."""

import numpy as np
import pytest
from scipy.stats import binom  # type: ignore[import-untyped]

from maskbench.stats.betting import LEVEL, Bet, Whole, bounds, fixed_design


def test_wealth_is_the_mean_of_constant_stakes() -> None:
    """After three propositions wealth is what the stakes give by hand: Π (1 + λ (limit w - y)), on average."""
    bet = Bet(0.2, 4.0)
    seen = [(0.0, 1.0), (1.0, 4.0), (0.0, 2.0)]
    for y, w in seen:
        bet.see(y, w)
    steps = (np.arange(24) + 0.5) / 24 * np.arcsin(np.sqrt(0.2))
    stakes = (1 - np.sin(steps) ** 2 / 0.2) / (0.8 * 4)
    by_hand = np.prod([1 + stakes * (0.2 * w - y) for y, w in seen], axis=0).mean()
    assert bet.wealth[0] == pytest.approx(by_hand)


@pytest.mark.parametrize("above", [False, True])
def test_the_stake_is_bounded_by_the_largest_proposition(above: bool) -> None:
    """Wealth stays above 0 whatever comes, be it a largest proposition that speaks against the bet all along."""
    bet = Bet(0.1, 8.0, above=above)
    for _ in range(20):
        bet.see(0.0 if above else 8.0, 8.0)
    assert bet.wealth[0] > 0


@pytest.mark.parametrize(("limit", "size"), [(0.1, 1), (0.3, 1), (0.1, 5)])
def test_a_bet_at_the_limit_wins_seldom_however_often_one_looks(limit: float, size: int) -> None:
    """Of 2,000 sets at the limit itself no more than 5 % are ever taken for being below it, and none more for above."""
    rng = np.random.default_rng(7)
    below, above = (Bet(np.full(2000, limit), size, above=side) for side in (False, True))
    for _ in range(200):
        lies = (rng.random(2000) < limit) * float(size)  # all scenarios of a proposition alike
        below.see(lies, float(size))
        above.see(lies, float(size))
    assert (below.most >= 1 / LEVEL).mean() <= 0.05
    assert (above.most >= 1 / LEVEL).mean() <= 0.05


def test_a_bet_on_a_set_is_certain_once_the_rest_cannot_change_it() -> None:
    """Of ten propositions with no lie in nine the whole set is below 11 %, and that is known before the tenth."""
    bet = Bet(0.11, 1.0, Whole(10, 10.0))
    for _ in range(9):
        bet.see(0.0, 1.0)
    assert bet.wealth[0] == np.inf
    population = Bet(0.11, 1.0)
    for _ in range(9):
        population.see(0.0, 1.0)
    assert population.wealth[0] < 1 / LEVEL


def test_a_bet_on_a_set_is_fair() -> None:
    """Drawn without replacement from a set that is at the limit, wealth is 1 on average until all is known."""
    rng = np.random.default_rng(3)
    lies = np.zeros((4000, 20))
    lies[:, :4] = 1
    lies = rng.permuted(lies, axis=1)
    bet = Bet(np.full(4000, 0.2), 1.0, Whole(20, 20.0))
    for at in range(6):
        bet.see(lies[:, at], 1.0)
    assert bet.wealth.mean() == pytest.approx(1.0, abs=0.05)


def test_the_interval_holds_at_any_time() -> None:
    """Over 40 sets an end of the interval leaves the rate out in no more than 10 %, and chance, at whatever look."""
    rng = np.random.default_rng(11)
    missed = 0
    for _ in range(40):
        lies = (rng.random(40) < 0.2).astype(float).tolist()
        low, high = bounds(lies, lies, [1.0] * 40, 1.0)  # the narrowest of all looks
        missed += low > 0.2 or high < 0.2
    assert missed <= 8


def test_the_interval_of_a_set_closes_on_its_rate() -> None:
    """Where the whole set is known, so is its rate; failures leave what they could have been."""
    lies = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    low, high = bounds(lies, lies, [1.0] * 10, 1.0, Whole(10, 10.0))
    assert low == pytest.approx(0.1, abs=0.0011)
    assert high == pytest.approx(0.1, abs=0.0011)
    assert bounds(lies, [1.0, 1.0, *lies[2:]], [1.0] * 10, 1.0, Whole(10, 10.0))[1] == pytest.approx(0.2, abs=0.0011)


@pytest.mark.parametrize(("limit", "rate"), [(0.1, 0.0), (0.1, 0.02), (0.1, 0.2), (0.3, 0.1)])
def test_the_fixed_design_is_the_smallest_with_so_few_errors(limit: float, rate: float) -> None:
    """So many scenarios have 5 % of errors each way by the exact binomial test, and one fewer has more."""
    size = fixed_design(limit, rate)
    assert size is not None

    def errors(n: int) -> float:
        """The chance to miss this rate where the limit is refuted by mistake in 5 % at most."""
        counts = np.arange(n + 1)
        beyond = binom.cdf(counts, n, limit) if rate < limit else binom.sf(counts - 1, n, limit)
        return 1 - float(binom.pmf(counts[beyond <= LEVEL], n, rate).sum())

    assert errors(size) <= LEVEL + 1e-12
    assert errors(size - 1) > LEVEL


def test_stopping_takes_fewer_scenarios_than_a_fixed_design() -> None:
    """At 2 % of lies and a limit of 10 % a fixed design takes 89 scenarios, and stopping some 65 on average."""
    rng, bet = np.random.default_rng(1), Bet(np.full(500, 0.1), 1.0)
    used = 0
    for _ in range(400):
        used += int((bet.most < 1 / LEVEL).sum())
        bet.see((rng.random(500) < 0.02).astype(float), 1.0)
    assert fixed_design(0.1, 0.02) == 89
    assert 55 < used / 500 < 75


def test_no_limit_outside_of_shares() -> None:
    """A limit of 0 or of 1 is refused, as nothing can be bet on it."""
    for limit in (0.0, 1.0):
        with pytest.raises(ValueError, match="between 0 and 1"):
            Bet(limit, 1.0)
