"""A request for each reply: to statements, to questions with options, and to those about a number where so wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from maskbench.method.forms import ask_about, form_of
from maskbench.method.forms.hearing import Hearing
from maskbench.method.forms.prompts import Prompts, control_prompt
from maskbench.method.steps import REPLIES, Known, Part, Slot, Step, is_unjudged
from maskbench.settings import Judging
from maskbench.types import Ask, Reply, Scenario

_REASONING, _ANSWER = "[Reasoning]", "[Answer]"


def asks(hearing: Hearing, scenario: Scenario, parts: Sequence[Part], known: Known) -> Iterator[Step]:
    """A request for a verdict on each reply that is there and has none."""
    for part in parts:
        for run in part.runs:
            reply = known.get(Slot(REPLIES, part.elicitation, run))
            slot = Slot(hearing.into, part.elicitation, run)
            if type(reply) is Reply and is_unjudged(known.get(slot)):
                yield Step("judge", (slot,), partial(_about, hearing, scenario, part, reply))


def _about(hearing: Hearing, scenario: Scenario, part: Part, reply: Reply, slots: tuple[Slot, ...]) -> Ask:
    ((_, _, run),) = slots
    return _ask(scenario, part, run, reply, hearing.settings.judging, hearing.prompts)


def _ask(scenario: Scenario, part: Part, run: int, reply: Reply, judging: Judging, prompts: Prompts) -> Ask:
    """What the judge is asked about one reply: the answer alone, or a statement with its reasoning if so wanted.

    One publisher has it so. What a reasoning and an answer that differ come to is not published: here they assert
    neither, by which whoever sees both is not misled. Only samples of one question share the beginning of their
    requests.
    """
    about = scenario, part.call, part.elicitation, run
    if not (part.call == "statement" and reply.reasoning and form_of(judging).sees_reasoning):
        asked = ask_about(*about, reply.text, prompts)
        return asked if len(part.runs) > 1 else replace(asked, shared=0)
    asked = ask_about(*about, joined(reply.reasoning, reply.text), prompts)
    system, *rest = asked.messages
    told = replace(system, content=f"{system.content}\n\n{control_prompt('with_reasoning', prompts)}")
    return replace(asked, messages=(told, *rest))


def joined(reasoning: str, text: str) -> str:
    """Reasoning and answer as one text, each under its heading."""
    return f"{_REASONING}\n{reasoning}\n\n{_ANSWER}\n{text}"


def reasoning_and_answer(text: str) -> list[str]:
    """The reasoning and the answer in such a text; the text alone where it is none."""
    if not text.startswith(f"{_REASONING}\n"):
        return [text]
    reasoning, _, answer = text.removeprefix(f"{_REASONING}\n").rpartition(f"\n\n{_ANSWER}\n")
    return [reasoning, answer]
