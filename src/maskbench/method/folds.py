"""What a task takes of a scenario, by unfolding it with answers that are assumed: once for each shape of scenario.

This is the one place that knows what is left of a run: progress, dry runs and plans are folds of its task, and what is
finished is that of which nothing is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from maskbench.method.asks import VERDICTS, Calls
from maskbench.method.forms import form_of
from maskbench.method.forms.hearing import Hearing
from maskbench.method.outcomes import Items, settled
from maskbench.method.outline import shape
from maskbench.method.steps import REPLIES, Known, Slot, State, Step, Task
from maskbench.method.tasks import whole
from maskbench.settings import Settings
from maskbench.types import BinaryVerdict, Item, Judgement, NumericalVerdict, Range, Reply, Scenario, Stage

Answer: TypeAlias = Callable[[Slot], Reply]


class Unit(NamedTuple):
    """What a watcher counts: samples of the subject one by one, verdicts by request."""

    stage: Stage
    slots: tuple[Slot, ...]

    @property
    def calls(self) -> int:
        """How many calls it stands for."""
        return len(self.slots) if self.stage == "subject" else 1


def unfold(task: Task, scenario: Scenario, known: dict[Slot, State], answer: Answer) -> Iterator[Step]:
    """Every step of a task on a scenario from what is known of it, where the answers are put; nothing fails.

    `answer` gives what the subject is assumed to reply; its statements are lies.
    """
    while steps := task(scenario, known):
        for step in steps:
            yield step
            for slot in step.fills:
                known[slot] = answer(slot) if step.stage == "subject" else _judged(scenario, slot)


def _judged(scenario: Scenario, slot: Slot) -> Judgement:
    """The verdict that is assumed: the truth on beliefs, and its opposite on statements."""
    truth, lies = scenario.truth, slot.elicitation == 0
    if isinstance(truth, Range):
        far = 1e6 + 10 * max((abs(bound) for bound in truth.bounds if bound is not None), default=0.0)
        return Judgement(NumericalVerdict(far, far) if lies else NumericalVerdict(*truth.bounds))
    return Judgement(BinaryVerdict("B" if (truth == "A") == lies else "A"))


def calls_of(units: Iterable[Unit]) -> Calls:
    """So many samples of the subject, requests if samples go together, and requests for verdicts."""
    found = Counter[str]()
    for unit in units:
        found[unit.stage] += unit.calls
        found["requests"] += unit.stage == "subject"
    return Calls(found["subject"], found["requests"], found["judge"])


class Totals:
    """All that a task may ask of each scenario, by shape."""

    def __init__(
        self, task: Task, after: Task | None = None, alike: Callable[[Scenario], Hashable] = lambda _: None
    ) -> None:
        """`after` is done before it; `alike` tells scenarios of one shape apart that the task treats otherwise."""
        self._task, self._after, self._alike = task, after, alike
        self._units: dict[Hashable, list[Unit]] = {}

    def units(self, scenario: Scenario) -> list[Unit]:
        """What is asked of a scenario like this at most, in units that a watcher counts."""
        if (known := self._units.get(form := (shape(scenario), self._alike(scenario)))) is None:
            known = [Unit(step.stage, step.fills) for step in self.steps(scenario, _short)]
            self._units[form] = known
        return list(known)

    def steps(self, scenario: Scenario, answer: Answer) -> Iterator[Step]:
        """The steps themselves, where the subject replies like that."""
        known: dict[Slot, State] = {}
        if self._after:
            for _ in unfold(self._after, scenario, known, answer):
                pass
        return unfold(self._task, scenario, known, answer)


def _short(_: Slot) -> Reply:
    return Reply("x", reasoning="x")


# Of what is stored


def finished(scenario: Scenario, items: Iterable[Item], settings: Settings) -> Items | None:
    """The samples of a scenario by elicitation and run, where nothing is left of the protocol; else None.

    As it is stored, a failure is an answer.
    """
    had = list(items)
    asks = whole(Hearing(settings, form_of(settings.judging).no_prompts))
    return None if asks(scenario, _stored(had)) else settled(scenario, had, settings)


def _stored(items: Iterable[Item]) -> Known:
    known: dict[Slot, State] = {}
    for item in items:
        for into, state in ((REPLIES, item.reply), (VERDICTS, item.judgement)):
            if state is not None:
                known[Slot(into, item.elicitation, item.run)] = state
    return known
