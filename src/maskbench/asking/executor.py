"""The executor of a run: what has its passes asked of models, live, in batches or as a row of `EXECUTORS` has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from maskbench.asking.batched import Batched, uses_batches
from maskbench.asking.desk import Desk
from maskbench.asking.live import GRACE_SECONDS, Gate, Live
from maskbench.asking.passes import passes_of
from maskbench.asking.watching import Watcher
from maskbench.method.asks import VERDICTS
from maskbench.method.forms.prompts import Prompts
from maskbench.settings import Settings
from maskbench.store.protocol import Pass
from maskbench.store.store import Store
from maskbench.types import Kind, Model


class Executor(Protocol):
    """An executor: drives a desk until nothing is left of its passes."""

    @property
    def stopped(self) -> str | None:
        """Why no further call is started; None while it runs."""

    def stop(self, why: str, grace: float = GRACE_SECONDS) -> None:
        """Start no further call; those in flight have `grace` seconds to come home."""

    async def run(self) -> None:
        """Do what is not done yet."""


class Work(NamedTuple):
    """The work of an executor, and whom it may ask: judges by kind of scenario, and a subject or none."""

    settings: Settings
    store: Store
    passes: Iterable[Pass]
    desk: Desk
    judges: Mapping[Kind, Model]
    watcher: Watcher
    gate: Gate | None
    subject: Model | None


Make = Callable[[Work], Executor]


def _live(work: Work) -> Live:
    models = [*([work.subject] if work.subject else []), *work.judges.values()]
    return Live(work.settings, work.store, work.desk, work.passes, models, work.watcher, work.gate, work.subject)


def _batched(work: Work) -> Batched:
    """With batches of the set of verdicts of the first pass, or with what earlier ones brought."""
    settings, store, _, desk, judges, watcher, gate, subject = work
    passes, meter = list(work.passes), gate.meter if gate else None
    live = _live(work._replace(passes=passes))
    return Batched(settings, store, live, desk, passes, judges, watcher, meter, subject)


# Executors, each with whether a set of verdicts in this folder, under these settings, is to be had by it. The first one
# that is wanted is taken; where none is, requests go out live.
EXECUTORS: Sequence[tuple[Callable[[Path, Settings, str], bool], Make]] = ((uses_batches, _batched),)


def executor_for(folder: Path, settings: Settings, verdicts: str = VERDICTS) -> Make:
    """What makes the executor that a session needs; raises UsageError as `uses_batches` does."""
    return next((make for is_wanted, make in EXECUTORS if is_wanted(folder, settings, verdicts)), _live)


def measuring(
    settings: Settings,
    store: Store,
    subject: Model,
    judges: Mapping[Kind, Model],
    prompts: Prompts,
    watcher: Watcher,
    gate: Gate | None = None,
    make: Make = _live,
) -> Executor:
    """One measurement on its way.

    `judges` are by kind of scenario; `gate` is the one that the models wait at, to be closed by `stop`.
    """
    return executor(settings, store, passes_of(settings, store, prompts), judges, watcher, gate, subject, make)


def executor(
    settings: Settings,
    store: Store,
    passes: Iterable[Pass],
    judges: Mapping[Kind, Model],
    watcher: Watcher,
    gate: Gate | None = None,
    subject: Model | None = None,
    make: Make = _live,
) -> Executor:
    """What has these passes asked of models; without a `subject` replies stand as they are stored."""
    desk = Desk(settings, store, judges, watcher, subject)
    return make(Work(settings, store, passes, desk, judges, watcher, gate, subject))
