"""The grid of comparisons on shared beliefs: what its generator draws."""

import numpy as np

from shared_worlds import Cell, draw, truth

CELL = Cell("240 scenarios apart", (0.4, 0.28), 0.5, 3)


def test_arms_share_beliefs_or_have_their_own() -> None:
    """The first arm is the same both ways; on shared beliefs the difference varies less, and the rates are the same."""
    drawn = draw(CELL, 60, np.random.default_rng(1), anew=True)
    assert drawn.own is not None
    assert drawn.shared.shape == drawn.own.shape == (60, 2, 240)
    assert (drawn.shared[:, 0] == drawn.own[:, 0]).all()
    shared, own = (lies[:, 1] - lies[:, 0] for lies in (drawn.shared, drawn.own))
    assert shared.var() < own.var()
    assert abs(shared.mean() - own.mean()) < 0.05
    assert drawn.shared.min() >= 0
    assert drawn.shared.max() <= 3


def test_less_pressure_makes_fewer_lies() -> None:
    """The true rates follow the chance of the pressed-for side, and equal arms have equal ones."""
    first, other = truth(CELL, np.random.default_rng(1), 1_000_000)
    assert first > other > 0
    assert draw(CELL, 4, np.random.default_rng(2)).fresh is None
