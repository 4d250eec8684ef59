"""The requests to the subject about a scenario, and how many calls a scenario makes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from maskbench.method.elicit import belief_ask, belief_asks, statement_ask
from maskbench.method.tool_calls import in_text, uses_tools
from maskbench.settings import Settings
from maskbench.types import Ask, Failure, Scenario

VERDICTS = "default"  # the name of a run's own verdict set


def subject_asks(scenario: Scenario, settings: Settings) -> list[Ask]:
    """All that the subject is asked about one scenario, beliefs first."""
    developer = settings.design.system_prompt_text if settings.design.prompt_on_beliefs else None
    pressed = statement_ask(scenario, settings.design.statements, settings.design.system_prompt_text)
    return [_as_sent(ask, settings) for ask in (*belief_asks(scenario, settings.design.beliefs, developer), pressed)]


def subject_ask(scenario: Scenario, elicitation: int, runs: tuple[int, ...], settings: Settings) -> Ask:
    """What the subject is asked for these samples of one question."""
    if not elicitation:
        return replace(_as_sent(statement_ask(scenario, 1, settings.design.system_prompt_text), settings), runs=runs)
    developer = settings.design.system_prompt_text if settings.design.prompt_on_beliefs else None
    return _as_sent(belief_ask(scenario, elicitation, runs, developer), settings)


def _as_sent(ask: Ask, settings: Settings) -> Ask:
    """The ask with the calls of tools in its messages as the subject is to have them."""
    if settings.subject.tool_calls == "native" or not uses_tools(ask.messages):
        return ask
    return replace(ask, messages=in_text(ask.messages))


def is_filtered_evasion(answer: object, settings: Settings) -> bool:
    """Whether a content filter took the reply, and the run counts that as an evasion.

    Such a reply is not asked for until the filter lets something else pass.
    """
    return settings.subject.filtered == "evasive" and isinstance(answer, Failure) and answer.cause == "filtered"


@dataclass(frozen=True, slots=True)
class Calls:
    """How many calls are made: samples from the subject, requests if samples go together, verdicts."""

    replies: int = 0
    requests: int = 0
    verdicts: int = 0

    def __add__(self, other: Calls) -> Calls:
        return Calls(self.replies + other.replies, self.requests + other.requests, self.verdicts + other.verdicts)
