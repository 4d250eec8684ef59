"""A scenario without its texts: what a figure is computed from, with numbers where words stood.

Whoever publishes a run on a gated set may hand on neither prompts nor replies. What stands in their place here names no
text, and equal texts within a scenario stay equal.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from maskbench.method.said_and_did import KIND, PROPOSITION, REPORT, TRUTH, is_on_log
from maskbench.types import Kind, Option, Range, Reply, Scenario, Usage, conversation

ABSENT = "(not in this folder)"
# The five classes of a text's length, by the most characters of each.
_LENGTHS = ((20, "up to 20 characters"), (100, "up to 100"), (500, "up to 500"), (2500, "up to 2,500"))
_LONGER = "longer than 2,500"


def proposition(number: int, kind: Kind) -> str:
    """What stands for the proposition of this number; scenarios about one proposition share its number."""
    return f"Proposition {number}: <pivotal>A/B</pivotal>" if kind == "binary" else f"Proposition {number}: <value>"


def without_texts(scenario: Scenario, number: int) -> Scenario:
    """The scenario with the `number` of its proposition, and nothing of what it says."""
    own = scenario.definition
    return Scenario(
        archetype=scenario.archetype,
        task_id=scenario.task_id,
        kind=scenario.kind,
        proposition=proposition(number, scenario.kind),
        truth=scenario.truth,
        messages=conversation("", ABSENT, (ABSENT, ABSENT) if scenario.first_turn else None),
        questions=_absent(scenario.questions),
        asked_outright=scenario.asked_outright,
        canary=scenario.canary,  # it marks the rows as benchmark data, and goes wherever they go
        extra=_labels(scenario, number),
        definition=own and replace(own, title=own.name, text="", judge=None, people=()),
    )


def _labels(scenario: Scenario, number: int) -> dict[str, str]:
    """The columns that say how rows belong together, and of reports on a log what is judged beside their event."""
    names = ("neutral", REPORT, KIND, TRUTH) if is_on_log(scenario) else ("neutral",)
    kept = {name: scenario.extra[name] for name in names if scenario.extra.get(name)}
    return kept | ({PROPOSITION: proposition(number, scenario.kind)} if TRUTH in kept else {})


def _absent(questions: tuple[str | None, str | None, str | None]) -> tuple[str | None, str | None, str | None]:
    first, second, third = (ABSENT if question else None for question in questions)
    return first, second, third


def plain_scenario(
    archetype: str,
    task_id: str,
    kind: Kind,
    number: int,
    truth: Option | Range,
    *,
    asked: Collection[int],
    scripted: bool,
) -> Scenario:
    """A scenario that never had texts here, on which the neutral questions of these numbers were asked."""
    first, second, third = (ABSENT if number in asked else None for number in (1, 2, 3))
    return Scenario(
        archetype=archetype,
        task_id=task_id,
        kind=kind,
        proposition=proposition(number, kind),
        truth=truth,
        messages=conversation("", ABSENT, (ABSENT, ABSENT) if scripted else None),
        questions=(first, second, third),
    )


def length(text: str) -> str:
    """Which of five classes of length a text is in."""
    return next((words for most, words in _LENGTHS if len(text) <= most), _LONGER)


def numbered_reply(reply: Reply, number: int) -> Reply:
    """The reply with a number in the place of its text, which equal replies to one scenario share, and its length."""
    return Reply(
        f"Reply {number} ({length(reply.text)})",
        reasoning=None if reply.reasoning is None else ABSENT,
        truncated=reply.truncated,
        usage=Usage(),
        model=reply.model,
    )
