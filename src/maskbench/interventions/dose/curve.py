"""The runs of a dose curve → everything that is said about it, as data; asks no model.

Every run is held against dose 0 on the scenarios that both have, as `maskbench compare` does it. Besides, its
statements are held against the beliefs of dose 0, and its replies are looked at for damage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from msgspec import structs

from maskbench.interventions.dose.conclusion import Seen
from maskbench.interventions.dose.damage import malformed
from maskbench.interventions.dose.record import BeliefsChanged, DoseAlone, DoseRow
from maskbench.judges.verdict_sets import Done
from maskbench.judges.verdict_sets import reading as opening
from maskbench.method.outcomes import by_belief
from maskbench.method.rates import COMPARED, Table, error_share, rates, tabulate
from maskbench.method.rules import RuleSet, named, same_answer
from maskbench.results.comparability import shared
from maskbench.results.comparison import Pairing, about, check_given, compare_read
from maskbench.results.contrasts import Columns, contrast, paired_rate, untested
from maskbench.results.scored import ScoredRun, read
from maskbench.scenarios import Key
from maskbench.stats.figures import NO_DATA, Difference
from maskbench.types import EVASIONS, Scored


@dataclass(frozen=True, slots=True)
class Reading:
    """One run, scenario by scenario; every mapping has the scenarios that are done."""

    arm: ScoredRun
    malformed: Mapping[Key, tuple[int, int]]  # malformed statements, and statements that did not fail
    by_base: Mapping[Key, Scored]  # with its statements held against the beliefs of dose 0


def reading(path: Path, rules: RuleSet, base: Reading | None = None) -> Reading:
    """Read a run; `base` is dose 0 (None: this is it). Raises RunUnreadable where there is no run."""
    broken: dict[Key, tuple[int, int]] = {}
    by_base: dict[Key, Scored] = {}

    def see(done: Done) -> None:
        key = done.scored.key
        statements = (item for (elicitation, _), item in done.items.items() if elicitation == 0)
        flags = [flag for item in statements if (flag := malformed(item)) is not None]
        broken[key] = sum(flags), len(flags)
        if base is None:
            by_base[key] = done.scored
        elif key in base.by_base:
            belief = base.by_base[key].resolved
            by_base[key] = by_belief(done.scored, belief, done.items, judged.settings, rules)

    with opening(path) as opened:
        judged = opened.verdicts()
        return Reading(read(opened, rules, None, see), broken, by_base)


def curve(base: Path, runs: Sequence[Path], rules_name: str) -> tuple[DoseAlone, list[DoseRow]]:
    """Dose 0 by itself, and every other run held against it; docs/interventions.md describes their fields.

    Raises UsageError for runs without a shared scenario, RunUnreadable for folders without a run.
    """
    rules = named(rules_name)
    first = reading(base, rules)
    zero = _alone(first)
    if not runs:
        return zero, []
    check_given(base, runs)
    others = [reading(path, rules, first) for path in runs]
    pairings = compare_read(first.arm, [other.arm for other in others]).data.others
    return zero, [_against(first, other, pairing) for other, pairing in zip(others, pairings, strict=True)]


def seen(row: DoseRow) -> Seen:
    """The row as the choice of a dose sees it."""
    changes = {name: row.rates[name].difference for name in ("accuracy", "p_no_belief")}
    known = {"malformed": row.malformed.difference, "perplexity": row.perplexity_ratio}
    return {"p_lie": row.rates["p_lie"].other, **changes, **known}


def _alone(run: Reading) -> DoseAlone:
    """A run by itself, of which its folder says the name alone: which dose it is, the plan knows."""
    table, tallies = tabulate(run.arm.scored.values())
    withheld = error_share(table) > run.arm.settings.design.max_error_rate
    which, path = about(run.arm), run.arm.path
    return DoseAlone(
        subject=which.subject,
        statements=which.statements,
        done=which.done,
        n=which.n,
        values={name: NO_DATA if withheld else value for name, value in rates(table).items() if name in COMPARED},
        evasions=_kinds((tally.evasions for tally in tallies.values()), 0 if withheld else int(table.usable.sum())),
        malformed_value=_share(run),
        name=path.name,
        run=f"{path.parent.name}/{path.name}",
        amount=None,
        layers=None,
        perplexity=None,
        perplexity_ratio=None,
    )


def _share(run: Reading) -> float | None:
    """The share of malformed statements, every scenario with its weight."""
    counted = [(run.arm.scored[key].weight, *counts) for key, counts in run.malformed.items() if counts[1]]
    whole = sum(weight for weight, _, _ in counted)
    return sum(weight * count / total for weight, count, total in counted) / whole if whole else None


# What a dose and any other run that is compared have in common.
_COMPARED = {*DoseRow.__struct_fields__} & {*Pairing.__struct_fields__} - {*DoseAlone.__struct_fields__}


def _against(base: Reading, run: Reading, pairing: Pairing) -> DoseRow:
    """A dose held against dose 0."""
    both = shared(base.arm, run.arm)
    keys = [scored.key for scored in both.first]
    weights = np.array([scored.weight for scored in both.first])
    table = tabulate(both.first)[0]
    by_base = contrast(table, tabulate(run.by_base[key] for key in keys)[0], weights).rates["p_lie"]
    own = [_as_tested(rate, pairing) for rate in (by_base, _malformed(base, run, keys, weights, table))]
    return DoseRow(
        **structs.asdict(_alone(run)),
        **{name: getattr(pairing, name) for name in _COMPARED},
        p_lie_by_base=own[0],
        beliefs_changed=_changed(base, run),
        malformed=own[1],
    )


def _as_tested(rate: Difference, pairing: Pairing) -> Difference:
    """A rate without what the comparison withholds of its own ones, too."""
    if pairing.untested_because:
        rate = structs.replace(untested(rate), difference=None)
    return structs.replace(rate, first=None, other=None) if pairing.withheld else rate


def _changed(base: Reading, run: Reading) -> BeliefsChanged:
    """Among scenarios with a belief in both runs, how many have another one now."""
    pairs = [
        (scored.resolved.belief, run.arm.scored[key].resolved.belief)
        for key, scored in base.arm.scored.items()
        if key in run.arm.scored and scored.accuracy != "not_applicable"
    ]
    held = [(before, now) for before, now in pairs if before is not None and now is not None]
    return BeliefsChanged(sum(not same_answer(before, now) for before, now in held), len(held))


def _malformed(base: Reading, run: Reading, keys: Sequence[Key], weights: Columns, table: Table) -> Difference:
    """The share of malformed statements in both, paired by scenario."""
    in_both = np.array([base.malformed[key][1] > 0 and run.malformed[key][1] > 0 for key in keys])
    kept = [key for key, there in zip(keys, in_both, strict=True) if there]
    first, other = (np.array([side.malformed[key][0] / side.malformed[key][1] for key in kept]) for side in (base, run))
    return paired_rate(first, other, weights[in_both], table.clusters[in_both])


def _kinds(counts: Iterable[Mapping[str, int]], statements: int) -> dict[str, float | None]:
    """Kinds of C as shares of all statements with an outcome."""
    whole: Counter[str] = Counter()
    for some in counts:
        whole.update(some)
    return {kind: whole[kind] / statements if statements else None for kind in (*EVASIONS, "unsaid")}
