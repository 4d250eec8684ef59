"""The paired test for every pair of many runs: the same figures as one pair at a time, only faster."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskbench.results.contrasts import SEED
from maskbench.stats.all_pairs import Shares, every_pair
from maskbench.stats.paired import FLIPS, chance, holm, sign_flip
from maskbench.types import ARCHETYPES, Archetype
from there import there

pytestmark = pytest.mark.slow

KINDS: tuple[Archetype, ...] = ARCHETYPES


def crowd(models: int, scenarios: int, *, statements: int = 1, shared: int = 1, seed: int = 1) -> list[Shares]:
    """Runs of models that lie ever more often; `shared` scenarios have one proposition, a few have no outcome."""
    rng = np.random.default_rng(seed)
    made: list[Shares] = []
    for model in range(models):
        said = rng.binomial(statements, 0.1 + 0.7 * model / models, scenarios) / statements
        lost = rng.random(scenarios) < 0.02
        made.append(
            {
                (KINDS[at % 6], f"{at}"): (float(said[at]), 1.0 + at % 6 / 4, f"proposition {at // shared}")
                for at in range(scenarios)
                if not lost[at]
            }
        )
    return made


def test_few_changes_that_go_one_way_tell_nobody_apart() -> None:
    """Ten scenarios of 30 lie once in five statements more, which two whole lies could undo; ten whole ones count."""
    run = {("known_facts", f"{at}"): (0.0, 1.0, f"{at}") for at in range(30)}
    other = {key: (0.2 if at < 10 else 0.0, 1.0, key[1]) for at, key in enumerate(run)}
    whole = {key: (float(at < 10), 1.0, key[1]) for at, key in enumerate(run)}
    in_part, wholly = every_pair([run, other], SEED)[0], every_pair([run, whole], SEED)[0]
    assert in_part.p == alone(run, other, FLIPS)[1] > 0.05
    assert wholly.p < 0.05


def alone(one: Shares, other: Shares, flips: int) -> tuple[float, float]:
    """One pair by the test of `compare`, which is how every pair was tested before."""
    shared = sorted(one.keys() & other.keys())
    differences = [other[key][0] - one[key][0] for key in shared]
    found = sign_flip(
        differences,
        [one[key][1] for key in shared],
        [one[key][2] for key in shared],
        np.random.default_rng(SEED),
        flips,
    )
    return found.difference or 0.0, there(found.p)


@pytest.mark.parametrize(
    "options",
    [
        {"scenarios": 20},
        {"scenarios": 60, "statements": 3},
        {"scenarios": 60, "shared": 2},
        {"scenarios": 300, "statements": 5},
    ],
)
def test_same_as_one_at_a_time(options: dict[str, int]) -> None:
    """Differences and p are those of `sign_flip` to nine decimals, whether it goes through all patterns or draws."""
    runs = crowd(4, **options)
    pairs = list(combinations(range(len(runs)), 2))
    for (one, other), found in zip(pairs, every_pair(runs, SEED), strict=True):
        assert (found.difference, found.p) == pytest.approx(alone(runs[one], runs[other], FLIPS), abs=1e-9)


def test_all_patterns_are_what_ever_more_drawn_ones_come_to() -> None:
    """With 150 scenarios of two statements all patterns are gone through, and p is that of very many drawn ones."""
    one, other = crowd(12, 150, statements=2)[4:6]
    (pair,) = every_pair([one, other], SEED)
    shared = sorted(one.keys() & other.keys())
    moved = np.array([one[key][1] * (other[key][0] - one[key][0]) for key in shared])
    signs = np.random.default_rng(SEED).choice((-1.0, 1.0), (100_000, len(moved)))
    beyond = np.abs(signs @ moved) - abs(moved.sum())
    drawn = np.mean(beyond > 1e-9) + np.mean(np.abs(beyond) <= 1e-9) / 2
    assert pair.p == pytest.approx(drawn, abs=4 * math.sqrt(pair.p / 100_000))


@given(st.lists(st.sampled_from([-1.0, -0.6, -1 / 3, 0.0, 1 / 3, 0.5, 1.0, 2.0]), max_size=10))
def test_chance_by_hand(sums: list[float]) -> None:
    """The chance is that of all sign patterns written out, ties counted half."""
    seen = abs(sum(sums))
    totals = [
        abs(sum(sign * each for sign, each in zip(signs, sums, strict=True)))
        for signs in product((1, -1), repeat=len(sums))
    ]
    by_hand = sum(1.0 if total > seen + 1e-9 else 0.5 if total > seen - 1e-9 else 0.0 for total in totals) / len(totals)
    both = chance(np.array(sums))
    assert both is not None
    assert both[0] == pytest.approx(1.0 if seen < 1e-9 else by_hand, abs=1e-12)
    assert both[1] == pytest.approx(np.mean([total > seen - 1e-9 for total in totals]), abs=1e-12)


def test_too_many_totals() -> None:
    """Where every proposition has a size of its own and there are many, no chance is given rather than a wrong one."""
    assert chance(np.sqrt(np.arange(2.0, 62.0))) is None


def test_nothing_shared() -> None:
    """Runs without a scenario in common cannot be told apart, and neither can runs without any."""
    one, other = crowd(2, 12)
    apart = [
        {key: cells for key, cells in run.items() if int(key[1]) % 2 == place} for place, run in enumerate((one, other))
    ]
    nothing: Shares = {}
    for runs in (apart, [nothing, nothing], [one, nothing]):
        (found,) = every_pair(runs, SEED)
        assert (found.difference, found.p) == (0.0, 1.0)


def test_small_chances_survive_holm() -> None:
    """A p far below one in the number of patterns ever drawn is still a number: many models need it."""
    honest: Shares = {(KINDS[0], f"{at}"): (0.0, 1.0, f"{at}") for at in range(96)}
    liar: Shares = {key: (1.0, *cells[1:]) for key, cells in honest.items()}
    (found,) = every_pair([honest, liar], SEED, 10**6)
    assert found.p == pytest.approx(2.0**-96, rel=1e-9)
    assert holm([found.p] * 100_000)[0] < 0.05
