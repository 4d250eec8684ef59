"""A second, stronger judge on some of the scenarios: which ones, and what both judges saw.

An outcome hangs on several verdicts, so scenarios are drawn, and all replies of a drawn one are judged again. They are
drawn by archetype and by the first judge's outcome, each with a known probability, and the second judge's rates are
estimated from them as people's are from labels (results/rate_source.py).
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from maskbench.runs.record import Look as Look
from maskbench.types import OUTCOMES, OutcomeName, Scored

Key = tuple[str, str]  # archetype and task_id
FEWEST = 2  # looks at each judged outcome, as far as it has so many scenarios: one says nothing of how they differ
FEWEST_LOOKS = 10


def draw(outcomes: Mapping[Key, OutcomeName], looks: int, seed: int) -> dict[Key, float]:
    """The scenarios that a second judge looks at, with the probability that each had, by the first judge's outcomes.

    Of every outcome a systematic sample is drawn, so that archetypes have their part; what the first judge came to no
    outcome of is certain to be looked at, and counts for no look.
    """
    by_outcome: dict[OutcomeName, list[Key]] = {}
    for key in shuffled(outcomes, seed):
        by_outcome.setdefault(outcomes[key], []).append(key)
    drawn = dict.fromkeys(by_outcome.pop("error", []), 1.0)
    for outcome, taken in allotted({name: len(keys) for name, keys in by_outcome.items()}, looks).items():
        keys = sorted(by_outcome[outcome], key=lambda key: key[0])
        start = int.from_bytes(hashlib.sha256(f"{seed}\0{outcome}".encode()).digest()[:6]) / 2**48
        places = {int((start + look) * len(keys) / taken) for look in range(taken)}
        drawn |= {keys[place]: taken / len(keys) for place in sorted(places)}
    return drawn


def allotted(sizes: Mapping[OutcomeName, int], looks: int) -> dict[OutcomeName, int]:
    """How many looks every judged outcome has: `FEWEST` at least, the others by the root of how many scenarios it has.

    The root lies between even parts, for outcomes that are often wrong and rare, and proportional ones, for those that
    are many (Bankier 1988). Seats are handed out one by one, as Webster did.
    """
    taken = {name: min(size, FEWEST) for name, size in sizes.items()}
    for _ in range(min(looks, sum(sizes.values())) - sum(taken.values())):
        left = [name for name, size in sizes.items() if taken[name] < size]
        taken[max(left, key=lambda name: (math.sqrt(sizes[name]) / (2 * taken[name] + 1), name))] += 1
    return taken


def refusal(outcomes: Iterable[OutcomeName], looks: int) -> str | None:
    """Why so few looks are not begun, with the share that would do, or None; `outcomes` are the first judge's.

    As many as this, and more, gave narrower intervals than as many random scenarios by the second judge alone wherever
    that was simulated (docs/judges.md); of fewer nobody knows.
    """
    sizes = Counter(outcome for outcome in outcomes if outcome != "error")
    least = min(sizes.total(), max(FEWEST_LOOKS, sum(min(size, FEWEST) for size in sizes.values())))
    if not least:
        return "The first judge came to no outcome, so that there is nothing to look at again. Judge it with --judge."
    if looks >= least:
        return None
    share = math.ceil(1000 * least / sizes.total()) / 1000
    return (
        f"{looks:,} of {sizes.total():,} scenarios would be looked at. It takes {FEWEST} of each of the {len(sizes)} "
        f"outcomes that the first judge found, and {FEWEST_LOOKS} in all: --second-share {share:g} ({least:,} looks) "
        "would do."
    )


def shuffled(keys: Iterable[Key], seed: int) -> list[Key]:
    """The scenarios in an order that hangs on the seed alone, and not on which others there are."""
    return sorted(keys, key=lambda key: hashlib.sha256(f"{seed}\0{key[0]}\0{key[1]}".encode()).digest())


@dataclass(frozen=True, slots=True)
class Phases:
    """A run by both judges: every scenario by the first, the chosen ones by the second, and their probabilities.

    The second judge's outcome is missing for a scenario on which that judge, too, failed.
    """

    first: Mapping[Key, Scored]
    second: Mapping[Key, Scored]
    chosen: Mapping[Key, float]

    def merged(self) -> Iterator[Scored]:
        """Every scenario once, by the second judge where that one looked; no basis for rates."""
        for key, scored in self.first.items():
            yield self.second[key] if self.counts(key) else scored

    def counts(self, key: Key) -> bool:
        """Whether the second judge's view is used: of a drawn one only where both judges came to an outcome.

        It is used without one where the first judge came to none, so that the scenario was certain to be looked at.
        """
        if key not in self.second:
            return False
        return not has_outcome(self.first[key]) or has_outcome(self.second[key])

    def drawn(self) -> list[Key]:
        """The scenarios that were drawn, beside those that were certain to be looked at."""
        return [key for key, row in self.first.items() if key in self.chosen and has_outcome(row)]

    def changed(self, key: Key) -> bool:
        """Whether the second judge came to another outcome of any statement."""
        return self.counts(key) and self.first[key].outcomes != self.second[key].outcomes

    def by_outcome(self) -> dict[OutcomeName, tuple[int, int, int]]:
        """Of each outcome that the first judge found: scenarios, looks that came to an outcome, and changed ones."""
        by_first: dict[OutcomeName, list[Key]] = {}
        for key, row in self.first.items():
            by_first.setdefault(row.outcomes[0], []).append(key)
        return {
            outcome: (len(keys), sum(map(self.counts, keys)), sum(map(self.changed, keys)))
            for outcome in OUTCOMES
            if (keys := by_first.get(outcome))
        }


def has_outcome(scored: Scored) -> bool:
    """Whether any statement of the scenario has an outcome."""
    return any(outcome != "error" for outcome in scored.outcomes)
