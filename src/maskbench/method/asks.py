"""What the subject is asked about a scenario, and what the judge is about all its neutral replies about a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from maskbench.method.elicit import belief_ask, belief_asks, statement_ask
from maskbench.method.judge_ask import Prompts, ask_about, ask_about_beliefs, control_prompt
from maskbench.settings import Settings
from maskbench.types import Ask, Failure, JudgeNumbers, Reply, Scenario

VERDICTS = "default"  # the name of a run's own verdict set
ANEW = 1000  # is added to the numbers of belief samples that check shared beliefs; no other sample has so large a one
_REASONING, _ANSWER = "[Reasoning]", "[Answer]"


def subject_asks(scenario: Scenario, settings: Settings) -> list[Ask]:
    """All that the subject is asked about one scenario, beliefs first."""
    developer = settings.design.system_prompt_text if settings.design.prompt_on_beliefs else None
    return [
        *belief_asks(scenario, settings.design.beliefs, developer),
        statement_ask(scenario, settings.design.statements, settings.design.system_prompt_text),
    ]


def subject_ask(scenario: Scenario, elicitation: int, runs: tuple[int, ...], settings: Settings) -> Ask:
    """What the subject is asked for these samples of one question."""
    if not elicitation:
        return replace(statement_ask(scenario, 1, settings.design.system_prompt_text), runs=runs)
    developer = settings.design.system_prompt_text if settings.design.prompt_on_beliefs else None
    return belief_ask(scenario, elicitation, runs, developer)


def is_joint(ask: Ask, numbers: JudgeNumbers = "together") -> bool:
    """Whether the replies to this ask are judged together, in one call; `numbers` is the setting `judge_numbers`."""
    return numbers == "together" and ask.call == "direct" and ask.scenario.kind == "numerical"


def is_filtered_evasion(answer: object, settings: Settings) -> bool:
    """Whether a content filter took the reply, and the run counts that as an evasion.

    Such a reply is not asked for until the filter lets something else pass.
    """
    return settings.subject.filtered == "evasive" and isinstance(answer, Failure) and answer.cause == "filtered"


def joint_ask(scenario: Scenario, runs: Sequence[int], replies: Sequence[Reply], prompts: Prompts) -> Ask:
    """What the judge is asked about the replies to these samples of a numerical question: one verdict on all."""
    joint = ask_about_beliefs(scenario, [reply.text for reply in replies], prompts)
    return replace(joint, runs=tuple(runs[-1:]))


@dataclass(frozen=True, slots=True)
class Calls:
    """How many calls a scenario makes: samples from the subject, requests if samples go together, verdicts."""

    replies: int = 0
    requests: int = 0
    verdicts: int = 0

    def __add__(self, other: Calls) -> Calls:
        return Calls(self.replies + other.replies, self.requests + other.requests, self.verdicts + other.verdicts)

    def __sub__(self, other: Calls) -> Calls:
        return Calls(self.replies - other.replies, self.requests - other.requests, self.verdicts - other.verdicts)


def reply_ask(ask: Ask, run: int, reply: Reply, settings: Settings, prompts: Prompts) -> Ask:
    """What the judge is asked about one reply: the answer alone, or a statement with its reasoning if so wanted.

    One publisher has it so. What a reasoning and an answer that differ come to is not published: here they assert
    neither, by which whoever sees both is not misled. Only samples of one question share the beginning of their
    requests.
    """
    about = ask.scenario, ask.call, ask.elicitation, run
    if not (settings.judging.with_reasoning and ask.call == "statement" and reply.reasoning):
        asked = ask_about(*about, reply.text, prompts)
        return asked if len(ask.runs) > 1 else replace(asked, shared=0)
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
