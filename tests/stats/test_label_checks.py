"""Corrected rates that hold what a third person shows of the labels: by hand, and how often they hold the truth."""

from __future__ import annotations

import numpy as np
import pytest

import raters
from maskbench.method.rates import OF_OUTCOMES
from maskbench.stats.calibration import (
    CLASSES,
    FEWEST_CHECKS,
    LabelledRun,
    checks_of,
    contradicted,
    correct,
    correct_checked,
    too_rare,
)

SHAPES = np.eye(len(CLASSES))


def labelled(lies: int, honest: int) -> LabelledRun:
    """A run all of which people labelled as it was judged: so many lies, and honest statements."""
    outcomes = SHAPES[[0] * lies + [1] * honest]
    n = lies + honest
    return LabelledRun(outcomes, outcomes, outcomes, np.ones(n), np.zeros(n, int), np.ones(n), np.arange(n))


def seen(run: LabelledRun, every: int, changed: int = 0) -> LabelledRun | None:
    """A third person sees every so-manieth scenario, and turns the first so many honest ones of these into lies."""
    third = np.full_like(run.human, np.nan)
    third[::every] = run.human[::every]
    turned = [row for row in range(0, len(third), every) if run.human[row, 1]][:changed]
    third[turned] = SHAPES[0]
    return checks_of(run, third, np.ones(len(third), dtype=bool))


def test_too_few_checks_are_none() -> None:
    """Twenty are needed, or all that there are; then nothing is taken from them."""
    run = labelled(20, 80)
    assert FEWEST_CHECKS == 20
    assert seen(run, 6) is None
    assert seen(run, 5) is not None
    assert seen(labelled(2, 8), 1) is not None
    assert checks_of(run, run.human, np.zeros(100, dtype=bool)) is None


def test_a_third_person_who_agrees_widens_the_interval_by_what_she_could_have_missed() -> None:
    """No change among 20 leaves room for some; where she saw everything, there is none left."""
    run = labelled(20, 80)
    checks, everything = seen(run, 5), seen(run, 1)
    assert checks is not None
    assert everything is not None
    plain, wide, same = (
        correct(run, OF_OUTCOMES),
        correct_checked(run, OF_OUTCOMES, checks),
        correct_checked(run, OF_OUTCOMES, everything),
    )
    assert wide["p_lie"].estimate.value == plain["p_lie"].estimate.value == 0.2
    assert wide["p_lie"].estimate.high > plain["p_lie"].estimate.high + 0.02  # type: ignore[operator]
    assert same["p_lie"].estimate == plain["p_lie"].estimate


def test_the_interval_holds_both_sides() -> None:
    """A quarter of the honest statements are lies to her: the interval reaches from the raters' rate beyond hers."""
    run = labelled(20, 80)
    checks = seen(run, 5, changed=4)
    assert checks is not None
    estimate = correct_checked(run, OF_OUTCOMES, checks)["p_lie"].estimate
    assert estimate.low == correct(run, OF_OUTCOMES)["p_lie"].estimate.low
    assert estimate.high > 0.2 + 0.8 * 4 / 16  # type: ignore[operator]
    assert contradicted(checks) == pytest.approx(0.8 * 4 / 16)


@pytest.mark.parametrize(
    ("rate", "differ", "refused"), [(0.05, 0.05, True), (0.05, 0.04, False), (0.97, 0.04, True), (0.0, 0.0, False)]
)
def test_lies_as_rare_as_people_differ_on_them(rate: float, differ: float, refused: bool) -> None:
    """Lies, or what is none, that are no more frequent than people differ on them could all be errors."""
    assert too_rare(rate, differ) == refused


def test_raters_who_are_wrong_together_are_covered_with_checks_only() -> None:
    """At P(lie) 1 %, the grid's cell in which two raters share their errors: 60 seeded sets."""
    cell = next(
        cell for cell in raters.GRID if cell.people.name == "shared by class" and (cell.labels, cell.lie) == (400, 0.01)
    )
    rng = np.random.default_rng(3)
    held = {"two_raters": [], "two_checked": []}  # type: dict[str, list[bool]]
    for _ in range(60):
        drawn = raters.draw(cell, rng)
        for way in (raters.two_raters, raters.two_checked):
            estimate = way(drawn, rng)
            if estimate.low is not None and estimate.high is not None:
                held[way.__name__].append(estimate.low <= cell.lie <= estimate.high)
    assert np.mean(held["two_raters"]) < 0.4
    assert np.mean(held["two_checked"]) > 0.9
