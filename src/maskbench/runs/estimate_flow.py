"""The flow that asks for beliefs only until it is known which statements lie (`--estimate lie`).

Nothing of it is kept but replies and verdicts: where it goes on follows from what the store holds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Literal

from maskbench.method.asks import has_failed, is_joint, replies_of, stands, subject_asks
from maskbench.method.enough import next_places, places
from maskbench.runs.drawn_part import is_for_lies
from maskbench.runs.flow import Flow, together
from maskbench.runs.forecast import reply_tokens, tokens
from maskbench.runs.store import Store
from maskbench.settings import Settings, reply_key
from maskbench.types import Ask, Failure, Place, Reply, Scenario, Stage

Order = Literal["one_by_one", "together"]
ORDER = "order of belief samples"  # the fact under which a run remembers it
LOOKED_AT = 100  # scenarios whose prompts are measured for the choice
OUTPUT = 4.0  # input tokens that one output token is paid like, about, by most price lists
GO_ON = 0.5  # of the scenarios whose first belief reply is asked for: the share that is taken to need a second
SAID = {
    "one_by_one": "The first belief reply is asked for by itself, and the others only where it leaves a lie possible.",
    "together": "All replies to the direct belief question are asked for in one request, so that its long prompt is "
    "paid for once; they are judged one by one.",
}


def cheaper_order(prompt: float, reply: float, samples: int, output: float = OUTPUT) -> Order:
    """Whether the first of several belief replies is asked for alone, or all in one request, by tokens of each.

    Alone means that the prompt is paid for again where the first reply is not enough; together, that replies are paid
    for which nobody needed. `output` is how many input tokens an output token is paid like.
    """
    again, unneeded = GO_ON * prompt, (1 - GO_ON) * (samples - 1) * output * reply
    return "together" if again > unneeded else "one_by_one"


class LieFlow(Flow):
    """One measurement of lies under way: statements first, then as many belief questions as they need."""

    async def _scenarios(self) -> None:
        self._order = self._chosen_order()
        await super()._scenarios()

    def _chosen_order(self) -> Order:
        """How samples of the direct question are asked for; chosen once a run, and told."""
        if before := self._store.fact(ORDER):
            return "together" if before == "together" else "one_by_one"
        order: Order = "one_by_one"
        if self._subject.together:
            prompts = [tokens(ask) for ask in _direct_asks(self._store, self._settings)]
            prompt = sum(prompts) / max(1, len(prompts))
            reply = reply_tokens("direct", self._settings)
            order = cheaper_order(prompt, reply, self._settings.beliefs, self._output())
        self._store.remember(ORDER, order)
        self._watcher.tell(SAID[order])
        return order

    def _output(self) -> float:
        """How many of the subject's input tokens one of its output tokens is paid like."""
        price = self._meter and self._meter.ledger.prices.get("subject", {}).get(self._subject.name)
        return price.output / price.input if price and price.input else OUTPUT

    async def _scenario(self, scenario: Scenario) -> None:
        if not is_for_lies(self._store, scenario, self._settings):
            return await super()._scenario(scenario)
        judged: set[Place] = set()  # what needs nothing more in this session, failures among it
        replied: set[Place] = set()  # what was asked for along with another sample
        while (wanted := self._wanted(scenario, judged)) and not self.stopped:
            if len(wanted) == 1:
                replied |= await self._ask_ahead(wanted[0], judged, replied)
            known = self._store.replies(scenario)
            await together(partial(self._take, ask, known, replied) for ask in wanted)
            judged |= {place for ask in wanted for place in places(ask)}
            self._store.flush()  # verdicts are read back
        if not self.stopped:
            self._pass_over(scenario, judged, replied)
        return None

    def _wanted(self, scenario: Scenario, judged: Collection[Place]) -> list[Ask]:
        """What is to be asked or judged next; what failed in an earlier session comes before all that hangs on it."""
        items = {(item.elicitation, item.run): item for item in self._store.items(self._verdicts, scenario)}
        failed = [place for place, item in items.items() if has_failed(item, self._settings) and place not in judged]
        left = failed or [place for place in next_places(scenario, items, self._settings) if place not in judged]
        asks = (
            replace(ask, runs=tuple(place[1] for place in places(ask) if is_joint(ask) or place in left))
            for ask in subject_asks(scenario, self._settings)
            if any(place in left for place in places(ask))
        )
        return list(asks)

    async def _ask_ahead(self, wanted: Ask, judged: set[Place], replied: Collection[Place]) -> set[Place]:
        """Ask for the other samples of a direct question in the same request, where that is the cheaper order.

        What fails is put among the judged; returns what was replied to, or failed.
        """
        if is_joint(wanted) or wanted.call != "direct" or not self._subject.together:
            return set()
        if self._order == "one_by_one" and wanted.runs == (1,):
            return set()
        scenario = wanted.scenario
        (ask,) = (ask for ask in subject_asks(scenario, self._settings) if ask.call == "direct")
        known, keys = self._store.replies(scenario), {run: reply_key(self._settings, ask, run) for run in ask.runs}
        missing = tuple(run for run in ask.runs if not stands(known.get(keys[run]), self._settings))
        missing = tuple(run for run in missing if (1, run) not in {*judged, *replied})
        if len(missing) < 2:
            return set()
        (replies,) = await together([partial(self._obtain, ask, missing, keys)])
        if replies is None:
            return set()  # the run was stopped
        self._store.flush()
        judged |= {(1, run) for run in missing if run not in replies}
        return {(1, run) for run in missing}

    async def _take(self, ask: Ask, known: Mapping[bytes, Reply | Failure], replied: Collection[Place]) -> None:
        """Get these samples and their verdicts; of those that were replied to ahead, the verdicts alone."""
        if not all(place in replied for place in places(ask)):
            return await self._answer(ask, known)
        answers = {run: known.get(reply_key(self._settings, ask, run)) for run in ask.runs}
        return await self._judge_all(ask, replies_of(answers))

    def _pass_over(self, scenario: Scenario, judged: Collection[Place], replied: Collection[Place]) -> None:
        """Tell that what was there already needs no call, and that what is left out is expected no more."""
        there = {(item.elicitation, item.run): item for item in self._store.items(self._verdicts, scenario)}
        for ask in subject_asks(scenario, self._settings):
            rest = [place for place in places(ask) if place not in judged]
            for place in rest:
                if place not in replied:
                    self._tell("subject", is_there=place in there)
            for place in rest[:1] if is_joint(ask) else rest:
                self._tell("judge", is_there=place in there and there[place].judgement is not None)

    def _tell(self, stage: Stage, *, is_there: bool) -> None:
        """Tell a watcher that a call is settled, or will not be made; one that knows no difference hears the same."""
        spared = getattr(self._watcher, "spared", self._watcher.settled)
        (self._watcher.settled if is_there else spared)(stage)


def _direct_asks(store: Store, settings: Settings) -> Iterator[Ask]:
    """The direct belief questions of the first scenarios that have one of several samples, each judged by itself."""
    for scenario, _ in islice(store.scenarios(), LOOKED_AT):
        for ask in subject_asks(scenario, settings):
            if ask.call == "direct" and len(ask.runs) > 1 and not is_joint(ask):
                yield ask
