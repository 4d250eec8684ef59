"""Tool calls of a conversation for models that take none, and the tools as those that take them want them declared."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from maskbench.types import Json, Message, Messages, ToolCalls

_TYPES: Mapping[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}


def in_text(turns: Messages) -> Messages:
    """The conversation with its tool calls as text; one without any is as it was.

    The results of tools are the user's, and turns of one role that follow each other are one, since many models take
    no others.
    """
    if not uses_tools(turns):
        return turns
    plain = [Message("user" if turn.role == "tool" else turn.role, turn.text) for turn in turns]
    by_role = groupby(plain, lambda turn: turn.role)
    return tuple(Message(role, "\n\n".join(turn.content for turn in same)) for role, same in by_role)


def uses_tools(turns: Iterable[Message]) -> bool:
    """Whether a tool is called in a conversation."""
    return any(isinstance(turn, ToolCalls) for turn in turns)


def declared(turns: Sequence[Message]) -> list[Json]:
    """The tools that are called in a conversation, as chat completions declare them, by what their calls tell of them.

    Services refuse a conversation with calls of tools that were not declared.
    """
    seen: dict[str, dict[str, Json]] = {}
    for call in (call for turn in turns if isinstance(turn, ToolCalls) for call in turn.tool_calls):
        arguments = json.loads(call.function.arguments)
        properties = {name: {"type": _TYPES[type(value)]} for name, value in arguments.items()}
        seen[call.function.name] = properties | seen.get(call.function.name, {})
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": f"The tool {name}.",
                "parameters": {"type": "object", "properties": properties},
            },
        }
        for name, properties in seen.items()
    ]
