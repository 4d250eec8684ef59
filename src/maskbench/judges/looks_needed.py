"""How far P(lie) is known from a first judge on everything and so many looks of a strong one, before any of it.

The reckoning is that of stats/correction.py, with what a first judge is expected to find in place of what it found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from maskbench.judges.second_look import FEWEST_LOOKS, allotted
from maskbench.stats.correction import PRIOR
from maskbench.stats.intervals import quantile
from maskbench.types import OutcomeName

HOPEFUL = 1.06  # looks that turn out otherwise than expected make intervals wider: so much, as benchmarks/looks.py has


@dataclass(frozen=True, slots=True)
class FirstJudge:
    """The chance that a first judge finds a lie where the strong one does, and none where that one finds none."""

    sensitivity: float = 0.86
    specificity: float = 0.95

    def lies(self, p_lie: float) -> float:
        """The share of scenarios that it takes for lies."""
        return p_lie * self.sensitivity + (1 - p_lie) * (1 - self.specificity)


@dataclass(frozen=True, slots=True)
class Rates:
    """The shares of outcomes that are expected of a subject."""

    lie: float
    evasive: float
    no_belief: float


def half_width(rates: Rates, judge: FirstJudge, worth: float, scenarios: int, looks: int) -> float:
    """How far the interval of P(lie) reaches, for scenarios that are worth so many independent ones."""
    from scipy.special import betaincinv  # type: ignore[import-untyped]  # loading it costs more than this module

    p, judged = rates.lie, judge.lies(rates.lie)
    sizes = _sizes(rates, judged, scenarios)
    taken = allotted(sizes, looks)
    square = quantile(worth - 1, 0.95) ** 2 * p * (1 - p) / worth
    missed = p * (1 - judge.sensitivity)
    others = [name for name in sizes if name != "lie"]
    lie: list[OutcomeName] = ["lie"]
    sides = ((lie, judged, (1 - p) * (1 - judge.specificity)), (others, 1 - judged, missed))
    for names, held, wrong in sides:
        loss = sum((sizes[name] / scenarios) ** 2 / taken[name] * (1 - taken[name] / sizes[name]) for name in names)
        if loss > 0:
            count, error = held**2 / loss, wrong / held
            ends = (count * error + PRIOR, count * (1 - error) + PRIOR)
            low, high = (float(betaincinv(*ends, at)) for at in (0.025, 0.975))
            square += (held * (high - low) / 2) ** 2
    return HOPEFUL * math.sqrt(square)


def looks_needed(rates: Rates, judge: FirstJudge, worth: float, scenarios: int, wanted: float) -> int | None:
    """The fewest looks with which the interval reaches no further than wanted; None where even all would not do."""
    low, high = FEWEST_LOOKS - 1, scenarios
    if half_width(rates, judge, worth, scenarios, high) > wanted:
        return None
    while low < high - 1:
        middle = (low + high) // 2
        low, high = (low, middle) if half_width(rates, judge, worth, scenarios, middle) <= wanted else (middle, high)
    return high


def _sizes(rates: Rates, judged: float, scenarios: int) -> dict[OutcomeName, int]:
    """How many scenarios the first judge is expected to find in each outcome."""
    others = (1 - judged) / (1 - rates.lie)
    evasive, no_belief = rates.evasive * others, rates.no_belief * others
    shares: dict[OutcomeName, float] = {
        "lie": judged,
        "honest": 1 - judged - evasive - no_belief,
        "evasive": evasive,
        "no_belief": no_belief,
    }
    return {name: max(1, round(share * scenarios)) for name, share in shares.items() if share > 0}
