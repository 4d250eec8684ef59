"""Anthropic's Messages API in the terms of chat/wire.py: its requests and answers as plain values, without IO.

Fields and stop reasons follow https://platform.claude.com/docs/en/api/messages. It gives one sample a request, and has
neither seeds nor probabilities of tokens. A judge is held to its form by a structured output (`output_config.format`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from maskbench.method.ends import End, end_of
from maskbench.method.tool_calls import declared, uses_tools
from maskbench.models.chat.wire import (
    Answer,
    Choice,
    Learned,
    Request,
    count,
    ended,
    name_of,
    string,
    usage_of,
)
from maskbench.types import Ask, Json, Message, ToolCalls, ToolResult

VERSION = "2023-06-01"  # of the interface, which every request has to name
CHARACTERS_PER_TOKEN = 4.0  # of prompts in English, about; a beginning must surely reach what a cache takes


def marked(messages: Sequence[Message], ask: Ask, cache_from: int | None) -> Sequence[Message | dict[str, Any]]:
    """The messages with the last one in two parts, the first of them marked; as they are where no cache takes it.

    The mark stands behind what several requests begin with (`Ask.shared`), from which Anthropic's cache takes it.
    OpenRouter's chat completions take it in the same form for these models
    (https://openrouter.ai/docs/features/prompt-caching). A beginning that is put into the cache costs more than one
    that is not, so that nothing is marked which no other request has.
    """
    *before, last = messages
    start = sum(len(message.content) for message in ask.messages[:-1]) + ask.shared
    if not ask.shared or cache_from is None or start / CHARACTERS_PER_TOKEN < cache_from:
        return messages
    parts = [
        {"type": "text", "text": last.content[: ask.shared], "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": last.content[ask.shared :]},
    ]
    return (*before, {"role": last.role, "content": parts})


def headers(key: str | None) -> dict[str, str]:
    """The headers that the interface wants."""
    return {"anthropic-version": VERSION, **({} if key is None else {"x-api-key": key})}


def request(
    model: str,
    ask: Ask,
    learned: Learned,
    *,
    limit: int,
    temperature: float,
    seed: int | None,
    n: int = 1,
    schema: bool = True,
    extra: Mapping[str, Any] | None = None,
    cache_from: int | None = None,
) -> Request:
    """The request for one sample of an ask, as `wire.request` makes it for chat completions.

    A system text of `cache_from` tokens or more, which is the same in many requests, has the mark from which a cache
    takes it, and so has what several requests share (`marked`); without a number nothing is marked. `seed` and
    `n` are not sent: the interface has neither.
    """
    limit = _with_thinking(limit, extra)
    limit = limit if learned.most is None else min(limit, learned.most)
    turns = tuple(message for message in ask.messages if message.role != "system")
    body: dict[str, Any] = {"model": model, "messages": marked(turns, ask, cache_from), "max_tokens": limit}
    if uses_tools(turns):  # the answer is wanted in text
        tools = [tool["function"] for tool in declared(turns)]
        body["messages"] = _in_blocks(turns)
        body["tools"] = [{**tool, "input_schema": tool.pop("parameters")} for tool in tools]
        body["tool_choice"] = {"type": "none"}
    sent: dict[str, Any] = {"max_tokens": limit}
    if system := "\n\n".join(message.content for message in ask.messages if message.role == "system"):
        is_marked = cache_from is not None and len(system) / CHARACTERS_PER_TOKEN >= cache_from
        block = {"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}
        body["system"] = [block] if is_marked else system
    if learned.temperature is not False:
        body["temperature"] = sent["temperature"] = temperature
    if ask.schema is not None:
        sent["schema"] = schema and learned.schema is not False
        if sent["schema"]:
            body["output_config"] = {"format": {"type": "json_schema", "schema": ask.schema}}
    if ask.logprobs:
        sent["logprobs"] = False
    return Request({**(extra or {}), **body}, sent)


def _in_blocks(turns: Sequence[Message]) -> list[Json]:
    """The turns where tools are called: calls are blocks of the assistant's, results of the user's next one."""
    by_role = groupby(turns, lambda turn: "assistant" if turn.role == "assistant" else "user")
    return [{"role": role, "content": [block for turn in same for block in _blocks(turn)]} for role, same in by_role]


def _blocks(turn: Message) -> Iterator[Json]:
    if isinstance(turn, ToolResult):
        yield {"type": "tool_result", "tool_use_id": turn.tool_call_id, "content": turn.content}
    elif turn.content.strip():  # no block of text may be empty
        yield {"type": "text", "text": turn.content}
    for call in turn.tool_calls if isinstance(turn, ToolCalls) else ():
        given = json.loads(call.function.arguments)
        yield {"type": "tool_use", "id": call.id, "name": call.function.name, "input": given}


def _with_thinking(limit: int, extra: Mapping[str, Any] | None) -> int:
    """The token limit, which must be above the tokens for thinking where a user gives a number of these."""
    thinking = (extra or {}).get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    return limit + budget if isinstance(budget, int) and budget >= limit else limit


def read(data: Any, learned: Learned, mask: Callable[[str], str] = str, whole: Collection[str] = ()) -> Answer | None:
    """A response's JSON as an answer of one choice; None where it is no message, or the turn is not whole."""
    content = data.get("content") if isinstance(data, dict) else None
    if not isinstance(content, list) or data.get("type") != "message":
        return None
    choice = _choice(content, end_of(data.get("stop_reason"), whole), learned)
    if choice is None:
        return None
    usage = usage_of(data)
    details = data["usage"].get("output_tokens_details") if isinstance(data.get("usage"), dict) else None
    thought = count(details.get("thinking_tokens")) if isinstance(details, dict) else None
    blocks = any(isinstance(block, dict) and "thinking" in string(block.get("type")) for block in content)
    reasons = blocks or bool(thought) or choice.reasoning is not None or choice.trouble == "unclosed_reasoning"
    model = name_of(data.get("model"), mask)
    return Answer((choice,), replace(usage, reasoning=thought), model, None, reasons)


def _choice(content: Sequence[Any], end: End, learned: Learned) -> Choice | None:
    """The one sample: its text blocks, and its thinking beside them."""
    if end.sort == "broken":
        return None
    blocks = [block for block in content if isinstance(block, dict)]
    text = "".join(string(block.get("text")) for block in blocks if block.get("type") == "text")
    thinking = [string(block.get("thinking")) for block in blocks if block.get("type") == "thinking"]
    beside = "\n\n".join(filter(None, thinking))
    # A refusal is what its classifiers did to the text, and no answer of the model: its own refusals end as usual.
    return ended(end, text, beside, opens=learned.opens)
