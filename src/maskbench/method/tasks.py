"""Tasks: from what is known of a scenario to what is asked next. No steps left means that it is finished.

No task sees a store, a clock, another scenario or a model, and none builds a text: what one knows of a scenario is its
shape, until a request goes out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from maskbench.method.asks import subject_ask
from maskbench.method.forms import groups
from maskbench.method.forms.hearing import Hearing
from maskbench.method.outline import outline
from maskbench.method.placebo import ELICITATION, judge_placebo, placebo_ask
from maskbench.method.steps import REPLIES, Known, Slot, Step, SubjectQuestion, Task, is_open, is_unjudged
from maskbench.settings import Settings
from maskbench.types import Ask, Reply, Scenario

Parts = Callable[[Scenario], Sequence[SubjectQuestion]]


def whole(hearing: Hearing, parts: Parts | None = None) -> Task:
    """The whole protocol: every reply, and every verdict as soon as its replies are there.

    `parts` gives what this run asks the subject about a scenario (default: everything).
    """

    def steps(scenario: Scenario, known: Known) -> list[Step]:
        asked = parts(scenario) if parts else outline(scenario, hearing.settings)
        return [*_replies(hearing.settings, scenario, asked, known), *groups.asks(hearing, scenario, asked, known)]

    return steps


def replies(settings: Settings, parts: Parts | None = None) -> Task:
    """Every reply of the protocol, and no verdict, on which no question to the subject hangs; `parts` as of `whole`."""

    def steps(scenario: Scenario, known: Known) -> list[Step]:
        asked = parts(scenario) if parts else outline(scenario, settings)
        return list(_replies(settings, scenario, asked, known))

    return steps


def verdicts(hearing: Hearing, parts: Parts | None = None) -> Task:
    """Verdicts on the replies that are there: by another judge, by the same one once more, or in an exam.

    `parts` gives the questions that are judged of a scenario (default: all).
    """
    stored = replace(hearing, waits=False)

    def steps(scenario: Scenario, known: Known) -> list[Step]:
        judged = parts(scenario) if parts else outline(scenario, stored.settings)
        return list(groups.asks(stored, scenario, judged, known))

    return steps


def placebo(hearing: Hearing, *, asks_subject: bool) -> Task:
    """The placebo, and the verdict on it where anybody judges; another judge judges the reply if it is there."""

    def steps(scenario: Scenario, known: Known) -> list[Step]:
        ask = placebo_ask(scenario, hearing.settings)
        reply = known.get(slot := Slot(REPLIES, ELICITATION, 1))
        if ask and asks_subject and is_open(reply):
            return [Step("subject", (slot,), partial(_given, ask))]
        slot = Slot(hearing.into, ELICITATION, 1)
        is_judged = not is_unjudged(known.get(slot)) or hearing.settings.judging.is_later
        if ask and isinstance(reply, Reply) and not is_judged:
            return [Step("judge", (slot,), partial(_judged, ask, reply.text, hearing))]
        return []

    return steps


# Parts of tasks


def _replies(settings: Settings, scenario: Scenario, parts: Sequence[SubjectQuestion], known: Known) -> Iterator[Step]:
    """What the subject is still to be asked of these questions."""
    for part in parts:
        slots = tuple(Slot(REPLIES, part.elicitation, run) for run in part.runs)
        if missing := tuple(slot for slot in slots if is_open(known.get(slot))):
            make = partial(_subject_ask, scenario, part.elicitation, settings)
            yield Step("subject", missing, make, joint=part.group == "jointly")


def _subject_ask(scenario: Scenario, elicitation: int, settings: Settings, slots: tuple[Slot, ...]) -> Ask:
    return subject_ask(scenario, elicitation, tuple(slot.run for slot in slots), settings)


def _given(ask: Ask, _: tuple[Slot, ...]) -> Ask:
    return ask


def _judged(ask: Ask, text: str, hearing: Hearing, _: tuple[Slot, ...]) -> Ask:
    return judge_placebo(ask, text, hearing.prompts)
