"""The live executor: the requests of a few scenarios at a time go out to models, as soon as they are wanted.

No stage waits for another: a reply is judged as soon as it is there. Memory does not grow with the number of scenarios.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from maskbench.asking.desk import Desk, InProgress, Outgoing
from maskbench.asking.first_contact import FirstContact
from maskbench.asking.first_of_prefix import Firsts
from maskbench.asking.meter import Meter
from maskbench.asking.watching import Watcher
from maskbench.errors import BudgetReached, Interrupted, MaskbenchError, ModelError
from maskbench.method.folds import Unit
from maskbench.method.steps import Again, Unread
from maskbench.scenarios import Key
from maskbench.settings import Settings
from maskbench.store.endings import limit_of
from maskbench.store.protocol import Pass
from maskbench.store.store import Store, storable_answer
from maskbench.types import STAGES, Failure, Model, Reply, Scenario, Stage

_ENDLESS = 1_000_000
GRACE_SECONDS = 10.0  # once a run is stopped, for calls in flight to come home: they are paid for


class Gate(asyncio.Semaphore):
    """The gate that bounds requests in flight; once closed, nobody gets in any more.

    `meter`, where there is one, is asked before each request whether the limits of money and tokens allow it.
    """

    _closed: str | None = None
    meter: Meter | None = None

    def __init__(self, connections: int) -> None:
        super().__init__(connections)
        self._connections = connections

    def in_flight(self) -> int:
        """How many requests are in flight."""
        return self._connections - self._value

    def close(self, why: str) -> None:
        """Let nobody in from now on: whoever waits or comes gets Interrupted."""
        self._closed = why

    async def acquire(self) -> Literal[True]:
        """Get in; raises Interrupted once closed."""
        await super().acquire()
        if self.meter and not self._closed:
            self.meter.check()
        if self._closed:
            self.release()
            raise Interrupted(self._closed)
        return True


@dataclass(slots=True)
class _Entry:
    """A scenario that is open, and what a watcher still expects of it."""

    opened: InProgress
    units: list[Unit]


class Live:
    """The live executor of passes over scenarios; `run` takes a run from wherever its store stands to its end.

    Passes go one after another, so that a limit cuts off the last of them.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        desk: Desk,
        passes: Iterable[Pass],
        models: Sequence[Model],
        watcher: Watcher,
        gate: Gate | None = None,
        subject: Model | None = None,
    ) -> None:
        """`models` are all that are asked, `subject` among them; `gate` is where they wait, and is closed by `stop`."""
        self._settings, self._store, self._desk, self._passes = settings, store, desk, list(passes)
        self._models, self._watcher, self._gate = models, watcher, gate
        self._meter = gate.meter if gate else None
        if self._meter:
            self._meter.on_full = self._spent
        self._over: str | None = None  # the limit of money or tokens that stopped it, as its option is called
        self.on_stop: Callable[[], object] = lambda: None
        self.stopped: str | None = None  # why no further call is started; None while it runs
        self._is_repeated = False  # the passes are gone over once more, of which nothing is expected
        self._main: asyncio.Task[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None  # when calls in flight are given up
        self._lost: Counter[str] = Counter()  # calls in a row that found no connection, by model
        self._firsts = Firsts()
        self._contact = FirstContact(watcher.tell)
        self._entries: dict[Key, _Entry] = {}
        # Twice as many as connections keep every connection busy while some calls wait to be retried; with more a
        # reply would wait for its verdict behind everything that the subject is still to be asked. A model in this
        # process has no connections to share, and makes batches of all that waits.
        queues = getattr(subject, "queues", False)
        self._turns = asyncio.Semaphore(_ENDLESS if queues else 2 * settings.pace.connections)

    async def run(self, work: Callable[[], Awaitable[None]] | None = None) -> None:
        """Do what is not done yet: all passes, or this work, which carries them out otherwise.

        Raises ModelError where a model cannot be asked at all, RunError where the store cannot be written, and
        Interrupted where `stop` was called or the network seems lost. Everything answered until then is in the store.
        """
        self._main = asyncio.current_task()
        work = work or self.in_passes
        try:
            self._store.settle()
            await work()
            while not self.stopped and (anew := self._store.settle()):
                self._watcher.tell(
                    f"{anew:,} scenarios are judged anew: whether a closing mark such as `</think>` ends reasoning "
                    "hangs on all replies of the run, and these are in."
                )
                self._is_repeated = True
                await work()
        except asyncio.CancelledError:
            if not self.stopped:
                raise
        finally:
            if self._deadline:
                self._deadline.cancel()
            self._store.flush()
        if self.stopped and self._over:
            now = self._meter.reached(self._over) if self._meter and "is reached" in self.stopped else None
            raise BudgetReached(now or self.stopped, self._over, limit_of(self._settings.budget, self._over))
        if self.stopped:
            raise Interrupted(self.stopped)

    def stop(self, why: str, grace: float = GRACE_SECONDS) -> None:
        """Start no further call; those in flight have `grace` seconds to come home."""
        if not self.stopped:
            self.stopped = why
            if self._gate:
                self._gate.close(why)
            self.on_stop()
            for model in self._models:
                if (drain := getattr(model, "drain", None)) is not None:  # its queue is its own
                    drain(why)
        if self._deadline:
            self._deadline.cancel()
        if self._main:
            self._deadline = asyncio.get_running_loop().call_later(grace, self._main.cancel)

    def look_now(self) -> None:
        """Look at the first answers, however few, before many requests go out at once."""
        for model in self._models:
            if why := self._contact.concluded(model):
                self.stop(why)

    def _spent(self, why: str, option: str) -> None:
        """Stop at a limit of money or tokens: what is under way is paid for, and has its whole time to come home."""
        if not self.stopped:
            self._over = option
            self._watcher.tell(why)
            self.stop(why, grace=self._settings.pace.timeout)

    async def in_passes(self) -> None:
        """One pass after another."""
        for each in self._passes:
            await self.carry_out(each)

    async def carry_out(
        self,
        each: Pass,
        scenarios: Callable[[], Iterable[Scenario]] | None = None,
        stages: Sequence[Stage] = STAGES,
    ) -> None:
        """Do a pass over these scenarios (default: all of them), as far as the requests of these stages go."""
        if self.stopped:
            return
        each.before()
        self._desk.begin_pass(each.task, each.hearing)
        self._stages, self._totals = stages, None if self._is_repeated else each.totals()
        self._window = asyncio.Semaphore(self._ahead())
        try:
            async with asyncio.TaskGroup() as self._group:
                for scenario in scenarios() if scenarios else each.scenarios(self._store):
                    await self._window.acquire()
                    if self.stopped:
                        break
                    if not self._open(scenario):
                        await asyncio.sleep(0)  # a stop is heard between scenarios of which all is there
        except BaseExceptionGroup as errors:
            raise _first(errors) from None
        finally:
            self._entries.clear()
        self._store.flush()  # the next pass reads it back

    def _ahead(self) -> int:
        """How many scenarios may be under way: fewer where each has many calls, whose texts wait in memory."""
        connections, calls = self._settings.pace.connections, 3 + self._settings.design.statements
        return max(2, connections // 2, 8 * connections // calls)

    # One scenario

    def _open(self, scenario: Scenario) -> bool:
        """Begin a scenario; returns whether anything of it is left to ask."""
        opened = self._desk.open(scenario)
        units = self._totals.units(scenario) if self._totals else []
        units = [unit for unit in units if unit.stage in self._stages]
        self._entries[scenario.key] = entry = _Entry(opened, units)
        self._look(entry)
        return scenario.key in self._entries

    def _look(self, entry: _Entry) -> None:
        """Send out what a scenario wants now; close it where nothing is left of it."""
        opened = entry.opened
        ready = [out for out in self._desk.ready(opened) if out.stage in self._stages]
        self._settle(entry)
        if self.stopped:
            self._window.release()  # whoever waits to open a scenario hears that nothing goes out any more
            return
        for out in ready:
            self._desk.begin(opened, out)
            self._group.create_task(self._carry(entry, out))
        if not ready and not opened.under_way and ("judge" not in self._stages or self._desk.is_over(opened)):
            self._close(entry)  # one that waits for another's equal request stays open

    def _close(self, entry: _Entry) -> None:
        if self._entries.pop(entry.opened.scenario.key, None) is None:
            return
        for unit in entry.units:
            for _ in range(unit.calls):
                self._watcher.settled(unit.stage)
        self._window.release()

    def _settle(self, entry: _Entry) -> None:
        """Tell of what needs no further call."""
        known = entry.opened.known
        rest = []
        for unit in entry.units:
            there = [slot for slot in unit.slots if not isinstance(known.get(slot), None | Again | Unread)]
            if unit.stage == "subject":
                for _ in there:
                    self._watcher.settled("subject")
                unit = Unit("subject", tuple(slot for slot in unit.slots if slot not in there))
            elif len(there) == len(unit.slots):
                self._watcher.settled("judge")
                unit = Unit("judge", ())
            if unit.slots:
                rest.append(unit)
        entry.units = rest

    # One request

    async def _carry(self, entry: _Entry, out: Outgoing) -> None:
        try:
            answers = await self._answers(out)
        except Interrupted:
            self._desk.drop(entry.opened, out)
            self._window.release()
            return
        try:
            keys = self._desk.take(entry.opened, out, answers)
        except ModelError as error:
            self.stop(str(error))
            raise
        for key in keys:
            if (found := self._entries.get(key)) is not None:
                self._look(found)

    async def _answers(self, out: Outgoing) -> Sequence[Reply | Failure | None]:
        if out.stage == "judge":
            return await self._call(out)
        async with self._turns:
            return await self._call(out)

    async def _call(self, out: Outgoing) -> Sequence[Reply | Failure | None]:
        """The answers of a model in the order of the places; None where one needs a call of its own."""
        if self.stopped:
            raise Interrupted(self.stopped)
        stage, model = out.stage, out.model
        price = self._meter.ledger.prices.get(stage, {}).get(model.name) if self._meter else None
        self._contact.begin(model)
        try:
            async with self._firsts.in_turn(out.ask, price):
                given = await model.ask(out.ask)
        except ModelError as error:
            self.stop(str(error))  # whatever waits at the gate must not go out as well
            raise
        answers = [None if answer is None else _of_stage(storable_answer(answer), stage) for answer in given]
        for answer in answers:
            if answer is None:
                continue
            self._watcher.called(stage, answer)
            if self._meter and not hasattr(model, "billed") and isinstance(answer, Reply):
                self._meter.paid(stage, out.ask.call, model.name, answer.usage)
            is_lost = isinstance(answer, Failure) and answer.cause == "connection"
            self._lost[model.name] = self._lost[model.name] + 1 if is_lost else 0
        if self._lost[model.name] >= max(8, self._settings.pace.connections):
            self.stop(f"{model.name}: {self._lost[model.name]} calls in a row found no connection.")
        if why := self._contact.heard(model, answers):
            self.stop(why)
        return answers


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one error that a user should hear of, out of all that a broken run raised at once."""
    flat = [_first(error) if isinstance(error, BaseExceptionGroup) else error for error in errors.exceptions]
    return next((error for error in flat if isinstance(error, MaskbenchError)), flat[0])


def _of_stage(answer: Reply | Failure, stage: Stage) -> Reply | Failure:
    return replace(answer, stage=stage) if isinstance(answer, Failure) else answer
