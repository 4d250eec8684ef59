"""The questions on statements asked on demand: about the stored statements of a run, by its judge or by another.

No subject is asked, no verdict changes, and what has an answer keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

from maskbench.judges.judge_again import Job, check_judging
from maskbench.runs.folder import RunFolder
from maskbench.runs.options import check
from maskbench.runs.protocol import asking
from maskbench.runs.questions import asked_otherwise, remember, set_of
from maskbench.runs.session import Book
from maskbench.runs.store import Store
from maskbench.runs.watching import Unwatched, Watcher
from maskbench.settings import Settings
from maskbench.types import Kind, Model


def ask_construct(
    folder: RunFolder,
    settings: Settings,
    environ: Mapping[str, str] | None = None,
    watcher: Watcher | None = None,
    judges: Mapping[Kind, Model] | None = None,
) -> None:
    """Ask the questions of `settings.construct` about the stored statements of a run, as far as they have no answer.

    `settings` are the run's with these questions, and with another judge where one is wanted; `environ` gives keys and
    addresses; `judges` are models of one's own, whose names the settings have to give. It runs a loop of its own.
    Raises UsageError, ModelError, RunError or Interrupted; whatever was answered is kept.
    """
    settings, environ = alone(settings), environ or {}
    check_judging(folder, settings, set_of(settings.judging.judge), environ, judges, is_new=True)
    with folder.writing("ask about a copy of the folder"), closing(folder.store(write=True)) as store:
        if others := asked_otherwise(store, settings):
            (watcher or Unwatched()).tell(
                f"{settings.judging.judge} was asked {', '.join(dict.fromkeys(others))} by prompts of another version, "
                "and two versions make no one measurement: these answers stand, and none is asked for. Another --judge "
                "is asked by the present ones."
            )
        _questions(folder, store, settings).carry_out(environ, watcher or Unwatched(), (), judges)
        remember(store, settings)


def forecast(folder: RunFolder, settings: Settings) -> tuple[int, float]:
    """How many answers are still to be had, and about how many tokens their requests hold; asks nothing."""
    check(settings := alone(settings))
    with closing(folder.store()) as store:
        return _questions(folder, store, settings).left()


def _questions(folder: RunFolder, store: Store, settings: Settings) -> Job:
    """Questions on statements: their set is no verdict set, its bill is part of the run's, and no session is noted."""
    each = asking(settings, store)

    def book() -> Book:
        known = folder.read().models.binary
        return Book({"binary": known} if known.name == settings.judging.judge else {}, None, lambda _: None)

    return Job(folder, store, settings, each.hearing.into, each.hearing.prompts, lambda: [each], book, None)


def alone(settings: Settings) -> Settings:
    """The settings of asking about what is stored: one judge."""
    return settings.having(numeric_judge=settings.judging.judge)
