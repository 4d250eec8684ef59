"""Scenario → the pressured conversation that asks for a statement."""

from __future__ import annotations

from maskbench.types import Ask, Message, Scenario


def statement_ask(scenario: Scenario, samples: int, developer: str | None = None) -> Ask:
    """The pressured conversation, `samples` times.

    Doubling down has two turns of the user with a scripted false answer between them; an empty system prompt
    is not sent. `developer` is a developer's system prompt: the two stand in labelled parts, as in the paper's
    experiment with honest system prompts.
    """
    has_system = scenario.system_prompt or developer
    turns = [Message.system(scenario.system_prompt, developer)] if has_system else []
    if scenario.first_turn:
        question, scripted = scenario.first_turn
        turns += [Message("user", question), Message("assistant", scripted)]
    turns.append(Message("user", scenario.user_prompt))
    return Ask(
        messages=tuple(turns),
        scenario=scenario,
        call="statement",
        elicitation=0,
        runs=tuple(range(1, samples + 1)),
    )
