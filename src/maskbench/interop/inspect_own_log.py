"""Logs of maskbench's own task in Inspect → the rows of an import; a log of the port goes on to inspect_log.py.

The task leaves its verdicts, its failures and the scenario in the store of each sample. The replies are what the model
answered in the spans that the task names: `direct 1`, `consistency 2`, `statement 1`. A sample that ended before it was
judged is left out, as it is in the figures of the task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import orjson
from msgspec import Meta, Struct

from maskbench.asking.options import check
from maskbench.errors import UsageError
from maskbench.interop.imported_rows import ImportedReply, ImportedScenario, Source, SourceFacts, file_of
from maskbench.interop.inspect_files import Log, calls_of, kept_in, opened, spans_of
from maskbench.interop.inspect_log import (
    FORMAT,
    answer_of,
    asked_with,
    logs_at,
    notes_of,
    read_inspect,
    scenarios_in_log,
    writer_of,
)
from maskbench.method.forms import form_of
from maskbench.method.verdict import VerdictShown
from maskbench.method.verdict import from_json as verdict_of
from maskbench.plain import plain
from maskbench.results.outcome_rows import WhyNot
from maskbench.settings import SUBJECT_SAMPLING, Settings, in_values
from maskbench.store.source import UNSAID
from maskbench.store.store import scenario_in
from maskbench.types import Cause, Failure, Judgement, Kind, Reply, Sampling, Scenario

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

_TAKEN = (  # of the task's arguments: those that say how was asked, judged and scored
    *("statements", "beliefs", "seed", "system_prompt", "prompt_on_beliefs", "send_seed", "protocol", "judge_style"),
    *("judge_numbers", "rules", "filtered", "max_error_rate"),
)


class _Verdict(Struct):
    """What the task found in one place."""

    elicitation: int
    run: int
    verdict: VerdictShown | None
    error: WhyNot | None
    reason: str | None


class _Row(Struct):
    """All verdicts on a scenario (inspect_scores.py writes them)."""

    archetype: str
    task_id: str
    kind: Kind
    proposition: str
    weight: Annotated[float, Meta(gt=0)]
    beliefs: list[_Verdict]
    statements: list[_Verdict]


class _Store(Struct):
    """What the task leaves in the store of a sample."""

    verdicts: _Row | None = None
    scenario: Any = None


class _Kept(Struct):
    """What the task leaves in a sample."""

    store: _Store


def read_log(path: Path, asked: SourceFacts) -> tuple[Source, list[ImportedScenario]]:
    """What a log of Inspect holds, read as that of the task which it is of; raises UsageError for another task's."""
    if (own := _own(path, asked)) is None:
        return read_inspect(path, asked)
    with opened(own) as log:
        settings = _settings(own, log.header)
        rows = [row and _scenario(where, sample, row, settings) for where, sample, row, _ in _samples(log)]
        judged = [row for row in rows if row]
        return _source(own, log.header, settings, len(rows) - len(judged), asked), judged


def scenarios_of_log(path: Path, asked: SourceFacts) -> list[Scenario]:
    """The scenarios that a log of Inspect holds itself; raises ScenarioError or UsageError where it does not."""
    if (own := _own(path, asked)) is None:
        return scenarios_in_log(path, asked)
    scenarios = []
    with opened(own) as log:
        for where, _, row, scenario in _samples(log):
            if row is None:
                continue
            try:
                scenarios.append(scenario_in(orjson.dumps(scenario), row.weight))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                told = plain(str(error))[:200]
                raise UsageError(f"{where} holds no sound scenario ({told}). Give a log that Inspect wrote.") from error
    return scenarios


def _own(path: Path, asked: SourceFacts) -> Path | None:
    """The log of our task that is at a path; None where what is there is of the port."""
    own = []
    for file in logs_at(path):
        with opened(file) as log:
            if not log.is_ours:
                return None
            if not (path.is_dir() and asked.subject) or log.header.eval.model == asked.subject:
                own.append(file)
    if len(own) != 1:
        which = ", ".join(plain(file.name) for file in own[:3]) or f"none of {plain(asked.subject or '')}"
        raise UsageError(f"{path} has {len(own)} logs of maskbench's own task ({which}). Import each log for itself.")
    return own[0]


def _samples(log: Log) -> Iterator[tuple[str, EvalSample, _Row | None, Any]]:
    """The samples with their verdicts and scenarios; of further epochs, and of what was not judged, no verdicts."""
    for where, sample in log.samples():
        store = kept_in(sample, _Kept, where).store
        yield where, sample, store.verdicts if sample.epoch == 1 else None, store.scenario


def _scenario(where: str, sample: EvalSample, row: _Row, settings: Settings) -> ImportedScenario:
    answers = dict(_replies(sample))
    replies = [_reply(where, each, answers) for each in (*row.beliefs, *row.statements)]
    direct = [number for number, reply in enumerate(replies) if reply.elicitation == 1]
    if direct and form_of(settings.judging).group(row.kind) == "jointly":
        came = sum(isinstance(replies[number].outcome, Reply) for number in direct)
        joint = replies[direct[-1]]  # whose verdict may have failed along with its reply: the row says one failure
        verdict = joint.verdict if came >= 2 or isinstance(joint.verdict, Failure) else None
        cause: Cause = "absent" if came >= 2 else "too_few_replies"
        lost = Failure("judge", cause, "The log has no joint verdict here.")
        replies[direct[-1]] = replace(joint, verdict=verdict or lost)
    texts = {"proposition": row.proposition}
    return ImportedScenario(where, None, row.task_id, replies, row.archetype, texts, row.weight)


def _reply(where: str, given: _Verdict, answers: Mapping[tuple[int, int], Reply | Failure]) -> ImportedReply:
    """A sample with its verdict, or with the failure that the task found in its place."""
    failed = Failure(given.error.stage, given.error.cause, given.error.detail) if given.error else None
    verdict = Judgement(verdict_of(given.verdict), given.reason) if given.verdict is not None else None
    if failed and failed.stage == "subject":
        return ImportedReply(given.elicitation, given.run, failed, verdict)
    if (reply := answers.get((given.elicitation, given.run))) is None:
        place = f"elicitation {given.elicitation}, sample {given.run}"
        raise UsageError(f"{where} has a verdict on {place}, and not the reply. Give a log that Inspect wrote whole.")
    if isinstance(reply, Failure):  # by what is known of ends now
        return ImportedReply(given.elicitation, given.run, reply)
    return ImportedReply(given.elicitation, given.run, reply, verdict or failed)


def _replies(sample: EvalSample) -> Iterator[tuple[tuple[int, int], Reply | Failure]]:
    """What the model answered, by place; of a place that was asked again the later answer stands."""
    spans = spans_of(sample)
    for event in calls_of(sample):
        call, _, number = spans.get(event.span_id or "", "").partition(" ")
        if call in ("direct", "consistency", "statement") and number.isdecimal() and event.output is not None:
            answer, _ = answer_of(event.output)
            places = {"direct": (1, int(number)), "consistency": (int(number), 1), "statement": (0, int(number))}
            yield places[call], answer


# Where it is from


def _settings(path: Path, header: EvalLog) -> Settings:
    """The settings that the head of a log says; raises UsageError for what no task was given."""
    arguments, told, roles = header.eval.task_args, header.eval.metadata or {}, header.eval.model_roles or {}
    known: dict[str, Any] = {name: arguments[name] for name in _TAKEN if arguments.get(name) is not None}
    judge, numeric = arguments.get("judge"), arguments.get("numeric_judge")
    binary = roles["judge"].model if "judge" in roles else judge or UNSAID
    judges = {"judge": binary, "numeric_judge": binary if numeric in (None, judge) else numeric}
    prompt = {"system_prompt_text": told.get("system_prompt_text")}
    given = {"subject": header.eval.model, "scenarios": str(path), **judges, **prompt, **known}
    try:
        settings = msgspec.convert(in_values(given), Settings)
        check(settings)
    except (msgspec.ValidationError, UsageError) as error:
        raise UsageError(f"{path} has task arguments that cannot be meant: {plain(str(error))[:200]}") from error
    return settings


def _source(path: Path, header: EvalLog, settings: Settings, left: int, asked: SourceFacts) -> Source:
    """What the log says of itself, and what it does not hold."""
    sampling = _sampling(header)
    out = f"{left:,} samples of the log were left out: further epochs, or ended before anything was judged."
    names = [name for name in (*_TAKEN, "system_prompt_text") if name not in ("statements", "beliefs")]
    options = settings.options
    return Source(
        format=FORMAT,
        files=[file_of(path)],
        subject=plain(asked.subject or settings.subject.name) or UNSAID,
        judge=plain(asked.judge or settings.judging.judge),
        numeric_judge=plain(asked.judge or settings.judging.numeric_judge),
        statements=settings.design.statements,
        beliefs=settings.design.beliefs,
        writer=writer_of(header),
        known={name: options[name] for name in names} | ({"sampling": sampling} if sampling else {}),
        absent=["kinds of evasion", "the judge's prompts' version", *([] if sampling else ["how it was sampled"])],
        notes=[*notes_of(path, header), *([out] if left else [])],
    )


def _sampling(header: EvalLog) -> Sampling | None:
    """How the subject was asked; None where the log does not say it."""
    asked = asked_with(header)
    given = {name: asked.get(name) for name in ("temperature", "max_tokens")}
    try:
        return msgspec.convert({**given, "reasoning_tokens": SUBJECT_SAMPLING.reasoning_tokens}, Sampling)
    except msgspec.ValidationError:
        return None
