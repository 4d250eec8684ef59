"""How a reply ended, by the word that its service has for it: one table for every door by which replies come in.

The words are those of OpenAI, Azure, Anthropic, Google, Mistral, DeepSeek, Z.ai, Cohere, Bedrock, watsonx, OpenRouter,
vLLM, SGLang, TGI, llama.cpp and Inspect. A word that is not here may belong to a reply that is not whole, so that it
is never taken for a whole one: it is a failure that names the word.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import orjson

from maskbench.plain import one_line, plain

Sort = Literal["whole", "cut", "withheld", "broken", "unknown"]

LONGEST = 60  # characters of a word that are shown
_LOOKED_AT = 1000  # characters of it that are looked at
_WHOLE = frozenset(
    (
        *("", "stop", "eos", "eos_token", "end_turn", "stop_sequence"),
        *("tool_calls", "tool_use", "function_call", "completed", "complete"),
    )
)
# At the token limit, or where the context ends. OpenAI's `incomplete` stands for a cut and for a filter alike, and
# Inspect's `unknown` for any word that Inspect does not know: neither is in a table, so that both are failures.
_CUT = frozenset(
    (
        *("length", "max_tokens", "model_length", "max_output_tokens", "max_length", "token_limit"),
        *("model_context_window_exceeded", "context_length_exceeded"),
    )
)
# How the words of filters begin: some go on, as in `content_filter: RECITATION`.
_WITHHELD = (
    *("content_filter", "content_policy", "safety", "sensitive", "prohibited", "refusal", "recitation", "blocklist"),
    *("blocked", "spii", "guardrail", "error_toxic"),
)
# The service gave up in the middle, or, as with the last two, waits to be asked to go on: the same ask may bring all.
_BROKEN = frozenset(
    (
        *("error", "abort", "aborted", "network_error", "insufficient_system_resource", "timeout", "time_limit"),
        *("cancelled", "canceled", "user_cancel", "failed", "pause_turn", "compaction"),
    )
)


@dataclass(frozen=True, slots=True)
class End:
    """What an end means for the text before it, and the service's word for it, fit to be shown.

    `broken` is a text that is known not to be whole and may come whole another time; of an `unknown` one nobody knows.
    """

    sort: Sort
    word: str = ""

    @property
    def failure(self) -> str:
        """What is said of a reply with an unknown end, and what to type where it is whole all the same."""
        typed = orjson.dumps([self.word]).decode()
        return (
            f'the service ended the answer with "{self.word}", which maskbench does not know, so that it may not be '
            f"whole; where it is, say so in the file of a new run: whole-ends = {typed}"
        )


def end_of(value: object, whole: Collection[str] = ()) -> End:
    """The end that a service tells by this value of JSON; `whole` are further words for a whole reply.

    An object is read by its `type`, as SGLang has it. No word at all is a whole end: many servers leave it out.
    """
    if isinstance(value, dict):
        value = value.get("type", value)
    if value is None:
        return End("whole")
    text = value if isinstance(value, str) else str(value) if isinstance(value, int | float) else type(value).__name__
    text = text if len(text) <= _LOOKED_AT else f"{text[:_LOOKED_AT]}…"
    word = one_line(plain(text), LONGEST)
    return End(_sort(folded(text), folded(word) in map(folded, whole)), word)


def _sort(word: str, is_whole: bool) -> Sort:
    if word in _WHOLE:
        return "whole"
    if word in _CUT:
        return "cut"
    if word.startswith(_WITHHELD):
        return "withheld"
    if word in _BROKEN:
        return "broken"
    return "whole" if is_whole else "unknown"


def folded(word: str) -> str:
    """A word as the tables have it: `ContentFilter`, `content-filter` and `CONTENT_FILTER` are one."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word.strip())
    return re.sub(r"[\s_\u2010-\u2015-]+", "_", apart).casefold()
