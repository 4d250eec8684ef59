"""Protocols of a run, a judging and an exam: tasks over the scenarios, in passes that go one after another."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from maskbench.method.asks import Calls
from maskbench.method.folds import Totals, calls_of
from maskbench.method.forms import form_of
from maskbench.method.forms.hearing import Hearing
from maskbench.method.forms.prompts import Prompts
from maskbench.method.outline import outline
from maskbench.method.steps import SubjectQuestion, Task, then
from maskbench.method.tasks import placebo, replies, verdicts, whole
from maskbench.scenarios import Key
from maskbench.settings import Settings
from maskbench.store.store import Store
from maskbench.types import Scenario

_ASSUMED = "(assumed)"  # the verdict set of what a fold takes for done: no verdict set can have this name


def _nothing() -> None:
    """Nothing is to be done beforehand."""


@dataclass(frozen=True, slots=True)
class Pass:
    """A task over all scenarios, or over those of `only`, with the one way of judging that it has.

    What is expected beforehand is a fold of it, or of the task `expected`, once the task `after` is done; `alike` tells
    scenarios of one shape apart of which not the same is expected. `before` is called as the pass begins.
    """

    task: Task
    hearing: Hearing
    only: Container[Key] | None = None
    expected: Task | None = None
    after: Task | None = None
    alike: Callable[[Scenario], Hashable] = lambda _: None
    before: Callable[[], None] = _nothing

    def totals(self) -> Totals:
        """The totals that its scenarios are expected to have, by which progress is counted."""
        return Totals(self.expected or self.task, self.after, self.alike)

    def calls(self, scenario: Scenario) -> Calls:
        """How many calls it makes on a scenario where nothing fails and no verdict is shared."""
        return calls_of(self.totals().units(scenario))

    def is_about(self, scenario: Scenario) -> bool:
        """Whether it asks anything about this scenario."""
        return self.only is None or scenario.key in self.only

    def scenarios(self, store: Store) -> Iterator[Scenario]:
        """The scenarios that it is about, in the order of the set."""
        return (scenario for scenario, _ in store.scenarios() if self.is_about(scenario))


def measurement(settings: Settings, prompts: Prompts, *, followers: Container[Key] = ()) -> list[Pass]:
    """A whole measurement: replies and verdicts, then the placebo.

    Of `followers` statements alone are asked: their neutral conversation is another's (`scenarios.leaders`).
    """
    hearing = Hearing(settings, prompts, shares=settings.judging.shares_verdicts)
    return [_whole(hearing, followers), *(each for make in FURTHER if (each := make(hearing)))]


def _checking(hearing: Hearing) -> Pass | None:
    task = placebo(hearing, asks_subject=True) if hearing.settings.design.placebo else None
    return task and Pass(task, hearing, after=whole(hearing))


# What a measurement does once it has its replies and verdicts: a pass, or none where the settings do not want it.
FURTHER: Sequence[Callable[[Hearing], Pass | None]] = (_checking,)


def counting(settings: Settings, followers: Container[Key] = ()) -> list[Pass]:
    """The passes of a measurement to count by: they have no prompts, so that no judge can be asked by them."""
    return measurement(settings, form_of(settings.judging).no_prompts, followers=followers)


def _whole(hearing: Hearing, followers: Container[Key]) -> Pass:
    def follows(scenario: Scenario) -> bool:
        return scenario.key in followers

    def parts(scenario: Scenario) -> Sequence[SubjectQuestion]:
        every = outline(scenario, hearing.settings)
        return [part for part in every if not (part.elicitation and follows(scenario))]

    is_later = hearing.settings.judging.is_later
    return Pass(replies(hearing.settings, parts) if is_later else whole(hearing, parts), hearing, alike=follows)


def judging_stored(hearing: Hearing, leaders: Mapping[Key, Key]) -> list[Pass]:
    """Stored replies on their way to verdicts, that to the placebo among them.

    Neutral replies that several have are judged where they were given, at the one of the `leaders`
    (`runs.store.Store.leaders`).
    """

    def follows(scenario: Scenario) -> bool:
        return scenario.key in leaders

    def parts(scenario: Scenario) -> Sequence[SubjectQuestion]:
        every = outline(scenario, hearing.settings)
        return [part for part in every if not (part.elicitation and follows(scenario))]

    passes = [Pass(verdicts(hearing, parts), hearing, after=replies(hearing.settings), alike=follows)]
    if hearing.settings.design.placebo:
        assumed = replace(hearing, into=_ASSUMED)
        after = then(whole(assumed), placebo(assumed, asks_subject=True))
        passes.append(Pass(placebo(hearing, asks_subject=False), hearing, after=after))
    return passes
