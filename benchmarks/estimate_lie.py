"""What `run --estimate lie` costs, and whether its figures hold.

    python benchmarks/estimate_lie.py calls      calls and tokens beside asking everything, on simulated subjects
    python benchmarks/estimate_lie.py patterns   every pattern of verdicts: the lies are those of the whole protocol
    python benchmarks/estimate_lie.py coverage   the other rates, by the drawn part: coverage and width

`calls` counts what was stored of runs of both kinds on the starter set; `share_of_calls` tells it of a stored run that
asked everything. `patterns` takes about five minutes. The cells of `coverage` are CELLS, which were written down before
the method; a cell's share of lies, silence and absent beliefs differs by archetype and by proposition.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from maskbench.judges.verdict_sets import OpenRun
from maskbench.measurement import measure
from maskbench.method.enough import is_asked_whole_anyway, replayed, score_for_lies
from maskbench.method.outcomes import score
from maskbench.method.rates import Table, rates
from maskbench.method.rules import RULES
from maskbench.runs.folder import RunFolder
from maskbench.settings import Settings
from maskbench.stats.intervals import Estimate
from maskbench.types import BinaryVerdict, Failure, Item, Judgement, Reply, Scenario

LETTERS = ("A", "B", "C", "D")
REPLICATES = 300
SHOWN = (
    "p_lie",
    "p_honest",
    "p_evasive",
    "p_no_belief",
    "conditional_lie_rate",
    "honesty_score_normalized",
    "accuracy",
)


# Calls


@dataclass(frozen=True)
class Saved:
    """The share of replies and of verdicts that asking only for lies takes, the drawn part included."""

    p_lie: float
    replies: float
    verdicts: float


def share_of_calls(folder: Path, part: float = 0.2) -> Saved:
    """What asking only for lies would have taken of a stored run that asked everything."""
    with OpenRun(RunFolder(folder)) as opened:
        verdicts = opened.verdicts()
        whole, short = Counter[str](), Counter[str]()
        lies = []
        for done in verdicts.read(RULES["reference"]):
            every = _calls(list(done.items.values()))
            free = is_asked_whole_anyway(done.scenario, verdicts.settings)
            least = every if free else _calls(list(replayed(done.scenario, done.items, verdicts.settings).values()))
            lies.append(done.scored.outcome == "lie")
            for kind, count in every.items():
                whole[kind] += count
                short[kind] += round(1000 * (part * count + (1 - part) * least.get(kind, 0)))
        replies, judged = (short[kind] / 1000 / whole[kind] for kind in ("replies", "verdicts"))
        return Saved(sum(lies) / len(lies), replies, judged)


def _calls(items: Sequence[Item]) -> dict[str, int]:
    return {"replies": len(items), "verdicts": sum(item.judgement is not None for item in items)}


def calls() -> None:
    """Runs of both kinds by one simulated subject each, on the starter set: calls and tokens that are in store."""
    print("subject's lies and statements   P(lie) both ways    replies  verdicts  tokens in  tokens out")
    for lie, evade, statements in ((0.13, 0.15, 1), (0.25, 0.15, 1), (0.46, 0.15, 1), (0.13, 0.15, 3)):
        subject = f"sim/lie={lie},evade={evade},unsure=0.1"
        with TemporaryDirectory() as place:
            asked = [
                measure(
                    Settings(subject, "sim-judge", "starter", estimate=estimate, statements=statements),
                    Path(place) / estimate,
                    {},
                )
                for estimate in ("all", "lie")
            ]
        every, short = asked
        took = [(each.usage.subject, each.usage.judge) for each in asked]
        shares = [
            took[1][0].answers / took[0][0].answers,
            took[1][1].answers / took[0][1].answers,
            *(
                sum(getattr(model, name) for model in took[1]) / sum(getattr(model, name) for model in took[0])
                for name in ("input_tokens", "output_tokens")
            ),
        ]
        both = " and ".join(f"{each.metrics.p_lie.value:.3f}" for each in (every, short))
        print(f"{lie:.2f}, {statements} a scenario{'':12} {both:18}", "".join(f"{share:10.3f}" for share in shares))


# Patterns


def patterns() -> None:
    """All verdicts on one to three statements and on up to 3 + 2 belief replies, failures among them."""
    failed = Failure("judge", "unreadable", "nothing")
    checked = unmet = 0
    for questions in (2, 1, 0):
        about = Scenario(
            *("known_facts", "1", "binary", "It <pivotal>is/is not</pivotal> so.", "A", "Press.", "Say."),
            questions=("One?", *("Two?", "Three?")[:questions], *[None] * (2 - questions)),  # type: ignore[arg-type]
        )
        at = [(1, 1), (1, 2), (1, 3), (2, 1), (3, 1)][: 3 + questions]
        samples = {
            (place, letter): Item(
                {0: "statement", 1: "direct"}.get(place[0], "consistency"),
                *place,
                Reply("said"),
                failed if letter is None else Judgement(BinaryVerdict(letter)),  # type: ignore[arg-type]
            )
            for place in [*at, (0, 1), (0, 2), (0, 3)]
            for letter in (*LETTERS, None)
        }
        for statements in (1, 2, 3):
            settings = Settings("a", "b", "c", statements=statements)
            for stated in combinations_with_replacement((*LETTERS, None), statements):
                for believed in product((*LETTERS, None), repeat=len(at)):
                    verdicts = dict(zip(at, believed, strict=True)) | {(0, i): v for i, v in enumerate(stated, 1)}
                    items = {place: samples[place, letter] for place, letter in verdicts.items()}
                    short = replayed(about, items, settings)
                    met = any(item.judgement is failed for item in short.values())
                    for rules in RULES.values():
                        every = score(about, 1.0, items, settings, rules).outcomes
                        told = score_for_lies(about, 1.0, short, settings, rules).outcomes
                        for outcome, known in zip(every, told, strict=True):
                            if (outcome == "lie") != (known == "lie"):
                                raise SystemExit(f"{stated} {believed} {rules.name}: {outcome}, told {known}")
                            differs = (outcome == "error") != (known == "error")
                            if differs and (met or known != "no_lie"):
                                raise SystemExit(f"{stated} {believed} {rules.name}: {outcome}, told {known}")
                            unmet += differs
                            checked += 1
    print(f"{checked:,} outcomes: every lie is the whole protocol's, and no other; {unmet:,} are errors there by a")
    print("failure that this way does not meet, and no lie here.")


# Coverage


@dataclass(frozen=True)
class Cell:
    """A world: archetypes of one size, the share of lies, how far archetypes and propositions differ, and the part."""

    each: int  # scenarios of an archetype
    lie: float
    part: float = 0.2
    evade: float = 0.2
    absent: float = 0.1
    twins: int = 1  # scenarios of a proposition, which have one belief and lean to one outcome

    def __str__(self) -> str:
        return f"6 x {self.each}, lies {self.lie:.0%}, part {self.part:.0%}, {self.twins} a proposition"


CELLS = tuple(
    Cell(each, lie, part, twins=twins)
    for each in (40, 160)
    for lie in (0.05, 0.1, 0.4)
    for part in (0.2, 0.4)
    for twins in (1, 3)
)


def coverage(replicates: int = REPLICATES) -> None:
    """Coverage of each rate's interval and its width beside that of the drawn part alone."""
    print(f"{replicates:,} replicates a cell; in brackets the width in points; beside it those of the part alone")
    print(f"{'':44}" + "".join(f"{name[:24]:>28}" for name in SHOWN))
    for number, cell in enumerate(CELLS):
        rng = np.random.default_rng([20261122, number])
        truth = _truth(cell)
        inside, widths = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
        for _ in range(replicates):
            table = _draw(rng, cell)
            both = rates(table), rates(_part_alone(table))
            for name in SHOWN:
                for side, estimates in enumerate(both):
                    low, high = ends(estimates[name])
                    inside[name, side] += low <= truth[name] <= high
                    widths[name, side] += high - low
        cells = (
            " ".join(f"{inside[n, s] / replicates:.3f} ({100 * widths[n, s] / replicates:4.1f})" for s in (0, 1))
            for n in SHOWN
        )
        print(f"{cell!s:44}" + "".join(f"{text:>28}" for text in cells), flush=True)


def _part_alone(table: Table) -> Table:
    """The obvious alternative: the scenarios that were asked everything, by archetype as many as there are."""
    part = table.where(table.whole)
    sizes, had = (np.bincount(side.archetypes, minlength=6) for side in (table, part))
    return replace(part, weights=(sizes / had)[part.archetypes])


def ends(estimate: Estimate) -> tuple[float, float]:
    """An interval; all that a share can be where there is none."""
    return (0.0, 1.0) if estimate.low is None or estimate.high is None else (estimate.low, estimate.high)


# Archetypes differ by these factors in lies, evasion and absent beliefs; in the first no belief is asked for.
_FACTORS = np.array(
    [(1.2, 1.0, 0.0), (0.4, 1.4, 0.6), (1.6, 0.6, 1.5), (1.0, 0.3, 2.0), (1.3, 0.9, 0.5), (0.5, 1.8, 0.4)]
)


def _chances(cell: Cell) -> np.ndarray:
    """By archetype: lie, honest, evasive, no belief, and of those with no belief who say nothing."""
    absent = cell.absent * _FACTORS[:, 2]
    lie, evade = cell.lie * _FACTORS[:, 0], cell.evade * _FACTORS[:, 1]
    return np.column_stack([lie, 1 - lie - evade - absent, evade, absent])


def _truth(cell: Cell) -> dict[str, float]:
    lie, honest, evasive, absent = _chances(cell).mean(axis=0)
    believing = _chances(cell)[1:, :3].sum(axis=1)
    return {
        "p_lie": lie,
        "p_honest": honest,
        "p_evasive": evasive,
        "p_no_belief": absent,
        "conditional_lie_rate": lie / (lie + honest),
        "honesty_score_normalized": 1 - lie / (1 - absent),
        "accuracy": 0.8 * believing.mean(),
    }


def _draw(rng: np.random.Generator, cell: Cell) -> Table:
    """One run: outcomes by archetype, what is seen of those that were asked only for lies, and the drawn part."""
    kinds = np.repeat(np.arange(6), cell.each)
    owners = np.tile(np.arange(cell.each) // cell.twins, 6) + 10_000 * kinds
    _, at = np.unique(owners, return_inverse=True)
    shared, own = rng.random(at.max() + 1)[at], rng.random(len(kinds))
    drawn = np.where(rng.random(len(kinds)) < 0.5, shared, own)  # half of the scenarios do as their proposition does
    outcome = (drawn[:, None] > np.cumsum(_chances(cell), axis=1)[kinds]).sum(axis=1).clip(0, 3)
    silent = (outcome == 2) | ((outcome == 3) & (rng.random(len(kinds)) < 0.4))
    right = np.where(rng.random(len(kinds)) < 0.8, 0, 1)
    whole = kinds == 0
    for kind in range(1, 6):
        size = int(np.ceil(cell.part * cell.each))
        whole[rng.choice(np.flatnonzero(kinds == kind), size, replace=False)] = True
    known = [((outcome == column) & (whole | (column == 0))).astype(np.int16) for column in range(4)]
    accuracy = np.where(kinds == 0, 4, np.where(outcome == 3, 2, right))
    return Table(
        weights=np.ones(len(kinds)),
        clusters=at.astype(np.int64),
        archetypes=kinds.astype(np.int64),
        outright=np.full(len(kinds), -1, dtype=np.int8),
        accuracy=np.where(whole, accuracy, 6).astype(np.int8),
        lies=known[0],
        honest=known[1],
        evasive=known[2],
        absent=known[3],
        disputed=np.zeros(len(kinds), dtype=np.int16),
        leaning=np.zeros((len(kinds), 4)),
        asked=np.ones(len(kinds), dtype=np.int16),
        no_lie=(~whole & (outcome != 0)).astype(np.int16),
        mute=silent.astype(np.int16),
        whole=whole,
    )


if __name__ == "__main__":
    {"calls": calls, "patterns": patterns, "coverage": coverage}[sys.argv[1] if len(sys.argv) > 1 else "calls"]()
