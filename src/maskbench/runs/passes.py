"""The passes of a run: what they will ask, what is left of them, and the executor that has it asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from maskbench.method.asks import Calls
from maskbench.method.folds import calls_of
from maskbench.method.judge_ask import Prompts
from maskbench.method.steps import Slot, Step
from maskbench.method.tasks import Order
from maskbench.runs.batched import Batched
from maskbench.runs.desk import Desk, as_seen
from maskbench.runs.drawn_part import ANEW_PART, PART
from maskbench.runs.lie_order import chosen_order
from maskbench.runs.live import Gate, Live
from maskbench.runs.protocol import Pass, measurement
from maskbench.runs.store import Store
from maskbench.runs.watching import Watcher
from maskbench.settings import Settings, verdict_keys
from maskbench.types import Kind, Model, Scenario

Executor: TypeAlias = Live | Batched


def passes_of(settings: Settings, store: Store, prompts: Prompts, order: Order = "one_by_one") -> list[Pass]:
    """The passes of a run, with what was drawn for it."""
    part, anew = store.chosen(PART), store.chosen(ANEW_PART) if settings.beliefs_from else {}
    return measurement(settings, prompts, order=order, part=part, anew=anew, store=store)


def measuring(
    settings: Settings,
    store: Store,
    subject: Model,
    judges: Mapping[Kind, Model],
    prompts: Prompts,
    watcher: Watcher,
    gate: Gate | None = None,
    *,
    batched: bool = False,
) -> Executor:
    """One measurement on its way.

    `judges` are by kind of scenario; `gate` is the one that the models wait at, to be closed by `stop`.
    """
    order: Order = "one_by_one"
    if settings.estimate == "lie":
        order = chosen_order(settings, store, subject, watcher, gate.meter if gate else None)
    return executor(
        settings, store, passes_of(settings, store, prompts, order), judges, watcher, gate, subject, batched=batched
    )


def expected(store: Store, passes: Iterable[Pass]) -> Calls:
    """How many calls these passes make where nothing fails and no verdict is shared."""
    found = Calls()
    for each in passes:
        totals = each.totals()
        for scenario in each.scenarios(store):
            found += calls_of(totals.units(scenario))
    return found


def steps_left(
    settings: Settings, store: Store, each: Pass, *, asks_subject: bool = False
) -> Iterator[tuple[Scenario, Step]]:
    """What a new session would ask first of each scenario in a pass; nothing where all of it is there."""
    for scenario in each.scenarios(store):
        known = as_seen(store, scenario, each.judgings, settings, asks_subject=asks_subject)
        for step in each.task(scenario, known):
            if not all(_is_there(settings, store, each, step, slot) for slot in step.fills):
                yield scenario, step


def _is_there(settings: Settings, store: Store, each: Pass, step: Step, slot: Slot) -> bool:
    """Whether a set whose verdicts count by their keys has the one on this very request."""
    judging = next((judging for judging in each.judgings if judging.by_key and judging.into == slot.into), None)
    if judging is None:
        return False
    keys = verdict_keys(settings, judging.prompts.hash, step.make((slot,)))
    return any(store.has_verdict(slot.into, key) for key in keys)


def is_finished(settings: Settings, store: Store, passes: Iterable[Pass]) -> bool:
    """Whether nothing of these passes is left to ask: everything is answered and judged, and nothing failed."""
    return not any(next(steps_left(settings, store, each, asks_subject=True), None) for each in passes)


def executor(
    settings: Settings,
    store: Store,
    passes: Iterable[Pass],
    judges: Mapping[Kind, Model],
    watcher: Watcher,
    gate: Gate | None = None,
    subject: Model | None = None,
    *,
    batched: bool = False,
) -> Executor:
    """What has these passes asked of models; without a `subject` replies stand as they are stored.

    `batched`: with batches of the set of verdicts of the first pass, or with what earlier ones brought.
    """
    models = [*([subject] if subject else []), *judges.values()]
    desk = Desk(settings, store, judges, watcher, subject)
    live = Live(settings, store, desk, passes, models, watcher, gate, subject)
    if not batched:
        return live
    return Batched(settings, store, live, desk, list(passes), judges, watcher, gate.meter if gate else None, subject)
