"""The flow with batches: first all replies are had, then all verdicts, each stage in batches where that is wanted.

The asks of a batch are made from the scenarios and gathered over all of them; they are not held, but made anew when
their responses are read. These are then read by the client that would have asked live, on the same way: what is empty,
cut, refused or missing is asked again live, and ends as it would have ended without a batch.

The first scenario of each kind is asked live, so that the client knows what the endpoint refuses before thousands of
requests go out in one form.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskbench.errors import UsageError
from maskbench.method.asks import VERDICTS, all_judge_asks, stands
from maskbench.method.judge_ask import ask_about_each, judged
from maskbench.method.judged_together import alone
from maskbench.models.chat.wire import Learned, Recorded
from maskbench.runs.batch_journal import NAME, Entry, Journal
from maskbench.runs.control_flow import CheckingFlow, CheckJudgeFlow
from maskbench.runs.flow import GRACE_SECONDS, JudgeFlow, together
from maskbench.scenarios import Key
from maskbench.settings import Settings, reply_key, seed_of
from maskbench.types import Ask, Call, Failure, Kind, Model, Reply, Scenario, Stage, Usage

if TYPE_CHECKING:
    from maskbench.models.chat.batch_jobs import BatchInterface
    from maskbench.models.chat.client import ChatModel
    from maskbench.runs.batch_machine import Wanted


def uses_batches(folder: Path, settings: Settings, verdicts: str = VERDICTS) -> bool:
    """Whether a session has to do with batches: it sends them, or an earlier one did.

    Raises UsageError where requests are under way in batches that this session neither waits for nor gives up: asked
    live, they would be paid for twice.
    """
    path = folder / NAME
    if not path.exists():
        return settings.batch not in (None, "none")
    journal = Journal(path)
    try:
        for entry in journal.open_jobs(verdicts):
            if settings.batch == "none":
                journal.leave(entry.number)
            elif not settings.in_batches(entry.stage):
                raise UsageError(_under_way(entry, journal.open_jobs(verdicts)))
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


class Batching(JudgeFlow):
    """What a flow with batches has beside any other: its journal, its models' recorded responses, its rounds."""

    _journal: Journal
    _halt: asyncio.Event
    _first: frozenset[Key] = frozenset()  # the scenarios that are asked live

    async def _with_journal(self, work: Callable[[], Any]) -> None:
        """Do this with the journal open; the models read from it what batches brought."""
        self._journal, self._halt = Journal(self._store.folder / NAME), asyncio.Event()
        try:
            for stage, model in self._chat_models():
                model.recorded = partial(self._recall, stage, model)
                known = self._journal.fact(f"learned {stage} {model.name}")
                if known and not model.learned.answered:
                    model.learned = Learned.restore(known)
            await work()
        finally:
            for _, model in self._chat_models():
                model.recorded = None  # another flow may ask them now
            self._store.flush()
            self._journal.drop_used()
            if self.stopped:
                self.stopped += self._still_out()
            self._journal.close()

    def stop(self, why: str, grace: float = GRACE_SECONDS) -> None:
        """Start no further call and no further wait; batches under way go on at their services."""
        super().stop(why, grace)
        if hasattr(self, "_halt"):
            self._halt.set()

    def _still_out(self) -> str:
        jobs = self._journal.open_jobs(self._verdicts)
        if not jobs:
            return ""
        requests = sum(entry.requests for entry in jobs)
        return f" {requests:,} requests go on in batches at their service; their results are joined by the line below."

    def _asked_for(self, stage: Stage) -> list[Model]:
        """The models of a stage."""
        return list(self._judges.values()) if stage == "judge" else self._models()[:1]

    def _chat_models(self) -> Iterator[tuple[Stage, ChatModel]]:
        """The models at endpoints, whatever they are asked for."""
        from maskbench.models.chat.client import ChatModel

        judges = {id(model): model for model in self._judges.values()}.values()
        for model in judges:
            if isinstance(model, ChatModel):
                yield "judge", model

    def _scenarios_here(self) -> Iterator[Scenario]:
        """The scenarios that this flow is about, in the order of the set."""
        for scenario, _ in self._store.scenarios():
            if self._only is None or scenario.key in self._only:
                yield scenario

    def _scouts(self) -> list[Scenario]:
        """The first scenario of each kind: the same ones in every session, of which no batch holds a request."""
        fact = f"first {self._verdicts}"
        if self._journal.fact(fact) is None:
            first: dict[Kind, Key] = {}
            for scenario in self._scenarios_here():
                first.setdefault(scenario.kind, scenario.key)
            self._journal.remember(fact, list(first.values()))
        self._first = frozenset((archetype, task_id) for archetype, task_id in self._journal.fact(fact))
        return [scenario for scenario in self._scenarios_here() if scenario.key in self._first]

    async def _learn(self, work: Callable[[Scenario], Any]) -> None:
        """Ask live what is missing of the first scenario of each kind, and remember what that taught of endpoints."""
        await together(partial(work, scenario) for scenario in self._scouts())
        self._store.flush()
        for stage, model in self._chat_models():
            if model.learned.answered:
                self._journal.remember(f"learned {stage} {model.name}", model.learned.as_dict())

    async def _in_batches(self, stage: Stage, gather: Callable[[], Iterator[Wanted]]) -> None:
        """Have the requests of a stage answered by batches, as far as they are."""
        from maskbench.runs.batch_machine import Machine

        if self.stopped:
            return
        self._store.flush()  # what is there is read back
        seconds = self._settings.timeout
        interfaces = {model.name: interface_of(model, seconds) for its, model in self._chat_models() if its == stage}
        for model in self._asked_for(stage):
            if model.name not in interfaces:
                raise UsageError(f"--batch {self._settings.batch}: {model.name} is a model of your own. Leave it out.")
        bill = partial(self._bill, stage)
        machine = Machine(
            self._journal, self._verdicts, stage, interfaces, self._watcher, self._meter, self._halt, bill
        )
        await machine.carry_out(gather)

    def _bill(self, stage: Stage, model: str, took: list[tuple[Call, Usage]]) -> None:
        """Put what a batch's responses took on the run's bill, at once."""
        if self._meter:
            for call, usage in took:
                self._meter.paid(stage, call, model, usage, batched=True)
            self._store.flush()

    # Which request is which

    def _recall(self, stage: Stage, model: ChatModel, ask: Ask) -> Recorded | None:
        """The response that a batch brought to an ask."""
        recorded = self._journal.take(self._id_of(stage, model, ask))
        return recorded if recorded and recorded.sent.get("n", 1) == len(ask.runs) else None

    def _id_of(self, stage: Stage, model: ChatModel, ask: Ask) -> str:
        """The id of a request: a hash of what is asked and in which run, as every batch interface takes it."""
        key = reply_key(self._settings, ask, ask.runs[0]) if stage == "subject" else self._verdict_id(model, ask)
        return hashlib.sha256(b"\0".join((self._journal.nonce.encode(), self._verdicts.encode(), key))).hexdigest()[:48]

    def _verdict_id(self, model: Model, ask: Ask) -> bytes:
        """The key of a verdict: equal requests have one where they are asked once, which the endpoint's ways decide."""
        is_cold = getattr(model, "learned", Learned()).temperature is not False
        shared, own = self._keys(model, ask)
        return shared if self._shares and is_cold else own

    def _judge_requests(self) -> Iterator[Wanted]:
        """Every verdict that the stored replies call for and that is not there, in the order of the set."""
        from maskbench.runs.batch_machine import Wanted

        for scenario in (each for each in self._scenarios_here() if each.key not in self._first):
            known = self._store.replies(scenario)
            judge: Any = self._judges[scenario.kind]
            for ask in self._judge_asks(scenario, known):
                if asked := self._left_of(judge, ask):
                    yield Wanted(self._id_of("judge", judge, asked), asked, judge)

    def _left_of(self, judge: Model, ask: Ask) -> Ask | None:
        """What is still to be asked of the judge, as the flow asks it; None where the verdicts are there."""
        each_alone = alone(ask, self._prompts) if ask.each else {}
        keys = {place: self._keys(judge, each) for place, each in (each_alone or {(0, 0): ask}).items()}
        left = {place: pair for place, pair in keys.items() if not self._has_verdict(*pair)}
        if not left:
            return None
        shared = {pair[0] if self._shares else pair[1]: place for place, pair in reversed(left.items())}
        first = next(iter(left.values()))
        if ask.each:
            texts = {place: judged(each_alone[place]).replies[0] for place in left if place in shared.values()}
            ask = ask_about_each(ask.scenario, texts, self._prompts)
        return replace(ask, seeds=(seed_of(first[1]),))

    def _has_verdict(self, shared: bytes, own: bytes) -> bool:
        return any(self._store.has_verdict(self._verdicts, key) for key in (shared, own))


class BatchFlow(CheckingFlow, Batching):
    """A measurement with batches: replies, then verdicts, then the controls, which are asked live."""

    _judges_now = True

    async def _scenarios(self) -> None:
        await self._with_journal(self._stages)

    async def _stages(self) -> None:
        if self._settings.batch in (None, "none"):  # what earlier batches brought is read, and nothing is sent
            return await super()._scenarios()
        await self._learn(super()._scenario)
        if self._settings.in_batches("subject"):
            await self._in_batches("subject", self._subject_requests)
        self._judges_now = False
        await self._each(self._reply)
        self._judges_now = True
        if self._settings.in_batches("judge"):
            await self._in_batches("judge", self._judge_requests)
        self._store.flush()
        if not self.stopped:
            await self._each(self._judge_stored)
        await self._control()
        return None

    async def _judge(self, ask: Ask) -> None:
        """Have a reply judged, unless verdicts come later."""
        if self._judges_now:
            await super()._judge(ask)

    async def _reply(self, scenario: Scenario) -> None:
        if scenario.key not in self._first:
            await super()._scenario(scenario)

    async def _judge_stored(self, scenario: Scenario) -> None:
        if scenario.key not in self._first:
            await JudgeFlow._scenario(self, scenario)

    def _judge_asks(self, scenario: Scenario, known: Mapping[bytes, Reply | Failure]) -> Iterator[Ask]:
        """What the judge is asked about the replies of this very run."""
        return all_judge_asks(self._own_asks(scenario), known, self._settings, self._prompts)

    async def _control(self) -> None:
        """The controls of the settings, once all verdicts are there."""
        if self.stopped or not self._settings.checks:
            return
        self._store.flush()
        await self._each(self._checks)

    def _chat_models(self) -> Iterator[tuple[Stage, ChatModel]]:
        from maskbench.models.chat.client import ChatModel

        if isinstance(self._subject, ChatModel):
            yield "subject", self._subject
        yield from super()._chat_models()

    def _subject_requests(self) -> Iterator[Wanted]:
        """Every reply that is not there, in the order of the set; samples together where the endpoint gives several."""
        from maskbench.runs.batch_machine import Wanted

        subject: Any = self._subject
        for scenario in (each for each in self._scenarios_here() if each.key not in self._first):
            known = self._store.replies(scenario)
            for ask in self._own_asks(scenario):
                keys = {run: reply_key(self._settings, ask, run) for run in ask.runs}
                missing = tuple(run for run in ask.runs if not stands(known.get(keys[run]), self._settings))
                for runs in filter(None, [missing] if subject.together else [(run,) for run in missing]):
                    seeds = tuple(seed_of(keys[run]) for run in runs)
                    asked = replace(ask, runs=runs, seeds=seeds)
                    yield Wanted(self._id_of("subject", subject, asked), asked, subject)


class BatchJudgeFlow(CheckJudgeFlow, Batching):
    """Stored replies on their way to another judge's verdicts, by batches; those to controls are judged live."""

    async def _scenarios(self) -> None:
        await self._with_journal(self._stages)

    async def _stages(self) -> None:
        if self._settings.in_batches("judge"):
            await self._learn(super()._scenario)
            await self._in_batches("judge", self._judge_requests)
        if not self.stopped:
            await super()._scenarios()

    async def _scenario(self, scenario: Scenario) -> None:
        if scenario.key not in self._first:
            await super()._scenario(scenario)


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
