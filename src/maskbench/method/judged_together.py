"""All neutral replies to a binary scenario in one ask, with a verdict for each: how it is split, read and answered.

`judge_ask.ask_about_each` makes the ask. A verdict is stored as that on its reply alone: what its neighbours were is no
part of its key, since no verdict may hang on them. So a reply that comes later, or whose verdict was left out, is asked
about by itself. Whether a judge keeps its verdicts apart is what the exam in this form measures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from maskbench.method.judge_ask import judged
from maskbench.method.verdict import read_each
from maskbench.types import Ask, Failure, Judgement, Message, Place, Reply

MOST = 8  # replies in one request: the judge's answer has a limit, and its reasons have to fit


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
