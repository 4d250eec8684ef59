"""How often `--until` decides wrongly on the grid of until_worlds.py, and how many scenarios it takes, written as CSV.

`python benchmarks/until.py` writes docs/until.csv: a row a cell, 10,000 seeded replicates each (2,000 of 1,000
propositions), each in a random order of its propositions and looked at after every one. `wrong` is the share of wrong
decisions; in a cell whose rate is the limit itself `passed` and `failed` each have to stay at 5 %. `fixed` is the
smallest design of a fixed size with 5 % of errors each way, and `finished_first` what would be wrong if one looked at
propositions in the order in which they end. `--check` fails where more than 5 % are wrong, but for what 10,000
replicates cannot tell.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csv_tables import write
from maskbench.method.until import BY_LIES, MIN_HONEST
from maskbench.stats.betting import LEVEL, Bet, Whole, fixed_design
from maskbench.stats.group_sequential import DISCORDANT, Pairs, critical, looks, statistic
from until_worlds import Cell, Drawn, cells, draw

Floats = NDArray[np.float64]
TABLE = Path(__file__).parents[1] / "docs" / "until.csv"
SEED, REPLICATES, FEWER, AT_A_TIME = 20251122, 10_000, 2_000, 2_000
PASSED, FAILED, OPEN = 1, -1, 0
NOISE = 3  # standard errors of a simulated share
HEAD = ("limit", "rate", "claim", "propositions", "sizes", "alike", "subject", "latency", "baseline", "coupled")


class Ordered(NamedTuple):
    """A cell's draws in the order in which they are looked at, a row a replicate."""

    weights: Floats
    lies: Floats
    honest: Floats
    before: Floats | None
    discordant: Floats | None


def ordered(drawn: Drawn, sizes: NDArray[np.int64], order: NDArray[np.intp]) -> Ordered:
    """Put the propositions into an order, one a replicate."""

    def turned(values: NDArray[np.int64] | None) -> Floats | None:
        return None if values is None else np.take_along_axis(values, order, axis=1).astype(np.float64)

    weights = sizes[order].astype(np.float64)
    lies, honest = (
        np.take_along_axis(values, order, axis=1).astype(np.float64) for values in (drawn.lies, drawn.honest)
    )
    return Ordered(weights, lies, honest, turned(drawn.before), turned(drawn.discordant))


class Lies:
    """Lies against a limit, as `method.until` has it, many replicates beside each other."""

    def __init__(self, cell: Cell, seen: Ordered, whole: Whole | None) -> None:
        """Begin with nothing seen."""
        limits, largest = np.full(len(seen.lies), cell.limit), float(cell.counts.max())
        self._seen, self._whole = seen, whole
        self._below, self._above = (Bet(limits, largest, whole, above=above) for above in (False, True))

    def see(self, at: int, alive: NDArray[np.intp]) -> tuple[NDArray[np.bool_], Floats]:
        """Whether lies are below the limit, and what the bet has come to that they are above."""
        for bet in (self._below, self._above):
            bet.see(self._seen.lies[alive, at], self._seen.weights[alive, at])
        below = self._below.most >= 1 / LEVEL
        is_known = self._whole is not None and at + 1 == self._whole.propositions  # the rate of this set
        return below, np.where(~below & is_known, np.inf, self._above.wealth)

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Go on with these."""
        self._below.keep(which)
        self._above.keep(which)


class Against:
    """Lies against a baseline's, as `method.until` has it, many replicates beside each other."""

    def __init__(self, cell: Cell, seen: Ordered) -> None:
        """Begin with nothing seen."""
        if seen.before is None or seen.discordant is None:
            raise ValueError("There is no baseline.")
        more = (seen.lies - seen.before + seen.discordant) / 2
        self._pairs = Pairs(more, more - (seen.lies - seen.before), seen.weights)
        self._margin, self._all = cell.limit, seen.lies.shape[1]
        self._looks = looks(self._all)
        differ = seen.discordant.cumsum(axis=1)[:, np.array(self._looks) - 1] >= DISCORDANT
        self._first = np.where(differ.any(axis=1), differ.argmax(axis=1), len(self._looks))
        self._below = np.zeros(len(more), dtype=bool)

    def see(self, at: int, alive: NDArray[np.intp]) -> tuple[NDArray[np.bool_], Floats]:
        """Whether lies are below the margin, and infinity where they are above it."""
        above = np.zeros(len(alive))
        if at + 1 in self._looks:
            look = self._looks.index(at + 1)
            here = Pairs(*(getattr(self._pairs, name)[alive, : at + 1] for name in Pairs.__slots__))
            score = statistic(here, np.full(len(alive), self._margin))
            for first in range(look + 1):
                began = self._first[alive] == first
                if began.any():
                    shares = tuple(place / self._all for place in self._looks[first:])
                    self._below[alive[began & (score <= -critical(shares)[look - first])]] = True
                    above[began & (score >= critical(shares, LEVEL * BY_LIES)[look - first])] = np.inf
        return self._below[alive], above

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Go on with these."""


def decisions(cell: Cell, seen: Ordered) -> tuple[NDArray[np.int8], Floats]:
    """The decision of every replicate, and how many scenarios it had looked at."""
    replicates, propositions = seen.lies.shape
    whole = Whole(propositions, float(cell.counts.sum())) if cell.claim == "set" else None
    floor, largest = np.full(replicates, MIN_HONEST), float(cell.counts.max())
    lies = Against(cell, seen) if cell.baseline is not None else Lies(cell, seen, whole)
    enough, rare = Bet(floor, largest, whole, above=True), Bet(floor, largest, whole)
    verdicts, used = np.zeros(replicates, dtype=np.int8), seen.weights.sum(axis=1)
    alive = np.arange(replicates)
    for at in range(propositions):
        below, above = lies.see(at, alive)
        for bet in (enough, rare):
            bet.see(seen.honest[alive, at], seen.weights[alive, at])
        failed = BY_LIES * above + (1 - BY_LIES) * rare.wealth >= 1 / LEVEL
        passed = below & (enough.most >= 1 / LEVEL) & ~failed
        done = failed | passed
        if not done.any():
            continue
        verdicts[alive[failed]], verdicts[alive[passed]] = FAILED, PASSED
        used[alive[done]] = seen.weights[alive[done], : at + 1].sum(axis=1)
        alive = alive[~done]
        for kept in (lies, enough, rare):
            kept.keep(~done)
        if not len(alive):
            break
    return verdicts, used


def wrong(cell: Cell, seen: Ordered, verdicts: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Which decisions are wrong: about the population, or about each set that was drawn."""
    total = cell.counts.sum()
    if cell.claim == "set":
        rate, honest = seen.lies.sum(axis=1) / total, seen.honest.sum(axis=1) / total
    else:
        rate, honest = np.full(len(verdicts), cell.truth), np.full(len(verdicts), (1 - cell.truth) * cell.honest)
    limit = cell.limit + (cell.baseline or 0.0)
    good = (rate < limit - 1e-9) & (honest >= MIN_HONEST - 1e-9)
    return np.asarray((good & (verdicts == FAILED)) | (~good & (verdicts == PASSED)))


def row(cell: Cell, replicates: int, rng: np.random.Generator) -> dict[str, object]:
    """A cell with its decisions and what they took, drawn in parts that fit into memory."""
    sums, used, first_wrong = np.zeros(3), 0.0, 0
    for at in range(0, replicates, AT_A_TIME):
        drawn = draw(cell, min(AT_A_TIME, replicates - at), rng)
        places = np.broadcast_to(np.arange(cell.propositions), drawn.lies.shape)
        seen = ordered(drawn, cell.counts, rng.permuted(places, axis=1))
        verdicts, scenarios = decisions(cell, seen)
        sums += (verdicts == PASSED).sum(), (verdicts == FAILED).sum(), wrong(cell, seen, verdicts).sum()
        used += float(scenarios.sum())
        if cell.latency:
            ended = ordered(drawn, cell.counts, np.argsort(drawn.finished, axis=1))
            first_wrong += int(wrong(cell, ended, decisions(cell, ended)[0]).sum())
    alone = cell.sizes == "1" and cell.subject == "plain" and cell.baseline is None and cell.truth != cell.limit
    values = (cell.limit, round(cell.truth, 4), cell.claim, cell.propositions, cell.sizes, cell.alike, cell.subject)
    return {
        **dict(zip(HEAD, (*values, cell.latency, cell.baseline, cell.coupled), strict=True)),
        "replicates": replicates,
        **{
            name: f"{count / replicates:.4f}"
            for name, count in zip(("passed", "failed", "wrong"), sums.tolist(), strict=True)
        },
        "undecided": f"{1 - (sums[0] + sums[1]) / replicates:.4f}",
        "scenarios": f"{used / replicates:.1f}",
        "of": int(cell.counts.sum()),
        "fixed": (fixed_design(cell.limit, cell.truth) if alone and cell.claim == "population" else None) or "",
        "finished_first": f"{first_wrong / replicates:.4f}" if cell.latency else "",
    }


def table(replicates: int) -> Iterator[dict[str, object]]:
    """Every cell's row, each from a seed of its own."""
    for number, cell in enumerate(cells()):
        many = min(replicates, FEWER) if cell.propositions > 500 else replicates
        yield row(cell, many, np.random.default_rng([SEED, number]))


def too_often(each: dict[str, object]) -> bool:
    """Whether more than 5 % of the decisions are wrong, by more than chance."""
    noise = NOISE * (LEVEL * (1 - LEVEL) / int(str(each["replicates"]))) ** 0.5
    at_limit = each["baseline"] is None and each["limit"] == each["rate"] and each["claim"] == "population"
    names = ("passed", "failed") if at_limit and each["subject"] == "plain" else ("wrong",)
    return any(float(str(each[name])) > LEVEL + noise for name in names)


def main() -> None:
    """Write the table, and say where it is wrong too often."""
    parser = argparse.ArgumentParser(description="Wrong decisions of --until on the grid.")
    parser.add_argument("--replicates", type=int, default=REPLICATES)
    parser.add_argument("--out", type=Path, default=TABLE)
    parser.add_argument("--check", action="store_true", help="fail where more than 5 % are wrong")
    chosen = parser.parse_args()
    rows = list(table(chosen.replicates))
    write(chosen.out, rows)
    often = [each for each in rows if too_often(each)]
    for each in often:
        print(*(each[name] for name in (*HEAD, "passed", "failed", "wrong")), sep=", ")
    print(f"{len(rows)} cells, {len(often)} in which more than 5 % are wrong.")
    if chosen.check and often:
        sys.exit(1)


if __name__ == "__main__":
    main()
