"""How often `compare` opens with the wrong kind of sentence, and what its two tests cost in power.

Two runs give each scenario one of four outcomes. Both draw from one number in some scenarios, so that they hang
together, and so do the scenarios of a proposition. In some worlds the two are alike, in others P(lie), P(honest) or
both are moved; evasion takes what is left. A sentence is of the wrong kind where it says of lies or of honest answers
that there are more, or fewer, and that is not so. Two simpler rules stand beside ours: the two tests without any
correction, and P(lie) alone. The grid was fixed before the first run. Writes docs/verdicts.csv, a row a world.

`python benchmarks/verdicts.py --pairs-of-paper` prints the nine counts of all pairs of the paper's table 3 instead,
each as if of 1,000 scenarios apart that both answered without anything in common, and some pairs of each.
"""

import math
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr  # type: ignore[import-untyped]

from csv_tables import DOCS, write_grid
from maskbench.results.lies_and_honest import TABLE, VerdictName, verdict
from maskbench.results.published import figures
from maskbench.stats.figures import Difference
from maskbench.stats.paired import FLIPS, LEVEL, lopsided, of_both, sign_flip, tested

Floats = NDArray[np.float64]
Ps = tuple[float, float]
SEED = 20261219
WORLDS = {  # P(lie), P(honest), P(no belief); the rest is evasive
    "usual": (0.30, 0.35, 0.10),
    "hardly lies": (0.06, 0.60, 0.10),
    "hardly honest": (0.30, 0.08, 0.10),
    "mostly no belief": (0.15, 0.15, 0.60),
    "always answers": (0.40, 0.60, 0.0),
}
POINTS = (0.04, 0.10)  # by which a rate is moved, where it can be
MOVED = ((0, 0), *((a, b) for a, b in product((-1, 0, 1), repeat=2) if a or b))  # lies, honest
SCENARIOS = (240, 1000)
SHARED = (1, 4)  # scenarios a proposition
ALIKE, WITHIN = 0.5, 0.6  # scenarios in which both runs draw one number, and those that take their proposition's
WAYS = ("less", "not shown", "more")
HEAD = (
    *("world", "lies moved", "honest moved", "scenarios", "a proposition", "pairs", "wrong", "wrong, no correction"),
    *("wrong, lies alone", "all told", "all told, no correction", "lies found", "lies found, no correction"),
)


class World(NamedTuple):
    """One world of the grid."""

    name: str
    moved: tuple[float, float]
    scenarios: int
    shared: int


def grid() -> Iterator[World]:
    """All worlds: each with nothing moved once, and moved by each number of points that leaves shares."""
    for name, points, moved, scenarios, shared in product(WORLDS, POINTS, MOVED, SCENARIOS, SHARED):
        by = (points * moved[0], points * moved[1])
        lie, honest, none = WORLDS[name]
        able = min(lie + by[0], honest + by[1]) >= 0.01 and lie + honest + none + sum(by) <= 1 + 1e-9
        if able and (any(moved) or points == POINTS[0]):
            yield World(name, by, scenarios, shared)


def outcomes(drawn: Floats, world: World, moved: tuple[float, float]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which scenarios are lies, those at the low end of the numbers, and which honest, those at the high end."""
    lie, honest, _ = WORLDS[world.name]
    return drawn < lie + moved[0], drawn >= 1 - honest - moved[1]


def changes(world: World, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """By proposition, how many more lies and honest answers the other run has."""
    ids = np.arange(world.scenarios) // world.shared
    numbers = [
        np.where(rng.random(len(ids)) < WITHIN, rng.random(ids[-1] + 1)[ids], rng.random(len(ids))) for _ in range(2)
    ]
    numbers[1] = np.where((rng.random(ids[-1] + 1) < ALIKE)[ids], numbers[0], numbers[1])
    first, other = (
        outcomes(drawn, world, moved) for drawn, moved in zip(numbers, ((0.0, 0.0), world.moved), strict=True)
    )
    lies, honest = (
        np.bincount(ids, now.astype(np.float64) - was).astype(np.float64) for was, now in zip(first, other, strict=True)
    )
    return lies, honest


def p_of(sums: Floats, shared: int) -> float:
    """The p of the test that `compare` makes: by its wider interval where only few changes show a difference."""
    sizes = np.bincount(np.abs(sums).astype(int), minlength=shared + 1)
    key = (*sizes.tolist(), abs(int(sums.sum())))  # all that it hangs on
    if key not in _KNOWN:
        totals, rng = np.full(len(sums), float(shared)), np.random.default_rng(SEED)
        p = tested(sums, rng, FLIPS)[0]
        if p < 1 - LEVEL and lopsided(sums, totals, float(sums.mean() / shared)):
            p = sign_flip(sums / shared, totals, np.arange(len(sums)), rng, 999).p or p
        _KNOWN[key] = p
    return _KNOWN[key]


_KNOWN: dict[tuple[int, ...], float] = {}


def uncorrected(lie: Difference, honest: Difference, ps: Ps) -> tuple[str, str]:
    """What two tests say, each for itself."""
    return way(lie, ps[0]), way(honest, ps[1])


def way(rate: Difference, p: float) -> str:
    """The direction that one test shows."""
    return "not shown" if p >= 1 - LEVEL else "less" if (rate.difference or 0) < 0 else "more"


def cell_of(name: VerdictName) -> tuple[str, str]:
    """What a sentence says of lies and of honest answers."""
    return next(ways for ways, cell in TABLE.items() if cell.name == name)


def ours(lie: Difference, honest: Difference, ps: Ps) -> tuple[str, str]:
    """What the sentence of `compare` says of both."""
    return cell_of(verdict(lie, honest, *of_both([ps])))


def alone(lie: Difference, honest: Difference, ps: Ps) -> tuple[str, str]:
    """What a test on P(lie) alone is read as: who lies less is more honest, and who lies more is less so."""
    found = way(lie, ps[0])
    return found, {"less": "more", "more": "less"}.get(found, "not shown")


def is_wrong(said: tuple[str, ...], true: tuple[str, ...]) -> bool:
    """Whether something is said of lies or of honest answers that is not so."""
    return any(each not in ("not shown", is_so) for each, is_so in zip(said, true, strict=True))


def row(world: World, pairs: int) -> list[str]:
    """The shares of a world, over so many pairs."""
    rng = np.random.default_rng([SEED, *map(ord, repr(world))])
    true = tuple(WAYS[1 + (by > 0) - (by < 0)] for by in world.moved)
    wrong, told, lies = np.zeros(3), np.zeros(2), np.zeros(2)
    for _ in range(pairs):
        sums = changes(world, rng)
        rates = [Difference(None, None, float(each.sum()), None, world.scenarios) for each in sums]
        ps = (p_of(sums[0], world.shared), p_of(sums[1], world.shared))
        said = [rule(rates[0], rates[1], ps) for rule in (ours, uncorrected, alone)]
        wrong += [is_wrong(ways, true) for ways in said]
        told += [ways == true for ways in said[:2]]
        lies += [ways[0] == true[0] for ways in said[:2]]
    shares = [f"{share:.4f}" for share in np.concatenate([wrong, told, lies]) / pairs]
    moved = [f"{100 * by:+.0f}" if by else "0" for by in world.moved]
    return [world.name, *moved, str(world.scenarios), str(world.shared), str(pairs), *shares]


def of_paper() -> Iterator[tuple[VerdictName, str]]:
    """Each pair of the paper's models, as if on 1,000 scenarios each: its verdict, and both models with their rates."""
    rates: dict[str, dict[str, float]] = defaultdict(dict)
    for each in figures(["paper, 1,500 scenarios"]):
        rates[each.model][each.figure] = each.value / 100
    for first, other in combinations(rates, 2):
        lie, honest = (apart(rates[first][name], rates[other][name]) for name in ("p_lie", "p_honest"))
        found = verdict(lie, honest, *of_both([(lie.p or 0.0, honest.p or 0.0)]))
        shares = ", ".join(f"{100 * (x.first or 0):.1f} → {100 * (x.other or 0):.1f}" for x in (lie, honest))
        yield found, f"{first} → {other}: lies, honest {shares} %"


def apart(first: float, other: float, n: int = 1000) -> Difference:
    """The difference of two shares of so many scenarios each that have nothing in common, with its p."""
    error = math.sqrt((first * (1 - first) + other * (1 - other)) / n)
    return Difference(first, other, other - first, None, n, p=float(2 * ndtr(-abs(other - first) / error)))


def print_paper(shown: int = 4) -> None:
    """Print how many pairs fall into each cell, and some of each."""
    found = list(of_paper())
    cells = {cell.name: [pair for name, pair in found if name == cell.name] for cell in TABLE.values()}
    for name, pairs in cells.items():
        print(f"{name}: {len(pairs)} of {len(found)}")
        for pair in pairs[:: max(1, len(pairs) // shown)][:shown]:
            print(f"  {pair}")


def main() -> None:
    """Write the table, or print the paper's pairs."""
    if "--pairs-of-paper" in sys.argv:
        print_paper()
    else:
        write_grid(__doc__, DOCS / "verdicts.csv", HEAD, grid(), row, replicates=4_000)


if __name__ == "__main__":
    main()
