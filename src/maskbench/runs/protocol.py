"""What a run, a judge or an exam does: tasks over the scenarios, in passes that go one after another."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from maskbench.method.asks import Calls
from maskbench.method.folds import Totals, calls_of
from maskbench.method.forms import form_of
from maskbench.method.forms.hearing import Hearing
from maskbench.method.forms.prompts import Prompts
from maskbench.method.forms.questions import question_prompts
from maskbench.method.outline import outline
from maskbench.method.steps import Part, Task, then
from maskbench.method.tasks import placebo, questions, replies, verdicts, whole
from maskbench.runs.questions import asked_otherwise, remember, set_of
from maskbench.runs.store import Store
from maskbench.scenarios import Key
from maskbench.settings import Settings
from maskbench.types import Scenario

_ASSUMED = "(assumed)"  # the verdict set of what a fold takes for done: no verdict set can have this name


def _nothing() -> None:
    """Nothing is to be done beforehand."""


@dataclass(frozen=True, slots=True)
class Pass:
    """A task over all scenarios, or over those of `only`, with the one way of judging that it has.

    What is expected beforehand is a fold of it, or of the task `expected`, once the task `after` is done; `alike` tells
    scenarios of one shape apart of which not the same is expected. `spares`: what is left out is expected no more;
    otherwise it counts as done, since there is nothing to ask. `before` is called as the pass begins.
    """

    task: Task
    hearing: Hearing
    only: Container[Key] | None = None
    expected: Task | None = None
    after: Task | None = None
    alike: Callable[[Scenario], Hashable] = lambda _: None
    spares: bool = False
    before: Callable[[], None] = _nothing

    def totals(self) -> Totals:
        """What is expected of each scenario."""
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


def measurement(
    settings: Settings,
    prompts: Prompts,
    *,
    followers: Container[Key] = (),
    store: Store | None = None,
) -> list[Pass]:
    """A whole measurement: replies and verdicts, then the placebo, then questions on statements.

    Of `followers` statements alone are asked: their neutral conversation is another's (`scenarios.leaders`).
    """
    hearing = Hearing(settings, prompts, shares=settings.judging.shares_verdicts)
    passes = [_whole(hearing, followers)]
    return [*passes, *(each for make in FURTHER if (each := make(hearing, store)))]


def _checking(hearing: Hearing, _: Store | None) -> Pass | None:
    task = placebo(hearing, asks_subject=True) if hearing.settings.design.placebo else None
    return task and Pass(task, hearing, after=whole(hearing))


def _asking(hearing: Hearing, store: Store | None) -> Pass | None:
    return asking(hearing.settings, store) if hearing.settings.design.construct else None


# What a measurement does once it has its replies and verdicts: a pass, or none where the settings do not want it. The
# questions come last, since a run without their answers is whole.
FURTHER: Sequence[Callable[[Hearing, Store | None], Pass | None]] = (_checking, _asking)


def counting(settings: Settings, followers: Container[Key] = ()) -> list[Pass]:
    """The passes of a measurement to count by: they have no prompts, so that no judge can be asked by them."""
    return measurement(settings, form_of(settings.judging).no_prompts, followers=followers)


def _whole(hearing: Hearing, followers: Container[Key]) -> Pass:
    def follows(scenario: Scenario) -> bool:
        return scenario.key in followers

    def parts(scenario: Scenario) -> Sequence[Part]:
        every = outline(scenario, hearing.settings)
        return [part for part in every if not (part.elicitation and follows(scenario))]

    return Pass(whole(hearing, parts), hearing, alike=follows)


def asking(settings: Settings, store: Store | None = None) -> Pass:
    """The questions on statements that the settings want; the judge of options is asked them, on numbers too.

    With a `store`, those that this judge was asked by prompts of another version are left as they were answered.
    """
    if store and (others := asked_otherwise(store, settings)):
        settings = settings.having(construct=tuple(name for name in settings.design.construct if name not in others))
    prompts = question_prompts(form_of(settings.judging).style.name)
    hearing = Hearing(settings, prompts, set_of(settings.judging.judge), settings.judging.shares_verdicts, by_key=True)
    before = partial(remember, store, settings) if store else _nothing
    return Pass(questions(hearing), hearing, after=replies(settings), spares=True, before=before)


def judging_stored(hearing: Hearing, leaders: Mapping[Key, Key]) -> list[Pass]:
    """Stored replies on their way to verdicts, that to the placebo among them.

    Neutral replies that several have are judged where they were given, at the one of the `leaders`
    (`runs.store.Store.leaders`).
    """

    def follows(scenario: Scenario) -> bool:
        return scenario.key in leaders

    def parts(scenario: Scenario) -> Sequence[Part]:
        every = outline(scenario, hearing.settings)
        return [part for part in every if not (part.elicitation and follows(scenario))]

    passes = [Pass(verdicts(hearing, parts), hearing, after=replies(hearing.settings), alike=follows)]
    if hearing.settings.design.placebo:
        assumed = replace(hearing, into=_ASSUMED)
        after = then(whole(assumed), placebo(assumed, asks_subject=True))
        passes.append(Pass(placebo(hearing, asks_subject=False), hearing, after=after))
    return passes
