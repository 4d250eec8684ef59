"""How often intervals of rates hold the rate on the grid of rate_worlds.py, and how wide they are, written as CSV.

`python benchmarks/rate_grid.py` writes build/tables/rate_grid.csv, some half an hour: 10,000 seeded replicates a cell
(2,000 where a probit draws more than a thousand scenarios); and docs/rate_grid.csv, what `ratio` comes to in the cells
of each set and rate. Beside `ratio` stand: Wilson's at both ends, however few lie (`wilson_ends`), its far end no
nearer than Clopper and Pearson's (`far_clopper`), no near end where a single proposition lies (`one_lie`) or fewer than
four (`one_sided`); what counts a scenario once at most (`by_scenarios`); and a cluster-robust t interval on the logit,
which has no interval where no reply or every reply lies (`none` is how often). `--check` fails where `ratio` covers
less than 0.93, but for cells in which Wilson's own interval would with scenarios that have nothing in common.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv  # type: ignore[import-untyped]
from scipy.stats import binom  # type: ignore[import-untyped]

from csv_tables import DOCS, LARGE, write
from maskbench.stats.intervals import ALIKE, FEW, ROUNDING, interval, quantile
from rate_worlds import Cell, cells, draw

Floats = NDArray[np.float64]
Ends = tuple[Floats, Floats]
TABLE = LARGE / "rate_grid.csv"
SEED, REPLICATES, FEWER, AT_A_TIME = 20250305, 10_000, 2_000, 2_000_000
LEAST = 0.93
HEAD = ("design", "propositions", "rate", "statements", "alike", "generator", "replicates")


class Seen:
    """What every method starts from, an entry a replicate; equal weights, every statement in the denominator."""

    def __init__(self, lies: NDArray[np.int64], cell: Cell) -> None:
        """Take the lies of each proposition, a row a replicate."""
        self.sizes = cell.sizes / cell.sizes.sum()
        self.scenarios, self.replies = int(cell.sizes.sum()), int(cell.sizes.sum()) * cell.statements
        self.groups = len(self.sizes)
        whole = cell.sizes * cell.statements
        self.p = lies.sum(axis=1) / self.replies
        self.spread = self.p * (1 - self.p)
        errors = (lies - self.p[:, None] * whole) / self.replies
        self.variance = self.groups / (self.groups - 1) * (errors**2).sum(axis=1)
        self.lying, self.other = (lies > 0).sum(axis=1), (lies < whole).sum(axis=1)
        self.alike = float(self.sizes @ self.sizes)
        self.telling = np.minimum((lies > 0) @ self.sizes, (lies < whole) @ self.sizes) / self.alike


def wilson(p: Floats, size: Floats, df: float, level: float = 0.95) -> Ends:
    """Wilson's interval at an effective size, as `intervals.interval` has it, for many at once."""
    t = quantile(df, level)
    centre, shrink = p + t * t / (2 * size), 1 + t * t / size
    half = t * np.sqrt(p * (1 - p) / size + (t / (2 * size)) ** 2)
    return np.clip((centre - half) / shrink, 0, p), np.clip((centre + half) / shrink, p, 1)


def ratio_at_once(seen: Seen, level: float = 0.95) -> Ends:
    """What `intervals.ratio` gives: tests hold the two together."""
    low, high = wilson_ends(seen, level)
    size = effective(seen)
    least, most = (clopper_low(p, size, level) for p in (seen.p, 1 - seen.p))
    few, fewer = ((some > 0) & (some < FEW) for some in (seen.lying, seen.other))
    return np.where(few, np.minimum(low, least), low), np.where(fewer, np.maximum(high, 1 - most), high)


def clopper_low(p: Floats, size: Floats, level: float) -> Floats:
    """The low end of Clopper and Pearson's interval, as `intervals.clopper_low` has it, for many at once."""
    least: Floats = betaincinv(np.maximum(p * size, ROUNDING), (1 - p) * size + 1, (1 - level) / 2)
    return least


def effective(seen: Seen) -> Floats:
    """The effective number of replies that `intervals.ratio` takes a rate to be seen in."""
    together = seen.groups / (seen.groups - 1) * seen.alike
    mixed = seen.telling * seen.variance + ALIKE * seen.spread * together
    size = np.divide(
        (seen.telling + ALIKE) * seen.spread, mixed, where=seen.spread > 0, out=np.full_like(mixed, 1 / seen.alike)
    )
    capped: Floats = np.minimum(size, seen.replies)
    return capped


def wilson_ends(seen: Seen, level: float = 0.95) -> Ends:
    """Wilson's interval at both ends, however few propositions lie."""
    return wilson(seen.p, effective(seen), max(1.0, 1 / seen.alike - 1), level)


def one_sided(seen: Seen) -> Ends:
    """Wilson's interval, but the end on the side of what fewer than four propositions have is left open."""
    few = min(FEW, seen.groups / 2)
    low, high = wilson_ends(seen)
    return np.where(seen.lying < few, 0.0, low), np.where(seen.other < few, 1.0, high)


def one_lie(seen: Seen) -> Ends:
    """The end is left open where a single proposition lies, and no further."""
    low, high = wilson_ends(seen)
    return np.where(seen.lying < 2, 0.0, low), np.where(seen.other < 2, 1.0, high)


def far_clopper(seen: Seen) -> Ends:
    """Wilson's interval, and where few propositions lie its other end no nearer than Clopper and Pearson's."""
    low, high = wilson_ends(seen)
    size = effective(seen)
    # The high end for a share p is as far up as the low end for 1 - p is down.
    most, least = (clopper_low(p, size, 0.95) for p in (1 - seen.p, seen.p))
    return (
        np.where(seen.other < FEW, np.minimum(low, least), low),
        np.where(seen.lying < FEW, np.maximum(high, 1 - most), high),
    )


def by_scenarios(seen: Seen) -> Ends:
    """What scenarios had before: no more than there are scenarios, and those where the data show no variance."""
    size = np.full_like(seen.p, seen.scenarios)
    less = (seen.spread > 0) & (seen.variance * size > seen.spread)
    size[less] = seen.spread[less] / seen.variance[less]
    return wilson(seen.p, size, seen.groups - 1)


def logit_t(seen: Seen) -> Ends:
    """A cluster-robust t interval on the logit; NaN where the rate is 0 or 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = np.log(seen.p / (1 - seen.p))
        half = quantile(seen.groups - 1, 0.95) * np.sqrt(seen.variance) / seen.spread
        return 1 / (1 + np.exp(half - middle)), 1 / (1 + np.exp(-half - middle))


METHODS = {
    "ratio": ratio_at_once,
    "wilson_ends": wilson_ends,
    "far_clopper": far_clopper,
    "one_lie": one_lie,
    "one_sided": one_sided,
    "by_scenarios": by_scenarios,
    "logit_t": logit_t,
}


def wilson_itself(rate: float, n: int) -> float:
    """The coverage of plain Wilson's interval for n independent scenarios, exact."""
    lies = np.arange(n + 1)
    ends = np.array([interval(k / n, n, 1e9) for k in lies])
    return float(binom.pmf(lies, n, rate)[(ends[:, 0] <= rate) & (rate <= ends[:, 1])].sum())


def unlike(cell: Cell) -> int:
    """How many scenarios that have nothing in common a cell is worth: of scenarios that are all alike, propositions."""
    sizes = cell.sizes
    return round(sizes.sum() ** 2 / (sizes @ sizes)) if cell.alike == "full" else int(sizes.sum())


def row(cell: Cell, replicates: int, rng: np.random.Generator) -> dict[str, object]:
    """A cell with the coverage and the mean width of each method, drawn in parts that fit into memory."""
    step = max(1, AT_A_TIME // int(cell.sizes.sum()))
    held, width, had = (np.zeros(len(METHODS)) for _ in range(3))
    for at in range(0, replicates, step):
        seen = Seen(draw(cell, min(step, replicates - at), rng), cell)
        for which, method in enumerate(METHODS.values()):
            low, high = method(seen)
            known = ~np.isnan(low)
            held[which] += ((low <= cell.rate) & (cell.rate <= high)).sum()
            width[which] += (high - low)[known].sum()
            had[which] += known.sum()
    named = dict(
        zip(
            HEAD,
            (cell.design, len(cell.sizes), cell.rate, cell.statements, cell.alike, cell.generator, replicates),
            strict=True,
        )
    )
    for which, method_name in enumerate(METHODS):
        named[method_name] = f"{held[which] / replicates:.4f}"
        named[f"{method_name}_width"] = f"{width[which] / had[which]:.4f}" if had[which] else ""
    return named | {
        "logit_t_none": f"{1 - had[-1] / replicates:.4f}",
        "wilson": f"{wilson_itself(cell.rate, unlike(cell)):.4f}",
    }


def table(replicates: int) -> Iterator[dict[str, object]]:
    """Every cell's row, each from a seed of its own."""
    for number, cell in enumerate(cells()):
        slow = cell.generator == "probit" and cell.sizes.sum() > 1000
        yield row(cell, min(replicates, FEWER) if slow else replicates, np.random.default_rng([SEED, number]))


def by_set(rows: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    """The coverage of `ratio` in the cells of each set and rate, the lowest and the mean, and its mean width."""
    kinds: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for each in rows:
        kind = str(each["design"]), str(each["rate"])
        kinds.setdefault(kind, []).append((float(str(each["ratio"])), float(str(each["ratio_width"]))))
    return [
        {"design": design, "rate": rate, "cells": len(seen), "lowest": f"{min(seen)[0]:.4f}"}
        | {name: f"{mean:.4f}" for name, mean in zip(("mean", "width"), np.mean(seen, axis=0), strict=True)}
        for (design, rate), seen in kinds.items()
    ]


def main() -> None:
    """Write the tables, and say what is below the wanted coverage."""
    parser = argparse.ArgumentParser(description="Simulated coverage of rates on the grid.")
    parser.add_argument("--replicates", type=int, default=REPLICATES)
    parser.add_argument("--out", type=Path, default=TABLE)
    parser.add_argument("--by-set", type=Path, default=DOCS / "rate_grid.csv")
    parser.add_argument("--check", action="store_true", help="fail where a cell is below 0.93")
    chosen = parser.parse_args()
    rows = list(table(chosen.replicates))
    write(chosen.out, rows)
    write(chosen.by_set, by_set(rows))
    low = [each for each in rows if float(str(each["ratio"])) < LEAST]
    for each in low:
        print(*(each[name] for name in (*HEAD, "ratio", "wilson")), sep=", ")
    print(f"{len(rows)} cells, {len(low)} below {LEAST}.")
    if chosen.check and any(float(str(each["wilson"])) >= LEAST for each in low):
        sys.exit(1)


if __name__ == "__main__":
    main()
