"""Inspect's values and ours: conversations and schemas on the way out, answers and errors on the way back.

A model of Inspect's providers, maskbench inside Inspect and the import of logs all have this one adapter. What comes
back becomes the JSON of chat completions first, so that the one reader of answers (chat/wire.py) and the one reader of
errors (chat/refusals.py) read it. Inspect's values are read by their attributes: only what goes out needs Inspect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import orjson

from maskbench.method.ends import end_of
from maskbench.models.chat import refusals, wire
from maskbench.plain import storable, whole
from maskbench.types import Failure, Message, Reply, Stage

_NOTHING = "(no content)"  # what Inspect writes in the place of an answer that is not there
_LONGEST = 500  # characters that are kept of an error's text


Exchanged: TypeAlias = tuple[int, Mapping[str, str], bytes]  # what came of a call, as an HTTP response: status first


# What goes out


def conversation(turns: Iterable[Mapping[str, Any]]) -> list[Any]:
    """The messages of a request of chat completions, as Inspect has them."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser
    from inspect_ai.tool import ToolCall

    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    told: list[Any] = []
    names: dict[str, str] = {}  # of the tools, by the ids of their calls
    for turn in turns:
        content = turn["content"] or ""
        if turn["role"] == "tool":
            id_ = turn["tool_call_id"]
            told.append(ChatMessageTool(content=content, tool_call_id=id_, function=names[id_]))
            continue
        message = kinds[turn["role"]](content=content)
        for call in turn.get("tool_calls", ()):
            name, given = call["function"]["name"], orjson.loads(call["function"]["arguments"])
            names[call["id"]] = name
            message.tool_calls = [*(message.tool_calls or ()), ToolCall(call["id"], name, given)]
        told.append(message)
    return told


def tools_in(declared: Iterable[Mapping[str, Any]]) -> list[Any]:
    """The tools that a request of chat completions declares, as Inspect has them."""
    from inspect_ai.tool import ToolInfo

    return [ToolInfo.model_validate(tool["function"]) for tool in declared]


def answer_schema(name: str, schema: Mapping[str, Any]) -> Any:
    """The JSON schema that an answer is held to, as Inspect has it."""
    from inspect_ai.model import ResponseSchema
    from inspect_ai.util import JSONSchema

    return ResponseSchema(name=name, json_schema=JSONSchema.model_validate(schema), strict=True)


# What comes back


def answered(output: Any, call: Any) -> Exchanged:
    """An output of Inspect as a chat completion, or as an error where the provider put an error's text in its place."""
    reason = output.choices[0].stop_reason if output.choices else "unknown"
    if output.error or getattr(call, "error", None) or not output.choices:
        too_long = reason == "model_length"  # the service's words stand where the answer would
        texts = (output.completion, output.error) if too_long else (output.error, output.completion)
        told = next(filter(None, texts), "the provider gave no answer")
        withheld = end_of(reason).sort == "withheld"
        code = "context_length_exceeded" if too_long else "content_filter" if withheld else None
        return _as_error(400, told, code)
    choice = output.choices[0]
    text = choice.message.text
    message = {"content": "" if text == _NOTHING else text, "reasoning": _reasoning(choice.message.content)}
    told = {"message": message, "finish_reason": reason, "logprobs": _logprobs(choice.logprobs)}
    completion = {"model": output.model, "choices": [told], "usage": _usage(output.usage)}
    return 200, {}, orjson.dumps(whole(completion))


def _reasoning(content: Any) -> str:
    """The thinking among the parts of a message: as it is, or its summary where only that may be seen."""
    parts = [] if isinstance(content, str) else [part for part in content if part.type == "reasoning"]
    texts = (part.summary if part.redacted else part.reasoning or part.summary for part in parts)
    return "\n\n".join(filter(None, texts))


def _logprobs(logprobs: Any) -> dict[str, Any] | None:
    if logprobs is None:
        return None
    return {"content": [_token(each) for each in logprobs.content]}


def _token(token: Any) -> dict[str, Any]:
    others = [{"token": other.token, "logprob": other.logprob} for other in token.top_logprobs or ()]
    return {"token": token.token, "logprob": token.logprob, "top_logprobs": others}


def _usage(usage: Any) -> dict[str, Any] | None:
    """Tokens as chat completions count them: the input with what a cache held or took, the output with reasoning."""
    if usage is None:
        return None
    held, written = usage.input_tokens_cache_read, usage.input_tokens_cache_write
    return {
        "prompt_tokens": usage.input_tokens + (held or 0) + (written or 0),
        "completion_tokens": usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": held, "cache_write_tokens": written},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }


_SAID = {
    "filtered": "a content filter took the answer",
    "unclosed_reasoning": "the answer was still only reasoning at its limit",
    "empty": "the answer was empty",
    "unknown_end": "nobody knows whether the answer is whole: Inspect does not know how it ended",
}


def reply_of(output: Any, stage: Stage, name: str, prompt: Iterable[Message] = ()) -> Reply | Failure:
    """An output of Inspect as a reply of the model of this name, or why it is none; `prompt` is what was sent."""
    status, _, body = answered(output, None)
    if status != 200:
        error = refusals.error_of(status, body)
        return Failure(stage, refusals.cause_of(error), error.message[:_LONGEST])
    answer = wire.read(orjson.loads(body), wire.Learned())
    choice = answer.choices[0] if answer else None
    if answer is None or choice is None:
        return Failure(stage, "malformed_response", "The answer cannot be read.")
    if cut := wire.cut_prompt(prompt, answer.usage):
        return Failure(stage, "cut_prompt", f"{name}: {cut}.")
    if choice.trouble is not None and choice.trouble != "truncated":
        return Failure(stage, choice.trouble, f"{name}: {_SAID[choice.trouble]}.")
    return replace(answer.reply(choice), seconds=output.time or 0.0)


# What goes wrong


def failure_of(error: BaseException, stage: Stage, mask: Callable[[str], str]) -> Failure | None:
    """The failure for what a provider raised; None where no further call can succeed, as with a wrong key.

    `mask` takes keys out of what it says.
    """
    told = storable(mask(f"{type(error).__name__}: {error}"))[:_LONGEST]
    try:
        status, _, body = raised(error, None, False)
    except TimeoutError:
        return Failure(stage, "timeout", told)
    except ConnectionError:
        return Failure(stage, "connection", told)
    meant = refusals.error_of(status, body)
    return None if refusals.barred(meant) else Failure(stage, refusals.cause_of(meant), told)


_TIMES_OUT = ("TimeoutError", "APITimeoutError", "TimeoutException", "ReadTimeoutError", "ConnectTimeoutError")
_BREAKS = (
    *("OSError", "APIConnectionError", "TransportError", "ClientConnectionError", "ClientPayloadError"),
    *("HTTPClientError", "ConnectionError", "ProxyError"),
)


def raised(error: BaseException, decision: Any, refused: bool) -> Exchanged:
    """The HTTP error for what a provider raised; `decision` and `refused` are what Inspect's provider says of it.

    Raises TimeoutError and ConnectionError for a call that brought no response.
    """
    status = _status(error)
    names = {kind.__name__ for kind in type(error).__mro__}
    if status is None and names & set(_TIMES_OUT):
        raise TimeoutError from None
    if status is None and names & set(_BREAKS):
        raise ConnectionError(f"{type(error).__name__}: {error}") from None
    again = bool(decision)
    limited = getattr(decision, "kind", None) == "rate_limit"
    if status is None or (again and status < 500 and status not in (408, 409, 429)):
        status = (429 if limited else 503) if again else 401 if refused else 400
    return _as_error(status, _body(error), None, _headers(error, decision))


def _status(error: BaseException) -> int | None:
    """The HTTP status that an exception of any of the providers' libraries carries."""
    response = getattr(error, "response", None)
    named = response.get("ResponseMetadata", {}).get("HTTPStatusCode") if isinstance(response, dict) else None
    for status in (*(getattr(error, name, None) for name in ("status_code", "code", "http_status", "status")), named):
        if type(status) is int and 400 <= status < 600:
            return status
    return None


def _body(error: BaseException) -> Any:
    """What the service said: the JSON of its error where the library kept that, else the exception's text."""
    for name in ("body", "details"):
        body = getattr(error, name, None)
        if isinstance(body, dict) and body:
            return body
    response = getattr(error, "response", None)
    if isinstance(response, dict) and isinstance(response.get("Error"), dict):  # botocore
        inner = response["Error"]
        return {"message": inner.get("Message"), "code": inner.get("Code")}
    text = getattr(error, "message", None)
    return text if isinstance(text, str) and text else f"{type(error).__name__}: {error}"


def _headers(error: BaseException, decision: Any) -> dict[str, str]:
    wait = getattr(decision, "retry_after", None)
    if wait is not None:
        return {"Retry-After": str(wait)}
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    names = ("retry-after", "retry-after-ms")
    return {("Retry-After" if name == "retry-after" else name): headers[name] for name in names if name in headers}


def _as_error(status: int, told: Any, code: str | None, headers: Mapping[str, str] | None = None) -> Exchanged:
    error = {"message": told, "code": code} if code or isinstance(told, str) else told
    try:
        body = orjson.dumps(whole({"error": error}), default=lambda value: storable(str(value)))
    except (RecursionError, orjson.JSONEncodeError):  # nested too deeply, or with names that are none in JSON
        body = orjson.dumps({"error": {"message": "the error cannot be written as JSON", "code": code}})
    return status, headers or {}, body


# What a provider left out

_NAMES: Mapping[str, tuple[str, ...]] = {  # what the providers' requests call the parts of ours
    "temperature": ("temperature",),
    "seed": ("seed",),
    "schema": ("responseformat", "outputformat", "outputconfig", "responsejsonschema", "responseschema", "text"),
    "logprobs": ("logprobs", "responselogprobs", "toplogprobs"),
}
_LIMITS = ("maxtokens", "maxoutputtokens", "maxcompletiontokens", "maxgenlen")  # each request of ours has one
_NOT_PARTS = ("messages", "contents", "system", "input", "tools")  # hold what is asked, not how


def unsent(call: Any, wanted: Mapping[str, bool]) -> list[str]:
    """The parts of a request that were wanted and that the provider left out.

    Its record of the request tells; one without the token limit is no whole record, and tells nothing.
    """
    request = getattr(call, "request", None)
    if not isinstance(request, dict):
        return []
    fields = {name.replace("_", "").lower() for name, value in _fields(request, 3) if value is not None}
    if not fields & set(_LIMITS):
        return []
    return [part for part, is_wanted in wanted.items() if is_wanted and not fields & set(_NAMES[part])]


def _fields(request: Mapping[str, Any], depth: int) -> Iterator[tuple[str, Any]]:
    """The fields of a request with their values, those within others among them."""
    for name, value in request.items():
        yield name, value
        if isinstance(value, dict) and depth and name not in _NOT_PARTS:
            yield from _fields(value, depth - 1)
