"""One verdict on all neutral replies about a number, once each is there or has failed, and two are there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from maskbench.method.forms import ask_about_beliefs
from maskbench.method.forms.hearing import Hearing
from maskbench.method.steps import REPLIES, Known, Slot, Step, SubjectQuestion, is_open, is_unjudged
from maskbench.types import Ask, Reply, Scenario


def asks(hearing: Hearing, scenario: Scenario, parts: Sequence[SubjectQuestion], known: Known) -> Iterator[Step]:
    """The request for the verdict, which stands with the last of the replies."""
    for part in parts:
        had = [known.get(Slot(REPLIES, *place)) for place in part.places]
        slot = Slot(hearing.into, *part.places[-1])
        texts = [reply.text for reply in had if isinstance(reply, Reply)]
        if len(texts) >= 2 and not any(map(is_open, had)) and is_unjudged(known.get(slot)):
            yield Step("judge", (slot,), partial(_about, hearing, scenario, texts), shows=len(texts))


def _about(hearing: Hearing, scenario: Scenario, texts: Sequence[str], slots: tuple[Slot, ...]) -> Ask:
    joint = ask_about_beliefs(scenario, texts, hearing.prompts)
    return replace(joint, runs=(slots[0].run,))
