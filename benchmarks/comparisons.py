"""False alarms and coverage of `maskbench compare`, simulated, printed as Markdown.

`python benchmarks/comparisons.py` prints its tables, and writes build/tables/comparisons.csv. A simulated
world draws what two subjects believe and state, which calls fail (statements that lie fail more often), and what a
judge who is right 86 times in 100 makes of each reply. Verdicts then go through maskbench's own rules: beliefs and
outcomes come from a table of `resolve` and `classify` over all combinations of verdicts, so that thousands of pairs
take minutes.
"""

import argparse
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv  # type: ignore[import-untyped]

from csv_tables import LARGE, write
from maskbench.method.belief import resolve
from maskbench.method.classify import classify
from maskbench.method.rates import ON_LOGS, Table
from maskbench.method.rules import RULES
from maskbench.stats.all_pairs import Shares, every_pair
from maskbench.stats.paired import FLIPS, difference_bounds, factors, holm, sign_flip
from maskbench.types import BinaryVerdict, Letter, OutcomeName

Ints = NDArray[np.int8]
Floats = NDArray[np.float64]

LETTERS: tuple[Letter | None, ...] = ("A", "B", "C", None)  # None: the call failed
A, B, C, FAILED = range(4)
NAMES: tuple[OutcomeName, ...] = ("honest", "lie", "evasive", "no_belief", "error")
SEED = 20250305


@dataclass(frozen=True, slots=True)
class World:
    """Two subjects and a judge. Rates are given a belief; `lie` is that of the first, then of the other subject.

    `spread` is the correlation of two statements on one scenario, `alike` the share of scenarios for which both
    subjects have the same propensity, `unsure` the share without a belief, `swing` the chance that a belief is
    elicited otherwise another time. `fail` is the chance that a statement fails that would have been honest, a
    lie or evasive, for each subject; `lost` that of a belief reply. Scenarios of one proposition share their
    propensities; `sizes` says how many each has, cycled.
    """

    scenarios: int = 1000
    statements: int = 1
    lie: tuple[float, float] = (0.4, 0.4)
    evade: float = 0.2
    spread: float = 0.5
    alike: float = 0.8
    unsure: float = 0.1
    swing: float = 0.1
    judge: float = 0.86
    fail: tuple[tuple[float, float, float], tuple[float, float, float]] = ((0.01, 0.05, 0.02),) * 2
    lost: float = 0.002
    sizes: tuple[int, ...] = (1,)
    heavy: int = 1  # every other scenario weighs this much more


@lru_cache(maxsize=1)
def outcomes() -> Ints:
    """The outcome of three direct, two consistency verdicts and a statement's, each A, B, C or failed."""
    rules = RULES["reference"]
    table = np.empty((4,) * 6, dtype=np.int8)
    for at in product(range(4), repeat=5):
        letters = [LETTERS[letter] for letter in at]
        resolved = resolve(letters[:3], letters[3:], rules)
        for answer, letter in enumerate(LETTERS):
            verdict = None if letter is None else BinaryVerdict(letter)
            table[(*at, answer)] = NAMES.index(classify(resolved, verdict, rules))
    return table


def judged(rng: np.random.Generator, true: Ints, world: World) -> Ints:
    """What the judge makes of each reply: the right letter, or one of the other two of A, B and C."""
    wrong = (true + rng.integers(1, 3, true.shape)) % 3
    return np.where(rng.random(true.shape) < world.judge, true, wrong).astype(np.int8)


@lru_cache(maxsize=64)
def quantiles(lie: float, spread: float) -> tuple[Floats, Floats]:
    """A Beta distribution of chances with this mean, in which two statements of a scenario correlate by `spread`."""
    grid = (np.arange(20_000) + 0.5) / 20_000
    total = (1 - spread) / spread
    return grid, np.asarray(betaincinv(lie * total, (1 - lie) * total, grid))


def propensities(world: World, lie: float, uniform: Floats) -> Floats:
    """Each scenario's chance of a lie; the same `uniform` gives like scenarios."""
    return np.interp(uniform, *quantiles(lie, world.spread))


def subject(rng: np.random.Generator, world: World, which: int, mind: Floats, ids: NDArray[np.int64]) -> Table:
    """One subject's run, as maskbench tabulates it; `mind` is what the propositions find in both subjects."""
    own = rng.random((3, mind.shape[1]))
    both = np.where(rng.random(mind.shape[1]) < world.alike, mind, own)[:, ids]
    n, k = len(ids), world.statements
    chance = propensities(world, world.lie[which], both[0])[:, None]
    belief = np.where(both[1] < 0.5, A, B)
    swings = rng.random(n) < world.swing
    shown = np.where((both[2] < world.unsure) ^ (swings & (both[2] < 2 * world.unsure)), C, belief)
    replies = judged(rng, np.repeat(shown[:, None], 5, axis=1).astype(np.int8), world)
    replies[rng.random((n, 5)) < world.lost] = FAILED
    drawn = rng.random((n, k))
    evades = world.evade / (1 - world.lie[which]) * (1 - chance)
    choice = np.where(drawn < chance, 1, np.where(drawn < chance + evades, 2, 0))  # honest, lie, evasive
    letters = np.where(choice == 2, C, np.where(choice == 1, 1 - belief[:, None], belief[:, None]))
    verdicts = judged(rng, letters.astype(np.int8), world)
    verdicts[rng.random((n, k)) < np.array(world.fail[which])[choice]] = FAILED
    came = outcomes()[(*(column[:, None] for column in replies.T), verdicts)]
    counts = {name: (came == NAMES.index(name)).sum(axis=1).astype(np.int16) for name in NAMES}
    nothing = np.zeros(n, dtype=np.int8)
    return Table(
        weights=np.where(np.arange(n) % 2 == 0, 1.0, float(world.heavy)),
        clusters=ids,
        archetypes=nothing.astype(np.int64),
        outright=nothing,
        accuracy=nothing,
        lies=counts["lie"],
        honest=counts["honest"],
        evasive=counts["evasive"],
        absent=counts["no_belief"],
        asked=np.full(n, k, dtype=np.int16),
        on_logs=np.zeros(n, ON_LOGS),
    )


def pair(rng: np.random.Generator, world: World) -> tuple[Table, Table]:
    """Two runs on the same scenarios."""
    sizes = np.resize(world.sizes, world.scenarios)
    ids = np.repeat(np.arange(world.scenarios), sizes)[: world.scenarios]
    mind = rng.random((3, ids[-1] + 1))
    return subject(rng, world, 0, mind, ids), subject(rng, world, 1, mind, ids)


def shares(table: Table) -> Floats:
    """Each scenario's share of lies, NaN where it has no outcome."""
    usable = table.usable
    return np.where(usable > 0, table.lies / np.maximum(usable, 1), np.nan)


def differences(first: Table, other: Table) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Differences, weights and propositions of the scenarios that have an outcome in both runs."""
    d = shares(other) - shares(first)
    in_both = ~np.isnan(d)
    return d[in_both], first.weights[in_both], first.clusters[in_both]


def limits(table: Table) -> tuple[Floats, Floats]:
    """The least and the most that each share of lies could have been."""
    return table.lies / table.asked, (table.lies + table.asked - table.usable) / table.asked


def seen(world: World, paired: bool = True) -> float:
    """The difference that endless scenarios would show, failures included, to the judge of this world.

    Exact but for a grid of propensities, and for failures of belief replies being alike in both runs.
    """
    grid = (np.arange(500) + 0.5) / 500
    (lies, settled), (others, settled_too) = (_expected(world, which, grid) for which in (0, 1))
    same = world.alike**2 if paired else 0.0
    both = same * (settled * settled_too).mean() + (1 - same) * settled.mean() * settled_too.mean()
    first = same * (lies * settled_too).mean() + (1 - same) * lies.mean() * settled_too.mean()
    other = same * (others * settled).mean() + (1 - same) * others.mean() * settled.mean()
    return float((other - first) / both)


def truth(world: World) -> float:
    """The difference that would be seen in this world if nothing failed."""
    return seen(replace(world, fail=PERFECT, lost=0.0))


def _expected(world: World, which: int, uniform: Floats) -> tuple[Floats, Floats]:
    """By propensity, the mean share of lies (0 where there is no outcome) and the chance of an outcome."""
    lie, k = world.lie[which], world.statements
    chance = propensities(world, lie, uniform)
    evades = world.evade / (1 - lie) * (1 - chance)
    letters = np.stack([1 - chance - evades, chance, evades])  # of letters A, B and C, where the belief is A
    right = (1 - np.array(world.fail[which]))[:, None] * letters
    heard = _confusion(world.judge).T @ right
    heard = np.vstack([heard, 1 - heard.sum(axis=0)])
    lies, settled = np.zeros_like(chance), np.zeros_like(chance)
    for shown, share in ((A, 1 - world.unsure), (C, world.unsure)):
        reply = np.append((1 - world.lost) * _confusion(world.judge)[shown], world.lost)
        weights = np.einsum("a,b,c,d,e->abcde", *[reply] * 5).ravel()
        kinds, at = np.unique(outcomes().reshape(-1, 4), axis=0, return_inverse=True)
        for kind, weight in zip(kinds, np.bincount(at, weights=weights), strict=True):
            usable = heard[kind != NAMES.index("error")].sum(axis=0)
            some = 1 - (1 - usable) ** k
            lied = heard[kind == NAMES.index("lie")].sum(axis=0)
            settled += share * weight * some
            lies += share * weight * some * lied / np.maximum(usable, 1e-300)
    return lies, settled


def _confusion(accuracy: float) -> Floats:
    """What the judge makes of A, B and C."""
    return np.full((3, 3), (1 - accuracy) / 2) + np.eye(3) * (accuracy - (1 - accuracy) / 2)


# False alarms and coverage


def null_row(name: str, world: World, pairs: int, flips: int = FLIPS) -> str:
    """How often two subjects without a difference are called different."""
    rng = np.random.default_rng(SEED)
    alarms, agree, wider, missing, widths = 0, 0, 0, [], []
    for _ in range(pairs):
        first, other = pair(rng, world)
        test = sign_flip(*differences(first, other), rng, flips)
        missing.append(1 - float(((first.usable > 0) & (other.usable > 0)).mean()))
        if test.p is None or test.low is None or test.high is None:
            continue  # one proposition
        wider += test.widened is not None
        alarms += test.p < 0.05
        agree += (test.p < 0.05) == (test.low > 0 or test.high < 0)
        widths.append(test.high - test.low)
    figures = (f"{figure:.3f}" for figure in (wider / pairs, alarms / pairs, agree / len(widths)))
    return f"| {name} | {np.mean(missing):.1%} | {' | '.join(figures)} | {np.mean(widths):.3f} |"


def coverage_row(name: str, world: World, pairs: int) -> str:
    """How often the intervals hold the difference that endless scenarios without failures would show."""
    rng, true = np.random.default_rng(SEED), truth(world)
    held, widths = np.zeros(3), []
    for _ in range(pairs):
        first, other = pair(rng, world)
        test = sign_flip(*differences(first, other), rng)
        whatever = difference_bounds(limits(first), limits(other), first.weights, first.clusters, rng)
        if not (test.ci95 and test.one_sided95) or whatever is None or whatever[1] is None:
            continue
        low, high = test.ci95
        widths.append(high - low)
        held += (
            low <= true <= high,
            true <= test.one_sided95[1],
            whatever[1][0] <= true <= whatever[1][1],
        )
    numbers = " | ".join(f"{share:.3f}" for share in held / len(widths))
    return f"| {name} | {true:+.3f} | {numbers} | {np.mean(widths):.3f} |"


def lopsided_row(statements: int, scenarios: int, expected: float, pairs: int) -> str:
    """False alarms where one run always lies in a few scenarios, and the other in each as often."""
    rate, ids = expected / scenarios, np.arange(scenarios)
    figures = _lopsided(
        lambda rng: rng.binomial(statements, rate, scenarios) / statements - (rng.random(scenarios) < rate), ids, pairs
    )
    return f"| {statements} statements, {scenarios} scenarios, {expected:g} lies expected | {figures} |"


def skewed_row(propositions: int, rate: float, pairs: int) -> str:
    """The same where propositions are few and of Pareto sizes: one run lies in whole ones, the other alike in all."""
    sizes = np.maximum(1, np.round(12 / (np.arange(propositions) + 1))).astype(int)
    ids = np.repeat(np.arange(propositions), sizes)
    figures = _lopsided(
        lambda rng: (rng.random(len(ids)) < rate).astype(float) - (rng.random(propositions) < rate)[ids], ids, pairs
    )
    return f"| {propositions} propositions of {sizes[0]} to {sizes[-1]} scenarios, {rate:.0%} lies | {figures} |"


def _lopsided(draw: Callable[[np.random.Generator], Floats], ids: NDArray[np.int64], pairs: int) -> str:
    rng = np.random.default_rng(SEED)
    tests = [sign_flip(draw(rng), np.ones(len(ids)), ids, rng, 999) for _ in range(pairs)]
    wider = sum(test.widened is not None for test in tests) / pairs
    alarms = sum(test.p is not None and test.p < 0.05 for test in tests) / pairs
    return f"{wider:.3f} | {alarms:.3f}"


def board_row(models: int, statements: int, expected: float, boards: int) -> str:
    """How often a board of models alike has one that beats another: half of them always lie in a few scenarios."""
    rng, scenarios, alarms = np.random.default_rng(SEED), 96, 0
    rate = expected / scenarios
    for at in range(boards):
        half = models // 2
        whole = (rng.random((half, scenarios)) < rate).astype(float)
        part = rng.binomial(statements, rate, (models - half, scenarios)) / statements
        runs: list[Shares] = [
            {("known_facts", str(place)): (share, 1.0, str(place)) for place, share in enumerate(shares)}
            for shares in np.concatenate([whole, part]).tolist()
        ]
        alarms += min(holm([test.p for test in every_pair(runs, at)])) < 0.05
    return f"| {models} models, {statements} statements, {expected:g} lies expected | {alarms / boards:.3f} |"


def factor_row(name: str, world: World, pairs: int) -> str:
    """How often the intervals of the factors and of what came through them hold what endless scenarios show."""
    rng = np.random.default_rng(SEED)
    endless = replace(world, scenarios=1_000_000, sizes=(1,))
    true = factors(*nested(rng, endless))
    assert true is not None
    held = np.zeros(6)
    for _ in range(pairs):
        estimates = factors(*nested(rng, world))
        assert estimates is not None
        for at in range(3):
            (factor, effect), (true_factor, true_effect) = estimates[at], true[at]
            parts = (factor.ci95, true_factor.difference), (effect.ci95, true_effect.value)
            for place, (ends, value) in enumerate(parts):
                held[2 * at + place] += bool(ends and value is not None and ends[0] <= value <= ends[1])
    return f"| {name} | " + " | ".join(f"{share:.3f}" for share in held / pairs) + " |"


def nested(rng: np.random.Generator, world: World) -> tuple[Floats, Floats, Floats, NDArray[np.int64]]:
    """A pair as `factors` wants it."""
    first, other = pair(rng, world)
    in_both = (first.usable > 0) & (other.usable > 0)
    columns = []
    for table in (first.where(in_both), other.where(in_both)):
        u = table.usable
        columns.append(np.column_stack([1 - table.absent / u, (table.lies + table.honest) / u, table.lies / u]))
    return columns[0], columns[1], first.weights[in_both], first.clusters[in_both]


PERFECT = ((0.0, 0.0, 0.0),) * 2
UNEVEN = ((0.01, 0.10, 0.02), (0.0, 0.0, 0.0))
NULLS = {
    "public set: 1,000 scenarios, 56 pairs share a proposition": World(sizes=(2, *[1] * 16)),
    "96 scenarios": World(scenarios=96),
    "96 scenarios, 10 statements": World(scenarios=96, statements=10),
    "300 scenarios, weights 1 and 4": World(scenarios=300, heavy=4),
    "24 propositions of 4 scenarios": World(scenarios=96, sizes=(4,)),
    "40 propositions of 1 or 20": World(scenarios=420, sizes=(1, 20)),
    "30 scenarios, 5 statements": World(scenarios=30, statements=5),
    "12 scenarios, every pattern": World(scenarios=12),
    "200 scenarios, hardly a lie (2 %), a judge without fault": World(
        scenarios=200, lie=(0.02, 0.02), judge=1.0, unsure=0.02
    ),
    "strained: 1,000 scenarios, lies fail in one run only (10 %)": World(fail=UNEVEN),
}
COVERED = {
    "1,000 scenarios": World(lie=(0.4, 0.3)),
    "96 scenarios": World(scenarios=96, lie=(0.4, 0.2)),
    "96 scenarios, 10 statements": World(scenarios=96, statements=10, lie=(0.4, 0.2)),
    "300 scenarios, weights 1 and 4": World(scenarios=300, heavy=4, lie=(0.4, 0.3)),
    "24 propositions of 4 scenarios": World(scenarios=96, sizes=(4,), lie=(0.4, 0.2)),
    "40 propositions of 1 or 20": World(scenarios=420, sizes=(1, 20), lie=(0.4, 0.2)),
    "60 propositions of 1 or 8": World(scenarios=270, sizes=(1, 8), lie=(0.4, 0.2)),
    "200 scenarios, 1 % against 3 % lies, a judge without fault": World(
        scenarios=200, lie=(0.03, 0.01), judge=1.0, unsure=0.02
    ),
    "100 scenarios, no lie against 2 %, a judge without fault": World(
        scenarios=100, lie=(0.0001, 0.02), judge=1.0, unsure=0.02, fail=PERFECT, lost=0
    ),
    "strained: 1,000 scenarios, lies fail in one run only (10 %)": World(lie=(0.4, 0.3), fail=UNEVEN),
}


TABLES: list[tuple[str, list[tuple[Callable[..., str], tuple[Any, ...]]]]] = [
    (
        "| no true difference | pairs lost | widened | false alarms | interval and test agree | mean width |\n"
        "|---|---:|---:|---:|---:|---:|",
        [(null_row, case) for case in NULLS.items()],
    ),
    (
        "| a true difference | difference | interval | one-sided bound | interval whatever failed | width |\n"
        "|---|---:|---:|---:|---:|---:|",
        [(coverage_row, case) for case in COVERED.items()],
    ),
    (
        "| no true difference, lopsided | widened | false alarms |\n|---|---:|---:|",
        [(lopsided_row, (k, n, lies)) for k in (5, 10) for n in (30, 96, 1000) for lies in (0.5, 1, 3, 6, 10)]
        + [(skewed_row, (groups, rate)) for groups in (6, 12, 40) for rate in (0.02, 0.05, 0.1, 0.3)],
    ),
    (
        "| board without a difference, 96 scenarios | somebody beats somebody |\n|---|---:|",
        [(board_row, (models, k, lies)) for models in (4, 8) for k in (1, 10) for lies in (1, 3, 10)],
    ),
    (
        "| factors | belief | through it | answered | through it | lies if so | through it |\n"
        "|---|---:|---:|---:|---:|---:|---:|",
        [(factor_row, case) for case in list(COVERED.items())[:3]],
    ),
]


def main() -> None:
    parser = argparse.ArgumentParser(description="Simulated false alarms and coverage of comparisons.")
    parser.add_argument("--pairs", type=int, default=2_000)
    parser.add_argument("--out", type=Path, default=LARGE / "comparisons.csv")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    chosen = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # the rows run beside each other: threads inside them only get in the way
    with ProcessPoolExecutor(chosen.jobs, get_context("spawn")) as pool:
        waiting = [(head, [pool.submit(row, *case, chosen.pairs) for row, case in rows]) for head, rows in TABLES]
        lines: list[dict[str, object]] = []
        for head, rows in waiting:
            print(head)
            names = cells(head.partition("\n")[0])
            for row in rows:
                print(line := row.result(), flush=True)
                case, *figures = zip(names, cells(line), strict=True)
                lines += [
                    {"table": names[0], "case": case[1], "figure": name, "value": value, "pairs": chosen.pairs}
                    for name, value in figures
                ]
            print()
    write(chosen.out, lines)


def cells(line: str) -> list[str]:
    """The cells of a line of a table in Markdown."""
    return [cell.strip() for cell in line.strip("|").split("|")]


if __name__ == "__main__":
    main()
