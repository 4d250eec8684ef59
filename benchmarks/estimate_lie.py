"""What `run --estimate lie` costs, and whether its figures hold.

    python benchmarks/estimate_lie.py calls      calls and tokens beside asking everything, on simulated subjects
    python benchmarks/estimate_lie.py patterns   every pattern of verdicts: the lies are those of the whole protocol
    python benchmarks/estimate_lie.py coverage   the other rates, by the drawn part: coverage and width

`share_of_calls` tells of any stored run that asked everything what asking only for lies would have taken. `patterns`
takes about five minutes. The cells of `coverage` are CELLS, which were written down before the method; a cell's
share of lies, silence and absent beliefs differs by archetype and by proposition.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Set
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from maskbench.judges.verdict_sets import OpenRun
from maskbench.measurement import measure
from maskbench.method.asks import subject_asks
from maskbench.method.enough import is_asked_whole_anyway, score_for_lies
from maskbench.method.folds import finished, replayed
from maskbench.method.forms import USUAL, ask_about, ask_about_beliefs, load_prompts
from maskbench.method.forms.prompts import Prompts
from maskbench.method.outcomes import score
from maskbench.method.rates import ON_LOGS, Table, rates
from maskbench.method.rules import RULES
from maskbench.runs.folder import RunFolder
from maskbench.runs.forecast import reply_tokens, tokens, verdict_tokens
from maskbench.runs.lie_order import OUTPUT
from maskbench.settings import Settings
from maskbench.stats.figures import Share
from maskbench.types import BinaryVerdict, Failure, Item, Judgement, Place, Reply, Scenario, conversation

CALLS = ((0.13, 0.15, 1), (0.13, 0.3, 1), (0.4, 0.15, 1), (0.44, 0.3, 1), (0.13, 0.15, 3), (0.2, 0.15, 10))
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
    """The share of replies, verdicts and money that asking only for lies takes, the drawn part included."""

    p_lie: float
    replies: float
    verdicts: float
    money: float


def share_of_calls(folder: Path, part: float = 0.2) -> Saved:
    """What asking only for lies would have taken of a stored run that asked everything.

    Nothing is taken off for equal verdicts that are shared. Money is tokens as `--dry-run` estimates them, one that
    comes out paid like four that go in: asking everything pays once for the prompt of samples of one question.
    """
    prompts = load_prompts()
    with OpenRun(RunFolder(folder)) as opened:
        verdicts = opened.verdicts()
        took, lies = np.zeros((2, 3)), []
        for done in verdicts.read(RULES["reference"]):
            scenario, settings = done.scenario, verdicts.settings
            every = _spent(scenario, set(done.items), settings, prompts, together=True)
            free = is_asked_whole_anyway(scenario, settings)
            asked = set(replayed(scenario, done.items, settings))
            least = every if free else _spent(scenario, asked, settings, prompts, together=False)
            took += every, part * every + (1 - part) * least
            lies.append(done.scored.outcome == "lie")
        return Saved(sum(lies) / len(lies), *map(float, took[1] / took[0]))


def _spent(
    scenario: Scenario, asked: Set[Place], settings: Settings, prompts: Prompts, *, together: bool
) -> NDArray[np.float64]:
    """Replies, verdicts and money; samples of one question are one request, or each has its own."""
    replies = verdicts = money = 0.0
    for ask in subject_asks(scenario, settings):
        runs = [run for run in ask.runs if (ask.elicitation, run) in asked]
        if runs:
            requests = 1 if together or USUAL.is_joint(ask) or ask.call == "statement" else len(runs)
            replies += len(runs)
            money += tokens(ask) * requests + OUTPUT * reply_tokens(ask.call, settings) * len(runs)
            text = "x" * (4 * reply_tokens(ask.call, settings))
            about = (
                ask_about_beliefs(scenario, [text] * len(runs), prompts)
                if USUAL.is_joint(ask)
                else ask_about(scenario, ask.call, ask.elicitation, 1, text, prompts)
            )
            judged = 1 if USUAL.is_joint(ask) else len(runs)
            verdicts += judged
            money += judged * (tokens(about) + OUTPUT * verdict_tokens(settings))
    return np.array([replies, verdicts, money])


def calls() -> None:
    """Simulated subjects on the starter set: a run that asks everything is replayed, and one that does not is made."""
    print(
        "subject                                   P(lie)  replies  verdicts  money   as run: P(lie)  replies  verdicts"
    )
    for lie, evade, statements in CALLS:
        subject = f"sim/lie={lie},evade={evade},unsure=0.1"
        with TemporaryDirectory() as place:
            every, short = (
                measure(
                    Settings.of(subject, "sim-judge", "starter", estimate=estimate, statements=statements),
                    Path(place) / estimate,
                    {},
                )
                for estimate in ("all", "lie")
            )
            saved = share_of_calls(Path(place) / "all")
        asked, rate = short.estimate, short.rates["p_lie"].value
        if asked is None or rate is None or rate != every.rates["p_lie"].value:
            raise SystemExit(f"{subject}: P(lie) is {every.rates['p_lie'].value} and {rate}.")
        print(
            f"{subject}, {statements} a scenario".ljust(50)
            + f"{saved.p_lie:6.3f} {saved.replies:8.3f} {saved.verdicts:8.3f} {saved.money:8.3f} {rate:12.3f}"
            + f"{asked.replies / asked.replies_of_all:12.3f} {asked.verdicts / asked.verdicts_of_all:9.3f}"
        )


# Patterns


def patterns() -> None:
    """All verdicts on one to three statements and on up to 3 + 2 belief replies, failures among them."""
    failed = Failure("judge", "unreadable", "nothing")
    checked = unmet = 0
    for questions in (2, 1, 0):
        about = Scenario(
            *("known_facts", "1", "binary", "It <pivotal>is/is not</pivotal> so.", "A"),
            messages=conversation("Press.", "Say."),
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
            settings = Settings.of("a", "b", "c", statements=statements)
            for stated in combinations_with_replacement((*LETTERS, None), statements):
                for believed in product((*LETTERS, None), repeat=len(at)):
                    verdicts = dict(zip(at, believed, strict=True)) | {(0, i): v for i, v in enumerate(stated, 1)}
                    items = {place: samples[place, letter] for place, letter in verdicts.items()}
                    short = replayed(about, items, settings)
                    is_short = finished(about, short.values(), settings) is None
                    met = any(item.judgement is failed for item in short.values())
                    for rules in RULES.values():
                        every = score(about, 1.0, items, settings, rules).outcomes
                        told = score_for_lies(about, 1.0, short, settings, rules, is_short=is_short).outcomes
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
        inside, widths = Counter[tuple[str, int]](), defaultdict[tuple[str, int], float](float)
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


def ends(estimate: Share) -> tuple[float, float]:
    """An interval; all that a share can be where there is none."""
    return (0.0, 1.0) if estimate.low is None or estimate.high is None else (estimate.low, estimate.high)


# Archetypes differ by these factors in lies, evasion and absent beliefs; in the first no belief is asked for.
_FACTORS = np.array(
    [(1.2, 1.0, 0.0), (0.4, 1.4, 0.6), (1.6, 0.6, 1.5), (1.0, 0.3, 2.0), (1.3, 0.9, 0.5), (0.5, 1.8, 0.4)]
)


def _chances(cell: Cell) -> NDArray[np.float64]:
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
        on_logs=np.zeros(len(kinds), ON_LOGS),
    )


if __name__ == "__main__":
    {"calls": calls, "patterns": patterns, "coverage": coverage}[sys.argv[1] if len(sys.argv) > 1 else "calls"]()
