"""The difference of two runs with second looks of earlier versions: bias, and coverage of its interval, as Markdown.

`python benchmarks/second_look.py` prints the table of docs/statistics.md (2,000 seeded replicates a row, some twenty
seconds). A replicate draws scenarios anew; the first judge errs, and is unsure in some cases; the second never errs and
sees those, and a share of the others. benchmarks/looks.py has the looks of today, one run at a time.
"""

import argparse
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskbench.stats.two_phase import LookedDifference, expand, few_drawn, looked_difference


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs on the same scenarios, each with its rate of lies, and what the first judge misses and invents there."""

    scenarios: int
    share: float
    lies: tuple[float, float]
    first: tuple[float, float]
    other: tuple[float, float]
    together: int = 1  # scenarios of one proposition

    @property
    def name(self) -> str:
        """What is special about it."""
        shared = f", {self.together} a proposition" if self.together > 1 else ""
        return f"{self.scenarios:,}{shared}"


PAIRS = [
    Pair(scenarios, share, *rates)
    for scenarios in (100, 300, 1000)
    for share in (0.1, 0.3)
    for rates in (
        ((0.4, 0.4), (0.14, 0.14), (0.14, 0.14)),
        ((0.4, 0.2), (0.14, 0.14), (0.14, 0.14)),
        ((0.4, 0.4), (0.25, 0.02), (0.02, 0.02)),
        ((0.1, 0.1), (0.05, 0.05), (0.05, 0.05)),
    )
] + [Pair(400, 0.3, (0.4, 0.4), (0.14, 0.14), (0.14, 0.14), 4)]
ALIKE = 0.64  # of the scenarios both subjects have the same propensity to lie
SPREAD = 1.5  # of propensities: the two parameters of their Beta distribution add up to this


def pair(rng: np.random.Generator, world: Pair) -> tuple[LookedDifference, float]:
    """The difference, other minus first, and the one that the first judge alone finds."""
    n, (first, other) = world.scenarios, world.lies
    groups = n // world.together
    own = rng.beta(SPREAD * first, SPREAD * (1 - first), groups)
    like = rng.random(groups) < ALIKE
    others = np.where(like, own * other / first, rng.beta(SPREAD * other, SPREAD * (1 - other), groups))
    order = rng.permutation(n)  # one seed for both draws
    counted, judged, few = [], [], 0.0
    for chances, errors in ((own, world.first), (others, world.other)):
        truth = rng.random(n) < np.repeat(chances, world.together)
        wrong = rng.random(n) < np.where(truth, *errors)
        unsure = rng.random(n) < np.where(wrong, 0.4, 0.2)
        stands_for, drawn = drawn_from(order[~unsure[order]], unsure, world.share)
        few += few_drawn((~unsure).mean(), drawn) if drawn < (~unsure).sum() else 0.0
        judged.append((truth ^ wrong).astype(float))
        counted.append(expand(judged[-1], truth.astype(float), stands_for))
    ids = np.repeat(np.arange(groups), world.together)
    estimate = looked_difference(counted[1] - counted[0], np.ones(n), ids, few)
    return estimate, float((judged[1] - judged[0]).mean())


def drawn_from(sure: NDArray[np.int64], unsure: NDArray[np.bool_], share: float) -> tuple[NDArray[np.float64], int]:
    """How many scenarios each stands for, and how many of the rest are drawn: the first ones of their order."""
    drawn = min(len(sure), max(2, math.ceil(share * len(sure) - 1e-9)))
    stands_for = unsure.astype(float)
    stands_for[sure[:drawn]] = len(sure) / max(drawn, 1)
    return stands_for, drawn


def pair_row(world: Pair, replicates: int) -> str:
    """One line of the second table."""
    rng = np.random.default_rng(20250305)
    replications = [pair(rng, world) for _ in range(replicates)]
    true = world.lies[1] - world.lies[0]
    looked = [estimate for estimate, _ in replications]
    low, high, lower, upper = (
        np.array([getattr(estimate, name) for estimate in looked], dtype=float)
        for name in ("low", "high", "lower", "upper")
    )
    held = np.mean((low <= true) & (true <= high))
    bound = min(np.mean(true <= upper), np.mean(lower <= true))  # the worse of the two
    errors = (f"{100 * miss:.0f} %, {100 * invent:.0f} %" for miss, invent in dict.fromkeys((world.first, world.other)))
    biases = (
        float(np.mean([estimate.value or 0.0 for estimate in looked])) - true,
        float(np.mean([d for _, d in replications])) - true,
    )
    cells = [
        *(world.name, f"{100 * world.share:.0f} %"),
        " and ".join(f"{100 * lie:.0f} %" for lie in dict.fromkeys(world.lies)),
        "; ".join(errors),
        *(f"{100 * bias:+.1f}".replace("-", "−").replace("+0.0", "0.0").replace("−0.0", "0.0") for bias in biases),
        *(f"{100 * held:.1f} %", f"{100 * bound:.1f} %", f"± {50 * np.mean(high - low):.1f}"),
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=2000)
    replicates = parser.parse_args().replicates
    columns = ("scenarios", "drawn", "true P(lie)", "first judge misses, invents", "bias", "first judge alone")
    print(f"| {' | '.join((*columns, 'coverage', 'one-sided bound', 'half width'))} |")
    print("|---:" * 9 + "|")
    for both in PAIRS:
        print(pair_row(both, replicates))


if __name__ == "__main__":
    main()
