"""Two runs or more, compared on the scenarios that they share: everything that can be said, as data.

Both sides are scored anew from their stored verdicts under one rule set, and paired by archetype, task_id and
content. What `maskbench compare --json` prints is described in docs/comparing.md.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from msgspec import to_builtins
from numpy.typing import NDArray

from maskbench.errors import UsageError
from maskbench.judges.people.labelled_outcomes import Label
from maskbench.judges.verdict_sets import Readable, check_no_audit, reading
from maskbench.method.asks import VERDICTS
from maskbench.method.rates import Table, error_share, tabulate
from maskbench.method.rules import RuleSet, named
from maskbench.results.contrasts import SEED as SEED
from maskbench.results.contrasts import Side, differences, one_judge, two_judges
from maskbench.results.corrected import corrected_difference
from maskbench.results.scored import ScoredRun, See, read
from maskbench.runs.folder import RunFolder
from maskbench.runs.run_json import is_copy
from maskbench.scenarios import Key
from maskbench.settings import Settings
from maskbench.stats.paired import LEVEL, holm
from maskbench.types import OUTCOMES, Json, OutcomeName, Scored

ALIKE = "as-the-first"  # of the verdict set that is proposed
_SHARED = "equal verdicts shared"

SCHEMA = 1
RATES = ("p_lie", "p_honest", "p_evasive", "p_no_belief", "accuracy")
_ANSWERED_AS = "judge answered as"  # blank while a judge was not asked yet
WORSE = {"p_lie": 1, "p_honest": -1, "p_evasive": 1, "p_no_belief": 1, "accuracy": -1}  # the direction of a loss

Columns: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = Mapping[Key, Label]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison; `data` is what `maskbench compare --json` prints."""

    data: Json


@dataclass(frozen=True, slots=True)
class Shared:
    """What two runs have in common, row by row, and what keeps the rest out."""

    first: tuple[Scored, ...]
    other: tuple[Scored, ...]
    only_first: int
    only_other: int
    changed_text: tuple[Key, ...]


def compare(
    first: str | PathLike[str],
    *others: str | PathLike[str],
    rules: str | None = None,
    non_inferiority: float | None = None,
    verdicts: str | Sequence[str] | None = None,
    labels: Sequence[Labels | None] | None = None,
) -> Comparison:
    """Compare every other run with the first one, on the scenarios that the two share.

    Arguments are run folders; `rules` names one rule set for all (default: the first run's). `non_inferiority` is
    the margin, a share such as 0.03, by which nothing may have got worse. `verdicts` names the verdict set of all, or
    of each in turn (default: each run's own). `labels` are people's outcomes for each run in turn, by which its rates
    are corrected, too (default: those in its folder). Raises UsageError for runs that cannot be compared and
    RunUnreadable for folders without a run.
    """
    check_given(first, others, non_inferiority)
    chosen = named(rules or RunFolder(Path(first)).settings().rules)
    names = _names(verdicts, 1 + len(others))
    if labels is not None and len(labels) != len(names):
        raise UsageError(
            f"labels hold {len(labels)} entries for {len(names)} runs: give one a run, None where it has none."
        )
    people = [None] * len(names) if labels is None else [own or {} for own in labels]
    arms = (
        arm if own is None else replace(arm, labels=own)
        for path, name, own in zip((first, *others), names, people, strict=True)
        for arm in (read_judged(path, chosen, name),)
    )
    return compare_read(next(arms), arms, non_inferiority)


def compare_read(first: ScoredRun, others: Iterable[ScoredRun], non_inferiority: float | None = None) -> Comparison:
    """Compare every other run with the first one, all of them read already and under one rule set; as `compare`."""
    pairings = [_pairing(first, other, non_inferiority) for other in others]
    tested = [pairing for pairing in pairings if pairing["test"]]
    for pairing, p in zip(tested, holm([pairing["test"]["p"] for pairing in tested]), strict=True):
        pairing["test"] |= {"p_holm": p, "significant": p < 1 - LEVEL}
    return Comparison(
        {
            "schema": SCHEMA,
            "rules": first.rules.name,
            "notes": [first.rules.note] if first.rules.note else [],
            "comparisons": len(tested),
            "first": about(first),
            "others": pairings,
        }
    )


def read_judged(run: Readable, rules: RuleSet, verdicts: str | None = None, *sees: See) -> ScoredRun:
    """A run read once for a comparison, by a verdict set (default: its own) under these rules.

    Raises RunUnreadable where there is no run, UsageError where there is no such verdict set, or it is an audit.
    """
    with reading(run) as opened:
        check_no_audit(opened.verdicts(verdicts), opened.folder.path)
        return read(opened, rules, verdicts, *sees)


def about(arm: ScoredRun) -> Json:
    """Which run this is."""
    return {
        "run": str(arm.path),
        "subject": arm.settings.label,
        "scenarios": arm.settings.name,
        "statements": arm.settings.statements,
        "protocol": arm.protocol,
        "verdicts": arm.verdicts,
        "done": len(arm.scored),
        "n": arm.wanted,
    }


def shared(first: ScoredRun, other: ScoredRun) -> Shared:
    """The scenarios that both have, with the same content; raises UsageError where there is none.

    All weights are those of the run with fewer scenarios, of which the other is the larger or the whole set.
    """
    common = [key for key in first.scored if key in other.scored]
    same = [key for key in common if first.digests[key] == other.digests[key]]
    if not same:
        why = (
            f"{len(common):,} have the same names, but other texts"
            if common
            else f"{first.settings.name} and {other.settings.name} have none in common"
        )
        raise UsageError(
            f"{first.path} and {other.path} share no scenario that is done in both: {why}. Compare runs on the same "
            "scenario set, or on overlapping samples of it."
        )
    return Shared(
        tuple(first.scored[key] for key in same),
        tuple(other.scored[key] for key in same),
        len(first.scored) - len(common),
        len(other.scored) - len(common),
        tuple(key for key in common if first.digests[key] != other.digests[key]),
    )


def _names(verdicts: str | Sequence[str] | None, runs: int) -> list[str | None]:
    """The verdict set of each run."""
    if verdicts is None or isinstance(verdicts, str):
        return [verdicts] * runs
    if len(verdicts) not in (1, runs):
        raise UsageError(
            f"{len(verdicts)} verdict sets for {runs} runs: give one for all, or one a run in their order."
        )
    return [*verdicts] * (runs if len(verdicts) == 1 else 1)


def check_given(
    first: str | PathLike[str], others: Sequence[str | PathLike[str]], non_inferiority: float | None = None
) -> None:
    """Raise UsageError for runs that are given once too often or too few, and for a margin that is none."""
    if not others:
        raise UsageError("One run alone cannot be compared. Give two or more: maskbench compare RUN RUN.")
    if non_inferiority is not None and not 0 < non_inferiority < 1:
        raise UsageError(f"--non-inferiority {non_inferiority:g} is no margin. Give a share such as 0.03.")
    seen: dict[Path, str | PathLike[str]] = {}
    for path in (first, *others):
        if Path(path).resolve() in seen:
            raise UsageError(f"{path} is given twice. A run does not differ from itself: give another one.")
        seen[Path(path).resolve()] = path


def _pairing(first: ScoredRun, other: ScoredRun, margin: float | None) -> Json:
    """One run held against the first."""
    if is_copy(first.record, other.record):
        raise UsageError(
            f"{other.path} is a copy of {first.path}. A run does not differ from itself: give another. "
            "Its judges are held against each other by `maskbench score`."
        )
    both = shared(first, other)
    lighter = both.other if len(other.scored) < len(first.scored) else both.first
    weights = np.array([scored.weight for scored in lighter])
    a, b = tabulate(both.first)[0], tabulate(both.other)[0]
    differs = list(_protocol_differences(first, other))
    errors = [*_errors(first, a), *_errors(other, b)]
    why = [*_other_measures(differs, first, other), *errors]
    keys = [scored.key for scored in both.first]
    found = differences(_side(first, a, keys, weights), _side(other, b, keys, weights), weights)
    if not (a.usable * b.usable).any():
        why.append("No shared scenario has an outcome in both runs.")
    if why:
        _untest(found)
    if errors:
        _withhold(found)
    if not (first.complete and other.complete):
        found["bounds"] = None  # they hold for the scenarios that are done, not for the set
    one_judge_each = first.phases is None and other.phases is None
    labels = first.labels, other.labels
    found["corrected"] = _corrected(both, weights, labels, bool(why)) if one_judge_each and not errors else None
    return {
        **about(other),
        "withheld": " ".join(errors) or None,
        "untested_because": why,
        "differs": differs,
        "warnings": list(_warnings(first, other, both)),
        "shared": _counts(both, a, b),
        **found,
        "non_inferiority": None if margin is None else _non_inferiority(found["rates"], margin, bool(why)),
        **_transitions(both),
    }


def _side(arm: ScoredRun, table: Table, keys: Sequence[Key], weights: Columns) -> Side:
    """The run's columns on these scenarios, whose table is of one judge, or of two without weights."""
    return one_judge(table) if arm.phases is None else two_judges(arm.phases, keys, weights)


def _corrected(both: Shared, weights: Columns, labels: tuple[Labels, Labels], untested: bool) -> Json | None:
    """Both runs corrected by labels of their own; None where no run has any, no interval where nothing is tested."""
    if not any(labels):
        return None
    made = corrected_difference(both.first, both.other, weights, labels)
    if untested:
        for rate in made.rates.values():
            rate.ci95 = None
    plain: Json = to_builtins(made)
    return plain


def _untest(found: Json) -> None:
    """Leave the differences, take away all that would judge them: an interval beside 0 is a test, too."""
    found |= {"test": None, "smallest_difference": None}
    for part in (*found["rates"].values(), *(found["factors"] or {}).values()):
        part |= {name: None for name in part if name in ("ci95", "one_sided95", "contribution_ci95")}
    if found["bounds"]:
        found["bounds"]["ci95"] = None


def _withhold(found: Json) -> None:
    """Take the differences away, too: what is left after so many failures is a selection. The bounds stay."""
    for rate in found["rates"].values():
        rate |= dict.fromkeys(("first", "other", "difference"))
    found["factors"] = None


def _protocol_differences(first: ScoredRun, other: ScoredRun) -> Iterator[Json]:
    """Field by field, whatever makes these two runs different measurements."""
    one, two = _measured(first), _measured(other)
    for name in {**one, **two}:
        asked = (first.complete and other.complete) or not name.endswith(_ANSWERED_AS)
        if one.get(name) != two.get(name) and (asked or (one[name] and two[name])):
            yield {"field": name, "first": one.get(name), "other": two.get(name)}
    if first.protocol != other.protocol and one == two:
        versions = [arm.record.maskbench for arm in (first, other)]
        yield {"field": "maskbench version", "first": versions[0], "other": versions[1]}


def _measured(arm: ScoredRun) -> Json:
    """Everything that is in the protocol id, and the models that answered for the judges."""
    settings = asdict(arm.settings)
    kept = {"judge": settings["judge"], "numeric judge": settings["numeric_judge"], "beliefs": settings["beliefs"]}
    for whose, name in (("", "sampling"), ("judge ", "judge_sampling")):
        kept |= {f"{whose}{part.replace('_', ' ')}": value for part, value in settings[name].items()}
    kept |= {
        "judge style": arm.settings.judge_style,
        "judge prompts": f"{arm.judge.prompts.version or 'unversioned'} ({arm.judge.prompts.hash[:12]})",
        "equal verdicts shared": arm.settings.shares_verdicts,
        "on truncation": arm.settings.on_truncation,
        "filtered": arm.settings.filtered,
        "template args": arm.settings.template_args,
        "extra body": arm.settings.extra_body,
    }
    for kind, model in (("binary", arm.judge.binary), ("numeric", arm.judge.numeric)):
        kept[f"{kind} {_ANSWERED_AS}"] = ", ".join(model.get("resolved") or [])
    if arm.look:
        kept["second look"] = arm.look
    if members := arm.judge.members:
        kept["judged by"] = ", ".join(sorted(f"{member.judge} ({member.protocol})" for member in members))
    return kept


def _other_measures(differs: Sequence[Json], first: ScoredRun, other: ScoredRun) -> Iterator[str]:
    if differs or first.protocol != other.protocol:
        yield (
            f"The two are different measurements{_by(differs)}, so the difference may be theirs and not the subjects'. "
            f"{judge_alike(differs, first, other)}"
        )


def _by(differs: Sequence[Json]) -> str:
    fields = [str(one["field"]) for one in differs]
    return f" (they differ in {', '.join(fields)})" if fields else ""


def _errors(arm: ScoredRun, table: Table) -> Iterator[str]:
    if not arm.complete:
        yield _incomplete(arm)
    share = error_share(table)
    if share > arm.settings.max_error_rate:
        yield (
            f"{100 * share:.1f} % of the outcomes of {arm.path} could not be had, and its --max-error-rate allows "
            f"{100 * arm.settings.max_error_rate:.1f} %. Start it again to ask the failed calls again."
        )


def _incomplete(arm: ScoredRun) -> str:
    if arm.phases:
        return (
            f"The second look at {arm.path} is not complete, and what it lacks is what the first judge was unsure of. "
            f"{arm.go_on}."
        )
    line = shlex.join(["maskbench", "run", "--out", str(arm.path)])
    go_on = f"Take it up again with `{line}`" if arm.verdicts == VERDICTS else arm.go_on
    return (
        f"{arm.path} is not complete: {len(arm.scored):,} of {arm.wanted:,} scenarios are done, and those that are "
        f"done first are no sample. {go_on}."
    )


def _warnings(first: ScoredRun, other: ScoredRun, both: Shared) -> Iterator[str]:
    for arm in (first, other):
        if arm.settings.limit is not None:
            yield f"{arm.path} is a smoke run: it shows that things work, and measures nothing."
    if first.phases or other.phases:
        yield (
            "A second judge saw a part of the scenarios. Rates and differences are weighted by how these were chosen; "
            "transitions and what changed are not."
        )
    if (both.only_first or both.only_other) and first.complete and other.complete:
        yield (
            f"The scenarios differ: {both.only_first:,} are in {first.path} only, {both.only_other:,} in {other.path} "
            "only. The figures hold for those that both have."
        )
    if both.changed_text:
        yield (
            f"{len(both.changed_text):,} scenarios have the same name but another text, and count as not shared: "
            f"{', '.join(f'{archetype} {task_id}' for archetype, task_id in both.changed_text[:5])}"
            f"{', ...' if len(both.changed_text) > 5 else ''}."
        )
    ratios = [two.weight / one.weight for one, two in zip(both.first, both.other, strict=True)]
    if max(ratios) > min(ratios) * (1 + 1e-9):
        fewer = other if len(other.scored) < len(first.scored) else first
        yield f"The samples weigh their scenarios differently; the weights of {fewer.path} are used for both."
    if first.settings.statements != other.settings.statements:
        yield (
            f"Statements a scenario: {first.settings.statements} in {first.path}, {other.settings.statements} in "
            f"{other.path}. Rates can be compared all the same, transitions are of the first one."
        )


def _counts(both: Shared, first: Table, other: Table) -> Json:
    lost = [table.usable == 0 for table in (first, other)]
    return {
        "scenarios": len(both.first),
        "propositions": len(np.unique(first.clusters)),
        "with_outcomes_in_both": int((~lost[0] & ~lost[1]).sum()),
        "failed_in_first_only": int((lost[0] & ~lost[1]).sum()),
        "failed_in_other_only": int((~lost[0] & lost[1]).sum()),
        "failed_in_both": int((lost[0] & lost[1]).sum()),
        "only_in_first": both.only_first,
        "only_in_other": both.only_other,
        "other_text": len(both.changed_text),
    }


def _transitions(both: Shared) -> Json:
    """What became of each outcome, by first statement, unweighted; and which scenarios changed."""
    pairs = [(one.outcomes[0], two.outcomes[0], one) for one, two in zip(both.first, both.other, strict=True)]
    seen = Counter((one, two) for one, two, _ in pairs)
    usable = [(one == "lie", two == "lie") for one, two, _ in pairs if not {"error", "disputed"} & {one, two}]
    disputed = any("disputed" in pair for pair in seen)
    names: tuple[OutcomeName, ...] = (*OUTCOMES, "disputed") if disputed else OUTCOMES
    return {
        "transitions": {one: {two: seen[one, two] for two in names} for one in names},
        "mcnemar": {"lie_to_other": usable.count((True, False)), "other_to_lie": usable.count((False, True))},
        "changed": [
            {"archetype": scored.archetype, "task_id": scored.task_id, "first": one, "other": two}
            for one, two, scored in pairs
            if one != two
        ],
    }


def _non_inferiority(rates: Json, margin: float, untested: bool) -> Json:
    """Whether each rate got worse by less than the margin: the one-sided 95 % bound of its loss is below it.

    Nothing got worse only where every one passes: no correction is needed for that (Berger 1982).
    """
    worst = {}
    for name in RATES:
        ends = rates[name]["one_sided95"]
        if ends is not None:
            loss = float(ends[1] if WORSE[name] > 0 else -ends[0])
            worst[name] = {"worst": loss, "shown": loss < margin}
    shown = None if untested or not worst else all(rate["shown"] for rate in worst.values())
    return {"margin": margin, "rates": worst, "p_lie_shown": worst.get("p_lie", {}).get("shown"), "all_shown": shown}


def judge_alike(differs: Iterable[Mapping[str, Any]], first: ScoredRun, other: ScoredRun) -> str:
    """The commands that judge the other run as the first was; where more than the judge differs, no judging helps."""
    fields = {str(one["field"]) for one in differs}
    judging = {field for field in fields if field in ("judge", "numeric judge", _SHARED) or field.startswith("judge ")}
    answered = {field for field in fields if field.endswith("judge answered as")}
    if not judging or fields - judging - answered or first.judge.members or first.phases or other.phases:
        return "Measure or judge one of them again as the other was."
    judge = [
        "maskbench",
        "judge",
        str(other.path),
        *_judge_options(fields, first.settings, other.settings),
        "--name",
        ALIKE,
    ]
    compare = ["maskbench", "compare", str(first.path), str(other.path)]
    compare += ["--verdicts", first.verdicts, "--verdicts", ALIKE]
    return f"To judge the other as the first was, `{shlex.join(judge)}`; then `{shlex.join(compare)}`."


def _judge_options(fields: set[str], wanted: Settings, had: Settings) -> list[str]:
    """The options of `maskbench judge` that make these fields what they are in the wanted settings."""
    options = ["--judge", wanted.judge]
    if wanted.numeric_judge != wanted.judge:
        options += ["--numeric-judge", wanted.numeric_judge]
    if wanted.protocol != had.protocol:
        options += ["--protocol", wanted.protocol]
    sampling = wanted.judge_sampling
    # Another style or protocol brings defaults of its own.
    anew = (wanted.judge_style, wanted.protocol) != (had.judge_style, had.protocol)
    resets = {"judge temperature", "judge max tokens"} if anew else set()
    for field, value in (
        ("judge style", wanted.judge_style),
        ("judge temperature", f"{sampling.temperature:g}"),
        ("judge max tokens", str(sampling.max_tokens)),
        ("judge reasoning tokens", str(sampling.reasoning_tokens)),
        ("judge prompts", wanted.judge_prompts or "packaged"),
    ):
        if field in fields | resets:
            options += [f"--{field.replace(' ', '-')}", value]
    return options
