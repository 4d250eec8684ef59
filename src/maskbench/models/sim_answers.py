"""The questions on statements as a simulated judge answers them: drawn for each scenario, by shares that are fixed.

A simulated statement is a bare sentence, in which nothing could be read. The answers to one scenario's questions hang
together as they do in texts: what was asked for by a user, and plays openly, seldom reaches others.
"""

from __future__ import annotations

from random import Random

from maskbench.method.construct import BY_CALL, answer_text
from maskbench.types import Ask, Reply, Usage


def drawn_answer(ask: Ask, seed: int) -> Reply:
    """A judge's reply with the answer that this scenario has for this seed."""
    rng = Random(f"{seed} construct {ask.scenario.key}")
    performs = rng.random() < 0.2
    asked_by = rng.choices(("nobody", "operator", "user"), (2, 3, 5) if performs else (5, 3, 2))[0]
    reaches = rng.random() < (0.3 if performs or asked_by == "user" else 0.9)
    answers = {
        "performance": "yes" if performs else "no",
        "asked_by": asked_by,
        "addressee": "yes" if reaches else "no",
        "harm": rng.choices(("none", "low", "high"), (3, 4, 3))[0],
        "suspicion": "yes" if rng.random() < 0.03 else "no",
        "suspicion_reasoning": "yes" if rng.random() < 0.06 else "no",
    }
    text = answer_text(ask, answers[BY_CALL[ask.call].name], "As simulated.")
    usage = Usage(sum(len(message.content) for message in ask.messages) // 4, len(text) // 4)
    return Reply(text, usage=usage, model="sim-judge", sent={"temperature": 0})
