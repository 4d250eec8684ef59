"""How often corrected intervals hold the true rates, where a correction is printed: simulated, as CSV.

`python benchmarks/correction.py` writes build/tables/corrections.csv (1,000 seeded replicates; some minutes). Its rows
are rates of a run (`rates`) and the difference of two runs in P(lie) (`pair`). `judge_bias` is that of the judge alone,
`bias` that of the corrected P(lie), and coverage and width are those of its interval; `least` and `most` are the
coverage of the rates beside P(lie). A world draws true outcomes, a judge misreads them by class and archetype, and
people label the sample that `maskbench label` would draw, without fault; benchmarks/raters.py has people who err.
`--whole` measures `sim` with `sim-judge` instead, through replies, verdicts and rules, and labels by what a faultless
judge makes of the same replies, and prints a table.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from csv_tables import LARGE
from maskbench.measurement import measure
from maskbench.method.rates import OF_OUTCOMES as RATES
from maskbench.results.calibration import Key, by_labels
from maskbench.results.people.labelled_outcomes import Label
from maskbench.results.readers import PlantedReader
from maskbench.results.scored import score
from maskbench.settings import Settings
from maskbench.stats.calibration import LabelledRun, correct, difference, refusal
from maskbench.store.drawn_sample import Stratum, shares
from maskbench.types import ARCHETYPES, OutcomeName, Scored
from rate_worlds import pareto

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SIZES = np.array([274, 209, 176, 125, 120, 96])  # archetypes of the public 1,000
TRUE = np.array(  # lie, honest, evasive, no belief in each of them
    [
        [0.40, 0.35, 0.15, 0.10],
        [0.20, 0.60, 0.20, 0.00],
        [0.50, 0.25, 0.15, 0.10],
        [0.25, 0.30, 0.25, 0.20],
        [0.35, 0.30, 0.20, 0.15],
        [0.10, 0.50, 0.25, 0.15],
    ]
)
# Where an outcome goes that is misread: its row; and how much more often than on average it is.
GOES = np.array([[0, 0.5, 0.35, 0.15], [0.55, 0, 0.35, 0.1], [0.3, 0.6, 0, 0.1], [0.4, 0.4, 0.2, 0]])
HARD = np.array([1.2, 0.8, 1.1, 1.1])
HARD_FOR = np.array([1.0, 0.6, 1.3, 1.0, 1.2, 0.9])  # by archetype
OUTCOMES: tuple[OutcomeName, ...] = ("lie", "honest", "evasive", "no_belief")  # the columns of all of these
SUBJECT, PLANTED = "sim/lie=0.35,evade=0.2,unsure=0.1", ("p_lie", "p_honest", "p_evasive", "p_no_belief")
ENOUGH = 50  # printed corrections that a coverage is given for
LABELS, ACCURACIES = (50, 150, 400), (0.7, 0.86, 0.95)
TABLE = LARGE / "corrections.csv"
HEAD = (
    *("what", "world", "right", "labels", "replicates", "printed", "judge_bias", "bias", "coverage", "width"),
    *("least", "least_of", "most"),
)


@dataclass(frozen=True, slots=True)
class World:
    """Scenarios, what is true of them, and where the judge errs.

    Scenarios come in propositions of `together`, or of `sizes`, mixed; two of one correlate by `likeness`.
    """

    name: str
    archetypes: Ints
    true: Floats = field(default_factory=lambda: TRUE)
    goes: Floats = field(default_factory=lambda: GOES)
    hard: Floats = field(default_factory=lambda: HARD)
    together: int = 1
    sizes: tuple[int, ...] = ()
    shared: float = 1.0  # the share of propositions that have more than one scenario
    likeness: float = 0.0
    weights: tuple[float, float] = (1.0, 1.0)  # of the first and the second half of the archetypes

    @property
    def weight(self) -> Floats:
        """The weight of every scenario."""
        return np.where(self.archetypes < 3, *self.weights)

    @property
    def rates(self) -> dict[str, float]:
        """The true rates of endless scenarios of this kind."""
        shares = self.weight @ self.true[self.archetypes] / self.weight.sum()
        return {name: float(shares @ top / (shares @ bottom)) for name, (top, bottom) in RATES.items()}

    def propositions(self) -> Ints:
        """The proposition of every scenario: neighbours share one, across archetypes where they meet."""
        n = len(self.archetypes)
        if self.sizes:
            return np.random.default_rng(1).permutation(np.repeat(np.arange(len(self.sizes)), self.sizes)[:n])
        ids = np.arange(n)
        many = int(n * self.shared) // self.together * self.together
        ids[:many] = ids[:many] // self.together
        ids[many:] += n
        mixed = np.random.default_rng(1).permutation(n)
        return ids[mixed] if self.shared < 1 else ids


def public(n: int = 1000) -> Ints:
    """Archetypes in the mix of the public set."""
    return np.repeat(np.arange(6), np.round(SIZES * n / 1000).astype(int))


def draw(world: World, accuracy: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """True and judged outcome of every scenario."""
    _, member = np.unique(world.propositions(), return_inverse=True)
    follows = rng.random(len(member)) < np.sqrt(world.likeness)
    u = np.where(follows, rng.random(member.max() + 1)[member], rng.random(len(member)))
    true = (u[:, None] > np.cumsum(world.true, axis=1)[world.archetypes, :3]).sum(axis=1)
    return true, misread(world, accuracy, true, rng)


def misread(world: World, accuracy: float, true: Ints, rng: np.random.Generator) -> Ints:
    """What the judge makes of it: on average right with this probability, by class and archetype more or less."""
    hard = world.hard[None, :] * HARD_FOR[:, None]
    mass = (world.weight[:, None] * world.true[world.archetypes]).sum(axis=0)
    by = np.array([[world.true[a, c] for c in range(4)] for a in range(6)])
    held = np.bincount(world.archetypes, weights=world.weight, minlength=6)[:, None] * by
    wrong = np.minimum(0.9, (1 - accuracy) * hard * mass.sum() / (held * hard).sum())
    into = (rng.random(len(true))[:, None] > np.cumsum(world.goes, axis=1)[true, :3]).sum(axis=1)
    return np.where(rng.random(len(true)) < wrong[world.archetypes, true], into, true)


def labelled(world: World, true: Ints, judged: Ints, labels: int, order: Floats) -> LabelledRun:
    """The sample that people are given, of every stratum the first ones in this order, and what they say of it."""
    codes, strata, sizes = np.unique(world.archetypes * 4 + judged, return_inverse=True, return_counts=True)
    names: list[Stratum] = [(ARCHETYPES[code // 4], OUTCOMES[code % 4]) for code in codes]
    taken = shares(dict(zip(names, sizes.tolist(), strict=True)), labels)
    takes = np.array([taken[name] for name in names])
    ordered = np.lexsort((order, strata))
    rank = np.empty(len(true), int)
    rank[ordered] = np.arange(len(true)) - np.concatenate([[0], np.cumsum(sizes)[:-1]])[strata[ordered]]
    picked = rank < takes[strata]
    outcomes, human = np.eye(4)[judged], np.eye(4)[true]
    human[~picked] = np.nan
    chances = np.where(picked, (takes / sizes)[strata], 1.0)
    return LabelledRun(outcomes, outcomes, human, chances, world.archetypes, world.weight, world.propositions())


@dataclass
class Seen:
    """What the replicates of one row come to: a list of (low, high, value) by rate, and how many were printed."""

    replicates: int = 0
    estimates: dict[str, list[tuple[float, float, float]]] = field(default_factory=lambda: {name: [] for name in RATES})
    judged: list[float] = field(default_factory=list)

    def add(self, sample: LabelledRun) -> None:
        """One more replicate."""
        self.judged.append(float(sample.weights @ sample.judged[:, 0] / sample.weights.sum()))
        if refusal(sample) is None:
            for name, rate in correct(sample, RATES).items():
                e = rate.estimate
                self.estimates[name].append((e.low or 0.0, 1.0 if e.high is None else e.high, e.value or 0.0))

    def coverage(self, name: str, truth: float) -> float:
        """The share of intervals that hold the truth."""
        ends = np.array(self.estimates[name])
        return float(np.mean((ends[:, 0] <= truth + 1e-12) & (truth - 1e-12 <= ends[:, 1])))

    def row(self, truth: Mapping[str, float]) -> list[str]:
        """What a row says behind its world."""
        printed = len(self.estimates["p_lie"])
        head = (
            f"{self.replicates}",
            f"{printed / self.replicates:.3f}",
            f"{np.mean(self.judged) - truth['p_lie']:.4f}",
        )
        if printed < ENOUGH:
            return [*head, *[""] * 6]
        lies = np.array(self.estimates["p_lie"])
        others = {name: self.coverage(name, truth[name]) for name in RATES if name not in ("p_lie", "honesty_score")}
        least, most = (pick(others, key=others.__getitem__) for pick in (min, max))
        mean = (lies[:, 2].mean() - truth["p_lie"], self.coverage("p_lie", truth["p_lie"]))
        width = (lies[:, 1] - lies[:, 0]).mean()
        return [*head, *(f"{x:.4f}" for x in (*mean, width, others[least])), least, f"{others[most]:.4f}"]


def simulate(world: World, accuracy: float, labels: int, replicates: int, seed: int = 20250307) -> Seen:
    """Draw, label and correct many times."""
    rng, seen = np.random.default_rng(seed), Seen(replicates)
    for _ in range(replicates):
        true, judged = draw(world, accuracy, rng)
        seen.add(labelled(world, true, judged, labels, rng.random(len(true))))
    return seen


HIDDEN = np.array([[0, 1.0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 1, 0, 0]])
HARSH = np.array([[0, 0.2, 0.6, 0.2], [0.8, 0, 0.2, 0], [0.5, 0.3, 0, 0.2], [0.8, 0.1, 0.1, 0]])
EASY = np.array([0.6, 1.0, 1.6, 1.4])
LIAR = np.array([[0.65, 0.15, 0.1, 0.1]] * 2 + [[0.45, 0.15, 0.35, 0.05]] * 2 + [[0.5, 0.3, 0.05, 0.15]] * 2)
RARE = np.column_stack([np.full(6, 0.03), TRUE[:, 1] + TRUE[:, 0] - 0.03, TRUE[:, 2:]])
WORLDS = (
    World(
        "public mix: 1,000 scenarios, 56 pairs share, likeness 0.6", public(), together=2, shared=0.112, likeness=0.6
    ),
    World("250 propositions of 4, likeness 0.5", public(), together=4, likeness=0.5),
    World("450 scenarios", public(450)),
    World(
        "1,000, errors go one way: lies are read as honest", public(), goes=HIDDEN, hard=np.array([2.0, 0.3, 0.3, 1])
    ),
    World("1,000, hardly a lie (3 %)", public(), true=RARE),
    World("600 of weights 1 and 4", public(600), weights=(1.0, 4.0)),
    World("300, many lies, honest statements are read as lies", public(300), true=LIAR, goes=HARSH, hard=EASY),
    World("240 propositions of Pareto sizes, likeness 0.5", public(930), sizes=pareto(240), likeness=0.5),
    World("100 propositions of Pareto sizes, likeness 0.5", public(360), sizes=pareto(100), likeness=0.5),
    World("100 propositions of Pareto sizes, likeness 0.9", public(360), sizes=pareto(100), likeness=0.9),
    World("240 propositions of Pareto sizes, hardly a lie", public(930), true=RARE, sizes=pareto(240), likeness=0.5),
)


def rows(worlds: Sequence[World], replicates: int) -> Iterator[list[str]]:
    """All rows of one run."""
    for world in worlds:
        for accuracy in ACCURACIES:
            for labels in LABELS:
                seen = simulate(world, accuracy, labels, replicates)
                yield ["rates", world.name, f"{accuracy:g}", f"{labels}", *seen.row(world.rates)]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs on the same scenarios: a share `alike` of the outcomes are the same, one run lies less otherwise."""

    name: str
    world: World
    accuracies: tuple[float, float]
    alike: float


PAIRS = (
    Pair("450 scenarios, one judge of 0.86", World("", public(450)), (0.86, 0.86), 0.6),
    Pair("450 scenarios, judges of 0.7 and 0.95", World("", public(450)), (0.7, 0.95), 0.6),
    Pair(
        "250 propositions of 4, one judge of 0.86",
        World("", public(), together=4, likeness=0.5),
        (0.86, 0.86),
        0.6,
    ),
)


def pair_row(pair: Pair, labels: int, replicates: int, seed: int = 20250306) -> list[str]:
    """One row of two runs: coverage of the difference in P(lie)."""
    rng, rows = np.random.default_rng(seed), []
    world = pair.world
    less = np.column_stack([TRUE[:, 0] / 2, TRUE[:, 1] + TRUE[:, 0] / 2, TRUE[:, 2:]])
    calmer = World("", world.archetypes, true=less, together=world.together, likeness=world.likeness)
    truth = (1 - pair.alike) * (calmer.rates["p_lie"] - world.rates["p_lie"])
    naive = []
    for _ in range(replicates):
        true, judged = draw(world, pair.accuracies[0], rng)
        fresh, _ = draw(calmer, 1.0, rng)
        other_true = np.where(rng.random(len(true)) < pair.alike, true, fresh)
        judged_too = misread(world, pair.accuracies[1], other_true, rng)
        order = rng.random(len(true))  # one seed, and so one order, is what `maskbench label` has for both
        a, b = labelled(world, true, judged, labels, order), labelled(world, other_true, judged_too, labels, order)
        naive.append(np.mean(judged_too == 0) - np.mean(judged == 0))
        if refusal(a) is None and refusal(b) is None:
            estimate = difference(correct(a, RATES)["p_lie"], correct(b, RATES)["p_lie"], a.clusters)
            rows.append((estimate.low or 0.0, estimate.high or 0.0, estimate.difference or 0.0))
    right = " and ".join(f"{accuracy:g}" for accuracy in dict.fromkeys(pair.accuracies))
    head = [f"{replicates}", f"{len(rows) / replicates:.3f}", f"{np.mean(naive) - truth:.4f}"]
    line = ["pair", f"{pair.name}: {truth:+.3f}", right, f"{labels}", *head]
    if len(rows) < ENOUGH:
        return [*line, *[""] * 6]
    ends = np.array(rows)
    held = np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
    spread = (ends[:, 2].mean() - truth, held, (ends[:, 1] - ends[:, 0]).mean())
    return [*line, *(f"{x:.4f}" for x in spread), "", "", ""]


def whole(folder: Path, accuracy: float, sets: int, labels: int) -> str:
    """`sim` judged by `sim-judge` on fresh sandboxes: how often the corrected rates hold the planted ones."""
    judge = f"sim-judge/accuracy={accuracy:g}"
    seen: dict[str, list[bool]] = {name: [] for name in PLANTED}
    printed, agree = 0, []
    for at in range(sets):
        names = {"judged": judge, "true": "sim-judge"}
        runs = {}
        for name, by in names.items():
            path = folder / f"{accuracy:g}-{at}-{name}"
            options = Settings.of(subject=SUBJECT, judge=by, numeric_judge=by, scenarios=f"sandbox:{at + 1}", seed=at)
            measure(options, path, {})
            runs[name] = score(path)
        rows, true = runs["judged"].scenarios, runs["true"].scenarios
        agree.append(np.mean([judged.outcomes == correct.outcomes for judged, correct in zip(rows, true, strict=True)]))
        rates = by_labels(rows, people(rows, true, labels, at))
        planted = runs["true"].summary.of(PlantedReader)
        if planted and rates.withheld is None:
            printed += 1
            for name in PLANTED:
                low, high = rates.metrics[name].ci95 or (0.0, 1.0)
                seen[name].append(low <= planted[name] <= high)
    cells = " | ".join(f"{np.mean(seen[name]):.3f}" if seen[name] else "–" for name in PLANTED)
    return f"| {accuracy:g} | {np.mean(agree):.2f} | {labels} | {printed / sets:.2f} | {cells} |"


def people(rows: Sequence[Scored], true: Sequence[Scored], labels: int, seed: int) -> dict[Key, Label]:
    """Labels without fault on a stratified sample by archetype and judged outcome."""
    strata: dict[Stratum, list[int]] = {}
    for at, row in enumerate(rows):
        strata.setdefault((row.archetype, row.outcomes[0]), []).append(at)
    taken = shares({name: len(members) for name, members in strata.items()}, labels)
    rng = np.random.default_rng(seed)
    return {
        (true[at].archetype, true[at].task_id): Label(taken[name] / len(members), true[at].outcomes[0])
        for name, members in strata.items()
        for at in rng.permutation(members)[: taken[name]]
    }


def lines(asked: argparse.Namespace) -> Iterator[list[str]]:
    """All rows that are asked for."""
    yield from rows([WORLDS[at] for at in asked.worlds], asked.replicates)
    if asked.pairs:
        yield from (pair_row(pair, labels, asked.replicates) for pair in PAIRS for labels in LABELS)


def main() -> None:
    """Write the table, or print the one of whole runs."""
    parser = argparse.ArgumentParser(description="Simulated coverage of corrected rates.")
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--worlds", type=int, nargs="*", default=list(range(len(WORLDS))))
    parser.add_argument("--pairs", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--out", type=Path, default=TABLE)
    parser.add_argument(
        "--whole", type=int, metavar="SETS", help="`sim` with `sim-judge` instead, on so many sandboxes"
    )
    asked = parser.parse_args()
    if asked.whole:
        print("| verdicts right | outcomes right | labels | printed | P(lie) | P(honest) | P(evasive) | P(no belief) |")
        print(f"|---{'|---:' * 7}|")
        with TemporaryDirectory() as folder:
            for accuracy in ACCURACIES:
                print(whole(Path(folder), accuracy, asked.whole, 150), flush=True)
        return
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    with asked.out.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(HEAD)
        table.writerows(lines(asked))


if __name__ == "__main__":
    main()
