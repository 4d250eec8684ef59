"""The executor with batches: first all replies are had, then all verdicts, each stage in batches where wanted.

The asks of a batch are made from the scenarios and gathered over all of them; they are not held, but made anew when
their responses are read. These are then read by the client that would have asked live, on the same way: what is empty,
cut, refused or missing is asked again live, and ends as it would have ended without a batch.

The first scenario of each kind is asked live, so that the client knows what the endpoint refuses before thousands of
requests go out in one form.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskbench.asking.batch_journal import NAME, Entry, Journal
from maskbench.asking.desk import Desk
from maskbench.asking.live import GRACE_SECONDS, Live
from maskbench.asking.meter import Meter
from maskbench.asking.watching import Watcher
from maskbench.errors import UsageError
from maskbench.method.asks import VERDICTS
from maskbench.models.chat.wire import Learned, Recorded
from maskbench.scenarios import Key
from maskbench.settings import Settings, reply_key
from maskbench.store.protocol import Pass
from maskbench.store.store import Store
from maskbench.types import STAGES, Ask, Call, Kind, Model, Scenario, Stage, Usage

if TYPE_CHECKING:
    from maskbench.asking.batch_machine import Wanted
    from maskbench.models.chat.batch_jobs import BatchInterface
    from maskbench.models.chat.client import ChatModel


LEAST = 20  # requests that a further round of batches is worth waiting for


def uses_batches(folder: Path, settings: Settings, verdicts: str = VERDICTS) -> bool:
    """Whether a session has to do with batches: it sends them, or an earlier one did.

    Raises UsageError where requests are under way in batches that this session neither waits for nor gives up: asked
    live, they would be paid for twice.
    """
    path = folder / NAME
    if not path.exists():
        return settings.pace.batch not in (None, "none")
    journal = Journal(path)
    try:
        jobs = journal.open_jobs(verdicts)
        for entry in jobs:
            if settings.pace.batch == "none":
                journal.leave(entry.number)
            elif not settings.pace.in_batches(entry.stage):
                raise UsageError(_under_way(entry, jobs))
    finally:
        journal.close()
    return True


def _under_way(first: Entry, jobs: list[Entry]) -> str:
    stages = {entry.stage for entry in jobs}
    stage = "both" if len(stages) > 1 else first.stage
    requests = sum(entry.requests for entry in jobs)
    names = ", ".join(entry.job or "one whose name did not come home" for entry in jobs[:3])
    return (
        f"{requests:,} requests to {first.model} are under way in batches ({names}), and would be paid for twice if "
        f"they were asked live now. To wait for them, add --batch {stage}. To ask them live all the same, add "
        "--batch none."
    )


class Batched:
    """The executor with batches: replies, then verdicts, each stage by batches where that is wanted.

    What batches brought is found by the live executor where it would ask.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        live: Live,
        desk: Desk,
        passes: Sequence[Pass],
        judges: Mapping[Kind, Model],
        watcher: Watcher,
        meter: Meter | None = None,
        subject: Model | None = None,
    ) -> None:
        """`live` and `desk` are those of the passes; `meter` is asked whether a batch may be sent."""
        self._settings, self._store, self._live, self._desk, self._passes = settings, store, live, desk, passes
        self._judges, self._subject, self._watcher, self._meter = judges, subject, watcher, meter
        self._begin_pass(passes[0])
        self._first: frozenset[Key] = frozenset()  # the scenarios that are asked live
        self._journal: Journal
        self._halt: asyncio.Event

    @property
    def stopped(self) -> str | None:
        """Why no further call is started; None while it runs."""
        return self._live.stopped

    def stop(self, why: str, grace: float = GRACE_SECONDS) -> None:
        """Start no further call and no further wait; batches under way go on at their services."""
        self._live.stop(why, grace)

    async def run(self) -> None:
        """Do what is not done yet; raises as `Live.run` does."""
        self._journal, self._halt = Journal(self._store.folder / NAME), asyncio.Event()
        self._live.on_stop = self._halt.set
        try:
            for stage, model in self._chat_models():
                model.recorded = partial(self._recall, stage, model)
                known = self._journal.fact(f"learned {stage} {model.name}")
                if known and not model.learned.answered:
                    model.learned = Learned.restore(known)
            await self._live.run(self._stages)
        finally:
            for _, model in self._chat_models():
                model.recorded = None  # another executor may ask them now
            self._journal.close()

    async def _stages(self) -> None:
        try:
            for each in self._passes:
                self._begin_pass(each)
                if self._settings.pace.batch in (
                    None,
                    "none",
                ):  # what earlier batches brought is read, and nothing is sent
                    await self._live.carry_out(each)
                else:
                    await self._rounds(each)
        finally:
            self._store.flush()
            self._journal.drop_used()
            if self._live.stopped:
                self._live.stopped += self._still_out()

    def _begin_pass(self, each: Pass) -> None:
        """Go on with a pass, whose verdict set its requests belong to."""
        self._pass, self._hearing = each, each.hearing

    async def _rounds(self, each: Pass) -> None:
        """Replies, then the verdicts on them, until nothing is left that is worth a batch; the rest is asked live."""
        each.before()
        if each is self._passes[0]:
            await self._learn(each)
        stages = [stage for stage in STAGES if stage == "judge" or self._subject]
        while not self.stopped:
            for stage in stages:
                if self._settings.pace.in_batches(stage):
                    await self._in_batches(stage)
                await self._live.carry_out(each, self._others, (stage,))
            if sum(1 for _ in islice(self._requests(stages), LEAST)) < LEAST:
                break

    def _still_out(self) -> str:
        jobs = self._journal.open_jobs(self._hearing.into)
        if not jobs:
            return ""
        requests = sum(entry.requests for entry in jobs)
        return f" {requests:,} requests go on in batches at their service; their results are joined by the line below."

    def _chat_models(self) -> Iterator[tuple[Stage, ChatModel]]:
        """The models at endpoints, whatever they are asked for."""
        from maskbench.models.chat.client import ChatModel

        if isinstance(self._subject, ChatModel):
            yield "subject", self._subject
        for model in {id(model): model for model in self._judges.values()}.values():
            if isinstance(model, ChatModel):
                yield "judge", model

    def _others(self) -> Iterator[Scenario]:
        """The scenarios of the pass that are asked by batches, in the order of the set."""
        scouts = self._first if self._pass is self._passes[0] else frozenset()
        return (each for each in self._pass.scenarios(self._store) if each.key not in scouts)

    def _scouts(self) -> list[Scenario]:
        """The first scenario of each kind: the same ones in every session, of which no batch holds a request."""
        fact = f"first {self._hearing.into}"
        here = self._passes[0].scenarios
        if self._journal.fact(fact) is None:
            first: dict[Kind, Key] = {}
            for scenario in here(self._store):
                first.setdefault(scenario.kind, scenario.key)
            self._journal.remember(fact, list(first.values()))
        self._first = frozenset((archetype, task_id) for archetype, task_id in self._journal.fact(fact))
        return [scenario for scenario in here(self._store) if scenario.key in self._first]

    async def _learn(self, first: Pass) -> None:
        """Ask live what is missing of the first scenario of each kind, and remember what that taught of endpoints."""
        await self._live.carry_out(first, self._scouts)
        self._live.look_now()
        for stage, model in self._chat_models():
            if model.learned.answered:
                self._journal.remember(f"learned {stage} {model.name}", model.learned.as_dict())

    async def _in_batches(self, stage: Stage) -> None:
        """Have the requests of a stage answered by batches, as far as they are."""
        from maskbench.asking.batch_machine import Machine

        if self.stopped:
            return
        seconds = self._settings.pace.timeout
        interfaces = {model.name: interface_of(model, seconds) for its, model in self._chat_models() if its == stage}
        asked = self._judges.values() if stage == "judge" else [self._subject] if self._subject else []
        for model in asked:
            if model.name not in interfaces:
                raise UsageError(
                    f"--batch {self._settings.pace.batch}: {model.name} is a model of your own. Leave it out."
                )
        scope, bill = self._hearing.into, partial(self._bill, stage)
        machine = Machine(self._journal, scope, stage, interfaces, self._watcher, self._meter, self._halt, bill)
        await machine.carry_out(partial(self._requests, [stage]))

    def _bill(self, stage: Stage, model: str, took: list[tuple[Call, Usage]]) -> None:
        """Put what a batch's responses took on the run's bill, at once."""
        if self._meter:
            for call, usage in took:
                self._meter.paid(stage, call, model, usage, batched=True)
            self._store.flush()

    def _requests(self, stages: Sequence[Stage]) -> Iterator[Wanted]:
        """Every request of these stages that is wanted now, in the order of the set."""
        from maskbench.asking.batch_machine import Wanted

        self._desk.begin_pass(self._pass.task, self._pass.hearing)
        for scenario in self._others():
            once = _is_cold(self._judges[scenario.kind])
            for out in self._desk.ready(self._desk.open(scenario), once=once):
                if out.stage in stages:
                    model: Any = out.model
                    yield Wanted(self._id_of(out.stage, model, out.ask), out.ask, model)

    # Which request is which

    def _recall(self, stage: Stage, model: ChatModel, ask: Ask) -> Recorded | None:
        """The response that a batch brought to an ask."""
        recorded = self._journal.take(self._id_of(stage, model, ask))
        return recorded if recorded and recorded.sent.get("n", 1) == len(ask.runs) else None

    def _id_of(self, stage: Stage, model: Model, ask: Ask) -> str:
        """The id of a request: a hash of what is asked and in which run, as every batch interface takes it."""
        key = reply_key(self._settings, ask, ask.runs[0]) if stage == "subject" else self._verdict_id(model, ask)
        scope = self._hearing.into.encode()
        return hashlib.sha256(b"\0".join((self._journal.nonce.encode(), scope, key))).hexdigest()[:48]

    def _verdict_id(self, model: Model, ask: Ask) -> bytes:
        """The key of a verdict: equal requests have one where they are asked once, which the endpoint's ways decide."""
        keys = self._hearing.keys(ask)
        return keys[0] if _is_cold(model) else keys[-1]


def _is_cold(model: Model) -> bool:
    """Whether a model takes temperature 0, as far as is known, so that equal requests have equal answers."""
    return getattr(model, "learned", Learned()).temperature is not False


def interface_of(model: ChatModel, seconds: float) -> BatchInterface:
    """The batch interface of a model's service; `seconds` may pass between two pieces of a response."""
    from maskbench.models.chat.anthropic_batches import AnthropicBatches
    from maskbench.models.chat.batch_jobs import Door
    from maskbench.models.chat.openai_batches import OpenAIBatches

    interfaces: Mapping[str, type[AnthropicBatches] | type[OpenAIBatches]] = {
        "anthropic": AnthropicBatches,
        "openai": OpenAIBatches,
    }
    return interfaces[model.endpoint.service](Door(model, seconds))
