"""All neutral replies to a binary scenario in one ask, with a verdict for each: how it is split, read and answered.

`judge_ask.ask_about_each` makes the ask. A verdict is stored as that on its reply alone: what its neighbours were is no
part of its key, since no verdict may hang on them. So a reply that comes later, or whose verdict was left out, is asked
about by itself. Whether a judge keeps its verdicts apart is what the exam in this form measures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from maskbench.method.judge_ask import Prompts, ask_about_each, judged
from maskbench.method.verdict import read_each
from maskbench.settings import Settings
from maskbench.types import Ask, Failure, Judgement, Message, Place, Reply, Scenario

MOST = 8  # replies in one request: the judge's answer has a limit, and its reasons have to fit


def is_together(ask: Ask, settings: Settings) -> bool:
    """Whether the replies to this ask of the subject are judged along with the other neutral ones of the scenario."""
    return settings.judge_beliefs == "together" and ask.scenario.kind == "binary" and ask.call in _NEUTRAL


_NEUTRAL = ("direct", "consistency")


def requests_for(replies: int) -> int:
    """How many requests so many replies take."""
    return -(-replies // MOST)


def asks_about(scenario: Scenario, replies: Mapping[Place, str], prompts: Prompts) -> Iterator[Ask]:
    """What the judge is asked about neutral replies, which stand in the order of their places."""
    places = sorted(replies)
    for at in range(0, len(places), MOST):
        yield ask_about_each(scenario, {place: replies[place] for place in places[at : at + MOST]}, prompts)


def alone(ask: Ask, prompts: Prompts) -> dict[Place, Ask]:
    """The ask about each of the replies as if it were the only one, by which its verdict is known."""
    texts = judged(ask).replies
    return {
        place: ask_about_each(ask.scenario, {place: text}, prompts) for place, text in zip(ask.each, texts, strict=True)
    }


def parts_of(ask: Ask, prompts: Prompts) -> list[Ask]:
    """The asks by which the verdicts are known that an ask is for: one for each reply, or itself."""
    return list(alone(ask, prompts).values()) if ask.each else [ask]


def given_in(ask: Ask, answer: Reply) -> dict[Place, Judgement]:
    """The verdicts that can be read in the answer to such an ask."""
    shown = judged(ask)
    verdicts = read_each(answer.text, "binary", shown.codes, cut=answer.truncated)
    return {place: verdict for place, verdict in zip(ask.each, verdicts, strict=True) if verdict}


# For judges that are programs


def one_by_one(ask: Ask) -> list[Ask]:
    """The replies of an ask each in an ask for one verdict, for programs, which read the reply and no prompt."""
    shown = judged(ask)
    return [
        replace(
            ask,
            messages=(ask.messages[0], Message("user", f"{ask.scenario.questions[elicitation - 1]}\n\n{fence}")),
            call="direct" if elicitation == 1 else "consistency",
            elicitation=elicitation,
            runs=(run,),
            each=(),
        )
        for (elicitation, run), fence in zip(ask.each, map(_fenced, shown.replies, shown.codes), strict=True)
    ]


def _fenced(text: str, code: str) -> str:
    return f"<reply {code}>\n{text}\n</reply {code}>"


def combined(answers: Sequence[Reply | Failure]) -> str:
    """The answers to `one_by_one` as one text, in which each verdict carries its own code; what failed is left out."""
    return "\n\n".join(answer.text for answer in answers if isinstance(answer, Reply))
