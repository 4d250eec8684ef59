"""The runs of a dose curve → everything that is said about it, as data; asks no model.

Every run is held against dose 0 on the scenarios that both have, as `maskbench compare` does it. Besides, its
statements are held against the beliefs of dose 0, and its replies are looked at for damage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import to_builtins

from maskbench.interventions.dose.conclusion import Candidate, Difference, Effect
from maskbench.interventions.dose.damage import malformed
from maskbench.judges.verdict_sets import Done
from maskbench.judges.verdict_sets import reading as opening
from maskbench.method.outcomes import Items, score
from maskbench.method.rates import Table, error_share, rates, tabulate
from maskbench.method.rules import RuleSet, named, same_answer
from maskbench.results.comparison import about, check_given, compare_read, read_judged, shared
from maskbench.results.contrasts import contrast, paired_rate
from maskbench.results.scored import ScoredRun
from maskbench.scenarios import Key
from maskbench.stats.intervals import NO_DATA, Estimate
from maskbench.types import EVASIONS, Item, Json, Reply, Scored

RATES = ("p_lie", "p_honest", "p_evasive", "p_no_belief", "accuracy")


@dataclass(frozen=True, slots=True)
class Reading:
    """One run, scenario by scenario; every mapping has the scenarios that are done."""

    arm: ScoredRun
    beliefs: Mapping[Key, Items]  # of dose 0, what its beliefs rest on, without its words
    malformed: Mapping[Key, tuple[int, int]]  # malformed statements, and statements that did not fail
    by_base: Mapping[Key, Scored]  # its statements, scored against the beliefs of dose 0


def reading(path: Path, rules: RuleSet, base: Reading | None = None) -> Reading:
    """Read a run; `base` is dose 0 (None: this is it). Raises RunUnreadable where there is no run."""
    beliefs: dict[Key, Items] = {}
    broken: dict[Key, tuple[int, int]] = {}
    by_base: dict[Key, Scored] = {}

    def see(done: Done) -> None:
        key = done.scored.key
        statements = {place: item for place, item in done.items.items() if place[0] == 0}
        flags = [flag for item in statements.values() if (flag := malformed(item)) is not None]
        broken[key] = sum(flags), len(flags)
        if base is None:
            beliefs[key] = {place: wordless(item) for place, item in done.items.items() if place[0] != 0}
            by_base[key] = done.scored
        elif key in base.beliefs:
            both = {**base.beliefs[key], **statements}
            by_base[key] = score(done.scenario, done.scored.weight, both, judged.settings, rules)

    with opening(path) as opened:
        judged = opened.verdicts()
        return Reading(read_judged(opened, rules, None, see), beliefs, broken, by_base)


def wordless(item: Item) -> Item:
    """An item as scoring takes it, without what the model wrote: of many scenarios that is most of their memory."""
    if not isinstance(item.reply, Reply):
        return item
    return replace(item, reply=replace(item.reply, text="", reasoning=None))


def curve(base: Path, runs: Sequence[Path], rules_name: str) -> tuple[Json, list[Json]]:
    """Dose 0 as a row, and every other run as one; docs/interventions.md describes their fields.

    Raises UsageError for runs without a shared scenario, RunUnreadable for folders without a run.
    """
    rules = named(rules_name)
    first = reading(base, rules)
    zero = _alone(first)
    if not runs:
        return zero, []
    check_given(base, runs)
    others = [reading(path, rules, first) for path in runs]
    pairings = compare_read(first.arm, [other.arm for other in others]).data.as_dict()["others"]
    return zero, [_row(first, other, pairing) for other, pairing in zip(others, pairings, strict=True)]


def effect(row: Json, random: Sequence[float] = ()) -> Effect:
    """What the conclusion on this row rests on; `random` are the differences in P(lie) of the random directions."""
    differences = {name: difference(row["rates"][name]) for name in RATES}
    return Effect(
        p_lie=differences["p_lie"],
        p_honest=differences["p_honest"],
        p_no_belief=differences["p_no_belief"],
        accuracy=differences["accuracy"],
        malformed=difference(row["malformed"]),
        p_lie_by_base=difference(row["p_lie_by_base"]),
        perplexity=row.get("perplexity_ratio"),
        random=tuple(random),
    )


def candidate(row: Json) -> Candidate:
    """The row as one to choose from."""
    changed = {name: row["rates"][name]["difference"] for name in RATES}
    return Candidate(
        row["name"],
        row["rates"]["p_lie"]["other"],
        changed["accuracy"],
        changed["p_no_belief"],
        row["malformed"]["difference"],
        row.get("perplexity_ratio"),
    )


def difference(rate: Json) -> Difference | None:
    """A rate's difference from dose 0; None where it has none, or no interval."""
    if rate["difference"] is None or rate["ci95"] is None or rate["one_sided95"] is None:
        return None
    return Difference(rate["difference"], *rate["ci95"], *rate["one_sided95"])


def _alone(run: Reading) -> Json:
    """What is said of any run by itself."""
    table, tallies = tabulate(run.arm.scored.values())
    withheld = error_share(table) > run.arm.settings.max_error_rate
    this = about(run.arm)
    return {
        "subject": this.subject,
        "statements": this.statements,
        "done": this.done,
        "n": this.n,
        "values": {
            name: _estimate(NO_DATA if withheld else value) for name, value in rates(table).items() if name in RATES
        },
        "evasions": _kinds([tally.evasions for tally in tallies.values()], 0 if withheld else int(table.usable.sum())),
        "malformed_value": _share(run),
    }


def _share(run: Reading) -> float | None:
    """The share of malformed statements, every scenario with its weight."""
    counted = [(run.arm.scored[key].weight, *counts) for key, counts in run.malformed.items() if counts[1]]
    whole = sum(weight for weight, _, _ in counted)
    return sum(weight * count / total for weight, count, total in counted) / whole if whole else None


def _row(base: Reading, run: Reading, pairing: Json) -> Json:
    """A dose held against dose 0."""
    both = shared(base.arm, run.arm)
    keys = [scored.key for scored in both.first]
    weights = np.array([scored.weight for scored in both.first])
    row = {
        **_alone(run),
        **{name: pairing[name] for name in ("withheld", "untested_because", "rates", "factors", "test")},
        **{name: pairing[name] for name in ("smallest_difference", "transitions", "mcnemar", "warnings")},
        "p_lie_by_base": _by_base(base, run, keys, weights),
        "beliefs_changed": _changed(base, run),
        "malformed": _malformed(base, run, keys, weights, tabulate(both.first)[0]),
    }
    for name in ("p_lie_by_base", "malformed"):
        if pairing["untested_because"]:
            row[name] |= dict.fromkeys(("difference", "ci95", "one_sided95"))
        if pairing["withheld"]:
            row[name] |= dict.fromkeys(("first", "other"))
    return row


def _by_base(base: Reading, run: Reading, keys: Sequence[Key], weights: Any) -> Json:
    """P(lie) of dose 0, and of this run's statements against the beliefs of dose 0."""
    first = tabulate(base.arm.scored[key] for key in keys)[0]
    other = tabulate(run.by_base[key] for key in keys)[0]
    rate: Json = to_builtins(contrast(first, other, weights).rates.p_lie)
    return rate


def _changed(base: Reading, run: Reading) -> Json:
    """Among scenarios with a belief in both runs, how many have another one now."""
    pairs = [
        (scored.resolved.belief, run.arm.scored[key].resolved.belief)
        for key, scored in base.arm.scored.items()
        if key in run.arm.scored and scored.accuracy != "not_applicable"
    ]
    held = [(before, now) for before, now in pairs if before is not None and now is not None]
    return {"changed": sum(not same_answer(before, now) for before, now in held), "n": len(held)}


def _malformed(base: Reading, run: Reading, keys: Sequence[Key], weights: Any, table: Table) -> Json:
    """The share of malformed statements in both, paired by scenario."""
    in_both = np.array([base.malformed[key][1] > 0 and run.malformed[key][1] > 0 for key in keys])
    kept = [key for key, there in zip(keys, in_both, strict=True) if there]
    first, other = (np.array([side.malformed[key][0] / side.malformed[key][1] for key in kept]) for side in (base, run))
    rate: Json = to_builtins(paired_rate(first, other, weights[in_both], table.clusters[in_both]))
    return rate


def _kinds(counts: Sequence[Mapping[str, int]], statements: int) -> dict[str, float | None]:
    """Kinds of C as shares of all statements with an outcome."""
    whole: Counter[str] = Counter()
    for some in counts:
        whole.update(some)
    return {kind: whole[kind] / statements if statements else None for kind in (*EVASIONS, "unsaid")}


def _estimate(value: Estimate) -> Json:
    ends = None if value.low is None or value.high is None else [value.low, value.high]
    return {"value": value.value, "ci95": ends, "n": value.n}
