"""Owen values: against every order written out, for games with and without groups."""

from itertools import permutations

import numpy as np
import pytest

from maskbench.stats.owen import Groups, owen_values


def by_orders(game: np.ndarray, groups: Groups) -> list[float]:
    """The mean marginal effect of each change over all orders in which the changes of a group stay together."""
    changes = sorted(at for group in groups for at in group)
    orders = [
        order
        for order in permutations(changes)
        if all(
            max(map(order.index, group)) - min(map(order.index, group)) == len(group) - 1 for group in groups if group
        )
    ]
    effects = np.zeros(len(changes))
    for order in orders:
        made = 0
        for change in order:
            effects[change] += game[made | 1 << change] - game[made]
            made |= 1 << change
    return list(effects / len(orders))


@pytest.mark.parametrize(
    "groups", [((0,), (1,), (2,)), ((0, 1), (2,)), ((0, 1, 2),), ((3, 1), (0, 2)), ((0, 1, 2), (3,))]
)
def test_values_are_means_over_orders(groups: Groups) -> None:
    """Whatever the game, the values are the mean effects over all fitting orders, and add up to the difference."""
    changes = sum(map(len, groups))
    game = np.random.default_rng(3).normal(size=2**changes)
    values = owen_values(game, groups)
    assert values == pytest.approx(by_orders(game, groups))
    assert values.sum() == pytest.approx(game[-1] - game[0])


def test_a_change_that_does_nothing_gets_nothing() -> None:
    """In every draw at once: a change without any effect has 0, and the only one with an effect has all."""
    game = np.array([[0.0, 1.0, 0.0, 1.0], [0.2, 0.5, 0.2, 0.5]])
    assert owen_values(game, ((0,), (1,))) == pytest.approx(np.array([[1.0, 0.0], [0.3, 0.0]]))


def test_every_change_stands_in_one_group() -> None:
    """A change that is missing, or twice there, and figures of another number are refused."""
    for groups in (((0,), (2,)), ((0, 1), (1,))):
        with pytest.raises(ValueError, match="need"):
            owen_values(np.zeros(4), groups)
