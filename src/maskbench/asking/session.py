"""A session: models are opened, asked and closed, and who they were, what they cost and how it ended is noted.

A run, another judge and an exam are a session each time that they are taken up; inside Inspect each sample is one,
whose models and log are Inspect's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from maskbench.asking.begin import allow_files
from maskbench.asking.executor import Executor, measuring
from maskbench.asking.live import Gate
from maskbench.asking.loop import Stopper, run_flow
from maskbench.asking.meter import known_prices, metering
from maskbench.asking.watching import Unwatched, Watcher
from maskbench.method.asks import VERDICTS, Calls
from maskbench.method.folds import finished
from maskbench.method.forms.prompts import Prompts
from maskbench.method.outcomes import Items
from maskbench.models.names import Reach, check_typed
from maskbench.settings import Settings
from maskbench.store.bill import StagePrices
from maskbench.store.record import About, Session, describe, describe_judges, ending, moved, session
from maskbench.store.store import Store
from maskbench.types import STAGES, Kind, Model, Scenario, Stage

UNLIMITED = 10_000  # connections, where how many there may be is for somebody else to say


@dataclass(frozen=True, slots=True)
class Asked:
    """The models that are asked: judges by kind of scenario, and a subject where replies are wanted."""

    judges: Mapping[Kind, Model]
    subject: Model | None = None

    @property
    def models(self) -> list[Model]:
        """Each of them once."""
        return _each_once([*([self.subject] if self.subject else []), *self.judges.values()])

    def by_stage(self) -> dict[Stage, list[Model]]:
        """Those whose responses are billed; a subject that is held to what it was has its model within."""
        subject = getattr(self.subject, "within", self.subject)
        return {**({"subject": [subject]} if subject else {}), "judge": _each_once(self.judges.values())}

    def described(self) -> dict[str, About]:
        """What a record says of them, by role."""
        return describe(self.subject, self.judges) if self.subject else describe_judges(self.judges)


def _each_once(models: Iterable[Model]) -> list[Model]:
    """Each of the models once; a model of one's own need not have a hash."""
    return list({id(model): model for model in models}.values())


class Book(NamedTuple):
    """The book in which a session is noted: of a run, of a verdict set of it, or of an exam.

    `known` is what is noted of the models so far, by role, and `sessions` are those so far; `note` notes the models
    anew, and writes it all down.
    """

    known: Mapping[str, About]
    sessions: list[Session]
    note: Callable[[Mapping[str, About]], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """The values that a session asks with.

    `verdicts` is the set whose bill it is; `own` are the names of models that the caller brings, and `kept` the prices
    of earlier sessions; `seconds` is the fact that has the time it took.
    """

    settings: Settings
    store: Store
    environ: Mapping[str, str]
    watcher: Watcher
    command: Sequence[str] = ()
    stopper: Stopper = field(default_factory=Stopper)
    verdicts: str = VERDICTS
    own: Sequence[str] = ()
    kept: StagePrices = field(default_factory=dict)
    stages: Sequence[Stage] = STAGES
    seconds: str = "seconds"

    def carry_out(
        self, book: Book, opens: Callable[[Reach], Asked], executor: Callable[[Asked, Gate], Executor], calls: Calls
    ) -> None:
        """Have it asked in a loop of its own.

        `calls` are those that a watcher expects. Raises as the executor does.
        """
        check_typed(self.settings, self.stages)
        gate = self.stopper.gate(self.settings.pace.connections)
        learned = {role: about.learned for role, about in book.known.items()}
        asked = opens(Reach(self.environ, gate, learned, self.watcher.tell))
        self._carry_out(book, asked, gate, lambda: executor(asked, gate), calls)

    def _carry_out(self, book: Book, asked: Asked, gate: Gate, executor: Callable[[], Executor], calls: Calls) -> None:
        prices = known_prices(self.settings, self.environ, self.own, self.stages, self.kept)
        bill = self.store, self.settings, prices, gate.in_flight, self.watcher, asked.by_stage(), self.verdicts
        gate.meter = metering(*bill, new=not book.sessions)
        described = asked.described()
        for line in moved(book.known, described):
            self.watcher.tell(line)
        book.sessions.append(begun := session(self.command, self.environ, described))
        self.store.session = len(book.sessions)
        book.note(described)
        self.watcher.begin(calls, asked.models)
        allow_files(self.settings.pace.connections, self.watcher)
        started = time.monotonic()
        try:
            with ending(begun):
                run_flow(executor(), asked.models, self.watcher, self.stopper)
        finally:
            self.watcher.end()
            self.store.remember(self.seconds, self.store.seconds(self.seconds) + time.monotonic() - started)
            book.note(asked.described())


async def as_guest(settings: Settings, scenario: Scenario, weight: float, asked: Asked, prompts: Prompts) -> Items:
    """All replies and verdicts on one scenario, in the running loop of a host who has models, pace, bill and log.

    What is stored is gone afterwards. Raises as the executor does.
    """
    if asked.subject is None:
        raise ValueError("A guest has a subject to ask.")
    with TemporaryDirectory(prefix="maskbench-") as folder:
        store = Store(Path(folder) / "sample.sqlite", write=True)
        try:
            store.add_scenarios([(scenario, weight)])
            gate = Gate(UNLIMITED)
            await measuring(settings, store, asked.subject, asked.judges, prompts, Unwatched(), gate).run()
            items = finished(scenario, store.samples(scenario).items(), settings)
        finally:
            store.close()
    if items is None:
        raise RuntimeError(f"{scenario.key}: the session came to its end, and something was not asked.")
    return items
