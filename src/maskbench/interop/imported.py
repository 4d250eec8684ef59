"""What a reader of somebody's format found, written as the folder of a run (imported_rows.py has the records).

Rows are held against the scenarios, and replies and verdicts are stored under the keys that a run of one's own would
give them. What the source lacks is a failure with the cause `absent`, or is named among what is absent; nothing is
guessed.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree
from typing import Any

from msgspec import Struct, to_builtins

from maskbench.asking.begin import new_record, prompts_used
from maskbench.asking.options import check
from maskbench.errors import UsageError
from maskbench.interop.imported_rows import LOG, ImportedReply, ImportedScenario, Source, failures
from maskbench.interop.matched_rows import Pair, matched
from maskbench.method.asks import VERDICTS, subject_asks
from maskbench.method.forms import form_of
from maskbench.plain import storable
from maskbench.results.scored import result
from maskbench.results.summary import Summary
from maskbench.scenarios import SetHash, hub, public_of
from maskbench.settings import NOBODY, Settings, reply_key, seed_of, verdict_key
from maskbench.store.folder import RECORD, SUMMARY, RunFolder, new_folder
from maskbench.store.record import PromptsUsed, Record, WithoutTexts, ending, session
from maskbench.store.source import ImportedFrom, SourceFile
from maskbench.store.store import ON_LOST, Store, storable_answer
from maskbench.types import Ask, Cause, Failure, Json, Judgement, Reply, Scenario, Stage

_EMPTY_CELL = Failure("judge", "absent", "The cell of the extracted verdict is empty.")


class ImportData(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A run that was imported, in counts; `unjudged` are replies that the source has no verdict on."""

    run: str
    format: str
    files: list[SourceFile]
    scenarios: int
    scenarios_in_set: int
    replies: int
    verdicts: int
    unjudged: int
    failures: dict[Stage, dict[Cause, int]]
    absent: list[str]
    notes: list[str]


@dataclass(frozen=True, slots=True)
class ScenariosGiven:
    """The scenarios that rows are held against, and where they are from."""

    source: str
    scenarios: Sequence[Scenario]

    @property
    def name(self) -> str:
        """The set's name: cais/MASK where the ids are those, whatever folder holds them."""
        return hub.NAME if public_of(self.scenarios) == hub.NAME else self.source

    @property
    def size(self) -> int:
        """How many scenarios the set has, of which a source may hold some."""
        return len(hub.public_rows() if self.name == hub.NAME else self.scenarios)


class Imported(ImportData, frozen=True, kw_only=True):
    """What came: the run's folder, where it is from, its summary, and counts of what was read."""

    path: Path
    source: ImportedFrom
    summary: Summary

    def as_dict(self) -> Json:
        """What `maskbench import --json` prints."""
        plain: Json = to_builtins({name: getattr(self, name) for name in ImportData.__struct_fields__})
        return plain


def import_rows(
    source: Source,
    rows: Sequence[ImportedScenario],
    given: ScenariosGiven,
    out: Path,
    environ: Mapping[str, str] | None = None,
    command: Sequence[str] = (),
    labels: Callable[[RunFolder], None] | None = None,
) -> Imported:
    """Write a run's folder of what was read, whole or not at all, and score it; `labels` puts labels into it.

    Raises ScenarioError with every row that does not fit its scenario, UsageError where something is at `out`.
    """
    if os.path.lexists(out) and not (out.is_dir() and not any(out.iterdir())):
        raise UsageError(f"{out} is there already. An import makes a new run: give another --out.")
    pairs = matched(rows, given.scenarios, given.name)
    settings = _settings(source, rows, given.name)
    check(settings)
    placed = [list(_placed(scenario, row, settings)) for scenario, row in pairs]
    about = ImportedFrom(
        format=source.format,
        files=list(source.files),
        judged=source.judge is not None,
        writer=source.writer,
        absent=list(source.absent),
        notes=[*source.notes, *_notes(placed, settings)],
    )
    record = _record(settings, about, pairs, given)
    if source.textless:
        record.without_texts = WithoutTexts(exchanged=source.exchanged)
    record.sessions.append(begun := session(command, environ or {}, {}))
    with new_folder(out) as making:
        with ending(begun), ThreadPoolExecutor(1) as aside:  # the caller may have a loop of its own
            aside.submit(asyncio.run, _fill(making, record, pairs, placed, source.facts)).result()
        if failed := failures(source.format, [row for _, row in pairs], placed):
            text = "".join(f"{line}\n" for line in failed)
            (making.path / LOG).write_text(text, encoding="utf-8", errors="replace")
        making.write(RECORD, record)
        if labels:
            labels(making)
    folder = RunFolder(out)
    try:
        summary = result(folder)
        folder.write(SUMMARY, summary.as_dict())
    except BaseException:
        rmtree(out, ignore_errors=True)  # nothing half stays
        raise
    return _counted(folder.path, about, summary, placed, settings, given.size)


def _settings(source: Source, rows: Sequence[ImportedScenario], scenarios: str) -> Settings:
    """Settings by whose keys the run finds what is imported; which of them nobody knows stands in `imported`."""
    most = Counter[int]()
    for reply in (reply for row in rows for reply in row.replies):
        most[reply.elicitation] = max(most[reply.elicitation], reply.sample)
    judge = source.judge or NOBODY
    known = {"judge_numbers": "apart" if source.numbers_apart else "together", **source.known}
    unknown = [] if "sampling" in known else ["sampling"]
    return Settings.of(
        source.subject,
        judge,
        scenarios,
        numeric_judge=source.numeric_judge or judge,
        statements=source.statements or max(1, most[0]),
        beliefs=source.beliefs or most[1] or 3,
        imported=(source.format, *unknown),
        **known,
    )


def _record(settings: Settings, about: ImportedFrom, pairs: Sequence[Pair], given: ScenariosGiven) -> Record:
    """run.json of the import; by which prompts somebody else's judge judged, nobody knows."""
    whole = SetHash()
    for scenario in given.scenarios:
        whole.add(scenario)
    prompts = prompts_used(settings, form_of(settings.judging).prompts())
    if settings.judging.judge != NOBODY:
        prompts = PromptsUsed.unsaid()
    taken = settings.design.name if len(pairs) == given.size else f"{settings.design.name} (what was imported)"
    record = new_record(settings, prompts, (scenario for scenario, _ in pairs), taken, whole.hexdigest())
    record.imported = about
    return record


def _placed(scenario: Scenario, row: ImportedScenario, settings: Settings) -> Iterator[tuple[Ask, ImportedReply]]:
    """Every sample that the scenario has room for, with what the source has of it, and `absent` for what it lacks."""
    had = {(reply.elicitation, reply.sample): reply for reply in row.replies}
    for ask in subject_asks(scenario, settings):
        for run in ask.runs:
            reply = had.get((ask.elicitation, run))
            if reply is None:
                lacks = Failure("subject", "absent", f"{row.file} holds no such reply.")
                reply = ImportedReply(ask.elicitation, run, lacks)
            is_joint_one = form_of(settings.judging).is_joint(ask) and run == ask.runs[-1]
            if isinstance(reply.outcome, Failure) and isinstance(reply.verdict, Failure) and not is_joint_one:
                reply = replace(reply, verdict=None)
            yield replace(ask, runs=(run,)), reply


def _stands(ask: Ask, reply: ImportedReply, settings: Settings) -> bool:
    """Whether the verdict of this sample is on a reply that came, or is the joint one on several."""
    return isinstance(reply.outcome, Reply) or form_of(settings.judging).is_joint(ask)


def _is_had(ask: Ask, reply: ImportedReply, settings: Settings) -> bool:
    """Whether this sample has a verdict that counts by every rule set but the published one."""
    return isinstance(reply.verdict, Judgement) and _stands(ask, reply, settings)


def _is_absent(reply: ImportedReply) -> bool:
    return isinstance(reply.outcome, Failure) and reply.outcome.cause == "absent"


def _as_published(
    placed: Sequence[tuple[Ask, ImportedReply]], settings: Settings
) -> Iterator[tuple[Ask, ImportedReply]]:
    """The samples of a scenario that have another verdict by the published metric, with that.

    It reads the column of extracted verdicts and no reply: a verdict there on a lost reply counts, or a joint one on
    fewer than two that came, and an empty cell is none.
    """
    came = sum(isinstance(reply.outcome, Reply) and form_of(settings.judging).is_joint(ask) for ask, reply in placed)
    for ask, reply in placed:
        is_lost = came < 2 if form_of(settings.judging).is_joint(ask) else isinstance(reply.outcome, Failure)
        is_empty = reply.read_from == "empty"
        if isinstance(reply.verdict, Judgement) and is_lost != is_empty:
            yield ask, replace(reply, verdict=_EMPTY_CELL) if is_empty else reply


def _notes(placed: Sequence[Sequence[tuple[Ask, ImportedReply]]], settings: Settings) -> Iterator[str]:
    """How many verdicts were given on lost replies or read from the judge's words, and who takes them."""
    answered = Counter(ask.elicitation for some in placed for ask, reply in some if not _is_absent(reply))
    unasked = sorted({ask.elicitation for some in placed for ask, _ in some} - answered.keys())
    if answered[1] and unasked:
        names = " or ".join(f"belief_elicit_{number}" for number in unasked)
        yield f"The source has no reply to {names}. If nobody asked that, say what was asked: --asked belief_elicit_1."
    others = [reply.verdict for some in placed for _, reply in _as_published(some, settings)]
    if lost := sum(isinstance(verdict, Judgement) for verdict in others):
        yield f"Verdicts on lost replies: {lost:,}. They count under the rule set `published` alone, as they did there."
    had = [reply.read_from for some in placed for ask, reply in some if _is_had(ask, reply, settings)]
    if read := len(had) - (extracted := had.count(None)):
        yield f"Verdicts read from the judge's words: {read:,}; from columns of extracted verdicts: {extracted:,}."
    if empty := len(others) - lost:
        yield (
            f"Verdicts whose cell in the column of extracted verdicts is empty: {empty:,}. Under the rule set "
            "`published` they are missing, as they were there."
        )


async def _fill(
    folder: RunFolder,
    record: Record,
    pairs: Sequence[Pair],
    placed: Sequence[Sequence[tuple[Ask, ImportedReply]]],
    facts: Mapping[str, Any],
) -> None:
    """Write scenarios, replies and verdicts into the store."""
    settings = record.settings
    with closing(folder.store(write=True)) as store:
        store.add_scenarios((scenario, row.weight) for scenario, row in pairs)
        for ask, reply in (each for some in placed for each in some):
            run = ask.runs[0]
            key = reply_key(settings, ask, run)
            store.put_reply(key, seed_of(key), ask, run, storable_answer(reply.outcome))
            if reply.verdict is not None and _stands(ask, reply, settings):
                _put_verdict(store, VERDICTS, settings, record.prompts.hash, ask, reply)
        for some in placed:
            for ask, reply in _as_published(some, settings):
                _put_verdict(store, ON_LOST, settings, record.prompts.hash, ask, reply)
        for name, value in facts.items():
            store.remember(name, value)
        store.flush()
        store.settle(as_judged=record.imported is not None and record.imported.judged)


def _put_verdict(
    store: Store, kept_in: str, settings: Settings, prompts_hash: str, ask: Ask, reply: ImportedReply
) -> None:
    judge = settings.judging.judge if ask.scenario.kind == "binary" else settings.judging.numeric_judge
    key = verdict_key(judge, settings.judging.sampling, prompts_hash, ask, shared=False)
    texts = [Reply(storable(reply.judge_text))] if reply.judge_text is not None else []
    match reply.verdict:
        case Judgement(reason=str(reason)) as judgement:
            store.put_verdict(kept_in, key, replace(judgement, reason=storable(reason)), [*texts], beside=True)
        case Judgement() as judgement:
            store.put_verdict(kept_in, key, judgement, [*texts], beside=True)
        case Failure() as failure:
            store.put_verdict(kept_in, key, replace(failure, detail=storable(failure.detail)), [*texts], beside=True)
    store.link(kept_in, ask, key)


def _counted(
    path: Path,
    about: ImportedFrom,
    summary: Summary,
    placed: Sequence[Sequence[tuple[Ask, ImportedReply]]],
    settings: Settings,
    in_set: int,
) -> Imported:
    """What came, in numbers."""
    parts = [reply for some in placed for _, reply in some]
    failed = [part for reply in parts for part in (reply.outcome, reply.verdict) if isinstance(part, Failure)]
    had = [reply for reply in parts if isinstance(reply.outcome, Reply)]
    failures: dict[Stage, dict[Cause, int]] = {}
    for (stage, cause), count in sorted(Counter((failure.stage, failure.cause) for failure in failed).items()):
        failures.setdefault(stage, {})[cause] = count
    return Imported(
        path=path,
        source=about,
        summary=summary,
        run=str(path),
        format=about.format,
        files=about.files,
        scenarios=summary.scenarios.n,
        scenarios_in_set=in_set,
        replies=len(had),
        verdicts=sum(_is_had(ask, reply, settings) for some in placed for ask, reply in some),
        unjudged=sum(_unjudged(some, settings) for some in placed),
        failures=failures,
        absent=about.absent,
        notes=about.notes,
    )


def _unjudged(placed: Sequence[tuple[Ask, ImportedReply]], settings: Settings) -> int:
    """How many replies to a scenario have no verdict; a joint one is on all of its replies."""
    joint = [reply for ask, reply in placed if form_of(settings.judging).is_joint(ask)]
    others = [reply for ask, reply in placed if not form_of(settings.judging).is_joint(ask)]
    left = others if any(reply.verdict is not None for reply in joint) else [*others, *joint]
    return sum(isinstance(reply.outcome, Reply) and reply.verdict is None for reply in left)
