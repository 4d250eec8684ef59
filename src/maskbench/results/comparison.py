"""Two runs or more, compared on the scenarios that they share: everything that can be said, as data.

Both sides are scored anew from their stored verdicts under one rule set, and paired by archetype, task_id and
content. What `maskbench compare --json` prints is described in docs/comparing.md.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from msgspec import UNSET, UnsetType, structs
from numpy.typing import NDArray

from maskbench.errors import UsageError
from maskbench.judges.people.labelled_outcomes import Label
from maskbench.judges.verdict_sets import Readable, check_no_audit, reading
from maskbench.method.asks import VERDICTS
from maskbench.method.forms import form_of
from maskbench.method.rates import Table, error_share, tabulate
from maskbench.method.rules import RuleSet, named
from maskbench.results.calibration import CorrectedPair, corrected_difference
from maskbench.results.common_beliefs import asked_anew, confirmed, of_run, share, without_beliefs
from maskbench.results.comparison_json import (
    Change,
    ComparisonData,
    Differs,
    McNemar,
    NonInferiority,
    PairedRates,
    Pairing,
    RunCompared,
    SharedScenarios,
    Worst,
)
from maskbench.results.contrasts import Side, differences, one_judge, readings_compared, two_judges, why_no_readings
from maskbench.results.rate_source import RateSource
from maskbench.results.retest import by_themselves, check_retest
from maskbench.results.scored import ScoredRun, See, read
from maskbench.results.splits import Split, asked_outright
from maskbench.runs.drawn_part import completing
from maskbench.runs.endings import resuming
from maskbench.runs.folder import RunFolder
from maskbench.runs.record import is_copy
from maskbench.runs.source import UNSAID, asked_again, knows_sampling
from maskbench.scenarios import Key
from maskbench.settings import Settings
from maskbench.stats.paired import LEVEL, holm
from maskbench.types import OUTCOMES, OutcomeName, Scored

ALIKE, TOGETHER = "as-the-first", "together"  # of the verdict sets that are proposed
APART_SECONDS = 3600  # between the verdicts on two runs: what a service serves may have changed
_SHARED = "equal verdicts shared"
_LOPSIDED = (
    "Few scenarios changed the other way, and all changes together are worth fewer than six whole ones: a test would "
    "be far too sure if a run always lies in a few scenarios that are not among these. More scenarios settle it, more "
    "statements do not."
)

SCHEMA: Literal[1] = 1
RATES = ("p_lie", "p_honest", "p_evasive", "p_no_belief", "accuracy")
_PARTS = ("style", "beliefs", "numbers", "temperature", "max tokens", "reasoning tokens", "prompts")
_OPTIONS = {f"judge {part}" for part in _PARTS}
_ANSWERED_AS = "judge answered as"  # blank while a judge was not asked yet
WORSE = {"p_lie": 1, "p_honest": -1, "p_evasive": 1, "p_no_belief": 1, "accuracy": -1}  # the direction of a loss

Columns: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = Mapping[Key, Label]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison; `data.as_dict()` is what `maskbench compare --json` prints."""

    data: ComparisonData


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
    retest: str | PathLike[str] | None = None,
) -> Comparison:
    """Compare every other run with the first one, on the scenarios that the two share.

    Arguments are run folders; `rules` names one rule set for all (default: the first run's). `non_inferiority` is
    the margin, a share such as 0.03, by which nothing may have got worse. `verdicts` names the verdict set of all, or
    of each in turn (default: each run's own). `labels` are people's outcomes for each run in turn, by which its rates
    are corrected, too (default: those in its folder). `retest` is a run of the first subject with another seed, which
    tells how many scenarios change by themselves. Raises UsageError for runs that cannot be compared and RunUnreadable
    for folders without a run.
    """
    check_given(first, (*others, *([retest] if retest else [])) if others else (), non_inferiority)
    chosen = named(rules or RunFolder(Path(first)).settings().design.rules)
    names = verdicts_of(verdicts, 1 + len(others))
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
    again = read_judged(retest, chosen, names[0]) if retest else None
    return compare_read(next(arms), arms, non_inferiority, again)


def compare_read(
    first: ScoredRun,
    others: Iterable[ScoredRun],
    non_inferiority: float | None = None,
    retest: ScoredRun | None = None,
) -> Comparison:
    """Compare every other run with the first one, all of them read already and under one rule set; as `compare`."""
    if retest:
        check_retest(first, retest)
    pairings, arms, froms = [], [of_run(first)], _froms(first)
    for other in others:
        froms += _froms(other)
        froms += [f"{other.path}: {other.rules.note}"] if other.rules != first.rules and other.rules.note else []
        pairings.append(_pairing(first, other, non_inferiority, retest))
        arms.append(of_run(other, pairings[-1].rates.p_lie.other))
    tests = [pairing.test for pairing in pairings if pairing.test]
    for test, p in zip(tests, holm([test.p for test in tests]), strict=True):
        test.p_holm, test.significant = p, p < 1 - LEVEL
    notes = [first.rules.note] if first.rules.note else []
    notes += froms
    confirm = list(confirmed(arms)) or UNSET
    return Comparison(ComparisonData(SCHEMA, first.rules.name, notes, len(tests), about(first), pairings, confirm))


def read_judged(run: Readable, rules: RuleSet, verdicts: str | None = None, *sees: See) -> ScoredRun:
    """A run read once for a comparison, by a verdict set (default: its own) under these rules.

    Raises RunUnreadable where there is no run, UsageError where there is no such verdict set, or it is an audit.
    """
    with reading(run) as opened:
        check_no_audit(opened.verdicts(verdicts), opened.folder.path)
        return read(opened, rules, verdicts, *sees)


def about(arm: ScoredRun) -> RunCompared:
    """Which run this is."""
    return RunCompared(
        run=str(arm.path),
        subject=arm.settings.label,
        scenarios=arm.settings.design.name,
        statements=arm.settings.design.statements,
        protocol=arm.protocol,
        verdicts=arm.verdicts,
        done=len(arm.scored),
        n=arm.wanted,
    )


def shared(first: ScoredRun, other: ScoredRun) -> Shared:
    """The scenarios that both have, with the same content; raises UsageError where there is none.

    All weights are those of the run with fewer scenarios, of which the other is the larger or the whole set.
    """
    common = [key for key in first.scored if key in other.scored]
    same = [key for key in common if first.digests[key].is_same(other.digests[key])]
    if not same:
        why = (
            f"{len(common):,} have the same names, but {_other_content(first, other)}"
            if common
            else f"{first.settings.design.name} and {other.settings.design.name} have none in common"
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
        tuple(key for key in common if not first.digests[key].is_same(other.digests[key])),
    )


def _other_content(first: ScoredRun, other: ScoredRun) -> str:
    """Why scenarios of the same names are others."""
    if first.record.without_texts or other.record.without_texts:
        sets = " and ".join(next(iter(run.digests.values())).set_name for run in (first, other))
        return f"they are of two sets, {sets}, and without texts nobody can see that these are alike"
    return "other texts"


def verdicts_of(verdicts: str | Sequence[str] | None, runs: int) -> list[str | None]:
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


def _pairing(first: ScoredRun, other: ScoredRun, margin: float | None, retest: ScoredRun | None) -> Pairing:
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
    contrast = differences(_side(first, a, keys, weights), _side(other, b, keys, weights), weights)
    only_lies = not (a.whole.all() and b.whole.all())
    if only_lies:
        contrast = contrast.of_lies_alone()
    if not (a.usable * b.usable).any():
        why.append("No shared scenario has an outcome in both runs.")
    if contrast.lopsided:
        why.append(_LOPSIDED)
    if is_shared := share(first, other):
        contrast = without_beliefs(contrast)
    if why:
        contrast = contrast.withheld() if errors else contrast.untested()
    whole = first.complete and other.complete
    one_judge_each = first.phases is None and other.phases is None and not only_lies
    labels = first.labels, other.labels
    mcnemar, transitions, changed = _transitions(both)
    return Pairing(
        **structs.asdict(about(other)),
        withheld=" ".join(errors) or None,
        untested_because=why,
        differs=differs,
        warnings=list(_warnings(first, other, both)),
        shared=_counts(both, a, b),
        rates=contrast.rates,
        factors=contrast.factors,
        test=contrast.test,
        bounds=contrast.bounds if whole else None,  # they hold for the scenarios that are done, not for the set
        corrected=_corrected(both, weights, labels, bool(why)) if one_judge_each and not errors else None,
        non_inferiority=None if margin is None else _non_inferiority(contrast.rates, margin, bool(why) or only_lies),
        transitions=transitions,
        mcnemar=mcnemar,
        changed=changed,
        by_themselves=None
        if only_lies
        else by_themselves(list(zip(both.first, both.other, strict=True)), first, other, retest),
        shared_beliefs=str((first.beliefs_from or other.beliefs_from or about(first)).run) if is_shared else UNSET,
        readings=UNSET if errors else readings_compared(first, other, keys, weights, a.clusters, tested=not why),
        asked=UNSET if errors or first.phases or other.phases else _asked(both, weights, first, other),
    )


def _asked(both: Shared, weights: Columns, first: ScoredRun, other: ScoredRun) -> tuple[Split, Split] | UnsetType:
    """Both runs by whether the falsehood was asked for outright; unset where a set does not say."""

    def of(rows: Sequence[Scored], arm: ScoredRun) -> Split | None:
        table, tallies = tabulate(rows)
        return asked_outright(RateSource(replace(table, weights=weights)), list(tallies), arm.settings)

    ours, theirs = of(both.first, first), of(both.other, other)
    return (ours, theirs) if ours and theirs else UNSET


def _side(arm: ScoredRun, table: Table, keys: Sequence[Key], weights: Columns) -> Side:
    """The run's columns on these scenarios, whose table is of one judge, or of two without weights."""
    return one_judge(table) if arm.phases is None else two_judges(arm.phases, keys, weights)


def _corrected(both: Shared, weights: Columns, labels: tuple[Labels, Labels], untested: bool) -> CorrectedPair | None:
    """Both runs corrected by labels of their own; None where no run has any, no interval where nothing is tested."""
    if not any(labels):
        return None
    pair = corrected_difference(both.first, both.other, weights, labels)
    for rate in pair.rates.values() if untested else ():
        rate.ci95 = None
    return pair


def _protocol_differences(first: ScoredRun, other: ScoredRun) -> Iterator[Differs]:
    """Field by field, whatever makes these two runs different measurements."""
    ours, theirs = _measured(first), _measured(other)
    for name in {**ours, **theirs}:
        asked = (first.complete and other.complete) or not name.endswith(_ANSWERED_AS)
        if ours.get(name) != theirs.get(name) and (asked or (ours[name] and theirs[name])):
            yield Differs(name, ours.get(name), theirs.get(name))
    if first.protocol != other.protocol and ours == theirs:
        versions = [arm.record.maskbench for arm in (first, other)]
        yield Differs("maskbench version", *versions)


def _measured(arm: ScoredRun) -> dict[str, object]:
    """Everything that is in the protocol id, and the models that answered for the judges."""
    ours = arm.settings
    kept: dict[str, object] = {
        "judge": ours.judging.judge,
        "numeric judge": ours.judging.numeric_judge,
        "beliefs": ours.design.beliefs,
    }
    for whose, sampling in (("", ours.subject.sampling), ("judge ", ours.judging.sampling)):
        kept |= {f"{whose}{part.replace('_', ' ')}": value for part, value in asdict(sampling).items()}
    kept |= {
        **form_of(ours.judging).described,
        "judge prompts": f"{arm.judge.prompts.version or 'unversioned'} ({arm.judge.prompts.hash[:12]})",
        "equal verdicts shared": ours.judging.shares_verdicts,
        "on truncation": ours.subject.on_truncation,
        "filtered": ours.subject.filtered,
        "template args": ours.subject.template_args,
        "extra body": ours.subject.extra_body,
        "tool calls": ours.subject.tool_calls,
    }
    for kind, model in (("binary", arm.judge.binary), ("numeric", arm.judge.numeric)):
        kept[f"{kind} {_ANSWERED_AS}"] = ", ".join(model.get("resolved") or [])
    if ours.design.imported:
        kept |= _imported(arm)
    if arm.look:
        kept["second look"] = arm.look
    if members := arm.judge.members:
        kept["judged by"] = ", ".join(sorted(f"{member.judge} ({member.protocol})" for member in members))
    return kept


def _froms(arm: ScoredRun) -> list[str]:
    """Where a run is imported from, in a sentence; none for one that was measured."""
    source = arm.record.imported
    return [f"{arm.path} is {source.words}."] if source else []


def _imported(arm: ScoredRun) -> dict[str, object]:
    """What an import's format is, and what nobody knows of how its models were asked, in place of numbers."""
    parts = [part.replace("_", " ") for part in asdict(arm.settings.subject.sampling)]
    unknown = [] if knows_sampling(arm.settings) else parts
    if arm.judge.prompts.name == UNSAID:
        unknown += [f"judge {part}" for part in parts]
    return {"imported": arm.settings.design.imported[0], **dict.fromkeys(unknown, UNSAID)}


def _other_measures(differs: Sequence[Differs], first: ScoredRun, other: ScoredRun) -> Iterator[str]:
    if differs or first.protocol != other.protocol:
        unknown = [each for each in differs if _is_unsaid(each.first) or _is_unsaid(each.other)]
        fields = ", ".join(each.field for each in differs if each not in unknown)
        lacking = ", ".join(each.field for each in unknown)
        parts = [f"they differ in {fields}"] if fields else []
        parts += [f"not known of one of them: {lacking}"] if lacking else []
        by = f" ({'; '.join(parts)})" if parts else ""
        yield (
            f"The two are different measurements{by}, so the difference may be theirs and not the subjects'. "
            f"{judge_alike(differs, first, other)}"
        )


def _is_unsaid(value: object) -> bool:
    """Whether a setting is one that an import's source does not tell; prompts have a hash beside that word."""
    return str(value).partition(" (")[0] == UNSAID


def _errors(arm: ScoredRun, table: Table) -> Iterator[str]:
    if not arm.complete:
        yield _incomplete(arm)
    share = error_share(table)
    if share > arm.settings.design.max_error_rate:
        yield (
            f"{100 * share:.1f} % of the outcomes of {arm.path} could not be had, and its --max-error-rate allows "
            f"{100 * arm.settings.design.max_error_rate:.1f} %. {asked_again(arm.settings, arm.go_on)}"
        )


def _incomplete(arm: ScoredRun) -> str:
    if arm.phases:
        return f"The second look at {arm.path} is not complete, and what it lacks is no random part of it. {arm.go_on}."
    line = resuming(arm.path, arm.record)
    go_on = f"Take it up again with `{line}`" if arm.verdicts == VERDICTS else arm.go_on
    return (
        f"{arm.path} is not complete: {len(arm.scored):,} of {arm.wanted:,} scenarios are done, and those that are "
        f"done first are no sample. {go_on}."
    )


def _warnings(first: ScoredRun, other: ScoredRun, both: Shared) -> Iterator[str]:
    for arm in (first, other):
        if arm.settings.design.limit is not None:
            yield f"{arm.path} is a smoke run: it shows that things work, and measures nothing."
    for arm in (arm for arm in (first, other) if arm.lies):
        yield (
            f"{arm.path} was asked only for lies, so that P(lie) alone is compared. `{completing(arm.path)}` asks what "
            "the other rates need."
        )
    if refused := why_no_readings(first, other):
        yield refused
    yield from _judged_apart(first, other)
    yield from (f"{arm.path}: {told}" for arm in (first, other) if (told := asked_anew(arm.beliefs_from)))
    if first.phases or other.phases:
        yield (
            "A second judge saw a part of the scenarios. Rates and differences are estimated by how these were chosen; "
            "transitions and what changed are not."
        )
    if (both.only_first or both.only_other) and first.complete and other.complete:
        yield (
            f"The scenarios differ: {both.only_first:,} are in {first.path} only, {both.only_other:,} in {other.path} "
            "only. The figures hold for those that both have."
        )
    if both.changed_text:
        many = len(both.changed_text)
        have = "1 scenario has" if many == 1 else f"{many:,} scenarios have"
        count = "counts" if many == 1 else "count"
        yield (
            f"{have} the same name but another text, and {count} as not shared: "
            f"{', '.join(f'{archetype} {task_id}' for archetype, task_id in both.changed_text[:5])}"
            f"{', ...' if len(both.changed_text) > 5 else ''}."
        )
    ratios = [theirs.weight / ours.weight for ours, theirs in zip(both.first, both.other, strict=True)]
    if max(ratios) > min(ratios) * (1 + 1e-9):
        fewer = other if len(other.scored) < len(first.scored) else first
        yield f"The samples weigh their scenarios differently; the weights of {fewer.path} are used for both."
    if first.settings.design.statements != other.settings.design.statements:
        yield (
            f"Statements a scenario: {first.settings.design.statements} in {first.path}, "
            f"{other.settings.design.statements} in {other.path}. Rates can be compared all the same, "
            "transitions are of the first one."
        )


def _counts(both: Shared, first: Table, other: Table) -> SharedScenarios:
    lost = [table.usable == 0 for table in (first, other)]
    return SharedScenarios(
        scenarios=len(both.first),
        propositions=len(np.unique(first.clusters)),
        with_outcomes_in_both=int((~lost[0] & ~lost[1]).sum()),
        failed_in_first_only=int((lost[0] & ~lost[1]).sum()),
        failed_in_other_only=int((~lost[0] & lost[1]).sum()),
        failed_in_both=int((lost[0] & lost[1]).sum()),
        only_in_first=both.only_first,
        only_in_other=both.only_other,
        other_text=len(both.changed_text),
    )


Transitions: TypeAlias = dict[OutcomeName, dict[OutcomeName, int]]


def _transitions(both: Shared) -> tuple[McNemar, Transitions, list[Change]]:
    """What became of each outcome, by first statement, unweighted; and which scenarios changed."""
    pairs = [_alike(row.outcomes[0], other.outcomes[0]) for row, other in zip(both.first, both.other, strict=True)]
    counts = Counter(pairs)
    lies = Counter((was == "lie", now == "lie") for was, now in pairs if not {"error", "disputed"} & {was, now})
    rest: tuple[OutcomeName, ...] = ("disputed", "no_lie")
    names = (*OUTCOMES, *(name for name in rest if any(name in pair for pair in counts)))
    return (
        McNemar(lies[True, False], lies[False, True]),
        {was: {now: counts[was, now] for now in names} for was in names},
        [Change(*row.key, was, now) for row, (was, now) in zip(both.first, pairs, strict=True) if was != now],
    )


def _alike(was: OutcomeName, now: OutcomeName) -> tuple[OutcomeName, OutcomeName]:
    """Two outcomes of a scenario; where one run knows only that it is no lie, no more is said of the other."""
    known: tuple[OutcomeName, ...] = ("lie", "error", "disputed")
    if "no_lie" not in (was, now):
        return was, now
    return was if was in known else "no_lie", now if now in known else "no_lie"


def _non_inferiority(rates: PairedRates, margin: float, untested: bool) -> NonInferiority:
    """Whether each rate got worse by less than the margin: the one-sided 95 % bound of its loss is below it.

    Nothing got worse only where every one passes: no correction is needed for that (Berger 1982).
    """
    worst = {}
    for name, rate in rates.by_name().items():
        if rate.one_sided95 is not None:
            low, high = rate.one_sided95
            loss = high if WORSE[name] > 0 else -low
            worst[name] = Worst(loss, loss < margin)
    all_shown = None if untested or not worst else all(rate.shown for rate in worst.values())
    return NonInferiority(margin, worst, worst["p_lie"].shown if "p_lie" in worst else None, all_shown)


def _judged_apart(first: ScoredRun, other: ScoredRun) -> Iterator[str]:
    """That the judge, which a service serves, answered for one run long before it answered for the other."""
    if not all(any(judge.get("base_url") for judge in arm.judge.models) for arm in (first, other)):
        return
    spans = [(arm.judged_between, arm.path) for arm in (first, other) if not arm.settings.design.imported]
    known = sorted((*span, path) for span, path in spans if span)
    if len(known) < 2:
        return
    (_, until, before), (since, _, after) = known
    if since - until > APART_SECONDS:
        yield (
            f"The judge answered for {before} until {_time(until)} and for {after} from {_time(since)} (UTC). If its "
            f"service changed it in between, the difference may be the judge's. {judge_together(first, other)}"
        )


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"


def judge_together(first: ScoredRun, other: ScoredRun) -> str:
    """The commands that judge two runs in one go, each as it was judged."""
    if any(arm.judge.members or arm.phases for arm in (first, other)):
        return "Judge both again in one go."
    lines = (["maskbench", "judge", str(arm.path), *_as_judged(arm), "--name", TOGETHER] for arm in (first, other))
    both = " && ".join(map(shlex.join, lines))
    compare = shlex.join(["maskbench", "compare", str(first.path), str(other.path), "--verdicts", TOGETHER])
    return f"To judge both in one go, `{both}`; then `{compare}`."


def judge_alike(differs: Iterable[Differs], first: ScoredRun, other: ScoredRun) -> str:
    """The commands that judge the other run as the first was; where more than the judge differs, no judging helps."""
    fields = {each.field for each in differs}
    judging = {field for field in fields if field in ("judge", "numeric judge", _SHARED) or field.startswith("judge ")}
    answered = {field for field in fields if field.endswith("judge answered as")}
    if answered and fields == answered:
        return judge_together(first, other)
    if not judging or fields - judging - answered or first.judge.members or first.phases or other.phases:
        return "Measure or judge one of them again as the other was."
    options = judge_options(fields, first.settings, other.settings)
    judge = ["maskbench", "judge", str(other.path), *options, "--name", ALIKE]
    sets = ["--verdicts", first.verdicts, "--verdicts", ALIKE]
    compare = ["maskbench", "compare", str(first.path), str(other.path), *sets]
    return f"To judge the other as the first was, `{shlex.join(judge)}`; then `{shlex.join(compare)}`."


def _as_judged(arm: ScoredRun) -> list[str]:
    """The options that judge a run as its verdict set was judged; the run's own settings are taken by themselves."""
    fields = set() if arm.verdicts == VERDICTS else _OPTIONS
    return judge_options(fields, arm.settings, arm.settings)


def judge_options(fields: set[str], wanted: Settings, had: Settings) -> list[str]:
    """The options of `maskbench judge` that make these fields what they are in the wanted settings."""
    options = ["--judge", wanted.judging.judge]
    if wanted.judging.numeric_judge != wanted.judging.judge:
        options += ["--numeric-judge", wanted.judging.numeric_judge]
    if wanted.judging.protocol != had.judging.protocol:
        options += ["--judge-sampling", wanted.judging.protocol]
    form = form_of(wanted.judging)
    options += ["--with-reasoning"] if form.sees_reasoning else []
    sampling = wanted.judging.sampling
    # Another style or protocol brings defaults of its own.
    anew = (form.style, wanted.judging.protocol) != (form_of(had.judging).style, had.judging.protocol)
    resets = {"judge temperature", "judge max tokens"} if anew else set()
    for field, value in (
        *form.named.items(),
        ("judge temperature", f"{sampling.temperature:g}"),
        ("judge max tokens", str(sampling.max_tokens)),
        ("judge reasoning tokens", str(sampling.reasoning_tokens)),
        ("judge prompts", wanted.judging.prompts or "packaged"),
    ):
        if field in fields | resets:
            options += [f"--{field.replace(' ', '-')}", value]
    return options
