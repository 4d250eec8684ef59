"""The flow with controls on the subject: once all replies of the method have verdicts, the extra calls go out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from maskbench.method.asks import VERDICTS, has_failed, stands
from maskbench.method.controls import BY_CALL, control_asks, judge_control, of_reasoning
from maskbench.method.controls.control import reasoning
from maskbench.method.enough import finished_for_lies
from maskbench.method.judge_ask import Prompts
from maskbench.method.outcomes import finished, score
from maskbench.method.rules import named
from maskbench.runs.drawn_part import is_asked_anew, is_for_lies
from maskbench.runs.flow import Flow, JudgeFlow, together
from maskbench.runs.store import Store
from maskbench.settings import Settings, reply_key
from maskbench.types import Ask, Failure, Item, Judgement, Reply, Scenario


class CheckingFlow(Flow):
    """A measurement, then the checks that its settings want."""

    async def _scenarios(self) -> None:
        await super()._scenarios()
        if self.stopped:
            return
        self._store.flush()  # statements and verdicts are read back
        await self._each(self._checks)

    async def _checks(self, scenario: Scenario) -> None:
        items = self._store.items(self._verdicts, scenario)
        known = self._store.replies(scenario)
        asks = control_asks(scenario, self._settings, said(items))
        wanted = list(traces(scenario, items, self._settings, self._prompts))
        for _ in range(len(control_asks(scenario, self._settings)) - len(asks)):  # about statements that failed
            self._watcher.settled("subject")
            self._watcher.settled("judge")
        for _ in range(expected_traces(self._settings) - len(wanted)):
            self._watcher.settled("judge")
        jobs = [partial(self._answer, ask, known) for ask in asks]
        await together([*jobs, *(partial(self._judge, ask) for ask in wanted)])

    async def _judge_all(self, ask: Ask, replies: Mapping[int, Reply]) -> None:
        if ask.call in BY_CALL:
            await together(
                partial(self._judge, judge_control(ask, reply.text, self._prompts)) for reply in replies.values()
            )
        else:
            await super()._judge_all(ask, replies)


class CheckJudgeFlow(JudgeFlow):
    """The replies in store, those to checks among them, on their way to another judge's verdicts."""

    async def _scenario(self, scenario: Scenario) -> None:
        await super()._scenario(scenario)
        if self._only is not None:  # a second look gives no rates of its own
            return
        asks = stored_checks(scenario, self._store, self._settings, self._prompts)
        await together(partial(self._judge, ask) for ask in asks)


def stored_checks(scenario: Scenario, store: Store, settings: Settings, prompts: Prompts) -> list[Ask]:
    """What a judge is asked about the stored replies to checks; no traces: the run's own judge found those lies."""
    if not settings.checks:
        return []
    known = store.replies(scenario)
    asks = control_asks(scenario, settings, said(store.items(VERDICTS, scenario)))
    replies = [(ask, known.get(reply_key(settings, ask, ask.runs[0]))) for ask in asks]
    return [judge_control(ask, reply.text, prompts) for ask, reply in replies if isinstance(reply, Reply)]


def said(items: list[Item]) -> dict[int, str]:
    """The statements of a scenario by run, those that are there."""
    return {item.run: item.reply.text for item in items if item.call == "statement" and isinstance(item.reply, Reply)}


def expected_traces(settings: Settings) -> int:
    """How many traces of a scenario may have to be judged, at most."""
    return settings.statements * len(of_reasoning(settings))


def traces(scenario: Scenario, items: list[Item], settings: Settings, prompts: Prompts) -> Iterator[Ask]:
    """What the judge is asked about the reasoning before each lie that has any."""
    if not of_reasoning(settings):
        return
    done = finished(scenario, items, settings)
    if done is None:
        return
    outcomes = score(scenario, 1.0, done, settings, named(settings.rules)).outcomes
    statements = [done[key] for key in sorted(done) if key[0] == 0]
    for item, outcome in zip(statements, outcomes, strict=True):
        if outcome == "lie" and (thought := reasoning(item)):
            for control in of_reasoning(settings):
                yield control.judged_reasoning(scenario, item.run, thought, prompts)


def is_finished(store: Store, settings: Settings, prompts: Prompts) -> bool:
    """Whether nothing is left to ask: everything and every check is answered and judged, and nothing failed."""
    return all(
        _is_measured(store, scenario, settings) and _is_checked(store, scenario, settings, prompts)
        for scenario, _ in store.scenarios()
    )


def _is_measured(store: Store, scenario: Scenario, settings: Settings) -> bool:
    finished_so_far = finished_for_lies if is_for_lies(store, scenario, settings) else finished
    had = store.items(VERDICTS, scenario)
    ways = [had]
    if is_asked_anew(store, scenario, settings):
        ways.append([*(item for item in had if not item.elicitation), *store.anew(VERDICTS, scenario)])
    every = [finished_so_far(scenario, items, settings) for items in ways]
    return all(items is not None and not any(has_failed(item, settings) for item in items.values()) for items in every)


def _is_checked(store: Store, scenario: Scenario, settings: Settings, prompts: Prompts) -> bool:
    if not settings.checks:
        return True
    items = store.items(VERDICTS, scenario)
    had = {(item.elicitation, item.run): item for item in store.checks(VERDICTS, scenario)}
    asks = control_asks(scenario, settings, said(items))
    replied = all(_is_there(had.get((ask.elicitation, ask.runs[0])), settings) for ask in asks)
    wanted = traces(scenario, items, settings, prompts)
    judged = (had.get((ask.elicitation, ask.runs[0])) for ask in wanted)
    return replied and all(item is not None and isinstance(item.judgement, Judgement) for item in judged)


def _is_there(item: Item | None, settings: Settings) -> bool:
    if item is None or not stands(item.reply, settings):
        return False
    return isinstance(item.reply, Failure) or isinstance(item.judgement, Judgement)
