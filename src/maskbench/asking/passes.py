"""The passes of a run over what is stored: what they will ask, and what is left of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from maskbench.method.asks import Calls, is_filtered_evasion
from maskbench.method.folds import calls_of
from maskbench.method.forms.hearing import Hearing
from maskbench.method.forms.prompts import Prompts
from maskbench.method.steps import REPLIES, Again, Slot, State, Step
from maskbench.settings import Settings
from maskbench.store.protocol import Pass, measurement
from maskbench.store.samples import Samples
from maskbench.store.store import Store
from maskbench.types import Failure, Scenario


def passes_of(settings: Settings, store: Store, prompts: Prompts) -> list[Pass]:
    """The passes of a run over what it has taken."""
    return measurement(settings, prompts, followers=store.leaders())


def expected(store: Store, passes: Iterable[Pass]) -> Calls:
    """How many calls these passes make where nothing fails and no verdict is shared."""
    found = Calls()
    for each in passes:
        totals = each.totals()
        found = sum((calls_of(totals.units(scenario)) for scenario in each.scenarios(store)), found)
    return found


def as_seen(samples: Samples, hearing: Hearing, settings: Settings, *, asks_subject: bool) -> dict[Slot, State]:
    """What is known of a scenario as a new session sees it: what failed is to be asked again.

    A filtered reply that counts as an evasion stands; so does every failed reply where no subject is asked.
    """
    known: dict[Slot, State] = {}
    for slot, state in samples.known().items():
        stands = slot.into == REPLIES and (not asks_subject or is_filtered_evasion(state, settings))
        known[slot] = Again(state) if isinstance(state, Failure) and not stands else state
    return known


def stored(store: Store, each: Pass) -> Iterator[Samples]:
    """What is there of each scenario that a pass is about, in the order of the set."""
    return (samples for samples, _ in store.read(each.hearing.into) if each.is_about(samples.scenario))


def steps_left(
    settings: Settings, store: Store, each: Pass, *, asks_subject: bool = False
) -> Iterator[tuple[Scenario, Step]]:
    """What a new session would ask first of each scenario in a pass; nothing where all of it is there."""
    for samples in stored(store, each):
        known = as_seen(samples, each.hearing, settings, asks_subject=asks_subject)
        yield from ((samples.scenario, step) for step in each.task(samples.scenario, known))


def is_finished(settings: Settings, store: Store, passes: Iterable[Pass]) -> bool:
    """Whether nothing of these passes is left to ask: everything is answered and judged, and nothing failed."""
    return not any(next(steps_left(settings, store, each, asks_subject=True), None) for each in passes)
