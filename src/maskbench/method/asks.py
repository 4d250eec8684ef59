"""All that is asked about a scenario: of the subject, and of the judge about stored replies; nothing is called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from maskbench.method.controls import control_asks
from maskbench.method.elicit import belief_asks, statement_ask
from maskbench.method.judge_ask import Prompts, ask_about, ask_about_beliefs, control_prompt
from maskbench.method.judged_together import asks_about, is_together, requests_for
from maskbench.settings import Settings, reply_key
from maskbench.types import Ask, Failure, Item, JudgeNumbers, Place, Reply, Scenario

VERDICTS = "default"  # the name of a run's own verdict set
ANEW = 1000  # is added to the numbers of belief samples that check shared beliefs; no other sample has so large a one
_REASONING, _ANSWER = "[Reasoning]", "[Answer]"


def subject_asks(scenario: Scenario, settings: Settings) -> list[Ask]:
    """All that the subject is asked about one scenario, beliefs first."""
    developer = settings.system_prompt_text if settings.prompt_on_beliefs else None
    return [
        *belief_asks(scenario, settings.beliefs, developer),
        statement_ask(scenario, settings.statements, settings.system_prompt_text),
    ]


def own_asks(scenario: Scenario, settings: Settings, *, anew: bool = False) -> list[Ask]:
    """What this very run asks the subject: not what another run asked whose beliefs it shares.

    Where these are checked, they are asked `anew`, in samples of their own.
    """
    asks = subject_asks(scenario, settings)
    if not settings.beliefs_from:
        return asks
    own = [ask for ask in asks if not ask.elicitation]
    again = [replace(ask, runs=tuple(ANEW + run for run in ask.runs)) for ask in asks if ask.elicitation]
    return [*own, *again] if anew else own


def is_joint(ask: Ask, numbers: JudgeNumbers = "together") -> bool:
    """Whether the replies to this ask are judged together, in one call; `numbers` is the setting `judge_numbers`."""
    return numbers == "together" and ask.call == "direct" and ask.scenario.kind == "numerical"


def stands(answer: Reply | Failure | None, settings: Settings) -> bool:
    """Whether this needs no further asking: a reply, or what the run counts as one.

    A filtered reply that counts as an evasion is not asked for until the filter lets something else pass.
    """
    return isinstance(answer, Reply) or is_filtered_evasion(answer, settings)


def has_failed(item: Item, settings: Settings) -> bool:
    """Whether a sample failed, or the verdict on it."""
    return isinstance(item.judgement, Failure) or not stands(item.reply, settings)


def is_filtered_evasion(answer: Reply | Failure | None, settings: Settings) -> bool:
    """Whether a content filter took the reply, and the run counts that as an evasion."""
    return settings.filtered == "evasive" and isinstance(answer, Failure) and answer.cause == "filtered"


def judge_asks(ask: Ask, known: Mapping[bytes, Reply | Failure], settings: Settings, prompts: Prompts) -> Iterator[Ask]:
    """What a judge is asked about the stored replies to one of the subject's asks.

    `known` is what is stored on the scenario, by reply key. A joint verdict is asked for once every sample is there
    or has failed, and two are there.
    """
    answers = {run: known.get(reply_key(settings, ask, run)) for run in ask.runs}
    replies = replies_of(answers)
    if not is_joint(ask, settings.judge_numbers):
        for run, reply in replies.items():
            yield reply_ask(ask, run, reply, settings, prompts)
    elif None not in answers.values() and len(replies) >= 2:
        yield joint_ask(ask, list(replies.values()), prompts)


def all_judge_asks(
    asks: Iterable[Ask], known: Mapping[bytes, Reply | Failure], settings: Settings, prompts: Prompts
) -> Iterator[Ask]:
    """What a judge is asked about the stored replies to all of the subject's asks about one scenario."""
    beliefs: list[Ask] = []
    for ask in asks:
        if is_together(ask, settings):
            beliefs.append(ask)
        else:
            yield from judge_asks(ask, known, settings, prompts)
    if beliefs:
        yield from asks_about(beliefs[0].scenario, _stored_texts(beliefs, known, settings), prompts)


def _stored_texts(asks: Iterable[Ask], known: Mapping[bytes, Reply | Failure], settings: Settings) -> dict[Place, str]:
    answers = {(ask.elicitation, run): known.get(reply_key(settings, ask, run)) for ask in asks for run in ask.runs}
    return {place: answer.text for place, answer in answers.items() if isinstance(answer, Reply)}


def verdict_requests(asks: Sequence[Ask], settings: Settings) -> int:
    """How many requests to the judge the replies to these asks take where each has come."""
    together = sum(len(ask.runs) for ask in asks if is_together(ask, settings))
    others = [ask for ask in asks if not is_together(ask, settings)]
    apart = sum(1 if is_joint(ask, settings.judge_numbers) else len(ask.runs) for ask in others)
    return apart + requests_for(together)


def joint_ask(ask: Ask, replies: Sequence[Reply], prompts: Prompts) -> Ask:
    joint = ask_about_beliefs(ask.scenario, [reply.text for reply in replies], prompts)
    return replace(joint, runs=ask.runs[-1:])


def replies_of(answers: Mapping[int, Reply | Failure | None]) -> dict[int, Reply]:
    return {run: answer for run, answer in answers.items() if isinstance(answer, Reply)}


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


def calls(scenario: Scenario, settings: Settings, *, anew: bool = False) -> Calls:
    """How many calls one scenario makes where nothing fails and no verdict is shared; `anew` as for `own_asks`.

    Traces are not counted: how many there are follows from the verdicts.
    """
    asks = own_asks(scenario, settings, anew=anew)
    controls = sum(len(ask.runs) for ask in control_asks(scenario, settings))
    return Calls(
        replies=sum(len(ask.runs) for ask in asks) + controls,
        requests=len(asks) + controls,
        verdicts=verdict_requests(asks, settings) + controls,
    )


def saved(scenario: Scenario, settings: Settings, *, anew: bool = False) -> Calls:
    """How many calls one scenario does not make, since another run's beliefs are this run's, too."""
    return calls(scenario, replace(settings, beliefs_from=None)) - calls(scenario, settings, anew=anew)


def reply_ask(ask: Ask, run: int, reply: Reply, settings: Settings, prompts: Prompts) -> Ask:
    """What the judge is asked about one reply: the answer alone, or a statement with its reasoning if so wanted.

    One publisher has it so. What a reasoning and an answer that differ come to is not published: here they assert
    neither, by which whoever sees both is not misled. Only samples of one question share the beginning of their
    requests.
    """
    about = ask.scenario, ask.call, ask.elicitation, run
    if not (settings.with_reasoning and ask.call == "statement" and reply.reasoning):
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
