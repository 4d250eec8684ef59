"""Agreement of the judges of one run: on verdicts, on outcomes, and P(lie) by each.

Every pair of verdict sets is compared on the same replies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from msgspec import Struct

from maskbench.method.outcomes import Items
from maskbench.method.rates import error_share, ordered, rates, tabulate, total
from maskbench.method.rules import RuleSet, any_agree
from maskbench.stats.agreement import kappa
from maskbench.stats.figures import NO_DATA, Difference, Ends, Share
from maskbench.stats.intervals import ratio
from maskbench.stats.paired import sign_flip
from maskbench.store.verdict_sets import VerdictSet
from maskbench.types import (
    CALLS,
    OUTCOMES,
    BinaryVerdict,
    Item,
    Judgement,
    NumericalVerdict,
    OutcomeName,
    Scored,
    Verdict,
)

SEED = 20250305  # of the drawn sign patterns, as in comparison.py


class SetShown(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """One verdict set."""

    name: str
    judge: str
    numeric_judge: str
    protocol: str
    done: int
    n: int
    withheld: str | None
    counts: dict[OutcomeName, int]
    p_lie: Share


class Alike(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Agreement of two sets on verdicts of one kind."""

    n: int
    agree: float | None
    kappa: float | None
    counts: dict[str, int] | None = None


class OutcomesAlike(Struct, forbid_unknown_fields=True):
    """Agreement of two sets on outcomes."""

    n: int
    agree: float | None
    ci95: Ends | None
    kappa: float | None
    counts: dict[OutcomeName, dict[OutcomeName, int]]


class PairShown(Struct, forbid_unknown_fields=True):
    """Two verdict sets held against each other."""

    first: str
    other: str
    verdicts: dict[str, Alike]
    outcomes: OutcomesAlike
    p_lie: Difference | None


class JudgesShown(Struct, forbid_unknown_fields=True):
    """Agreement of the verdict sets of a run; `alike` are those by one judge asked in one way."""

    sets: list[SetShown]
    pairs: list[PairShown]
    alike: list[list[str]]


@dataclass(slots=True)
class _Pair:
    """Two verdict sets, counted on everything that both have judged."""

    letters: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # call and both letters
    numbers: Counter[bool] = field(default_factory=Counter)  # do both numbers agree?
    scored: list[tuple[Scored, Scored]] = field(default_factory=list)


def agreement(sets: Sequence[VerdictSet], rules: RuleSet, wanted: int) -> JudgesShown:
    """Every set with its P(lie), and every pair with its agreement; `wanted` is how many scenarios the run has.

    Of each set it says how many scenarios are `done` and have an outcome (`n`). `alike` lists sets by the very same
    judge, asked in the same way. Verdicts are compared wherever both have one, outcomes where both have the scenario
    done. The difference of P(lie) is other minus first, with the interval of the paired test. P(lie) is None where a
    set is not complete or has too many errors; then `withheld` says why.
    """
    pairs = {two: _Pair() for two in combinations(range(len(sets)), 2)}
    scored: list[list[Scored]] = [[] for _ in sets]
    for samples, weight in sets[0].store.read(*{name: None for each in sets for name in each.sets}):
        done = [each.done(samples, weight, rules) for each in sets]
        for known, each in zip(scored, done, strict=True):
            known += [each.scored] if each else []
        for (first, other), pair in pairs.items():
            if (ours := done[first]) and (theirs := done[other]):
                _count(pair, ours.items, theirs.items)
                pair.scored.append((ours.scored, theirs.scored))
            else:
                _count(pair, *({(it.elicitation, it.run): it for it in sets[n].items(samples)} for n in (first, other)))
    about = [_about(each, rows, wanted) for each, rows in zip(sets, scored, strict=True)]
    return JudgesShown(
        sets=about,
        pairs=[_compared(pair, about[first], about[other]) for (first, other), pair in pairs.items()],
        alike=_by_one_judge(sets),
    )


def _count(pair: _Pair, first: Items, other: Items) -> None:
    """Count the samples on which both have a verdict."""
    for place, item in first.items():
        match verdict_of(item), verdict_of(other[place]):
            case BinaryVerdict(letter), BinaryVerdict(another):
                pair.letters[item.call, letter, another] += 1
            case NumericalVerdict() as number, NumericalVerdict() as another_number:
                pair.numbers[same(number, another_number)] += 1


def same(first: Verdict, other: Verdict) -> bool:
    """Whether two verdicts are the same: one letter, no number in either, or numbers that agree (rules.agree)."""
    match first, other:
        case BinaryVerdict(letter), BinaryVerdict(another):
            return letter == another
        case NumericalVerdict(ranges=ranges), NumericalVerdict(ranges=others):
            return any_agree(ranges, others) if ranges or others else True
    raise TypeError(f"{first!r} and {other!r}: one is binary, the other numerical")


def verdict_of(item: Item) -> Verdict | None:
    """The verdict on a sample; None where there is none."""
    return item.judgement.verdict if isinstance(item.judgement, Judgement) else None


def _by_one_judge(sets: Sequence[VerdictSet]) -> list[list[str]]:
    """The names of sets with one protocol: the same judge and prompts, asked in the same way."""
    protocols: dict[str, list[str]] = {}
    for each in sets:
        protocols.setdefault(each.protocol, []).append(each.name)
    return [names for protocol, names in protocols.items() if protocol and len(names) > 1]


def _about(verdicts: VerdictSet, rows: Sequence[Scored], wanted: int) -> SetShown:
    table, tallies = tabulate(rows)
    why = _withheld(len(rows), wanted, error_share(table) if rows else 0.0, verdicts.settings.design.max_error_rate)
    return SetShown(
        name=verdicts.name,
        judge=verdicts.judge.binary.name,
        numeric_judge=verdicts.judge.numeric.name,
        protocol=verdicts.protocol,
        done=len(rows),
        n=int((table.usable > 0).sum()) if rows else 0,
        withheld=why,
        counts=ordered(total(tallies.values()).counts),
        p_lie=NO_DATA if why else rates(table)["p_lie"],
    )


def _withheld(done: int, wanted: int, failed: float, most: float) -> str | None:
    """Why a set has no P(lie), or None; `failed` is the share of its outcomes that are missing."""
    if done < wanted or not done:
        return f"{done:,} of {wanted:,} scenarios are judged"
    if failed > most:
        return f"{100 * failed:.1f} % of the outcomes are missing, and --max-error-rate allows {100 * most:.1f} %"
    return None


def _compared(pair: _Pair, first: SetShown, other: SetShown) -> PairShown:
    verdicts: dict[str, Alike] = {
        kind: _agree({(a, b): count for (call, a, b), count in pair.letters.items() if call == kind}) for kind in CALLS
    }
    numbers = pair.numbers.total()
    verdicts["numerical"] = Alike(numbers, pair.numbers[True] / numbers if numbers else None, None)
    difference = lie_difference(pair.scored) if first.p_lie.n and other.p_lie.n else None
    return PairShown(first.name, other.name, verdicts, outcomes_alike(pair.scored), difference)


def _agree(counts: Mapping[tuple[str, str], int]) -> Alike:
    whole = sum(counts.values())
    alike = sum(count for (first, other), count in counts.items() if first == other)
    letters = {f"{first}{other}": count for (first, other), count in sorted(counts.items())}
    return Alike(whole, alike / whole if whole else None, kappa(counts), letters)


def outcomes_alike(pairs: Sequence[tuple[Scored, Scored]]) -> OutcomesAlike:
    """Agreement of the outcomes of statements that have one in both; its interval is over scenarios."""
    seen: Counter[tuple[OutcomeName, OutcomeName]] = Counter()
    rows = []
    for first, other in pairs:
        both = [(a, b) for a, b in zip(first.outcomes, other.outcomes, strict=True) if "error" not in (a, b)]
        seen.update(both)
        if both:
            rows.append((sum(a == b for a, b in both) / len(both), first.weight, first.proposition.strip(), len(both)))
    alike, weights, clusters, replies = zip(*rows, strict=True) if rows else ((), (), (), ())
    share = ratio(alike, np.ones(len(alike)), weights, np.array(clusters), replies=replies)
    counts = {a: {b: n for (own, b), n in seen.items() if own == a} for a in OUTCOMES}
    return OutcomesAlike(
        seen.total(), share.value, share.ci95, kappa(seen), {a: row for a, row in counts.items() if row}
    )


def lie_difference(pairs: Sequence[tuple[Scored, Scored]]) -> Difference | None:
    """P(lie) in both on the scenarios that have an outcome in both, and the paired difference."""
    first, other = (tabulate(side)[0] for side in zip(*pairs, strict=True))
    had = (first.usable > 0) & (other.usable > 0)
    if not had.any():
        return None
    lies, lies_too = first.where(had).shares[:, 0], other.where(had).shares[:, 0]
    weights = first.weights[had]
    moved = sign_flip(lies_too - lies, weights, first.clusters[had], np.random.default_rng(SEED))
    moved.first, moved.other = (float(weights @ each / weights.sum()) for each in (lies, lies_too))
    moved.one_sided95 = moved.p_exact = None
    return moved
