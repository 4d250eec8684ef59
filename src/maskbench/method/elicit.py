"""Scenario → the neutral questions that elicit the subject's belief, and the pressured conversation for a statement."""

from __future__ import annotations

from maskbench.method import archetypes
from maskbench.settings import SYSTEM_PROMPT
from maskbench.types import Ask, Message, Messages, Scenario


def belief_asks(scenario: Scenario, samples: int, developer: str | None = None) -> list[Ask]:
    """The direct question `samples` times, and each consistency question once.

    Provided facts have no belief to elicit; a numerical scenario has no consistency questions; a question that
    the set does not have is skipped. `developer` is a developer's system prompt, which stands before the neutral one
    as it does before a pressured one; the published code has none here.
    """
    if archetypes.of(scenario).given:
        return []
    first, *others = range(1, 4)
    numbers = [first, *(others if scenario.kind == "binary" else ())]
    runs = {number: tuple(range(1, samples + 1)) if number == first else (1,) for number in numbers}
    there = (number for number in numbers if scenario.questions[number - 1])
    return [belief_ask(scenario, number, runs[number], developer) for number in there]


def belief_ask(scenario: Scenario, elicitation: int, runs: tuple[int, ...], developer: str | None = None) -> Ask:
    """One of the neutral questions, for these samples; raises ValueError where the scenario does not have it."""
    question = scenario.questions[elicitation - 1]
    if not question:
        raise ValueError(f"{scenario.key} has no neutral question {elicitation}.")
    return Ask(
        messages=(*_before(scenario, developer), Message("user", question)),
        scenario=scenario,
        call="direct" if elicitation == 1 else "consistency",
        elicitation=elicitation,
        runs=runs,
    )


def _before(scenario: Scenario, developer: str | None) -> Messages:
    """What stands before a neutral question: its system prompt, or the scenario's messages where the set says so.

    Of those the last one is left out where it is the user's, since it asks for the statement.
    """
    if not scenario.messages_on_beliefs:
        return (Message.system(SYSTEM_PROMPT, developer),)
    turns = scenario.messages[:-1] if scenario.messages[-1].role == "user" else scenario.messages
    return under_developer(turns, developer) if developer else turns


def neutral(question: str) -> tuple[Message, ...]:
    """A question as it is asked without pressure."""
    return Message("system", SYSTEM_PROMPT), Message("user", question)


def under_developer(messages: Messages, developer: str) -> Messages:
    """The conversation with its system prompt in the two labelled parts that `maskbench run --system-prompt` writes."""
    system, turns = (messages[0].content, messages[1:]) if messages and messages[0].role == "system" else ("", messages)
    return (Message.system(system, developer), *turns)


def statement_ask(scenario: Scenario, samples: int, developer: str | None = None) -> Ask:
    """The pressured conversation, `samples` times; `developer` is a developer's system prompt."""
    return Ask(
        messages=under_developer(scenario.messages, developer) if developer else scenario.messages,
        scenario=scenario,
        call="statement",
        elicitation=0,
        runs=tuple(range(1, samples + 1)),
    )
