"""What cheaper designs save, and whether `maskbench plan` keeps its promises: simulated, written as CSV.

`python benchmarks/fewer_calls.py` writes docs/fewer_calls.csv and prints it as Markdown: six tasks, each as it was done
before and by the designs of today, with calls, money, and coverage or shares of right and wrong decisions. With
`--plans` it writes docs/plans.csv: for each cell what was promised, and what came of it. Data come from
call_worlds.py, which knows neither plan nor design; no model is asked. Some minutes each.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from call_worlds import (
    DIFFERENCES,
    GATES,
    HALF_WIDTHS,
    LIMIT,
    PROVIDED,
    STATISTICS,
    TASKS,
    WANTED,
    C,
    Drawn,
    World,
    again,
    draw,
    lying,
    rate,
)
from csv_tables import DOCS, write
from maskbench.method.enough import possible_lies
from maskbench.models.prices import packaged
from maskbench.results.designs import (
    JUDGE,
    SUBJECT,
    Basis,
    Offer,
    Work,
    priced,
    prices_of,
    scenarios,
    shared_beliefs,
    whole,
)
from maskbench.results.designs_json import Goal
from maskbench.stats.paired import chance
from maskbench.stats.power import Runs, Split, assumed, split
from maskbench.stats.precision import PASSES
from maskbench.types import Letter
from rate_grid import Seen, ratio_at_once

Floats = NDArray[np.float64]

SEED, REPLICATES, PAIRS, AT_A_TIME = 20261122, 10_000, 2_000, 60_000
PILOTS, PILOT, ALIKE = 20, (200, 3), 0.8
PRICED = {SUBJECT: "openai/gpt-4.1-mini", JUDGE: "openai/gpt-4o"}


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many scenarios each proposition of a world has, in a run of so many, and the statements of a scenario."""

    sizes: NDArray[np.int64]
    statements: int


def in_parts(world: World, replicates: int, n: int, rng: np.random.Generator) -> Iterator[Drawn]:
    """So many runs, drawn in parts that fit into memory."""
    step = max(1, AT_A_TIME // n)
    for at in range(0, replicates, step):
        yield draw(world, min(step, replicates - at), n, rng)


def by_proposition(values: Floats, drawn: Drawn) -> Floats:
    """Sums over the scenarios of each proposition, which stand side by side."""
    starts = np.flatnonzero(np.diff(drawn.propositions, prepend=-1))
    return np.asarray(np.add.reduceat(values, starts, axis=1))


def interval(drawn: Drawn, level: float = 0.95) -> tuple[Floats, Floats]:
    """The interval of P(lie) in each replicate, as maskbench prints it."""
    statements = drawn.statements.shape[-1]
    lies = np.rint(by_proposition(drawn.lies * statements, drawn)).astype(np.int64)
    cell = Sizes(np.bincount(drawn.propositions), statements)
    return ratio_at_once(Seen(lies, cell), level)  # type: ignore[arg-type]


# What a plan promises, and what comes of it


def measured(drawn: Drawn, other: Drawn | None = None) -> Split:
    """The split of a pilot's variance, as `plan --from` measures it: of the first replicate."""
    runs = [each.lies[0] for each in (drawn, other) if each is not None]
    counts = np.full((len(runs), len(runs[0])), float(drawn.statements.shape[-1]))
    subjects = tuple(range(len(runs)))
    return split(Runs(np.array(runs), counts, counts, subjects, np.ones(len(runs[0])), drawn.propositions))


def planned(goal: Goal, p: float, statements: int, parts: Split) -> int:
    """How many scenarios `plan --from PILOT --p-lie P` says for the whole protocol."""
    return scenarios(Basis(split=parts).with_rate(p), goal, statements)


def pilots(world: World, other: World | None, rng: np.random.Generator) -> Iterator[Split]:
    """Pilots of these subjects, each on scenarios of its own."""
    size, statements = PILOT
    for _ in range(PILOTS):
        first = draw(replace(world, statements=statements), 1, size, rng)
        second = again(first, replace(other, statements=statements), rng, alike=ALIKE) if other else None
        yield measured(first, second)


def half_width_row(half: float, p: float, statements: int, replicates: int) -> dict[str, object]:
    """Whether intervals are as narrow as promised, and hold the rate."""
    rng, world = np.random.default_rng([SEED, 1, int(1e4 * half), int(100 * p), statements]), lying(p)
    sizes = [planned(Goal("half_width", half), p, statements, parts) for parts in pilots(world, None, rng)]
    world, true = replace(world, statements=statements), rate(world)
    reached, held = [], []
    for n in sizes:
        for drawn in in_parts(world, replicates // PILOTS, n, rng):
            low, high = interval(drawn)
            reached.append((high - low) / 2)
            held.append((low <= true) & (true <= high))
    mean = float(np.concatenate(reached).mean())
    return _promise(f"± {100 * half:g} points", p, statements, sizes, half, mean, float(np.concatenate(held).mean()))


def gate_row(limit: float, p: float, statements: int, replicates: int) -> dict[str, object]:
    """How often a run passes that is to pass, and one that is just at the limit."""
    rng, world = np.random.default_rng([SEED, 2, int(100 * limit), int(100 * p), statements]), lying(p)
    sizes = [planned(Goal("gate", limit), p, statements, parts) for parts in pilots(world, None, rng)]
    passes = []
    for each in (world, lying(limit)):
        each = replace(each, statements=statements)
        drawn = (part for n in sizes for part in in_parts(each, replicates // PILOTS, n, rng))
        passes.append(float(np.concatenate([interval(part, 0.9)[1] < limit for part in drawn]).mean()))
    return _promise(f"p_lie < {limit:g}", p, statements, sizes, PASSES, passes[0], passes[1])


def difference_row(p: float, difference: float, statements: int, pairs: int) -> dict[str, object]:
    """How often a difference is shown that is there, and one that is not."""
    rng = np.random.default_rng([SEED, 3, int(100 * p), int(100 * difference), statements])
    first, second = lying(p), lying(p - difference)
    goal = Goal("difference", difference)
    sizes = [planned(goal, (2 * p - difference) / 2, statements, parts) for parts in pilots(first, second, rng)]
    first, second = (replace(each, statements=statements) for each in (first, second))
    shown = [
        float(np.concatenate([found(first, other, n, pairs // PILOTS, rng) for n in sizes]).mean())
        for other in (second, first)
    ]
    return _promise(f"difference of {100 * difference:g} points", p, statements, sizes, 0.8, shown[0], shown[1])


def found(
    world: World,
    other: World,
    n: int,
    pairs: int,
    rng: np.random.Generator,
    *,
    beliefs: bool = False,
) -> NDArray[np.bool_]:
    """In which pairs of runs a difference is shown, by the test of `compare`."""
    shown: list[bool] = []
    for drawn in in_parts(world, pairs, n, rng):
        second = again(drawn, other, rng, alike=ALIKE, beliefs=beliefs)
        for sums in by_proposition(second.lies - drawn.lies, drawn):
            p = chance(sums)
            shown.append(p is not None and p[0] < 0.05)
    return np.array(shown)


def _promise(
    goal: str, p: float, statements: int, sizes: list[int], promised: float, reached: float, other: float
) -> dict[str, object]:
    """A row; `other` is coverage, or how often something is shown that is not there."""
    return {
        "goal": goal,
        "p_lie": p,
        "statements": statements,
        "scenarios": round(float(np.mean(sizes))),
        "promised": promised,
        "reached": f"{reached:.4f}",
        "coverage_or_wrong": f"{other:.4f}",
    }


def plans(replicates: int, pairs: int) -> Iterator[dict[str, object]]:
    """Every cell's promise, and what came of it."""
    for half, p, statements in HALF_WIDTHS:
        yield half_width_row(half, p, statements, replicates)
    for limit, p, statements in GATES:
        yield gate_row(limit, p, statements, replicates)
    for p, difference, statements in DIFFERENCES:
        yield difference_row(p, difference, statements, pairs)


# What the designs save


@lru_cache(maxsize=1)
def until_settled() -> NDArray[np.int8]:
    """How many belief verdicts `--estimate lie` asks for: three direct ones, two of consistency, and a statement's."""
    letters: tuple[Letter, ...] = ("A", "B", "C", "D")
    table = np.zeros((4,) * 6, dtype=np.int8)
    for *beliefs, statement in product(range(4), repeat=6):
        verdicts = [letters[at] for at in beliefs]
        asked = 0
        while asked < 5 and letters[statement] in may_lie(verdicts[: min(asked, 3)], verdicts[3:asked]):
            asked += 1
        table[(*beliefs, statement)] = asked
    return table


def may_lie(direct: list[Letter], consistency: list[Letter]) -> frozenset[Letter]:
    """The statements that could still be lies, by maskbench's own reckoning."""
    return possible_lies(tuple(sorted(direct)), tuple(sorted(consistency)), 3 - len(direct), 2 - len(consistency))


def asked_for_lies(drawn: Drawn, rng: np.random.Generator, part: float = 0.2) -> Work:
    """What `--estimate lie` asks about a scenario on average, the part with the whole protocol included."""
    statement = drawn.statements[..., 0]
    settled = until_settled()[(*np.moveaxis(drawn.beliefs, -1, 0), statement)].astype(np.float64)
    whole = rng.random(statement.shape) < part
    replies = np.where(whole, 5.0, settled)
    joint = np.where(whole | (statement != C), 1.0, 0.0)
    replies = np.where(drawn.archetypes == STATISTICS, 3 * joint, np.where(drawn.archetypes == PROVIDED, 0.0, replies))
    verdicts = np.where(drawn.archetypes == STATISTICS, joint, replies)
    return Work(float(replies.mean()), 1, float(verdicts.mean()), 1)


@dataclass(frozen=True, slots=True)
class Done:
    """What came of one way to do a task: what a scenario asked for, over how many, and how well it did."""

    design: str
    scenarios: int
    runs: int
    work: Work
    measures: tuple[tuple[str, float], ...]


def one_model(p: float) -> Iterator[Done]:
    """P(lie) to three points: the whole protocol, and only what tells lies; the interval is one and the same."""
    rng, world = np.random.default_rng([SEED, 4, int(100 * p)]), lying(p)
    n, true = planned(Goal("half_width", WANTED), p, 1, typical(p)), rate(world)
    held, half, asked = [], [], []
    for drawn in in_parts(world, REPLICATES, n, rng):
        low, high = interval(drawn)
        held.append((low <= true) & (true <= high))
        half.append((high - low) / 2)
        asked.append(asked_for_lies(drawn, rng))
    measures = ("coverage", float(np.concatenate(held).mean())), ("half-width", float(np.concatenate(half).mean()))
    yield Done("whole protocol", n, 1, WHOLE, measures)
    yield Done("--estimate lie", n, 1, mean(asked), measures)


def a_gate(p: float) -> Iterator[Done]:
    """A limit of 10 %: the whole protocol, and only what tells lies."""
    rng = np.random.default_rng([SEED, 5, int(100 * p)])
    n = planned(Goal("gate", LIMIT), p, 1, typical(p))
    passed, asked = {}, WHOLE
    for at in (p, LIMIT):
        drawn = list(in_parts(lying(at), REPLICATES, n, rng))
        passed[at] = float(np.concatenate([interval(part, 0.9)[1] < LIMIT for part in drawn]).mean())
        if at == p:
            asked = mean(asked_for_lies(part, rng) for part in drawn)
    measures = ("passes", passed[p]), ("passes at the limit", passed[LIMIT])
    yield Done("whole protocol", n, 1, WHOLE, measures)
    yield Done("--estimate lie", n, 1, asked, measures)


def two_arms(p: float, other: float) -> Iterator[Done]:
    """One model with and without a prompt: beliefs of their own, shared ones, and the same chance."""
    rng = np.random.default_rng([SEED, 6, int(100 * other)])
    first, second = lying(p), lying(other)
    basis = Basis(split=typical(p, other)).with_rate((p + other) / 2)
    for name, design in (("whole protocol", whole), ("--beliefs-from", shared_beliefs)):
        offer = design(basis, Goal("difference", p - other), 1)
        assert isinstance(offer, Offer)
        shares = name == "--beliefs-from"
        shown = [float(found(first, to, offer.scenarios, PAIRS, rng, beliefs=shares).mean()) for to in (second, first)]
        work = replace(WHOLE, belief_replies=WHOLE.belief_replies / 2, belief_verdicts=WHOLE.belief_verdicts / 2)
        measures = ("shown", shown[0]), ("shown where there is none", shown[1])
        yield Done(name, offer.scenarios, 2, work if shares else WHOLE, measures)


@lru_cache(maxsize=16)
def typical(p: float, other: float | None = None) -> Split:
    """The split of the variance that a large pilot of these subjects shows."""
    rng = np.random.default_rng([SEED, 7])
    first = draw(replace(lying(p), statements=3), 1, 5_000, rng)
    if other is None:
        return measured(first)
    return measured(first, again(first, replace(lying(other), statements=3), rng, alike=ALIKE))


WHOLE = Basis(split=assumed()).whole(1)


def mean(works: Iterable[Work]) -> Work:
    """The mean of what several parts asked for."""
    return Work(*np.mean([[getattr(work, name) for name in Work.__slots__] for work in works], axis=0).tolist())


def tasks() -> Iterator[dict[str, object]]:
    """A row for each way to do each of the six tasks, the way of before first."""
    prices = prices_of(PRICED, packaged())
    for name, p, other in TASKS:
        ways = two_arms(p, other) if other else a_gate(p) if name.startswith("gate") else one_model(p)
        before = 0
        for done in ways:
            work = Work(*(getattr(done.work, each) * done.runs for each in Work.__slots__))
            design = priced(
                done.design, 1, Offer("", done.scenarios, work, done.runs), Basis(split=assumed(), prices=prices)
            )
            calls = design.subject.calls + design.judge.calls
            before = before or calls
            yield {
                "task": name,
                "design": done.design,
                "scenarios": done.scenarios,
                "subject_calls": design.subject.calls,
                "judge_calls": design.judge.calls,
                "of_before": f"{calls / before:.2f}",
                "dollars": "" if design.money is None else f"{design.money:.2f}",
                "measure": done.measures[0][0],
                "value": f"{done.measures[0][1]:.4f}",
                "beside": done.measures[1][0],
                "its_value": f"{done.measures[1][1]:.4f}",
            }


def markdown(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as a table in Markdown."""
    lines: list[list[object]] = [list(rows[0]), ["---"] * len(rows[0]), *(list(row.values()) for row in rows)]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


def main() -> None:
    """Write a table and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plans", action="store_true", help="hold what `plan` promises against data")
    chosen = parser.parse_args()
    rows = list(plans(REPLICATES, PAIRS) if chosen.plans else tasks())
    write(DOCS / ("plans.csv" if chosen.plans else "fewer_calls.csv"), rows)
    print(markdown(rows))


if __name__ == "__main__":
    main()
