"""A model whose answers are written down beforehand: for tests, users' and our own."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import orjson

from maskbench.errors import UsageError
from maskbench.method.forms import written
from maskbench.method.forms.case import judged
from maskbench.types import Ask, Failure, Judgement, Reply

Answer: TypeAlias = str | Reply | Failure | Judgement
Script: TypeAlias = Callable[[Ask, int], Answer | Awaitable[Answer]]


class ScriptedModel:
    """Answers by a function of the ask and the run (sample) number, or by rule.

    A rule maps a piece of text to the answer for every ask whose last message holds it; the first that fits is
    taken, and `""` fits always. `{{code}}` in its answer stands for the code that a judge's verdict has to carry. An
    ask that no rule fits, and a function that raises, give a Failure, as a call that fails does. A function may be a
    coroutine function, may itself return a Failure, and as a judge a Judgement, which goes out in the form that is
    asked for.
    """

    together = True

    def __init__(self, script: Script | Mapping[str, Answer], name: str = "scripted") -> None:
        self.name = name
        self._script = _by_rule(script) if isinstance(script, Mapping) else script

    async def ask(self, ask: Ask) -> Sequence[Reply | Failure]:
        """One answer a run, in order."""
        return [await self._answer(ask, run) for run in ask.runs]

    async def _answer(self, ask: Ask, run: int) -> Reply | Failure:
        try:
            answer = self._script(ask, run)
            if inspect.isawaitable(answer):
                answer = await answer
        except Exception as error:  # the user's script may raise anything: that is a failed call
            return Failure("subject", "raised", f"{type(error).__name__}: {error}")
        if isinstance(answer, Judgement):
            answer = written(ask, answer)
        return Reply(answer, sent={"temperature": 0}) if isinstance(answer, str) else answer

    def describe(self) -> dict[str, Any]:
        """Its name and that it is scripted."""
        return {"name": self.name, "service": "scripted"}

    async def close(self) -> None:
        """Nothing to let go of."""


class Nobody(ScriptedModel):
    """Who stands where a judge would, while replies are asked for and none is judged: it is asked nothing."""

    def describe(self) -> dict[str, Any]:
        """That it is nobody."""
        return {"name": self.name}


def _by_rule(rules: Mapping[str, Answer]) -> Script:
    def answer(ask: Ask, run: int) -> Answer:
        text = ask.messages[-1].content
        for piece, reply in rules.items():
            if piece in text:
                return reply.replace("{{code}}", judged(ask).code or "") if isinstance(reply, str) else reply
        raise LookupError(f"no rule of the script fits {text[:80]!r}")

    return answer


def load_script(name: str, path: Path) -> ScriptedModel:
    """The model whose rules stand in a JSON file, an object from pieces of text to answers.

    Raises UsageError where the file is missing or holds anything else.
    """
    try:
        rules = orjson.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"The script {path} cannot be read ({error.strerror}). Give scripted/FILE.json.") from error
    except orjson.JSONDecodeError as error:
        raise UsageError(f"The script {path} is no JSON ({error}). Give scripted/FILE.json.") from error
    if not isinstance(rules, dict) or not all(isinstance(answer, str) for answer in rules.values()):
        raise UsageError(f'The script {path} must be one JSON object of texts: {{"piece of an ask": "answer"}}.')
    return ScriptedModel(rules, name)
