"""A second judge on a part of the scenarios: bias of the estimate and coverage of its interval, printed as Markdown.

`python benchmarks/second_look.py` prints the table of docs/judges.md (2,000 seeded replicates a row, some ten seconds).
A replicate draws scenarios anew; the first judge errs, and says so in some cases; the second never errs and sees those,
and a share of the others. Beside the estimate stands what comes of looking at the first judge's lies alone.
"""

import argparse
import math
from dataclasses import dataclass

import numpy as np

from maskbench.stats import Estimate, difference_ratio


@dataclass(frozen=True, slots=True)
class World:
    """A rate of lies, and a first judge that misses lies and invents them."""

    scenarios: int
    share: float
    lie: float
    miss: float
    invent: float


WORLDS = [
    World(scenarios, share, lie, *errors)
    for scenarios in (100, 300, 1000)
    for share in (0.1, 0.3)
    for lie, *errors in ((0.4, 0.14, 0.14), (0.4, 0.25, 0.02), (0.1, 0.05, 0.05))
]


def replicate(rng: np.random.Generator, world: World) -> tuple[Estimate, float, float, float]:
    """The estimate, the same before it is kept within 0 and 1, the first judge's rate, and that of lies seen twice."""
    n = world.scenarios
    truth = rng.random(n) < world.lie
    wrong = rng.random(n) < np.where(truth, world.miss, world.invent)
    first = truth ^ wrong
    unsure = rng.random(n) < np.where(wrong, 0.4, 0.2)
    rest = np.flatnonzero(~unsure)
    drawn = rng.choice(rest, min(len(rest), max(2, math.ceil(world.share * len(rest)))), replace=False)
    stands_for = unsure.astype(float)
    stands_for[drawn] = len(rest) / len(drawn)
    weights = np.concatenate([1 - stands_for, stands_for])
    lies = np.concatenate([first, truth]).astype(float)
    unseen = (len(rest) / n * 2 / (len(drawn) + 4)) ** 2
    estimate = difference_ratio(lies, np.ones(2 * n), weights, np.tile(np.arange(n), 2), unseen=unseen)
    return estimate, float(weights @ lies / n), float(first.mean()), float((first & truth).mean())


def row(world: World, replicates: int) -> str:
    """One line of the table."""
    rng = np.random.default_rng(20250305)
    made = [replicate(rng, world) for _ in range(replicates)]
    biases = [float(np.mean([one[place] for one in made])) - world.lie for place in (1, 2, 3)]
    ends = [(one[0].low or 0.0, one[0].high or 1.0) for one in made]
    held = np.mean([low <= world.lie <= high for low, high in ends])
    half = np.mean([high - low for low, high in ends]) / 2
    cells = [
        *(f"{world.scenarios:,}", f"{world.share:.0%}", f"{world.lie:.0%}", f"{world.miss:.0%}, {world.invent:.0%}"),
        *(f"{100 * bias:+.1f}".replace("-", "−").replace("+0.0", "0.0").replace("−0.0", "0.0") for bias in biases),
        *(f"{100 * held:.1f} %", f"± {100 * half:.1f}"),
    ]
    return f"| {' | '.join(cells).replace('%', ' %').replace('  ', ' ')} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=2000)
    replicates = parser.parse_args().replicates
    heads = ("scenarios", "drawn", "true P(lie)", "first judge misses, invents", "bias")
    print(f"| {' | '.join((*heads, 'first judge alone', 'only lies seen twice', 'coverage', 'half width'))} |")
    print("|---:" * 9 + "|")
    for world in WORLDS:
        print(row(world, replicates))


if __name__ == "__main__":
    main()
