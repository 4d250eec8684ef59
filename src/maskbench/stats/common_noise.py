"""Noise that samples share: a number for each seed, position and token, whoever draws, and in whatever company.

A token's wait is exponential, and the token is drawn whose wait over its likelihood is the shortest. So each is drawn
with its own probability, as by adding Gumbel noise to log-probabilities, and two distributions under the same waits
give the same token wherever they are much alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Numbers = TypeVar("Numbers")  # an array or a tensor of whole numbers of 32 bits: the same arithmetic serves both

UNIT = float(np.nextafter(np.float32(2.0**-31), np.float32(0)))  # of 31 bits; the largest number stays below 1
_ALL = (1 << 64) - 1
_SPREAD = 0x9E3779B9 - (1 << 32)  # 2³² over the golden ratio, as a signed number


def token_waits(places: Sequence[tuple[int, int]], tokens: int) -> NDArray[np.float32]:
    """The wait of every token, (places, tokens), at these places: each the seed of a sample and a position in it."""
    words = np.array([place_words(*place) for place in places], dtype=np.int32)
    numbers = mixed(spread(np.arange(tokens, dtype=np.int32)) ^ words[:, :1], words[:, 1:])
    chances = (numbers.astype(np.float32) + np.float32(0.5)) * np.float32(UNIT)
    waits: NDArray[np.float32] = -np.log1p(-chances)
    return waits


def place_words(seed: int, position: int) -> tuple[int, int]:
    """Two signed numbers of 32 bits for a position in a sample, mixed as SplitMix64 does (Steele, Lea, Flood 2014)."""
    whole = (seed + (position + 1) * 0x9E3779B97F4A7C15) & _ALL
    whole = ((whole ^ (whole >> 30)) * 0xBF58476D1CE4E5B9) & _ALL
    whole = ((whole ^ (whole >> 27)) * 0x94D049BB133111EB) & _ALL
    whole ^= whole >> 31
    return (whole >> 32) - (1 << 31), (whole & 0xFFFFFFFF) - (1 << 31)


def spread(tokens: Numbers) -> Numbers:
    """The tokens far apart, the beginning of their numbers; it is the same at every place."""
    product: Any = tokens
    return product * _SPREAD  # type: ignore[no-any-return]


def mixed(numbers: Numbers, words: Numbers) -> Numbers:
    """These numbers of 32 bits, mixed with a word of their place, as numbers of 31 bits; they are changed in place."""
    mix: Any = numbers
    mix ^= (mix >> 16) & 0xFFFF
    mix *= 0x7FEB352D
    mix ^= words
    mix ^= (mix >> 15) & 0x1FFFF
    mix *= 0x846CA68B - (1 << 32)
    mix ^= (mix >> 16) & 0xFFFF
    mix &= 0x7FFFFFFF
    return mix  # type: ignore[no-any-return]
