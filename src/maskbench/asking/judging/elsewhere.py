"""Verdicts that were read elsewhere: a file of what a judge would be asked, and a file of verdicts that becomes a set.

No model is asked here. What a place is called is the same in both files: archetype, task_id, elicitation (0 the
statement, 1 the direct question, 2 and 3 the consistency questions) and run, which sample. A verdict on several replies
stands with the first of them.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, NamedTuple, get_type_hints

import msgspec
import orjson
from msgspec import Meta, Struct

from maskbench.asking.judging.judge_again import Job, begin, check_has_numbers, set_job
from maskbench.asking.options import check
from maskbench.asking.passes import as_seen, stored
from maskbench.errors import Problem, RunMismatch, ScenarioError, UsageError
from maskbench.method.forms import prompts_of, verdict_in
from maskbench.method.forms.prompts import Prompts
from maskbench.method.steps import REPLIES, Slot, replies_of
from maskbench.method.verdict import read_object
from maskbench.plain import listed, plain, storable
from maskbench.scenarios import Key
from maskbench.scenarios.formats import Row, ScenarioFile, read_file
from maskbench.scenarios.rows import excerpt
from maskbench.settings import NOBODY, Settings
from maskbench.store.folder import RECORD, RunFolder
from maskbench.store.masking import keys_in
from maskbench.store.record import PromptsUsed, ending, session
from maskbench.store.samples import is_neutral
from maskbench.store.source import SourceFile
from maskbench.store.verdict_sets import check_name
from maskbench.types import Ask, Failure, Json, Judgement, Kind, Place, Reply

_LONGEST = 200  # characters of who read
_NOBODYS = "(requests)"  # no verdict set can be called so
_REMEDIES = {
    "archetype": "Write the archetype of the scenario",
    "task_id": "Write the task_id of the scenario",
    "elicitation": "Write 0 for the statement, 1 for the direct question, 2 or 3 for a consistency question",
    "run": "Write which sample it is, from 1",
    "read": "Write an object with the verdict, or with its bounds",
    "answer": "Write the judge's text, or leave the field out",
    "key": "Write the key that the request has, or leave the field out",
    "prompts": "Write an object of name, version and hash, or leave the field out",
}


class ReadElsewhere(Struct, kw_only=True):
    """One row: a place, and the verdict there as it was `read`, or a judge's whole `answer`; further fields are passed.

    `key` is that of the request, which says that the verdict is on this very one; `prompts` are the words that whoever
    read was told.
    """

    archetype: Annotated[str, Meta(min_length=1)]
    task_id: Annotated[str, Meta(min_length=1)]
    elicitation: Annotated[int, Meta(ge=0, le=9)]
    run: Annotated[int, Meta(ge=1)]
    read: Json | None = None
    answer: str | None = None
    key: str | None = None
    prompts: PromptsUsed | None = None

    @property
    def place(self) -> tuple[Key, Place]:
        """Where it belongs."""
        return (self.archetype, self.task_id), (self.elicitation, self.run)

    @property
    def words(self) -> str:
        """The same for people."""
        return _words(*self.place)


class RequestShown(Struct, kw_only=True):
    """One row of what a judge would be asked: `read` or `answer` in it makes it a row of verdicts."""

    key: str
    archetype: str
    task_id: str
    elicitation: int
    run: int
    kind: Kind
    prompts: PromptsUsed
    system: str
    user: str


@dataclass(slots=True)
class Taken:
    """What a file of verdicts brought, in places; `missing` are replies that the set has no verdict on after it."""

    new: int = 0
    unreadable: list[str] = field(default_factory=list)
    there: int = 0
    otherwise: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    empty: int = 0
    missing: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """What came and what did not, a sentence each."""
        yield f"{self.new:,} verdicts were taken."
        told = (
            ("answers hold no verdict, and are failures", self.unreadable),
            ("rows stand twice, and say the same", self.twice),
            ("rows are about replies that the run does not have", self.strange),
            ("rows say otherwise than the verdict that is there, which stays", self.otherwise),
            ("replies have no verdict, so that the set is incomplete", self.missing),
        )
        if self.there:
            yield f"{self.there:,} verdicts were there already."
        if self.empty:
            yield f"{self.empty:,} rows have neither `read` nor `answer`."
        for what, places in told:
            if places:
                yield f"{len(places):,} {what}: {listed(places, between='; ')}."


class _Request(NamedTuple):
    """A request for a verdict: where that is kept, what the set has there, which replies it is about, what is asked."""

    slot: Slot
    had: Judgement | None
    places: Sequence[Place]
    ask: Ask

    @property
    def key(self) -> str:
        """What says which request it is: equal requests have one key."""
        said = [[turn.role, turn.content] for turn in self.ask.messages]
        return hashlib.sha256(orjson.dumps(said)).hexdigest()[:32]

    @property
    def words(self) -> str:
        """Where its answer belongs, for people."""
        return _words(self.ask.scenario.key, self.places[0])


def _words(key: Key, place: Place) -> str:
    return f"{key[0]} {key[1]}, elicitation {place[0]}, run {place[1]}"


def write_requests(folder: RunFolder, settings: Settings, name: str | None, file: Path) -> int:
    """Write a row for each reply that a judge would be asked about, and return how many there are.

    With the name of a verdict set that is there only what that set lacks. `settings` say how the judge would be asked.
    """
    check(settings)
    folder.check_texts("nothing can be asked or judged here")
    prompts = prompts_of(settings)
    used = _used(settings, prompts)
    with closing(folder.store()) as store:
        check_has_numbers(folder, store, settings)
        job = set_job(folder, store, settings, name or _NOBODYS, prompts)
        rows = [_row(each, used) for each in _requests(job) if each.had is None]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("xb") as opened:
            opened.writelines(msgspec.json.encode(row) + b"\n" for row in rows)
    except FileExistsError:
        raise UsageError(f"--requests {file} is there already. Give another name.") from None
    except OSError as error:
        raise UsageError(f"--requests {file} cannot be written ({error.strerror}). Give another name.") from error
    return len(rows)


def _used(settings: Settings, prompts: Prompts) -> PromptsUsed:
    """The prompts as others may see them: a folder of one's own is not named."""
    name = "packaged" if settings.judging.prompts is None else "of one's own"
    return PromptsUsed(name=name, version=prompts.version, hash=prompts.hash)


def _row(request: _Request, used: PromptsUsed) -> RequestShown:
    scenario, (elicitation, run) = request.ask.scenario, request.places[0]
    said = {turn.role: turn.content for turn in request.ask.messages}
    return RequestShown(
        key=request.key,
        archetype=scenario.archetype,
        task_id=scenario.task_id,
        elicitation=elicitation,
        run=run,
        kind=scenario.kind,
        prompts=used,
        system=said.get("system", ""),
        user=said["user"],
    )


def _requests(job: Job) -> Iterator[_Request]:
    """Every request for a verdict on the replies that are stored, whether or not a set has it."""
    for each in job.passes():
        for samples in stored(job.store, each):
            seen = as_seen(samples, each.hearing, job.settings, asks_subject=False)
            known = {slot: state for slot, state in seen.items() if slot.into == REPLIES}
            for step in each.task(samples.scenario, known):
                had = seen.get(step.fills[0])
                yield _Request(
                    step.fills[0],
                    had if isinstance(had, Judgement) else None,
                    [(reply.elicitation, reply.run) for reply in replies_of(step, known)],
                    step.make(step.fills),
                )


def take(
    folder: RunFolder,
    settings: Settings,
    name: str,
    file: Path,
    environ: Mapping[str, str] | None = None,
    command: Sequence[str] = (),
) -> Taken:
    """Take the verdicts in a file into the verdict set `name` of a run, all or none, and note whose words it was.

    `settings` are the run's, with whoever read in the judge's place. Raises ScenarioError with every row that is no
    verdict, UsageError where none of them is about a reply of the run, RunMismatch where the set is another reader's.
    """
    check_name(name)
    check(settings)
    _check_reader(settings.judging.judge, environ or {})
    folder.check_texts("nothing can be judged here")
    rows = _rows(file)
    _check_said("prompts", " ".join((rows.prompts.name, rows.prompts.version or "", rows.prompts.hash)), environ or {})
    had = folder.read().verdict_sets.get(name)
    if had is not None and not had.files:
        raise RunMismatch(f"The verdict set {name} is a judge's own. Give another --name for what was read elsewhere.")
    used = had.prompts if had and PromptsUsed.unsaid() in (had.prompts, rows.prompts) else rows.prompts
    prompts = replace(prompts_of(settings), hash=used.hash)
    with folder.writing("give a copy of the folder"), closing(folder.store()) as store:
        check_has_numbers(folder, store, settings)
        job = set_job(folder, store, settings, name, prompts)
        taken, placed = _placed(job, rows)
        begin(job)
        record = folder.read()
        entry = record.verdict_sets[name]
        entry.prompts = used
        entry.files = [*(each for each in entry.files if each != rows.file), rows.file]
        entry.sessions.append(begun := session(command, environ or {}, {}))
        with ending(begun), ThreadPoolExecutor(1) as aside:  # the caller may have a loop of its own
            aside.submit(asyncio.run, _keep(job, placed)).result()
        folder.write(RECORD, record)
    return taken


def _check_reader(reader: str, environ: Mapping[str, str]) -> None:
    """Raise UsageError for what cannot be said of who read."""
    if reader == NOBODY or not (plain(reader).strip() and len(reader) <= _LONGEST):
        raise UsageError(f"--by: say who read in {_LONGEST} characters or fewer, such as two colleagues, by hand.")
    _check_said("--by", reader, environ)


def _check_said(what: str, text: str, environ: Mapping[str, str]) -> None:
    """Raise UsageError where a text that is kept holds a key."""
    if any(key in text for key in keys_in(environ)):
        raise UsageError(
            f"{what} holds a key of the environment, and it is written everywhere. Say it without the key."
        )


_Found = tuple[int, ReadElsewhere]  # a row behind its number


class _Rows(NamedTuple):
    """The rows of a file that hold a verdict, by their places, and how many hold none."""

    file: SourceFile
    shown: str
    by_place: dict[tuple[Key, Place], list[_Found]]
    prompts: PromptsUsed
    empty: int


def _rows(file: Path) -> _Rows:
    """What a file holds; raises ScenarioError with every row that is none, UsageError where no row has a verdict."""
    problems: list[Problem] = []
    by_place: dict[tuple[Key, Place], list[_Found]] = {}
    prompts: dict[PromptsUsed | None, _Found] = {}
    empty = 0
    for item in read_file(ScenarioFile(file, str(file))):
        if isinstance(item, Problem):
            problems.append(item)
        elif isinstance(item, Row):
            row = _read(str(file), item)
            if isinstance(row, list):
                problems += row
            elif row.read is None and row.answer is None:
                empty += 1
            else:
                by_place.setdefault(row.place, []).append((item.number, row))
                prompts.setdefault(row.prompts, (item.number, row))
    for number, _ in [*prompts.values()][1:]:
        problems.append(Problem(str(file), number, "prompts", "rows above name others", "Give each a file of its own"))
    refuse(file, problems)
    if not by_place:
        raise UsageError(f"{file} holds no verdict. A row has it in `read`, or a judge's whole text in `answer`.")
    ((_, first), *_) = prompts.values()
    return _Rows(SourceFile.of(file), str(file), by_place, first.prompts or PromptsUsed.unsaid(), empty)


def refuse(file: Path | str, problems: Sequence[Problem]) -> None:
    """Raise ScenarioError with everything that is wrong with a file of verdicts, if anything is."""
    if problems:
        raise ScenarioError(f"{file} cannot be taken; nothing was written:", problems)


def _read(file: str, row: Row) -> ReadElsewhere | list[Problem]:
    """One row as it is meant, or every problem of it."""
    problems = []
    for name, kind in get_type_hints(ReadElsewhere, include_extras=True).items():
        value = row.cells.get(name)
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError:
            what = f"{excerpt(value)} is none" if name in row.cells else "it is missing"
            problems.append(Problem(file, row.number, name, what, _REMEDIES[name]))
    if problems:
        return problems
    read = msgspec.convert(row.cells, ReadElsewhere)
    said = read.prompts or PromptsUsed.unsaid()
    for text in (said.name, said.version or "", said.hash):
        if text != plain(text) or len(text) > _LONGEST:
            return [
                Problem(file, row.number, "prompts", f"{excerpt(text)} is no plain short text", _REMEDIES["prompts"])
            ]
    return read


_Placed = tuple[_Request, ReadElsewhere, Judgement | Failure]  # a row with its request, and what it comes to


def _placed(job: Job, rows: _Rows) -> tuple[Taken, list[_Placed]]:
    """What is to be kept, with its requests, and what is to be said; raises ScenarioError for rows that are none."""
    taken, placed, problems = Taken(empty=rows.empty), [], list[Problem]()
    leaders = job.store.leaders()
    left: dict[tuple[Key, Place], list[_Found]] = {}
    for (key, place), found in rows.by_place.items():  # neutral replies that several have stand where they were given
        left.setdefault((leaders.get(key, key) if is_neutral(place[0]) else key, place), []).extend(found)
    for request in _requests(job):
        keys = [(request.ask.scenario.key, place) for place in request.places]
        found = sorted((each for key in keys for each in left.pop(key, ())), key=lambda each: each[0])
        had, given = request.had, [(row, _given(request, number, row, rows.shown)) for number, row in found]
        problems += [each for _, each in given if isinstance(each, Problem)]
        if not given:
            taken.missing += [request.words] if had is None else []
            continue
        (row, first), *others = given
        if isinstance(first, Problem):
            continue
        for (number, _), (_, other) in zip(found[1:], others, strict=True):
            if _verdict(other) == _verdict(first):
                taken.twice.append(request.words)
            else:
                what = f"row {found[0][0]} says otherwise of the same"
                problems.append(Problem(rows.shown, number, "read", what, "Remove one of them"))
        if had is not None:
            taken.there += 1
            taken.otherwise += [request.words] if had.verdict != _verdict(first) else []
            continue
        taken.new += isinstance(first, Judgement)
        taken.unreadable += [request.words] if isinstance(first, Failure) else []
        placed.append((request, row, first))
    taken.strange += [_words(*place) for place, found in left.items() for _ in found]
    refuse(rows.shown, problems)
    if not placed and not taken.there:
        raise UsageError(
            f"{rows.shown} has no row about a reply of {job.folder.path}: {listed(taken.strange, between='; ')}. "
            "Give the file of verdicts on this run."
        )
    return taken, placed


def _given(request: _Request, number: int, row: ReadElsewhere, file: str) -> Judgement | Failure | Problem:
    """The verdict of a row as a judge's is read, a failure where a judge's text has none, or what is wrong."""
    if row.key is not None and row.key != request.key:
        remedy = "Write the requests anew, or leave the key out where the verdict is on this very reply"
        return Problem(file, number, "key", "the request about this reply is another one now", remedy)
    if row.read is None:
        none = Failure("judge", "unreadable", f"No verdict in {excerpt(row.answer)}.")
        return verdict_in(request.ask, Reply(row.answer or "")) or none
    try:
        return read_object(row.read, request.ask.scenario.kind)
    except (ValueError, OverflowError):
        letters = request.ask.scenario.kind == "binary"
        remedy = "Write a verdict of A, B, C or D" if letters else "Write lower_bound and upper_bound, numbers or null"
        return Problem(file, number, "read", f"{excerpt(row.read)} is no verdict on {_asks(letters)}", remedy)


def _asks(letters: bool) -> str:
    return "options" if letters else "a number"


def _verdict(given: Judgement | Failure | Problem) -> object:
    return given.verdict if isinstance(given, Judgement) else given


async def _keep(job: Job, placed: Sequence[_Placed]) -> None:
    """Put verdicts into the set of a job; a store that writes belongs to its thread, and wants a loop."""
    hearing = job.passes()[0].hearing
    with closing(job.folder.store(write=True)) as store:
        for request, row, given in placed:
            ask, texts = replace(request.ask, runs=(request.slot.run,)), [Reply(storable(row.answer or ""))]
            if isinstance(given, Judgement) and given.reason:
                given = replace(given, reason=storable(given.reason))
            store.put_verdict(job.name, hearing.keys(ask)[-1], given, [*texts], beside=True)
            store.link(job.name, ask, hearing.keys(ask)[-1])
