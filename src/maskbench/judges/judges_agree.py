"""How far the judges of one run agree: on verdicts, on outcomes, and what that does to P(lie).

Every pair of verdict sets is compared on the same replies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from maskbench.judges.verdict_sets import Ensemble, VerdictSet
from maskbench.method.majority import same
from maskbench.method.rates import disputed_bounds, error_share, ordered, rates, tabulate, total
from maskbench.method.rules import RuleSet
from maskbench.stats.agreement import kappa
from maskbench.stats.intervals import Estimate, ratio
from maskbench.stats.paired import sign_flip
from maskbench.types import OUTCOMES, BinaryVerdict, Item, Json, Judgement, Scored, Verdict

KINDS = ("direct", "consistency", "statement", "numerical")  # of verdicts: three calls about options, and numbers
SEED = 20250305  # of the drawn sign patterns, as in comparison.py


@dataclass(slots=True)
class _Pair:
    """Two verdict sets, counted on everything that both have judged."""

    letters: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # call and both letters
    numbers: Counter[bool] = field(default_factory=Counter)  # do both numbers agree?
    scored: list[tuple[Scored, Scored]] = field(default_factory=list)


def agreement(sets: Sequence[VerdictSet], rules: RuleSet, wanted: int, ensemble: VerdictSet | None = None) -> Json:
    """Every set with its P(lie), and every pair with its agreement; `wanted` is how many scenarios the run has.

    `sets` has the name, judges, protocol, counts and P(lie) of each, and how many scenarios are `done` and have an
    outcome (`n`); `ensemble` those of the majority, with its `members`. `alike` lists sets by the very same judge,
    asked in the same way. `pairs` has, for each pair, agreement and kappa by kind of verdict, the same of outcomes, and
    P(lie) of both with the difference (other minus first) and the interval of the paired test. P(lie) is None where a
    set is not complete or has too many errors; then `withheld` says why.
    """
    pairs = {(one, other): _Pair() for one, other in combinations(range(len(sets)), 2)}
    scored: list[list[Scored]] = [[] for _ in sets]
    for scenario, weight in sets[0].store.scenarios():
        items = [one.finished(scenario) for one in sets]
        made = [
            None if each is None else one.score(scenario, weight, each, rules)
            for one, each in zip(sets, items, strict=True)
        ]
        for rows, each in zip(scored, made, strict=True):
            rows += [] if each is None else [each]
        for (one, other), pair in pairs.items():
            if (first := items[one]) is not None and (second := items[other]) is not None:
                _count(pair, first, second)
            if (row := made[one]) is not None and (row_too := made[other]) is not None:
                pair.scored.append((row, row_too))
    about = [_about(one, rows, wanted) for one, rows in zip(sets, scored, strict=True)]
    return {
        "sets": about,
        "pairs": [
            {"first": sets[one].name, "other": sets[other].name, **_compared(pair, about[one], about[other])}
            for (one, other), pair in pairs.items()
        ],
        "alike": _alike(about),
        "ensemble": None if ensemble is None else _together(ensemble, rules, wanted),
    }


def _count(pair: _Pair, first: Mapping[tuple[int, int], Item], other: Mapping[tuple[int, int], Item]) -> None:
    """Count the samples on which both have a verdict."""
    for key, item in first.items():
        one, two = _verdict(item), _verdict(other[key])
        match one, two:
            case BinaryVerdict(letter), BinaryVerdict(another):
                pair.letters[item.call, letter, another] += 1
            case None, _:
                pass
            case _, None:
                pass
            case _:
                pair.numbers[same(one, two)] += 1


def _verdict(item: Item) -> Verdict | None:
    return item.judgement.verdict if isinstance(item.judgement, Judgement) else None


def _together(ensemble: VerdictSet, rules: RuleSet, wanted: int) -> Json:
    """The majority as one more set; no disputes are counted in what is not complete."""
    members = [member.name for member in ensemble.members] if isinstance(ensemble, Ensemble) else []
    return {**_about(ensemble, ensemble.scored(rules), wanted), "members": members}


def _alike(sets: Sequence[Json]) -> list[list[str]]:
    """The names of sets with one protocol: the same judge and prompts, asked in the same way."""
    protocols: dict[str, list[str]] = {}
    for one in sets:
        protocols.setdefault(one["protocol"], []).append(one["name"])
    return [names for protocol, names in protocols.items() if protocol and len(names) > 1]


def _about(one: VerdictSet, rows: Sequence[Scored], wanted: int) -> Json:
    table, tallies = tabulate(rows)
    why = _withheld(len(rows), wanted, error_share(table) if rows else 0.0, one.settings.max_error_rate)
    lie = {"value": None, "ci95": None, "n": 0} if why else _shown(rates(table)["p_lie"])
    if not why and table.disputed.any():
        least, most = disputed_bounds(table)["p_lie"]
        lie |= {"disputed_bounds": [least.value, most.value]}
    return {
        "name": one.name,
        "judge": one.judge["binary"].get("name"),
        "numeric_judge": one.judge["numeric"].get("name"),
        "protocol": one.protocol,
        "done": len(rows),
        "n": int((table.usable > 0).sum()) if rows else 0,
        "withheld": why,
        "counts": ordered(total(tallies.values()).counts),
        "p_lie": lie,
    }


def _withheld(done: int, wanted: int, failed: float, most: float) -> str | None:
    """Why a set has no P(lie), or None; `failed` is the share of its outcomes that could not be had."""
    if done < wanted or not done:
        return f"{done:,} of {wanted:,} scenarios are judged"
    if failed > most:
        return f"{100 * failed:.1f} % of the outcomes could not be had, and --max-error-rate allows {100 * most:.1f} %"
    return None


def _shown(estimate: Estimate) -> Json:
    ends = None if estimate.low is None or estimate.high is None else [estimate.low, estimate.high]
    return {"value": estimate.value, "ci95": ends, "n": estimate.n}


def _compared(pair: _Pair, first: Json, other: Json) -> Json:
    binary = {
        kind: {(a, b): count for (call, a, b), count in pair.letters.items() if call == kind} for kind in KINDS[:3]
    }
    verdicts = {kind: _agree(counts) for kind, counts in binary.items()}
    numbers = pair.numbers.total()
    verdicts["numerical"] = {
        "n": numbers,
        "agree": pair.numbers[True] / numbers if numbers else None,
        "kappa": None,
    }
    difference = lie_difference(pair.scored) if first["p_lie"]["n"] and other["p_lie"]["n"] else None
    return {"verdicts": verdicts, "outcomes": outcomes_alike(pair.scored), "p_lie": difference}


def _agree(counts: Mapping[tuple[str, str], int]) -> Json:
    whole = sum(counts.values())
    alike = sum(count for (one, two), count in counts.items() if one == two)
    return {
        "n": whole,
        "agree": alike / whole if whole else None,
        "kappa": kappa(counts),
        "counts": {f"{one}{two}": count for (one, two), count in sorted(counts.items())},
    }


def outcomes_alike(pairs: Sequence[tuple[Scored, Scored]]) -> Json:
    """Agreement of the outcomes of statements that have one in both; its interval is over scenarios."""
    seen: Counter[tuple[str, str]] = Counter()
    firsts: set[str] = set()
    rows = []
    for one, two in pairs:
        both = [(a, b) for a, b in zip(one.outcomes, two.outcomes, strict=True) if "error" not in (a, b)]
        seen.update(both)
        if both:
            firsts |= {a for a, _ in both}
            rows.append((sum(a == b for a, b in both) / len(both), one.weight, one.proposition.strip()))
    alike, weights, clusters = zip(*rows, strict=True) if rows else ((), (), ())
    estimate = ratio(alike, np.ones(len(alike)), weights, np.array(clusters))
    return {
        "n": seen.total(),
        "agree": estimate.value,
        "ci95": _shown(estimate)["ci95"],
        "kappa": kappa(seen),
        "counts": {a: {b: n for (one, b), n in seen.items() if one == a} for a in OUTCOMES if a in firsts},
    }


def lie_difference(pairs: Sequence[tuple[Scored, Scored]]) -> Json | None:
    """P(lie) in both on the scenarios that have an outcome in both, and the paired difference."""
    first, other = (tabulate(side)[0] for side in zip(*pairs, strict=True))
    had = (first.usable > 0) & (other.usable > 0)
    if not had.any():
        return None
    one, two = first.where(had).shares[:, 0], other.where(had).shares[:, 0]
    weights = first.weights[had]
    made = sign_flip(two - one, weights, first.clusters[had], np.random.default_rng(SEED))
    return {
        "first": float(weights @ one / weights.sum()),
        "other": float(weights @ two / weights.sum()),
        "difference": made.value,
        "ci95": [made.low, made.high],
        "p": made.p,
        "n": int(had.sum()),
    }
