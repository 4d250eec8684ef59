"""How often maskbench's intervals hold the truth where arms share their beliefs, on the grid of shared_worlds.py.

`python benchmarks/shared_beliefs.py` writes docs/shared_beliefs.csv, a row a cell: how often the paired interval of the
difference holds the true difference, how often each arm's own interval holds its rate, how wide the difference is
beside that of arms with beliefs of their own, and how often the interval of the arms' average holds, taken as if they
were independent, and by scenario. Rates have 10,000 seeded replicates a cell (4,000 with 1,000 scenarios);
differences 1,000, since each draws sign patterns, and widths with own beliefs 200. Then it prints what the best of
several equal arms seems to be worth.
`--check` fails where a difference or a rate covers less than 0.93.
"""

import argparse
import csv
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from csv_tables import write
from maskbench.stats.paired import sign_flip
from rate_grid import Seen, ratio_at_once
from rate_worlds import SIZES
from rate_worlds import Cell as Rows
from shared_worlds import Cell, cells, choices, draw, moved, truth

Floats = NDArray[np.float64]
TABLE = Path(__file__).parents[1] / "docs" / "shared_beliefs.csv"
SEED, RATES, FEWER, DIFFERENCES, OWN, AT_A_TIME, FLIPS = 20250305, 10_000, 4_000, 1_000, 200, 500, 1_999
LEAST = 0.93
HEAD = ("design", "pressed", "wavering", "statements", "p_lie_first", "p_lie_other")
FIGURES = (
    *("difference", "first", "other", "average_as_independent", "average_by_scenario"),
    *("width_shared", "width_own"),
)


def _rows(cell: Cell, replies: int) -> Rows:
    """The cell as `rate_grid` has it: sizes of propositions, and how many replies each of their scenarios has."""
    SIZES[cell.design] = tuple(cell.sizes.tolist())
    return Rows(cell.design, 0.0, replies, "", "")


def figures(cell: Cell, replicates: int, differences: int, rng: np.random.Generator) -> dict[str, float]:
    """Every figure of a cell on two arms."""
    true = truth(cell, np.random.default_rng(SEED))
    seen: dict[str, list[float]] = {name: [] for name in FIGURES}
    for at in range(0, replicates, AT_A_TIME):
        drawn = draw(cell, min(AT_A_TIME, replicates - at), rng, anew=at < OWN)
        for name, held in _rates(cell, drawn.shared, true):
            seen[name] += held.tolist()
        for row in range(max(0, min(len(drawn.shared), differences - at))):
            low, high = _difference(cell, drawn.shared[row])
            seen["difference"].append(low <= true[1] - true[0] <= high)
            seen["width_shared"].append(high - low)
            if at + row < OWN and drawn.own is not None:
                low, high = _difference(cell, drawn.own[row])
                seen["width_own"].append(high - low)
    both = {"p_lie_first": true[0], "p_lie_other": true[1]}
    return both | {name: float(np.mean(values)) for name, values in seen.items()}


def _rates(cell: Cell, lies: NDArray[np.int64], true: tuple[float, ...]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Whether the intervals of both arms and of their average hold, an entry a replicate."""
    starts = np.concatenate([[0], np.cumsum(cell.sizes)[:-1]])
    by_proposition = np.add.reduceat(lies, starts, axis=2)
    alone = [Seen(by_proposition[:, arm], _rows(cell, cell.statements)) for arm in range(2)]
    ends = [ratio_at_once(arm) for arm in alone]
    for name, (low, high), value in zip(("first", "other"), ends, true, strict=True):
        yield name, (low <= value) & (value <= high)
    average, middle = sum(true) / 2, (alone[0].p + alone[1].p) / 2
    below = np.hypot(*(arm.p - low for arm, (low, _) in zip(alone, ends, strict=True))) / 2
    above = np.hypot(*(high - arm.p for arm, (_, high) in zip(alone, ends, strict=True))) / 2
    yield "average_as_independent", (middle - below <= average) & (average <= middle + above)
    low, high = ratio_at_once(Seen(by_proposition.sum(axis=1), _rows(cell, 2 * cell.statements)))
    yield "average_by_scenario", (low <= average) & (average <= high)


def _difference(cell: Cell, lies: NDArray[np.int64]) -> tuple[float, float]:
    """The paired interval of one replicate, as `compare` has it."""
    shares = lies / cell.statements
    ids = np.repeat(np.arange(len(cell.sizes)), cell.sizes)
    test = sign_flip(shares[1] - shares[0], np.ones(len(ids)), ids, np.random.default_rng(SEED), FLIPS)
    if test.low is None or test.high is None:
        raise ValueError("A cell with one proposition carries no interval.")
    return test.low, test.high


def checked(cell: Cell, replicates: int, rng: np.random.Generator) -> tuple[float, float]:
    """Where beliefs moved: how often the interval on shared beliefs holds, and what share the check finds changed."""
    held, found, lies = [], [], []
    for _ in range(replicates):
        drawn = draw(cell, 1, rng, anew=True)
        if drawn.own is None or drawn.changed is None:
            raise ValueError("The arms were not drawn anew.")
        held.append(_difference(cell, drawn.shared[0]))
        lies.append(drawn.own[0].mean(axis=1) / cell.statements)
        found.append(float(drawn.changed[0, ::20].mean()))
    first, other = np.mean(lies, axis=0)
    return float(np.mean([low <= other - first <= high for low, high in held])), float(np.mean(found))


def chosen(cell: Cell, replicates: int, rng: np.random.Generator) -> tuple[float, float, float]:
    """How far the best of equal arms seems to be below the truth, in points: shared, own, and asked anew."""
    true = truth(cell, np.random.default_rng(SEED))[0]
    sums = np.zeros(3)
    for at in range(0, replicates, AT_A_TIME):
        drawn = draw(cell, min(AT_A_TIME, replicates - at), rng, anew=True)
        if drawn.own is None or drawn.fresh is None:
            raise ValueError("The arms were not drawn anew.")
        shared, own, fresh = (lies.mean(axis=2) for lies in (drawn.shared, drawn.own, drawn.fresh))
        best = shared.argmin(axis=1)
        sums += [shared.min(axis=1).sum(), own.min(axis=1).sum(), fresh[np.arange(len(best)), best].sum()]
    low, middle, high = 100 * (sums / replicates - true)
    return float(low), float(middle), float(high)


def main() -> None:
    """Write the table, print the choices, and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=RATES)
    parser.add_argument("--differences", type=int, default=DIFFERENCES)
    parser.add_argument("--out", type=Path, default=TABLE)
    parser.add_argument("--check", action="store_true", help="fail where a difference or a rate covers less than 0.93")
    given = parser.parse_args()
    low = []
    with given.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*HEAD, *FIGURES])
        for place, cell in enumerate(cells()):
            most = given.replicates if int(cell.sizes.sum()) < 1000 else min(FEWER, given.replicates)
            found = figures(cell, most, given.differences, np.random.default_rng([SEED, place]))
            name = (cell.design, "/".join(map(str, cell.pressed)), cell.wavering, cell.statements)
            writer.writerow([*name, *(f"{found[figure]:.4f}" for figure in (*HEAD[4:], *FIGURES))])
            low += [(name, figure) for figure in FIGURES[:3] if found[figure] < LEAST]
    lines: list[dict[str, object]] = []
    for cell in moved():
        coverage, share = checked(cell, given.differences, np.random.default_rng(SEED))
        told = {"pressed": "/".join(map(str, cell.pressed)), "wavering": cell.wavering, "moved": cell.moved}
        lines.append({**told, "difference": f"{coverage:.3f}", "check": f"{share:.3f}", "pairs": given.differences})
        print(f"{told}: the difference holds in {coverage:.3f}, the check finds {share:.1%} of beliefs changed")
    write(given.out.with_stem(f"{given.out.stem}_moved"), lines)
    for cell in choices():
        shared, own, fresh = chosen(cell, given.replicates, np.random.default_rng(SEED))
        print(
            f"best of {len(cell.pressed)} equal arms, {100 * cell.wavering:.0f} % wavering: {shared:+.1f} points on "
            f"shared beliefs, {own:+.1f} on own ones, {fresh:+.1f} measured once more"
        )
    for name, figure in low:
        print(f"below {LEAST}: {figure} in {name}")
    if given.check and low:
        sys.exit(1)


if __name__ == "__main__":
    main()
