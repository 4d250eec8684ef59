"""Verdicts once: what another verdict set of the same judge has on the very same replies is not asked for again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from typing import NamedTuple

from maskbench.judges.judge_again import Job
from maskbench.method.asks import VERDICTS
from maskbench.method.judge_ask import prompts_of
from maskbench.method.judged_together import parts_of
from maskbench.runs.folder import RunFolder
from maskbench.runs.store import Store
from maskbench.settings import Settings, verdict_key
from maskbench.types import Ask


class Source(NamedTuple):
    """A verdict set that may have some of the verdicts: the folder of its run, and its name."""

    folder: RunFolder
    verdicts: str = VERDICTS


def take_known(folder: RunFolder, settings: Settings, name: str, sources: Sequence[Source]) -> int:
    """Copy into the verdict set `name` what these sets know of its requests; returns how many verdicts that were.

    A request is the same where judge, sampling, prompts and text are; on statements it counts only where equal requests
    are asked once in a run, too. The settings are those of the set. Raises RunError as `judge_again.judge` does.
    """
    prompts = prompts_of(settings)
    with folder.writing("judge a copy of the folder"), ExitStack() as opened:
        store = opened.enter_context(closing(folder.store(write=True)))
        others = [
            (opened.enter_context(closing(source.folder.store())), source.verdicts)
            for source in sources
            if source.folder.exists
        ]
        job = Job(folder, store, settings, name, prompts)
        known: dict[bytes, Sequence[object]] = {}
        for scenario, _ in store.scenarios():
            for ask in (part for each in job.asks(scenario) for part in parts_of(each, prompts)):
                for key in _keys(ask, settings, prompts.hash):
                    if key in known or store.has_verdict(name, key):
                        continue
                    if row := next((row for row in _rows(others, key)), None):
                        known[key] = row
        return store.take_verdicts(name, known.items())


def _rows(others: Sequence[tuple[Store, str]], key: bytes) -> Iterator[Sequence[object]]:
    return (row for store, verdicts in others if (row := store.verdict_row(verdicts, key)) is not None)


def _keys(ask: Ask, settings: Settings, prompts_hash: str) -> Iterator[bytes]:
    """Under which keys the verdict may stand: the one that equal requests share, and of beliefs the reply's own."""
    judge = settings.judge if ask.scenario.kind == "binary" else settings.numeric_judge
    if settings.shares_verdicts:
        yield verdict_key(judge, settings.judge_sampling, prompts_hash, ask, shared=True)
    if ask.elicitation:
        yield verdict_key(judge, settings.judge_sampling, prompts_hash, ask, shared=False)
