"""Noise that samples share: exact draws, the same numbers for whoever asks, and others at every other place."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2, kstest  # type: ignore[import-untyped]

from maskbench.stats.common_noise import place_words, token_waits

TOY = np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.03, 0.015, 0.005], np.float32)
DRAWS = 100_000


def drawn(places: list[tuple[int, int]], likely: NDArray[np.float32] = TOY) -> NDArray[np.int64]:
    """The token with the shortest wait over its likelihood at each place."""
    tokens: NDArray[np.int64] = (likely / token_waits(places, len(likely))).argmax(axis=1)
    return tokens


def surprise(counts: NDArray[np.int64], expected: NDArray[np.float64]) -> float:
    """The p of Pearson's test that these counts are of those expectations."""
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), len(counts) - 1))


@pytest.mark.parametrize("over", ["seeds", "positions"])
def test_tokens_are_drawn_with_their_own_probabilities(over: str) -> None:
    """Over seeds and over positions a toy distribution comes out as it is, and as ordinary sampling draws it."""
    places = [(number, 3) if over == "seeds" else (77, number) for number in range(DRAWS)]
    counts = np.bincount(drawn(places), minlength=len(TOY))
    share = TOY.astype(np.float64) / TOY.sum(dtype=np.float64)
    assert surprise(counts, DRAWS * share) > 0.001
    ordinary = np.bincount(np.random.default_rng(1).choice(len(TOY), DRAWS, p=share), minlength=len(TOY))
    both = np.concatenate([counts, ordinary])
    assert surprise(both, np.tile((counts + ordinary).astype(np.float64) / 2, 2)) > 0.001


def test_one_position_tells_nothing_of_the_next() -> None:
    """Pairs of neighbouring tokens come as often as the product of their probabilities."""
    tokens = drawn([(5, position) for position in range(DRAWS)])
    pairs = np.bincount(tokens[:-1] * len(TOY) + tokens[1:], minlength=len(TOY) ** 2)
    assert surprise(pairs, (DRAWS - 1) * np.outer(TOY, TOY).ravel().astype(np.float64)) > 0.001


def test_waits_are_exponential_and_unrelated() -> None:
    """Chances are uniform, and those of neighbouring tokens, positions and seeds are not correlated."""
    chances = np.exp(-token_waits([(seed, position) for seed in range(20) for position in range(20)], 500))
    assert kstest(chances.ravel(), "uniform").pvalue > 0.001
    cube = chances.reshape(20, 20, 500)
    neighbours = [(cube[1:], cube[:-1]), (cube[:, 1:], cube[:, :-1]), (cube[:, :, 1:], cube[:, :, :-1])]
    for after, before in neighbours:
        assert abs(np.corrcoef(after.ravel(), before.ravel())[0, 1]) < 4 / np.sqrt(after.size)


def test_the_number_of_a_token_hangs_on_nothing_else() -> None:
    """A larger vocabulary, other company and another order give a token the same wait."""
    places = [(1, 0), (2, 5), (1, 1)]
    waits = token_waits(places, 100)
    assert np.array_equal(token_waits(places, 3000)[:, :100], waits)
    assert np.array_equal(token_waits(places[::-1], 100)[::-1], waits)
    assert np.array_equal(token_waits(places[1:2], 100)[0], waits[1])


def test_distributions_that_are_alike_draw_alike() -> None:
    """Two distributions a few points apart differ in a few draws, where two with noise of their own differ in most."""
    other = TOY + np.float32(0.02) * np.array([-1, 1, 0, 0, 0, 0, 0, 0], np.float32)
    places = [(number, 0) for number in range(2000)]
    elsewhere = [(number + 10**6, 0) for number in range(2000)]
    assert (drawn(places) != drawn(places, other)).mean() < 0.06
    assert (drawn(places) != drawn(elsewhere, other)).mean() > 0.6


def test_a_place_has_its_own_words() -> None:
    """No two of many seeds and positions share both words, and each fits 32 bits with a sign."""
    words = {place_words(seed, position) for seed in [*range(300), 2**53 - 1] for position in range(300)}
    assert len(words) == 301 * 300
    assert all(-(2**31) <= word < 2**31 for pair in words for word in pair)


def test_the_numbers_stay() -> None:
    """Runs of before can be coupled with runs of now: these are the waits of version 0.3."""
    assert token_waits([(123, 4)], 3)[0].tolist() == pytest.approx([6.738013, 2.210466, 2.070277], rel=1e-5)
