"""Transcripts of anybody's own: a JSONL file with a line a reply, checked line by line."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_type_hints

import msgspec
from msgspec import Meta, Struct

from maskbench.errors import Problem, UsageError
from maskbench.interop.imported_rows import (
    ImportedReply,
    ImportedScenario,
    Source,
    SourceFacts,
    file_of,
    refuse,
)
from maskbench.method.control_marks import before_mark
from maskbench.method.ends import End, Sort, end_of
from maskbench.method.reasoning import split_reasoning
from maskbench.plain import is_visible, listed, plain
from maskbench.scenarios.formats import Row, ScenarioFile, read_file
from maskbench.scenarios.rows import excerpt, is_nan
from maskbench.types import Cause, Failure, Json, Reply

Question = Literal["statement", "belief_elicit_1", "belief_elicit_2", "belief_elicit_3"]


class Transcript(Struct, forbid_unknown_fields=True, kw_only=True):
    """One reply: to the pressured conversation (`statement`) or to a neutral question, by the name of its column.

    A line has a `reply`, or an `error` where the call gave none. `finish_reason` is what the service said: `length` and
    `max_tokens` mean that the reply was cut, `content_filter` that it was withheld, and a word that is not known that
    it may not be whole (method/ends.py has them all).
    """

    task_id: Annotated[str, Meta(min_length=1, max_length=1000)]
    question: Question
    sample: Annotated[int, Meta(ge=1, le=1000)] = 1
    reply: str | None = None
    error: str | None = None
    reasoning: str | None = None
    finish_reason: str | Json | None = None
    model: str | None = None
    archetype: str | None = None


_QUESTIONS: Mapping[str, int] = {name: number for number, name in enumerate(get_args(Question))}
_FIELDS = get_type_hints(Transcript, include_extras=True)
_FAILED: Mapping[Sort, Cause] = {"withheld": "filtered", "broken": "malformed_response", "unknown": "unknown_end"}
_REMEDIES = {
    "task_id": "Write the task_id of the scenario",
    "question": f"Write one of {', '.join(_QUESTIONS)}",
    "sample": "Write a whole number from 1 to 1000",
    "reply": "Write a text, or a list of blocks of the types text and thinking alone",
}
_ABSENT = ("how the subject was sampled", "tokens and time", "verdicts")


_Line: TypeAlias = tuple[int, Transcript]  # a line that can be read, behind its number


def is_transcript(first: Mapping[str, object]) -> bool:
    """Whether an object is a line of transcripts."""
    return {"task_id", "question"} <= first.keys() or {"reply", "question"} <= first.keys()


def read_transcripts(path: Path, asked: SourceFacts) -> tuple[Source, list[ImportedScenario]]:
    """What the lines have on every scenario; raises ScenarioError with everything that is wrong with any of them."""
    lines: list[_Line] = []
    problems: list[Problem] = []
    for item in read_file(ScenarioFile(path, str(path))):
        if isinstance(item, Problem):
            problems.append(item)
        elif isinstance(item, Row):
            read = _read(str(path), item)
            problems += read if isinstance(read, list) else []
            lines += [] if isinstance(read, list) else [(item.number, read)]
    if not problems:
        _check_subject(path, lines, asked)
    lines, others = _of_subject(lines, asked)
    problems += [_nameless(str(path), number) for number, told in others if told.model is None]
    problems += _twice(str(path), lines)
    refuse(path, problems)
    told = [each for _, each in lines]
    absent = [*_ABSENT]
    says = any(end.word and end.sort in ("whole", "cut") for end in _ends(told))
    absent += [] if says else ["which replies were cut at the token limit"]
    scenarios = _scenarios(str(path), lines)
    has_reasoning = any(isinstance(reply, Reply) and reply.reasoning for reply in _outcomes(scenarios))
    absent += [] if has_reasoning else ["reasoning"]
    absent += [] if any(each.model for each in told) else ["who answered"]
    source = Source(
        format="transcripts",
        files=[file_of(path)],
        subject=_subject(path, lines, asked),
        absent=tuple(absent),
        notes=tuple(_notes(told, others)),
    )
    return source, scenarios


def _check_subject(path: Path, lines: Sequence[_Line], asked: SourceFacts) -> None:
    """Refuse a subject that is none of several models, whose replies would be mixed; raises UsageError."""
    models = _models(lines)
    if asked.subject is not None and len(models) > 1 and asked.subject not in models:
        raise UsageError(
            f"{path} has replies of several models ({listed([*map(plain, models)])}), and {plain(asked.subject)} is "
            "none of them. Give one of these names as --subject. If they are one model, write the same name into every "
            "line."
        )


def _of_subject(lines: Sequence[_Line], asked: SourceFacts) -> tuple[list[_Line], list[_Line]]:
    """The lines of the subject, and the others, in a file of several models."""
    if asked.subject is None or len(_models(lines)) < 2:
        return list(lines), []
    own = [line for line in lines if line[1].model == asked.subject]
    return own, [line for line in lines if line[1].model != asked.subject]


def _models(lines: Sequence[_Line]) -> list[str]:
    """The models that lines name, in order of their names."""
    return sorted({told.model for _, told in lines if told.model})


def _nameless(file: str, number: int) -> Problem:
    what = "it does not say which model answered, where other lines name several"
    return Problem(file, number, "model", what, "Write the model, or remove the line")


def _outcomes(scenarios: Sequence[ImportedScenario]) -> Iterator[Reply | Failure]:
    return (reply.outcome for scenario in scenarios for reply in scenario.replies)


def _ends(told: Sequence[Transcript]) -> Iterator[End]:
    """How the replies ended, by what their lines say."""
    return (end_of(each.finish_reason) for each in told if each.reply is not None)


def _notes(told: Sequence[Transcript], others: Sequence[_Line]) -> Iterator[str]:
    """What somebody has to know of a file: several models, replies whose ends nobody knows or that hold reasoning."""
    if others:
        yield f"{len(others):,} lines of other models were left out."
    unknown = Counter(end.word for end in _ends(told) if end.sort == "unknown")
    if unknown:
        yield (
            f"{unknown.total():,} replies are failures, since their finish_reason is not known "
            f"({listed([*map(plain, unknown)])}). Where such a reply is whole, write stop, and import the file again."
        )
    if parted := sum(_leads(each.reply or "") for each in told):
        yield f"{parted:,} replies began with their reasoning. It stands beside them now, and is not judged."


def _leads(text: str) -> bool:
    """Whether a reply begins with a block of reasoning; one that a chat template opened is for the run to see."""
    split = split_reasoning(text)
    return split.text != text and not split.opened


def _subject(path: Path, lines: Sequence[_Line], asked: SourceFacts) -> str:
    """Who answered: as the user says, else the one model of all lines."""
    models = _models(lines)
    if asked.subject or len(models) == 1:
        return asked.subject or models[0]
    which = f"names several models ({listed([*map(plain, models)])})" if models else "does not say which model answered"
    raise UsageError(f"{path} {which}. Add --subject NAME.")


def _read(file: str, row: Row) -> Transcript | list[Problem]:
    """One line as it is meant, or every problem of it; an empty field is null, or NaN as pandas writes it."""
    cells = {name: value for name, value in row.cells.items() if value is not None and not is_nan(value)}
    if isinstance(cells.get("reply"), list):
        found, own = _of_blocks(cells["reply"]), cells.get("reasoning")
        cells |= found | ({"reasoning": f"{own}\n\n{found['reasoning']}"} if own and "reasoning" in found else {})
    problems = list(_wrong_fields(file, row.number, cells))
    if problems:
        return problems
    told = msgspec.convert(cells, Transcript)
    if (told.reply is None) == (told.error is None):
        what = "there is neither a reply nor an error" if told.reply is None else "there are both a reply and an error"
        return [Problem(file, row.number, "reply", what, "Write the reply, or the error where the call gave none")]
    return told


def _of_blocks(blocks: list[Any]) -> dict[str, Any]:
    """The reply and the reasoning in a list of content blocks, as Anthropic's messages and OpenAI's responses have it.

    A list with a block of another kind, such as a call of a tool, stays as it is, and is no reply.
    """
    texts: list[str] = []
    thoughts: list[str] = []
    for block in blocks:
        match block:
            case {"type": "text" | "output_text", "text": str(text)}:
                texts.append(text)
            case {"type": "thinking", "thinking": str(thought)}:
                thoughts.append(thought)
            case {"type": "redacted_thinking"}:
                pass
            case _:
                return {}
    return {"reply": "".join(texts)} | ({"reasoning": "\n\n".join(thoughts)} if thoughts else {})


def _wrong_fields(file: str, number: int, cells: Mapping[str, Any]) -> Iterator[Problem]:
    """Each field that is missing, unknown, or no such thing."""
    for name in cells:
        if name not in _FIELDS:
            yield Problem(file, number, name, "there is no such field", f"Write one of {', '.join(_FIELDS)}")
    for name in ("task_id", "question"):
        if name not in cells:
            yield Problem(file, number, name, "it is missing", _REMEDIES[name])
    for name, value in cells.items():
        if name not in _FIELDS:
            continue
        try:
            msgspec.convert(value, _FIELDS[name])
        except msgspec.ValidationError:
            remedy = _REMEDIES.get(name, "Write a text, or leave the field out")
            yield Problem(file, number, name, f"{excerpt(value)} is none", remedy)


def _twice(file: str, lines: Sequence[_Line]) -> Iterator[Problem]:
    """Samples that two lines hold."""
    seen: dict[tuple[str | None, str, str, int], int] = {}
    for number, told in lines:
        place = told.archetype, told.task_id, told.question, told.sample
        if place in seen:
            what = f"sample {told.sample} of {told.question} of {told.task_id} stands in row {seen[place]} already"
            yield Problem(file, number, "sample", what, "Number the samples 1, 2, 3 and so on")
        seen.setdefault(place, number)


def _scenarios(file: str, lines: Sequence[_Line]) -> list[ImportedScenario]:
    """The lines by scenario, each where its first line stands."""
    by_scenario: defaultdict[tuple[str | None, str], list[_Line]] = defaultdict(list)
    for line in lines:
        by_scenario[line[1].archetype, line[1].task_id].append(line)
    return [
        ImportedScenario(file, own[0][0], task_id, [_reply(told) for _, told in own], archetype)
        for (archetype, task_id), own in by_scenario.items()
    ]


def _reply(told: Transcript) -> ImportedReply:
    return ImportedReply(_QUESTIONS[told.question], told.sample, _outcome(told))


def _outcome(told: Transcript) -> Reply | Failure:
    """The reply, or the failure that stands in its place."""
    if told.reply is None:
        return Failure("subject", "absent", f"The line holds an error: {told.error}")
    end = end_of(told.finish_reason)
    if end.sort in _FAILED:
        return Failure("subject", _FAILED[end.sort], f"finish_reason is {end.word}.")
    text, reasoning, unclosed, opened = split_reasoning(told.reply)
    if opened:
        text, reasoning = told.reply, None
    if unclosed:
        return Failure("subject", "unclosed_reasoning", "The reply is reasoning alone.")
    if not is_visible(before_mark(text)):
        return Failure("subject", "empty", "The reply is empty.")
    return Reply(text, told.reasoning or reasoning, truncated=end.sort == "cut", model=told.model)
