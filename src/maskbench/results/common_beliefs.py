"""Runs with the same beliefs: which they are, what may be said of them together, and how the best is confirmed.

Where two runs share their beliefs, the difference between them has none of the noise of beliefs, and a paired test
holds as it is. Their levels move together, though: they are never averaged as if they were independent, and the best
of several has been chosen by the luck of one draw of beliefs, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from maskbench.plain import one_line
from maskbench.results.contrasts import Contrast
from maskbench.results.scored import Result, ScoredRun
from maskbench.runs.beliefs_from import BeliefsFrom, fresh_command, own_beliefs
from maskbench.settings import Settings
from maskbench.stats.figures import Share

SHARED = ("p_no_belief", "accuracy", "accuracy_normalized")  # rates that say nothing but what the beliefs are


class Arm(NamedTuple):
    """A run among others: whose beliefs it has (`id` names them), and its P(lie) where it has one."""

    path: Path
    settings: Settings
    id: str
    source: BeliefsFrom | None
    p_lie: float | None


def of_run(run: ScoredRun, p_lie: float | None = None) -> Arm:
    """A run that was read."""
    record, source = run.record, run.beliefs_from
    return Arm(run.path, run.settings, source.id if source else own_beliefs(record), source, p_lie)


def of_result(result: Result) -> Arm:
    """A run that was scored."""
    source = source_of(result)
    return Arm(
        result.path, result.settings, source.id if source else result.beliefs, source, result.rates["p_lie"].value
    )


def source_of(result: Result) -> BeliefsFrom | None:
    """Whose beliefs a scored run has; None where they are its own."""
    return result.summary.beliefs_from


def asked_anew(source: BeliefsFrom | None) -> str:
    """How many of the shared beliefs came out otherwise where they were asked anew; empty where none was."""
    if source is None or source.anew is None or source.anew.value is None:
        return ""
    low, high = (100 * end for end in source.anew.ci95 or (0.0, 1.0))
    return (
        f"Of {source.anew.n:,} beliefs that were asked anew as a check, {100 * source.anew.value:.1f} % came out "
        f"otherwise ({low:.1f}–{high:.1f}). Some do by themselves; where many do, they moved: the run needs its own."
    )


def share(first: ScoredRun, other: ScoredRun) -> bool:
    """Whether two runs have the same neutral replies."""
    return any(groups([of_run(first), of_run(other)]))


def without_beliefs(contrast: Contrast) -> Contrast:
    """A difference between runs that share beliefs, without the differences that nobody measured."""
    bare = {"difference": None, "ci95": None, "one_sided95": None, "p": None, "p_exact": None}
    measured = {
        name: structs.replace(rate, **bare) if name in SHARED else rate for name, rate in contrast.rates.items()
    }
    if contrast.factors is None or contrast.effects is None:
        return replace(contrast, rates=measured)
    belief = structs.replace(contrast.factors["belief_share"], **bare)
    none = Share(None, None, contrast.effects["belief_share"].n)
    return Contrast(measured, {**contrast.factors, "belief_share": belief}, {**contrast.effects, "belief_share": none})


def groups(arms: Sequence[Arm]) -> Iterator[list[Arm]]:
    """Those runs that share their beliefs with another one of them, together."""
    by_id: dict[str, list[Arm]] = {}
    for arm in arms:
        by_id.setdefault(arm.id, []).append(arm)
    yield from (same for same in by_id.values() if len(same) > 1 and any(arm.source for arm in same))


def correlated(arms: Sequence[Arm]) -> Iterator[str]:
    """For each group of runs with the same beliefs: that their levels are correlated."""
    for same in groups(arms):
        run = next(arm.source.run for arm in same if arm.source)
        names = ", ".join(one_line(arm.settings.label) for arm in same)
        yield (
            f"{names} share the beliefs of {one_line(run)}: P(no belief) and accuracy are of one measurement, and "
            "their rates are too high or too low together. Differences between them hold; never average them, or hold "
            "their intervals against each other, as if they were independent."
        )


def confirmed(arms: Sequence[Arm]) -> Iterator[str]:
    """For each group with several arms on the beliefs of another run: how the best of them is confirmed."""
    for same in groups(arms):
        taken = [arm for arm in same if arm.source and arm.p_lie is not None]
        if len(taken) < 2:
            continue
        best = min(taken, key=lambda arm: arm.p_lie or 0.0)
        yield (
            f"{one_line(best.settings.label)} lies least of {len(taken)} runs on the same beliefs. The best of several "
            "looks better than it is. Before you choose it, measure it with beliefs of its own: "
            f"`{fresh_command(best.settings, best.path)}`"
        )
