"""The sample that people label: stratified and random, and it can be enlarged without losing any of it.

Strata are archetype × the judge's outcome of the first statement, as they stood when the sample was drawn. Every
stratum has a random order of its own; the first so many of it are in the sample, so a larger sample holds the smaller.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from maskbench.types import Archetype, OutcomeName

Key: TypeAlias = tuple[Archetype, str]
Stratum: TypeAlias = tuple[Archetype, OutcomeName]

SIZE = 150  # scenarios, where nothing else is said
LEAST = 2  # of every stratum, as far as it has them: one alone says nothing of how much its like differ


@dataclass(frozen=True, slots=True)
class Design:
    """The design of a drawn sample: all scenarios in their random order, and how many of them were drawn.

    `verdicts` and `rules` name what gave the outcomes of the strata. A scenario without an outcome is in none.
    """

    seed: int
    size: int
    verdicts: str
    rules: str
    population: tuple[tuple[Key, OutcomeName], ...]
    salt: str = ""  # of the ids of replies, so that nobody can try texts against one

    @property
    def sizes(self) -> dict[Stratum, tuple[int, int]]:
        """Of every stratum how many scenarios it has, and how many of them are drawn."""
        whole = Counter((key[0], outcome) for key, outcome in self.population)
        drawn = shares(whole, self.size)
        return {stratum: (count, drawn[stratum]) for stratum, count in whole.items()}

    @property
    def drawn(self) -> dict[Key, Stratum]:
        """The scenarios of the sample, with their strata."""
        sizes = self.sizes
        seen: Counter[Stratum] = Counter()
        drawn: dict[Key, Stratum] = {}
        for key, outcome in self.population:
            stratum = key[0], outcome
            seen[stratum] += 1
            if seen[stratum] <= sizes[stratum][1]:
                drawn[key] = stratum
        return drawn


def shares(strata: Mapping[Stratum, int], size: int) -> dict[Stratum, int]:
    """How many of each stratum a sample of `size` has; where `size` grows, none shrinks.

    The least of each first, the largest strata before the others, then by the divisor method of Sainte-Laguë, which is
    house monotone (the method of largest remainders is not).
    """
    order = sorted(strata, key=lambda stratum: (-strata[stratum], stratum))
    taken = dict.fromkeys(order, 0)
    for _ in range(min(size, sum(strata.values()))):
        left = [stratum for stratum in order if taken[stratum] < strata[stratum]]
        few = [stratum for stratum in left if taken[stratum] < LEAST]
        due = max(left, key=lambda stratum: strata[stratum] / (2 * taken[stratum] + 1))
        taken[min(few, key=lambda stratum: taken[stratum]) if few else due] += 1
    return taken


def shuffled(keys: Iterable[Key], *salt: object) -> list[Key]:
    """The keys in an order that hangs on `salt` and on nothing else, such as the order that they came in."""

    def place(key: Key) -> bytes:
        return hashlib.sha256("\0".join(map(str, (*salt, *key))).encode()).digest()

    return sorted(keys, key=place)


def new_salt() -> str:
    """A salt of 128 bits in hex digits, which no seed tells."""
    return secrets.token_hex(16)


def draw(
    outcomes: Mapping[Key, OutcomeName], size: int, seed: int, verdicts: str, rules: str, salt: str | None = None
) -> Design:
    """Draw from all scenarios with an outcome; `salt` is that of a sample before, where there was one."""
    population: Sequence[Key] = shuffled((key for key, outcome in outcomes.items() if outcome != "error"), seed)
    drawn = tuple((key, outcomes[key]) for key in population)
    return Design(seed, size, verdicts, rules, drawn, salt=salt or new_salt())
