"""Logs of the MASK task of Inspect Evals → the rows of an import: the subject's replies, and the judge's verdicts.

The task keeps the subject's replies by question, and says nowhere which of the judge's calls was about which of them.
That is found by what the judge was asked: the question that stands in its prompt, and the reply behind it. Of replies
that are alike, the first call was about the first. A number is judged by the task reply by reply, and its verdicts are
taken over as such. Nothing is guessed: what a log does not hold is left out, and a call that failed is a failure.
Source: inspect_evals 0.26.0, task version 5-E.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from msgspec import Struct

from maskbench.errors import Problem, UsageError
from maskbench.interop.imported_rows import ImportedReply, ImportedScenario, Source, SourceFacts, file_of, its_scenarios
from maskbench.interop.inspect_files import Log, calls_of, is_log, kept_in, opened, outputs
from maskbench.method.ends import end_of
from maskbench.method.rules import PORT_ARGUMENTS, as_in_the_log, named
from maskbench.method.verdict import read_elsewhere
from maskbench.models.chat import refusals
from maskbench.models.inspect_adapter import reply_of
from maskbench.plain import plain
from maskbench.scenarios.rows import read_row
from maskbench.store.source import UNSAID
from maskbench.store.store import PORT_TASK
from maskbench.types import (
    BinaryVerdict,
    Cause,
    Failure,
    Judgement,
    Kind,
    Letter,
    Reply,
    Sampling,
    Scenario,
    Stage,
)

if TYPE_CHECKING:
    from inspect_ai.event import ModelEvent
    from inspect_ai.log import EvalLog, EvalSample

_Call: TypeAlias = "tuple[ModelEvent, str]"  # with the last that the model was told

FORMAT = "inspect"
_GAP = 80  # characters at most between a question and the reply to it in a judge's prompt of another layout
_HEADING = re.compile(r"\n---\n[^\n]{1,80}:\n")  # between them in the task's prompts
_READ = 4_000  # characters of an error's text that are looked at
_LONGEST = 300  # characters of a judge's answer that are shown
_FINAL = re.compile(r"Final Answer:\s*([^\n]+)", re.IGNORECASE)
_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_CAUSES: tuple[tuple[re.Pattern[str], Cause], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), cast(Cause, cause))
    for pattern, cause in (
        (r"rate.?limit|\b429\b|too many requests|quota", "rate_limit"),
        (r"time.?d?.?out|deadline", "timeout"),
        (r"connect|network|\bdns\b|socket", "connection"),
        (r"internal.?server|overloaded|unavailable|bad gateway|\b50[0-9]\b|\b529\b", "server_error"),
        (r"bad.?request|invalid.?request|unprocessable|\b40[0-9]\b|\b422\b", "bad_request"),
        (r"content.?filter|safety", "filtered"),
    )
)
# What of the task's arguments is told: others may hold an address or a key.
_TOLD = (
    *("honesty_at_n", "belief_repeats_n", "question_archetype", "numeric_tol", "no_belief_handling"),
    *("judge_max_tokens", "judge_temperature", "judge_reasoning_effort"),
)


class Facts(Struct):
    """The scenario as the task carries it through a sample."""

    task_id: str
    config: str
    type: str
    proposition: str | None = None
    ground_truth: str | None = None
    formatted_ground_truth: str | None = None
    pressured_user_prompt: str | None = None
    pressured_system_prompt: str | None = None
    belief_elicit_1: str | None = None
    belief_elicit_2: str | None = None
    belief_elicit_3: str | None = None
    dd_turn_1_prompt: str | None = None
    dd_turn_1_response: str | None = None


class Answers(Struct):
    """What the task's solvers leave behind: the subject's answers."""

    belief_elicit_1_responses: list[Any] = []
    belief_elicit_2_and_3_responses: list[Any] = []
    pressured_responses: list[Any] = []


class Kept(Struct):
    """What the task left in a sample."""

    metadata: Facts
    store: Answers


@dataclass(frozen=True, slots=True)
class _Sample:
    """One scenario as it was measured once, where it stands, and the calls of models with the last they were told."""

    where: str
    facts: Facts
    kept: Answers
    calls: Sequence[_Call]
    log: EvalSample


@dataclass(frozen=True, slots=True)
class _Shape:
    """What a log's head says that all of its samples share."""

    subject: str
    judge: str | None
    numeric_judge: str | None
    statements: int | None
    beliefs: int | None
    arguments: Mapping[str, Any] = field(hash=False, compare=False, default_factory=dict)
    asked: tuple[tuple[str, str], ...] = ()  # how the subject was asked
    scored: tuple[tuple[str, Any], ...] = ()  # the arguments that its scores hang on


@dataclass(slots=True)
class _Slot:
    """One sample of one question: what came, and the text that the judge was shown of it."""

    elicitation: int
    sample: int
    question: str
    outcome: Reply | Failure
    judged: str | None = None  # None: nothing came that could be judged
    call: ModelEvent | None = None

    @property
    def is_changed(self) -> bool:
        """Whether the reply is another text than the judge was shown: reasoning was taken out of it."""
        return isinstance(self.outcome, Reply) and self.outcome.text.strip() != (self.judged or "").strip()


def read_inspect(path: Path, asked: SourceFacts) -> tuple[Source, list[ImportedScenario]]:
    """What a log holds, or a folder of logs of one measurement: several archetypes, or attempts of one task.

    Of a scenario that several logs have, the latest stands that came to its end. Raises UsageError with the file and
    the place for what Inspect did not write, and for logs of different measurements.
    """
    taken = _Taken()
    heads: list[tuple[Path, EvalLog]] = []
    for file in logs_at(path):
        with opened(file) as log:
            _of_the_port(file, log)
            if asked.subject and path.is_dir() and log.header.eval.model != asked.subject:
                continue
            heads.append((file, log.header))
            _same_measurement(heads)
            taken.add(log)
    if not heads:
        raise UsageError(f"{path} has no log of {plain(asked.subject or '')}. Leave --subject out, or give another.")
    return _source(heads, taken, asked), [row for _, _, row in taken.rows.values()]


def scenarios_in_log(path: Path, asked: SourceFacts) -> list[Scenario]:
    """The scenarios that the logs hold themselves; raises ScenarioError with every sample that holds none."""
    return its_scenarios(path, _scenarios(path))


def _scenarios(path: Path) -> Iterator[Scenario | list[Problem]]:
    for file in logs_at(path):
        with opened(file) as log:
            _of_the_port(file, log)
            for number, (where, sample) in enumerate(log.samples(), 1):
                facts = kept_in(sample, Kept, where).metadata
                told = {"task_id": facts.task_id, "type": facts.type, "ground_truth": facts.ground_truth}
                cells = {name: text for name, text in (*told.items(), *_texts(facts).items()) if text}
                yield read_row(cells, str(file), number, facts.config)


def logs_at(path: Path) -> list[Path]:
    """The logs at a path: itself, or those in a folder and below it."""
    if not path.is_dir():
        return [path]
    files = (file for file in path.rglob("*") if file.suffix in (".eval", ".json") and file.is_file())
    logs = [file for file in sorted(files) if is_log(_head(file))]
    if not logs:
        raise UsageError(f"{path} has no log of Inspect in it. Give a .eval or .json file, or a folder of these.")
    return logs


def _of_the_port(path: Path, log: Log) -> None:
    """Refuse a log of our own task beside one of the port."""
    if log.is_ours:
        raise UsageError(f"{path} is a log of maskbench's own task, and not of the port. Import it for itself.")


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(2048)


def _same_measurement(heads: Sequence[tuple[Path, EvalLog]]) -> None:
    """Refuse a log that was made otherwise than the first one, by what differs."""
    (first, head), (file, other) = heads[0], heads[-1]
    for name in ("subject", "judge", "numeric_judge", "statements", "beliefs", "asked", "scored"):
        values = [getattr(_shape(each), name) for each in (head, other)]
        if values[0] != values[1]:
            shown = [plain(str(value))[:80] for value in values]
            raise UsageError(
                f"{first} and {file} are logs of different measurements: {name.replace('_', ' ')} {shown[0]} and "
                f"{shown[1]}. Import each log for itself."
            )


def _shape(header: EvalLog) -> _Shape:
    arguments = header.eval.task_args
    params = {name: value for step in header.plan.steps for name, value in step.params.items()}
    asked = asked_with(header)
    told = {name: str(value) for name, value in asked.items() if isinstance(value, int | float | str)}
    return _Shape(
        header.eval.model,
        _named(arguments.get("binary_judge_model")),
        _named(arguments.get("numeric_judge_model")),
        _count(arguments.get("honesty_at_n", params.get("honesty_at_n"))),
        _count(arguments.get("belief_repeats_n", params.get("belief_repeats"))),
        arguments,
        tuple(sorted(told.items())),
        tuple((name, arguments.get(name, usual)) for name, usual in PORT_ARGUMENTS.items()),
    )


def asked_with(header: EvalLog) -> dict[str, Any]:
    """How the subject was asked: the settings of the model, and before them those of the task."""
    configs = header.eval.model_generate_config, header.plan.config
    return {name: value for each in configs for name, value in each.model_dump(exclude_none=True).items()}


def _named(model: object) -> str | None:
    """A model's name, however the task was given it."""
    name = model.get("model") if isinstance(model, dict) else model
    return name if isinstance(name, str) else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 1000 else None


# Samples


class _Taken:
    """The rows of all logs so far, one a scenario, and what there is to say of them."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], tuple[bool, str, ImportedScenario]] = {}
        self.counts: Counter[str] = Counter()

    def add(self, log: Log) -> None:
        """Take in a log's samples of the first epoch."""
        shape = _shape(log.header)
        seen: dict[tuple[str, str, int], str] = {}
        for where, sample in log.samples():
            kept = kept_in(sample, Kept, where)
            key = (kept.metadata.config, kept.metadata.task_id)
            if (place := seen.setdefault((*key, sample.epoch), where)) != where:
                raise UsageError(
                    f"{where}: {_short(key[0])} {_short(key[1])} is in {place} already. A log has a scenario once an "
                    "epoch: give the log as Inspect wrote it."
                )
            if sample.epoch == 1:
                whole = sample.error is None and sample.limit is None
                calls = [(event, event.input[-1].text if event.input else "") for event in calls_of(sample)]
                row = self._row(_Sample(where, kept.metadata, kept.store, calls, sample), shape)
                self._put(key, (whole, log.header.eval.created, row))
            else:
                self.counts["epochs"] += 1

    def _put(self, key: tuple[str, str], entry: tuple[bool, str, ImportedScenario]) -> None:
        self.counts["again"] += key in self.rows
        if key not in self.rows or self.rows[key][:2] <= entry[:2]:
            self.rows[key] = entry

    def _row(self, sample: _Sample, shape: _Shape) -> ImportedScenario:
        where, facts = sample.where, sample.facts
        if facts.type not in ("binary", "numerical"):
            raise UsageError(f"{where}, metadata.type: {_short(facts.type)} is neither binary nor numerical.")
        slots = list(_slots(sample, shape))
        _find_judgements(slots, sample.calls)
        replies = [self._reply(sample, slot, cast(Kind, facts.type)) for slot in slots]
        return ImportedScenario(where, None, facts.task_id, replies, facts.config, _texts(facts))

    def _reply(self, sample: _Sample, slot: _Slot, kind: Kind) -> ImportedReply:
        """A slot as it is imported: with its verdict, or why there is none."""
        outcome = slot.outcome
        if isinstance(outcome, Failure) or slot.is_changed:
            self.counts["changed"] += isinstance(outcome, Reply)
            return ImportedReply(slot.elicitation, slot.sample, outcome)
        if slot.call is None:
            if sample.log.error or sample.log.limit:
                return ImportedReply(slot.elicitation, slot.sample, outcome, _failed("judge", sample))
            self.counts["unjudged"] += 1
            return ImportedReply(slot.elicitation, slot.sample, outcome)
        self.counts[kind if slot.elicitation else "statements"] += 1
        text, verdict = _verdict(slot.call, kind)
        return ImportedReply(slot.elicitation, slot.sample, outcome, verdict, text)


def _texts(facts: Facts) -> dict[str, str]:
    """What the log says of the scenario itself, by the columns of the data set."""
    texts = {
        "system_prompt": facts.pressured_system_prompt,
        "user_prompt": facts.pressured_user_prompt,
        "proposition": facts.proposition,
        "belief_elicit_1": facts.belief_elicit_1,
        "belief_elicit_2": facts.belief_elicit_2,
        "belief_elicit_3": facts.belief_elicit_3,
        "dd_turn_1_prompt": facts.dd_turn_1_prompt,
        "dd_turn_1_response": facts.dd_turn_1_response,
        "formatted_ground_truth": facts.formatted_ground_truth,
    }
    return {name: text for name, text in texts.items() if text is not None}


# What the subject answered


def _slots(sample: _Sample, shape: _Shape) -> Iterator[_Slot]:
    """Every sample that the log has an answer or a failure for, in the order in which the task asks."""
    facts, kept = sample.facts, sample.kept
    second = kept.belief_elicit_2_and_3_responses
    asked: defaultdict[str, list[ModelEvent]] = defaultdict(list)
    for event, prompt in sample.calls:
        asked[prompt].append(event)
    for elicitation, question, stored, wanted in (
        (1, facts.belief_elicit_1, kept.belief_elicit_1_responses, shape.beliefs),
        (2, facts.belief_elicit_2, second[:1], 1),
        (3, facts.belief_elicit_3, second[1:2], 1),
        (0, facts.pressured_user_prompt, kept.pressured_responses, shape.statements),
    ):
        if question is None:
            continue
        here = asked[question]
        came, asked[question] = (here, []) if wanted is None else (here[:wanted], here[wanted:])
        answers = outputs(stored, sample.where)
        count = max(len(stored), len(came), (wanted or 0) if sample.log.error or sample.log.limit else 0)
        for number in range(count):
            if number < len(stored):
                outcome, judged = answer_of(answers[number])
            elif not stored and number < len(came):
                outcome, judged = _of_call(came[number])
            else:
                outcome, judged = _failed("subject", sample), None
            yield _Slot(elicitation, number + 1, question, outcome, judged)


def _of_call(event: ModelEvent) -> tuple[Reply | Failure, str | None]:
    if event.error or event.output is None:
        return _failure("subject", event.error or "the call has no output"), None
    return answer_of(event.output)


def answer_of(output: Any) -> tuple[Reply | Failure, str | None]:
    """An answer as a reply or a failure, and the text that the task showed the judge."""
    if output.error or not output.choices:
        return _failure("subject", output.error or "the answer has no choice"), None
    answer = reply_of(output, "subject", "Inspect")
    if isinstance(answer, Failure):
        answer = replace(answer, detail=f"Inspect has it with the stop reason {output.choices[0].stop_reason}.")
    return answer, output.choices[0].message.text


def _failed(stage: Stage, sample: _Sample) -> Failure:
    """Why a sample that was ended has nothing in a place."""
    limit, error = sample.log.limit, sample.log.error
    if limit is not None:
        cause: Cause = "timeout" if limit.type in ("time", "working") else "raised"
        return Failure(stage, cause, f"Inspect ended the sample at its {limit.type} limit of {limit.limit:g}.")
    return _failure(stage, error.message if error else "the sample has an end and no error")


def _failure(stage: Stage, message: str) -> Failure:
    """A failure by what Inspect wrote down of the exception."""
    cause = next((cause for pattern, cause in _CAUSES if pattern.search(message[:_READ])), None)
    return Failure(stage, cause or "raised", f"Inspect has it as an error: {refusals.mask(message[:_READ])}")


# What the judge said


def _find_judgements(slots: Sequence[_Slot], calls: Sequence[_Call]) -> None:
    """Give each slot the judge's call that was about it: by question and reply, and by order where these are alike.

    A prompt that is laid out otherwise than the task does it is looked at a second time, less closely.
    """
    for is_about in (_is_laid_out, _is_about):
        taken = {id(slot.call) for slot in slots}
        for event, prompt in calls:
            if id(event) in taken:
                continue
            free = [slot for slot in slots if slot.call is None and slot.judged is not None]
            fitting = [slot for slot in free if is_about(prompt, slot.question, slot.judged or "")]
            if fitting:  # the longest: a short reply may be the first lines of a longer one; of those the first
                max(fitting, key=lambda slot: (len(slot.question), len(slot.judged or ""))).call = event


def _is_laid_out(prompt: str, question: str, reply: str) -> bool:
    """Whether a judge's prompt has question, rule, heading, reply and rule, as the task puts them one after another.

    The first place counts in which the question stands so: what a reply says further down is no place.
    """
    at = prompt.find(f"\n{question}\n")
    while at >= 0:
        if heading := _HEADING.match(prompt, at + len(question) + 1):
            end = heading.end() + len(reply)
            return prompt.startswith(reply, heading.end()) and prompt.startswith("\n####", end)
        at = prompt.find(f"\n{question}\n", at + 1)
    return False


def _is_about(prompt: str, question: str, reply: str) -> bool:
    """Whether a judge's prompt has a question with a reply shortly behind it, on lines of their own."""
    lines = f"\n{reply}\n"
    at = prompt.find(question) if question else -1
    while at >= 0:
        end = at + len(question)
        if prompt.find(lines, end, end + _GAP + len(lines)) >= 0:
            return True
        at = prompt.find(question, at + 1)
    return False


def _verdict(event: ModelEvent, kind: Kind) -> tuple[str | None, Judgement | Failure]:
    """What the judge wrote and the verdict in it: as the task reads it, or else as this program does."""
    output = event.output
    if event.error or output is None or not output.choices:
        trouble = event.error or (output and output.error) or "the call has no output"
        return None, _failure("judge", trouble)
    choice = output.choices[0]
    text, end = choice.message.text, end_of(choice.stop_reason)
    if end.sort == "unknown":
        return text, Failure("judge", "unknown_end", f"Inspect has it with the stop reason {end.word}.")
    judgement = (_as_the_task(text) if kind == "binary" else None) or read_elsewhere(text, kind, cut=end.sort == "cut")
    if judgement is not None:
        return text, judgement
    if not text.strip():
        return text, Failure("judge", "empty", "The judge's answer is empty.")
    return text, Failure("judge", "unreadable", f"The judge's answer holds no verdict: {plain(text[:_LONGEST])}")


def _as_the_task(text: str) -> Judgement | None:
    """The first option that the judge names as its final answer; a comment may follow, and no mark stand before it."""
    for match in _FINAL.finditer(text):
        words = match[1].split()
        letter = words[0].rstrip(_PUNCTUATION) if words else ""
        if letter in ("A", "B", "C", "D"):
            around = f"{text[: match.start()]}{text[match.end() :]}".strip()
            return Judgement(BinaryVerdict(cast(Letter, letter)), around or None)
    return None


# Where it is from


def _source(heads: Sequence[tuple[Path, EvalLog]], taken: _Taken, asked: SourceFacts) -> Source:
    """What the logs say of themselves, and what they do not hold."""
    header = heads[0][1]
    shape = _shape(header)
    as_in_the_log(named("inspect"), dict(shape.scored))
    judged = sum(taken.counts[name] for name in ("binary", "numerical", "statements"))
    known = dict(_sampling(shape, header))
    return Source(
        format=FORMAT,
        files=[file_of(file) for file, _ in heads],
        subject=plain(asked.subject or shape.subject) or UNSAID,
        judge=plain(asked.judge or shape.judge or UNSAID) if judged else None,
        numeric_judge=plain(asked.judge or shape.numeric_judge or UNSAID) if judged else None,
        numbers_apart=bool(taken.counts["numerical"]),
        statements=shape.statements,
        beliefs=shape.beliefs,
        writer=writer_of(header),
        known=known,
        absent=["the judge's prompts' version", *([] if "sampling" in known else ["how the subject was sampled"])],
        notes=list(_notes(heads, taken, shape)),
        facts={PORT_TASK: dict(shape.scored)},
    )


def _sampling(shape: _Shape, header: EvalLog) -> Iterator[tuple[str, Sampling]]:
    """How subject and judge were asked, where the log says both temperature and limit."""
    asked = asked_with(header)
    judge = [shape.arguments.get(f"judge_{what}") for what in ("temperature", "max_tokens")]
    for name, temperature, tokens, thinking in (
        ("sampling", asked.get("temperature"), asked.get("max_tokens"), asked.get("reasoning_tokens")),
        ("judge_sampling", judge[0], judge[1], None),
    ):
        if isinstance(temperature, int | float) and 0 <= temperature <= 2 and _tokens(tokens):
            yield name, Sampling(float(temperature), cast(int, tokens), cast(int, thinking) if _tokens(thinking) else 0)


def _tokens(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _notes(heads: Sequence[tuple[Path, EvalLog]], taken: _Taken, shape: _Shape) -> Iterator[str]:
    """What somebody has to know who reads figures of this import."""
    for file, header in heads:
        yield from notes_of(file, header)
    told = [f"{name}={_short(str(shape.arguments[name]))}" for name in _TOLD if shape.arguments.get(name) is not None]
    asked = [f"{_short(name)}={_short(value)}" for name, value in shape.asked]
    if told:
        yield f"Task arguments: {', '.join(told)}"
    if asked:
        yield f"The subject was asked with {', '.join(asked)}"
    yield "Belief questions went out under the system prompt of the port, which has no full stop at its end."
    counts = taken.counts
    if counts["numerical"]:
        yield "Replies about numbers have a verdict each, as the port asks for them; judge again for a joint verdict."
    for name, what in (
        ("unjudged", "replies have no verdict in the log; `maskbench judge` asks for them."),
        (
            "changed",
            "replies had reasoning within the text that was judged; it was taken out, and the verdicts with it.",
        ),
        ("epochs", "samples of further epochs were left out: an epoch is a measurement of its own."),
        ("again", "samples stand in several logs; the latest that came to its end was taken."),
    ):
        if counts[name]:
            yield f"{counts[name]:,} {what}"


def writer_of(header: EvalLog) -> str | None:
    """The packages that wrote a log."""
    return ", ".join(f"{plain(name)} {plain(of)}" for name, of in sorted(header.eval.packages.items())) or None


def notes_of(file: Path, header: EvalLog) -> Iterator[str]:
    """The task of a log with its date, and whether it came to its end."""
    task, name = header.eval, plain(file.name)
    yield f"{name}: {_short(task.task)} version {_short(str(task.task_version))}, begun {_short(task.created)}"
    if header.status != "success":
        yield f"{name}: the evaluation did not come to its end ({header.status})."


def _short(text: str) -> str:
    """A text of the log's on one line, short and harmless."""
    return plain(text)[:80]
