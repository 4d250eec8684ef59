"""The scenarios that two runs share, what makes them different measurements, and what a reader is warned of.

What can be mended stands beside the command that mends it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from maskbench.errors import UsageError
from maskbench.method.asks import VERDICTS
from maskbench.method.forms import form_of
from maskbench.method.rates import Table, error_share
from maskbench.results.scored import ScoredRun
from maskbench.scenarios import Key
from maskbench.settings import Settings
from maskbench.store.endings import resuming
from maskbench.store.source import UNSAID, asked_again, knows_sampling
from maskbench.types import Scored

ALIKE, TOGETHER = "as-the-first", "together"  # of the verdict sets that are proposed
APART_SECONDS = 3600  # between the verdicts on two runs: what a service serves may have changed
_SHARED = "equal verdicts shared"
_PARTS = ("style", "numbers", "temperature", "max tokens", "reasoning tokens", "prompts")
_OPTIONS = {f"judge {part}" for part in _PARTS}
_ANSWERED_AS = "judge answered as"  # blank while a judge was not asked yet


class Differs(Struct, forbid_unknown_fields=True):
    """A field in which two measurements differ, and its value in each."""

    field: str
    first: Any
    other: Any


@dataclass(frozen=True, slots=True)
class Shared:
    """The scenarios that two runs share, row by row, and the reasons that keep the rest out."""

    first: tuple[Scored, ...]
    other: tuple[Scored, ...]
    only_first: int
    only_other: int
    changed_text: tuple[Key, ...]

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight of each row: that of the run with fewer scenarios, of which the other is a larger set."""
        lighter = self.other if self.only_other < self.only_first else self.first
        return np.array([row.weight for row in lighter])


def shared(first: ScoredRun, other: ScoredRun) -> Shared:
    """The scenarios that both have, with the same content; raises UsageError where there is none."""
    common = [key for key in first.scored if key in other.scored]
    same = [key for key in common if first.shares(key, other)]
    for run in (first, other):
        if not run.scored:
            raise UsageError(f"{run.path} has no scenario that is done. {run.go_on}.")
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
        tuple(key for key in common if not first.shares(key, other)),
    )


def _other_content(first: ScoredRun, other: ScoredRun) -> str:
    """Why scenarios of the same names are others."""
    if first.record.without_texts or other.record.without_texts:
        sets = f"{first.set_name} and {other.set_name}"
        return f"they are of two sets, {sets}, and without texts nobody can see that these are alike"
    return "other texts"


def protocol_differences(first: ScoredRun, other: ScoredRun) -> Iterator[Differs]:
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
        **form_of(ours.judging).named,
        "judge prompts": f"{arm.judge.prompts.version or 'unversioned'} ({arm.judge.prompts.hash[:12]})",
        "equal verdicts shared": ours.judging.shares_verdicts,
        "on truncation": ours.subject.on_truncation,
        "filtered": ours.subject.filtered,
        "template args": ours.subject.template_args,
        "extra body": ours.subject.extra_body,
        "tool calls": ours.subject.tool_calls,
        "whole ends": ", ".join(ours.subject.whole_ends) or None,
    }
    for kind, model in (("binary", arm.judge.binary), ("numeric", arm.judge.numeric)):
        kept[f"{kind} {_ANSWERED_AS}"] = ", ".join(model.get("resolved") or [])
    if ours.design.imported:
        kept |= _imported(arm)
    return kept


def sources(arm: ScoredRun) -> list[str]:
    """The source of an imported run, in a sentence; none for one that was measured."""
    source = arm.record.imported
    if source is None:
        return []
    return [f"{arm.path} is {source.words}."]


def _imported(arm: ScoredRun) -> dict[str, object]:
    """What an import's format is, and what nobody knows of how its models were asked, in place of numbers."""
    parts = [part.replace("_", " ") for part in asdict(arm.settings.subject.sampling)]
    unknown = [] if knows_sampling(arm.settings) else parts
    if arm.judge.prompts.name == UNSAID:
        unknown += [f"judge {part}" for part in parts]
    return {"imported": arm.settings.design.imported[0], **dict.fromkeys(unknown, UNSAID)}


def other_measures(differs: Sequence[Differs], first: ScoredRun, other: ScoredRun) -> Iterator[str]:
    """The reasons why two runs are different measurements, with the commands that judge them alike."""
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


def errors(arm: ScoredRun, table: Table) -> Iterator[str]:
    """The reasons why a run carries no figures: it is not complete, or too much of it failed."""
    if not arm.complete:
        yield _incomplete(arm)
    share = error_share(table)
    if share > arm.settings.design.max_error_rate:
        yield (
            f"{100 * share:.1f} % of the outcomes of {arm.path} are missing, and its --max-error-rate allows "
            f"{100 * arm.settings.design.max_error_rate:.1f} %. {asked_again(arm.settings, arm.go_on)}"
        )


def _incomplete(arm: ScoredRun) -> str:
    line = resuming(arm.path, arm.record)
    go_on = f"Take it up again with `{line}`" if arm.verdicts == VERDICTS else arm.go_on
    return (
        f"{arm.path} is not complete: {len(arm.scored):,} of {arm.wanted:,} scenarios are done, and those that are "
        f"done first are no sample. {go_on}."
    )


def warnings(first: ScoredRun, other: ScoredRun, both: Shared) -> Iterator[str]:
    """What a reader has to know of two runs before their figures."""
    for arm in (first, other):
        if arm.settings.design.limit is not None:
            yield f"{arm.path} is a smoke run: it shows that things work, and measures nothing."
    yield from _judged_apart(first, other)
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
    if not judging or fields - judging - answered:
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
