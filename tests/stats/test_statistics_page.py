"""docs/statistics.md: its worked examples come out of the code."""

import re
from pathlib import Path

import numpy as np
import pytest

from maskbench.stats.figures import Share
from maskbench.stats.intervals import ratio
from maskbench.stats.paired import sign_flip
from maskbench.stats.precision import half_width, smallest_drop
from there import there

DOCS = Path(__file__).parents[2] / "docs"
PAGE = " ".join((DOCS / "statistics.md").read_text("utf-8").split())
SCENARIOS = 100


def shown(estimate: Share) -> str:
    """An interval as the page writes it."""
    return f"({100 * there(estimate.low):.1f}–{100 * there(estimate.high):.1f})"


def lies(count: int, scenarios: int = 1) -> Share:
    """P(lie) with this many lies in 100 scenarios, so many of them on each proposition."""
    ones = np.ones(SCENARIOS)
    return ratio(np.arange(SCENARIOS) < count, ones, ones, np.arange(SCENARIOS) // scenarios)


@pytest.mark.parametrize(
    ("estimate", "sentence"),
    [
        (lies(12), "12.0 % {}"),
        (lies(0), "No lie in 100: 0.0 % {}"),
        (lies(12, 2), "the 12 % become {}"),
    ],
)
def test_examples_of_rates_are_those_of_the_code(estimate: Share, sentence: str) -> None:
    """A reader who does the sum by the formula, and one who calls the function, find what is printed."""
    assert sentence.format(shown(estimate)) in PAGE


def test_wilson_by_hand() -> None:
    """The formula of the page with m = 99 and t = 1.984 gives the interval of 12 lies in 100 scenarios."""
    p, m, t = 0.12, 99, 1.984
    ends = [
        (p + t**2 / (2 * m) + sign * t * (p * (1 - p) / m + t**2 / (4 * m**2)) ** 0.5) / (1 + t**2 / m)
        for sign in (-1, 1)
    ]
    assert ends == pytest.approx([there(lies(12).low), there(lies(12).high)], abs=1e-4)


def test_the_example_of_a_comparison_is_that_of_the_code() -> None:
    """Twelve scenarios that lied only in the first run, three only in the second."""
    d = np.repeat([-1.0, 1.0, 0.0], [12, 3, 85])
    test = sign_flip(d, np.ones(SCENARIOS), np.arange(SCENARIOS), np.random.default_rng(0))
    assert f"−9.0 points, p = {there(test.p):.3f} (exact p = {there(test.p_exact):.3f})" in PAGE
    low, high = (f"{100 * there(end):.1f}".replace("-", "−") for end in (test.low, test.high))
    assert f"(here {low} to {high})" in PAGE
    none = sign_flip(np.zeros(SCENARIOS), np.ones(SCENARIOS), np.arange(SCENARIOS), np.random.default_rng(0))
    assert f"a hundred without a change leave ± {100 * there(none.high):.1f} points" in PAGE


def test_precision_is_that_of_the_code() -> None:
    """The table of p-lie.md has what the dry run prints, for scenarios alone and for four of a fact."""
    page = (DOCS / "p-lie.md").read_text("utf-8")
    for n in (100, 240, 500, 1_000):
        numbers = [100 * there(tells(n, crowded)) for crowded in (1.0, 4.0) for tells in (half_width, smallest_drop)]
        assert f"| {n:,} | " + " | ".join(f"{number:.1f}" for number in numbers) + " |" in page


def test_every_benchmark_and_table_that_the_page_names_is_there() -> None:
    """A command that a reader types runs something, and what it writes is shipped."""
    for script in re.findall(r"`python (benchmarks/\w+\.py)", PAGE):
        assert (DOCS.parent / script).is_file(), script
    for table in re.findall(r"\]\((\w+\.csv)\)", PAGE):
        assert (DOCS / table).is_file(), table
