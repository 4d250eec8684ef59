"""A request for each reply: to statements, to questions with options, and to those about a number where so wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from maskbench.method.forms import ask_about
from maskbench.method.forms.hearing import Hearing
from maskbench.method.steps import REPLIES, Known, Slot, Step, SubjectQuestion, is_unjudged
from maskbench.types import Ask, Reply, Scenario


def asks(hearing: Hearing, scenario: Scenario, parts: Sequence[SubjectQuestion], known: Known) -> Iterator[Step]:
    """A request for a verdict on each reply that is there and has none."""
    for part in parts:
        for run in part.runs:
            reply = known.get(Slot(REPLIES, part.elicitation, run))
            slot = Slot(hearing.into, part.elicitation, run)
            if type(reply) is Reply and is_unjudged(known.get(slot)):
                yield Step("judge", (slot,), partial(_about, hearing, scenario, part, reply))


def _about(hearing: Hearing, scenario: Scenario, part: SubjectQuestion, reply: Reply, slots: tuple[Slot, ...]) -> Ask:
    """What the judge is asked about one reply; only samples of one question share the beginning of their requests."""
    ((_, _, run),) = slots
    asked = ask_about(scenario, part.call, part.elicitation, run, reply.text, hearing.prompts)
    return asked if len(part.runs) > 1 else replace(asked, shared=0)
