"""A cell `messages` → the conversation that it writes, or everything that is wrong with it, message by message."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast, get_args

from maskbench.plain import visible
from maskbench.types import Function, Message, Messages, Role, ToolCall, ToolCalls, ToolResult

MOST_MESSAGES = 1_000
MOST_CHARACTERS = 4_000_000  # of all messages: about a million tokens
NOT_TEXT = re.compile("[\0\ud800-\udfff]")
_LIST = 'Write a JSON list such as [{"role": "user", "content": "..."}]'
_ROLES = f"Write {', '.join(get_args(Role)[:-1])} or {get_args(Role)[-1]}"
_FIELDS = {"assistant": {"role", "content", "tool_calls"}, "tool": {"role", "content", "tool_call_id"}}
# What OpenAI takes as the name of a function and as the id of a call; Anthropic takes as much, and more.
_NAME, _ID = re.compile(r"[A-Za-z0-9_-]{1,64}"), re.compile(r"[A-Za-z0-9_-]{1,40}")
_CALL = 'Write {"id": "call_1", "type": "function", "function": {"name": "run", "arguments": "{}"}}'

Wrong = tuple[str, str]  # what is the matter, and the remedy


def read_messages(cell: object) -> Messages | list[Wrong]:
    """The conversation in a cell, a list or its JSON; else what is wrong with it, each with its remedy."""
    try:
        turns = json.loads(cell, parse_constant=_no_constant) if isinstance(cell, str) else cell
    except (ValueError, RecursionError) as error:
        return [(f"it is not JSON ({error})", _LIST)]
    if not isinstance(turns, list) or not turns:
        return [("it is no list of messages" if turns != [] else "the list is empty", _LIST)]
    if len(turns) > MOST_MESSAGES:
        return [(f"it has {len(turns):,} messages", f"Give {MOST_MESSAGES:,} at most")]
    read: list[Message] = []
    wrong: list[Wrong] = []
    for number, turn in enumerate(turns, 1):
        reading = _message(turn)
        if isinstance(reading, Message):
            read.append(reading)
        else:
            wrong += [(f"message {number}: {problem}", remedy) for problem, remedy in reading]
    wrong = wrong or list(_order(read))
    return wrong or tuple(read)


def message_of(plain: Mapping[str, Any]) -> Message:
    """The message with these fields."""
    role, content = plain["role"], plain["content"]
    if "tool_calls" in plain:
        calls = (ToolCall(call["id"], Function(**call["function"])) for call in plain["tool_calls"])
        return ToolCalls(role, content, tuple(calls))
    return ToolResult(role, content, plain["tool_call_id"]) if "tool_call_id" in plain else Message(role, content)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


# One message


def _message(turn: object) -> Message | list[Wrong]:
    if not isinstance(turn, dict):
        return [("it is no JSON object", 'Write {"role": "user", "content": "..."}')]
    given = {name: value for name, value in turn.items() if value is not None}  # Parquet writes every field of all
    role: Any = given.get("role")
    if role not in get_args(Role):
        return [("it has no role" if role is None else f"{_excerpt(role)} is no role", _ROLES)]
    if others := given.keys() - _FIELDS.get(role, {"role", "content"}):
        return [(f"a message of role {role} has no {_excerpt(min(others))}", "Remove it: it would not be sent")]
    calls = _calls(given["tool_calls"]) if "tool_calls" in given else []
    wrong = [call for call in calls if isinstance(call, tuple)]
    content = given.get("content", "")
    if not isinstance(content, str):
        wrong.append((f"the content {_excerpt(content)} is no text", "Write it as text: other parts are not taken"))
    elif not content.strip() and not calls and role != "tool":
        wrong.append(("the content is empty", "Write it, or remove the message"))
    elif NOT_TEXT.search(content):
        wrong.append(("the content holds a NUL or half a character", "Remove what is not text"))
    if role == "tool" and not isinstance(given.get("tool_call_id"), str):
        wrong.append(("the tool's result names no call", "Give tool_call_id, the id of the call that it answers"))
    if wrong:
        return wrong
    if role == "tool":
        return ToolResult("tool", content, given["tool_call_id"])
    return ToolCalls("assistant", content, tuple(cast(list[ToolCall], calls))) if calls else Message(role, content)


def _calls(value: object) -> list[ToolCall | Wrong]:
    if not isinstance(value, list) or not value:
        return [(f"tool_calls {_excerpt(value)} is no list of calls", f"{_CALL} in a list, or leave tool_calls out")]
    return [_call(call) for call in value]


def _call(value: object) -> ToolCall | Wrong:
    function = value.get("function") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(function, dict) or value.get("type", "function") != "function":
        return f"{_excerpt(value)} is no call of a function", _CALL
    id_, name, arguments = value.get("id"), function.get("name"), function.get("arguments", {})
    if not isinstance(id_, str) or not _ID.fullmatch(id_):
        return f"{_excerpt(id_)} is no id of a call", "Write 1 to 40 letters, digits, _ or -"
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return f"{_excerpt(name)} is no name of a tool", "Write 1 to 64 letters, digits, _ or -"
    try:
        given = json.loads(arguments, parse_constant=_no_constant) if isinstance(arguments, str) else arguments
        text = json.dumps(given, ensure_ascii=False, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        given = text = None
    if not isinstance(given, dict) or text is None or NOT_TEXT.search(text):
        return f"the arguments {_excerpt(arguments)} of {id_} are no JSON object", 'Write {"name": value, ...}'
    return ToolCall(id_, Function(name, text))


# All of them


def _order(turns: list[Message]) -> Iterator[Wrong]:
    """What is wrong with the messages together; the number of a message stands before what is wrong with it."""
    open_: dict[str, int] = {}  # calls without a result, by the number of their message
    known: set[str] = set()
    for number, turn in enumerate(turns, 1):
        if turn.role == "system" and number > 1:
            yield f"message {number}: the system message is not the first", "Put it first, and keep one"
        if isinstance(turn, ToolResult):
            if turn.tool_call_id not in open_:
                again = "is answered already" if turn.tool_call_id in known else "is made by no message before it"
                wrong = f"message {number}: the call {_excerpt(turn.tool_call_id)} {again}"
                yield wrong, "Put each call's one result behind the message that makes it"
            open_.pop(turn.tool_call_id, None)
        else:
            yield from _unanswered(open_)
            open_ = {}
        for call in turn.tool_calls if isinstance(turn, ToolCalls) else ():
            if call.id in known:
                yield f"message {number}: the id {call.id!r} is another call's already", "Give each call its own"
            known.add(call.id)
            open_[call.id] = number
    first = next((number for number, turn in enumerate(turns, 1) if turn.role != "system"), None)
    if first and turns[first - 1].role != "user":
        yield f"message {first}: the first turn is not the user's", "Begin with a message of role user"
    if (last := turns[-1].role) not in ("user", "tool"):
        remedy = "End with what the model is to answer, of role user or tool"
        yield f"message {len(turns)}: the last message is of role {last}", remedy
    yield from _unanswered(open_)
    if (size := sum(len(turn.text) for turn in turns)) > MOST_CHARACTERS:
        yield f"the messages have {size:,} characters", f"Shorten them to {MOST_CHARACTERS:,}: more fits no model"


def _unanswered(calls: Mapping[str, int]) -> Iterator[Wrong]:
    for id_, number in calls.items():
        remedy = "Put a message of role tool with its result right behind it"
        yield f"message {number}: the call {id_!r} has no result", remedy


def _excerpt(value: object) -> str:
    text = visible(repr(value))
    return text if len(text) <= 60 else f"{text[:57]}..."
