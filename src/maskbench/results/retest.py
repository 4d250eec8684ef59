"""How many scenarios change by themselves: what the changes between two runs have to be held against.

A model draws its answers, so that two runs in which nothing was changed differ, too. How much is seen from a run of
the first subject with another seed, or from the repeats within the runs: several statements, and with six direct
replies or more the belief by each half of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, product
from typing import Literal

import numpy as np
from msgspec import Struct

from maskbench.errors import UsageError
from maskbench.results.scored import ScoredRun
from maskbench.scenarios import Key
from maskbench.settings import arm_of
from maskbench.stats.intervals import clustered_variance
from maskbench.stats.paired import LEVEL, holm
from maskbench.types import OUTCOMES, OutcomeName, Scored

Change = tuple[OutcomeName, OutcomeName]
Shares = Mapping[Change, float]  # how likely each pair of outcomes is in one scenario


class ChangeKind(Struct, forbid_unknown_fields=True):
    """One kind of change: how often it was seen, how often it comes by itself, and whether it was seen more often."""

    first: OutcomeName
    other: OutcomeName
    changed: int
    by_itself: float
    above: bool


class ByThemselves(Struct, forbid_unknown_fields=True):
    """How many scenarios would change with nothing changed, over `scenarios` of which a repeat tells it.

    `source` is a retest, whose folder is `run`, or repeats within the runs: statements alone (then beliefs are held
    fixed, and more would change), or beliefs, too. `lies_each_way` is how many lies would come, and go, by themselves.
    """

    source: Literal["run", "statements", "statements_and_beliefs"]
    run: str | None
    scenarios: int
    changed: int
    by_itself: float
    above: bool
    lies_each_way: float
    kinds: list[ChangeKind]


def by_themselves(
    pairs: Sequence[tuple[Scored, Scored]], first: ScoredRun, other: ScoredRun, retest: ScoredRun | None
) -> ByThemselves | None:
    """How many of these scenarios would change with nothing changed; None where no repeat tells it.

    Arguments are the scenarios that both runs have, both runs, and a retest of the first one.
    """
    if retest:
        repeats = [_held_against(ours, first, retest) for ours, _ in pairs]
        return reference(pairs, repeats, "run", str(retest.path))
    several = [run for run in (first, other) if run.settings.design.statements > 1 and run.phases is None]
    if not several:
        return None
    whole = all(run.halves for run in several)
    repeats = [_mean([_within(run, ours.key) for run in several]) for ours, _ in pairs]
    return reference(pairs, repeats, "statements_and_beliefs" if whole else "statements", None)


def check_retest(first: ScoredRun, retest: ScoredRun) -> None:
    """Raise UsageError where a run is no retest of the first: the same measurement with another seed."""
    path, begun = retest.path, first.path
    if arm_of(retest.settings) != arm_of(first.settings):
        raise UsageError(
            f"--retest {path}: its subject is {retest.settings.label}, and that of {begun} is {first.settings.label}. "
            f"Give a run of {first.settings.label} with another --seed."
        )
    if retest.protocol != first.protocol:
        raise UsageError(
            f"--retest {path}: it was measured by the protocol {retest.protocol}, {begun} by {first.protocol}. Measure "
            "it again with the settings of the first, and another --seed."
        )
    if retest.settings.design.seed == first.settings.design.seed:
        raise UsageError(
            f"--retest {path}: both have the seed {first.settings.design.seed}, so that it may repeat the very "
            f"answers of {begun}. Measure it with another --seed."
        )
    if not retest.complete:
        raise UsageError(f"--retest {path}: {len(retest.scored):,} of {retest.wanted:,} scenarios are done. Finish it.")
    if not any(digest.is_same(retest.digests.get(key)) for key, digest in first.digests.items()):
        raise UsageError(f"--retest {path}: it has no scenario of {begun}. Measure it on the same scenarios.")


def _held_against(ours: Scored, first: ScoredRun, retest: ScoredRun) -> Shares | None:
    """A scenario in both runs of the subject: nothing says which of them stands first, so either order is as likely."""
    if not first.digests[ours.key].is_same(retest.digests.get(ours.key)):
        return None
    change = ours.outcomes[0], retest.scored[ours.key].outcomes[0]
    return _shares((change, change[::-1]))


def _within(run: ScoredRun, key: Key) -> Shares | None:
    """Any two statements of a scenario, the beliefs from different halves of the replies where there are such."""
    halves = run.halves.get(key)
    if halves:
        first, second = halves
        apart = [(a, b) for (i, a), (j, b) in product(enumerate(first), enumerate(second)) if i != j]
        return _shares([*apart, *((b, a) for a, b in apart)])
    return _again(run, key)


def _again(run: ScoredRun, key: Key) -> Shares | None:
    """Any two statements of a scenario, held against one belief."""
    return _shares(permutations(run.scored[key].outcomes, 2))


def _shares(changes: Iterator[Change] | Sequence[Change]) -> Shares | None:
    counts = Counter(changes)
    return {change: count / counts.total() for change, count in counts.items()} or None


def _mean(repeats: Sequence[Shares | None]) -> Shares | None:
    known = [shares for shares in repeats if shares]
    kinds = {kind for shares in known for kind in shares}
    return {kind: sum(shares.get(kind, 0.0) for shares in known) / len(known) for kind in kinds} or None


def reference(
    pairs: Sequence[tuple[Scored, Scored]],
    repeats: Sequence[Shares | None],
    source: Literal["run", "statements", "statements_and_beliefs"],
    run: str | None,
) -> ByThemselves:
    """Changes between two runs, held against those of the repeats of each scenario (None: it has none)."""
    known = [(ours, theirs, shares) for (ours, theirs), shares in zip(pairs, repeats, strict=True) if shares]
    observed = [(ours.outcomes[0], theirs.outcomes[0]) for ours, theirs, _ in known]
    expected = [shares for *_, shares in known]
    propositions = [ours.proposition.strip() for ours, *_ in known]
    names: tuple[OutcomeName, ...] = (*OUTCOMES, "disputed")
    others = [(was, now) for was, now in product(names, names) if was != now]
    seen = [pair for pair in others if pair in observed or any(shares.get(pair) for shares in expected)]
    family = [others, *([pair] for pair in seen)]
    ps = holm([_p(pairs, observed, expected, propositions) for pairs in family])
    whole, *kinds = (
        ChangeKind(*pairs[0], *_counted(pairs, observed, expected), above=p < 1 - LEVEL)
        for pairs, p in zip(family, ps, strict=True)
    )
    lies = [pair for pair in others if pair[0] == "lie" and pair[1] not in ("error", "disputed")]
    return ByThemselves(
        source=source,
        run=run,
        scenarios=len(known),
        changed=whole.changed,
        by_itself=whole.by_itself,
        above=whole.above,
        lies_each_way=_counted(lies, observed, expected)[1],
        kinds=kinds,
    )


def _counted(pairs: Sequence[Change], observed: Sequence[Change], expected: Sequence[Shares]) -> tuple[int, float]:
    """How many changes there are of these kinds, and how many come by themselves."""
    by_itself = sum(shares.get(pair, 0.0) for shares in expected for pair in pairs)
    return sum(change in pairs for change in observed), float(by_itself)


def _p(
    pairs: Sequence[Change], observed: Sequence[Change], expected: Sequence[Shares], propositions: Sequence[str]
) -> float:
    """The one-sided p of Student's t that no more changes are seen than come by themselves, over propositions.

    Both are counted in the same scenarios, so that what they share cancels out.
    """
    by_itself = [sum(shares.get(pair, 0.0) for pair in pairs) for shares in expected]
    difference = np.array([change in pairs for change in observed], dtype=np.float64) - by_itself
    if not len(difference) or difference.sum() <= 0:
        return 1.0
    from scipy.special import stdtr  # type: ignore[import-untyped]  # loading it takes long

    variance, groups = clustered_variance(difference - difference.mean(), np.array(propositions))
    if groups < 2:
        return 1.0
    return float(stdtr(groups - 1, -difference.sum() / math.sqrt(variance))) if variance > 0 else 0.0
