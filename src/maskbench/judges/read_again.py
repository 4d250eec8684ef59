"""A judge's words that the source of an import could not read, read again by our reader into a verdict set."""

from __future__ import annotations

import asyncio
from contextlib import closing
from importlib.metadata import version
from typing import NamedTuple

from maskbench.errors import UsageError
from maskbench.judges.verdict_sets import check_name
from maskbench.method.asks import VERDICTS
from maskbench.method.forms.published import read_answer
from maskbench.method.verdict import read_elsewhere
from maskbench.runs.folder import RECORD, RunFolder
from maskbench.runs.record import Judged, Judges, now
from maskbench.runs.source import UNSAID
from maskbench.runs.store import Store
from maskbench.types import Ask, Failure, Judgement, Kind, Reply

NAME = "read-again"  # of the set, where it has no other


class ReadAgain(NamedTuple):
    """How many of the verdicts that could not be read are read now, of how many that have words."""

    read: int
    unread: int


def read_again(folder: RunFolder, name: str = NAME) -> ReadAgain:
    """Make the verdict set `name` of a run's own verdicts and of those that our reader finds where there was none.

    What is read is what the judge wrote: a text without a verdict beyond doubt stays a failure. A set of that name that
    was made so is made anew. Raises UsageError for a run whose verdicts were read here, and for a name that is taken.
    """
    check_name(name)
    record = folder.read()
    if record.imported is None or record.prompts.name != UNSAID:
        raise UsageError(f"--read-again: the verdicts of {folder.path} were read here. Leave it out.")
    known = record.verdict_sets.get(name)
    if known and known.protocol != record.protocol:
        raise UsageError(f"--name {name}: another judge has this set. Give another name.")
    with folder.writing("read a copy of the folder"), closing(folder.store(write=True)) as store:
        found = asyncio.run(_copy(store, name))
        record.verdict_sets[name] = Judged(
            created=now(),
            maskbench=version("maskbench"),
            protocol=record.protocol,
            judging=record.settings.judging,
            prompts=record.prompts,
            models=Judges(record.models.binary, record.models.numeric),
            sessions=[],
        )
        store.flush()
        folder.write(RECORD, record)
    return found


async def _copy(store: Store, name: str) -> ReadAgain:
    """Put every verdict of the run's own into the set, those that are read now among them."""
    words, read, unread = store.words(VERDICTS), 0, 0
    for samples, _ in store.read(VERDICTS):
        scenario, models = samples.scenario, samples.judging_models(VERDICTS)
        for place, given in samples.judgements(VERDICTS).items():
            if (stored := words.get((*scenario.key, *place))) is None:
                continue  # it stands with the scenario whose neutral conversation this is
            key, text = stored
            again = (
                _verdict(text, scenario.kind) if isinstance(given, Failure) and given.cause == "unreadable" else None
            )
            read += again is not None
            unread += isinstance(given, Failure) and given.cause == "unreadable" and again is None
            store.put_verdict(name, key, again or given, [Reply(text, model=models[place])], beside=True)
            store.link(name, Ask((), scenario, "", place[0], (place[1],)), key)
    return ReadAgain(read, unread)


def _verdict(text: str, kind: Kind) -> Judgement | None:
    """The verdict in a judge's words: in the published form, or in another one that leaves no doubt."""
    return read_answer(text, kind) or read_elsewhere(text, kind)
