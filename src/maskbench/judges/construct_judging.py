"""The questions on statements asked on demand: about the stored statements of a run, by its judge or by another.

No subject is asked, no verdict changes, and what has an answer keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

from maskbench.method.asks import Calls
from maskbench.models.names import check_judges, open_judges
from maskbench.models.serve.own_server import addressed
from maskbench.runs.batched import uses_batches
from maskbench.runs.executor import executor
from maskbench.runs.folder import RunFolder
from maskbench.runs.forecast import tokens
from maskbench.runs.meter import known_prices
from maskbench.runs.options import check
from maskbench.runs.passes import expected, steps_left
from maskbench.runs.protocol import asking
from maskbench.runs.questions import remember, set_of
from maskbench.runs.session import Asked, Asking, Book
from maskbench.runs.watching import Unwatched, Watcher, WithAnswers
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
    check(settings)
    known_prices(settings, environ, [model.name for model in (judges or {}).values()], ("judge",))
    if not judges:
        check_judges(settings, addressed(environ, settings))
    with folder.writing("ask about a copy of the folder"), closing(folder.store(write=True)) as store:
        if not any(steps_left(settings, store, asking(settings, store))):
            remember(store, settings)
        else:
            watcher = watcher or Unwatched()
            known = folder.read().models.binary
            passes = [asking(settings, store)]
            has_batches = uses_batches(folder.path, settings, set_of(settings.judging.judge))
            session = Asking(
                settings=settings,
                store=store,
                environ=environ,
                watcher=watcher,
                verdicts=set_of(settings.judging.judge),  # a bill of its own, which is part of the run's
                own=[model.name for model in (judges or {}).values()],
                stages=("judge",),
                seconds=None,
            )
            session.carry_out(
                Book({"binary": known} if known.name == settings.judging.judge else {}, None, lambda _: None),
                lambda reach: Asked(judges or open_judges(settings, *reach[:3], elsewhere=reach.elsewhere)),
                lambda asked, gate: executor(settings, store, passes, asked.judges, watcher, gate, batched=has_batches),
                WithAnswers.of(Calls(), expected(store, passes).verdicts),
            )


def forecast(folder: RunFolder, settings: Settings) -> tuple[int, float]:
    """How many answers are still to be had, and about how many tokens their requests hold; asks nothing."""
    check(settings := alone(settings))
    with closing(folder.store()) as store:
        left = steps_left(settings, store, asking(settings, store))
        sizes = [tokens(step.make(step.fills)) for _, step in left]
    return len(sizes), sum(sizes)


def alone(settings: Settings) -> Settings:
    """The settings of asking about what is stored: one judge."""
    return settings.having(numeric_judge=settings.judging.judge)
