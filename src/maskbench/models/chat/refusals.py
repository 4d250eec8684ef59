"""The meaning of an endpoint's error: a parameter it refuses, a reason to try again, or the end of the run.

Services differ in what they refuse and in how they say so. The texts that the patterns here look for are what
OpenAI, Azure, Anthropic, Google, Mistral, DeepSeek, Groq, xAI, Moonshot, OpenRouter, Together, Fireworks, vLLM,
SGLang, llama.cpp and TGI answer in public bug reports.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

from maskbench.errors import AccessError, ModelError, UnknownModel
from maskbench.models.chat.wire import Feature, clean, has_system, parse, string
from maskbench.types import Cause

MAX_WAIT = 120.0  # seconds: the longest that a server's Retry-After is obeyed
_READ = 1000  # characters of a server's message that the patterns look at
_FEWEST = 16  # tokens: a smaller limit has no room for an answer


@dataclass(frozen=True, slots=True)
class ApiError:
    """A server's error, out of whichever of the usual shapes."""

    status: int
    message: str
    codes: frozenset[str] = frozenset()  # code, type, status and reason, in lower case
    param: str = ""
    delay: float | None = None  # seconds, where the body says how long to wait (Google's RetryInfo)


@dataclass(frozen=True, slots=True)
class Trouble:
    """The remedy for a call that brought no answer: adjust and send again, wait and retry, give up, or stop."""

    cause: Cause
    detail: str
    retry: bool = False
    wait: float | None = None  # seconds, as the server asks
    feature: Feature | None = None  # what the endpoint refuses
    cap: int | None = None  # the token limit it would take
    fatal: type[ModelError] | None = None  # no further ask can succeed
    loading: bool = False  # the server still loads its model, so that waiting helps


def error_of(status: int, payload: bytes) -> ApiError:
    """A server's error; a body that is not JSON is taken as text."""
    data = parse(payload)
    if data is None:
        text = re.sub(r"<[^>]*>", " ", payload[:4000].decode("utf-8", "replace"))
        return ApiError(status, clean(text, _READ))
    return _error(status, data)


def error_within(data: Any) -> ApiError | None:
    """The error inside a response of status 200 that holds no answer, as OpenRouter sends it."""
    if not isinstance(data, dict):
        return None
    error = data.get("error")
    choices = data.get("choices")
    if not error and isinstance(choices, list) and choices:
        errors = [choice.get("error") if isinstance(choice, dict) else None for choice in choices]
        error = errors[0] if all(errors) else None
    if not error:
        return None
    code = error.get("code") if isinstance(error, dict) else None
    return _error(code if type(code) is int and 400 <= code < 600 else 500, error)


@dataclass(slots=True)
class _ErrorParts:
    messages: list[str] = field(default_factory=list)
    codes: set[str] = field(default_factory=set)
    params: list[str] = field(default_factory=list)
    delay: float | None = None


_NESTED = ("error", "errors", "message", "msg", "detail", "details", "description", "metadata", "innererror", "raw")
_CODES = ("code", "type", "status", "reason")


def _error(status: int, data: Any) -> ApiError:
    parts = _ErrorParts()
    _collect(data, parts, 6)
    message = "; ".join(dict.fromkeys(parts.messages))
    return ApiError(status, clean(message, _READ), frozenset(parts.codes), " ".join(parts.params), parts.delay)


def _collect(node: Any, parts: _ErrorParts, depth: int) -> None:
    """Gather what an error says; never its echo of the request or of what the model wrote."""
    if len(parts.messages) >= 8:
        return
    if isinstance(node, str):
        inner = parse(node.encode("utf-8", "replace")) if node[:1] in ("{", "[") else None
        if isinstance(inner, dict | list) and depth:
            _collect(inner, parts, depth - 1)
        else:
            parts.messages.append(node[:_READ])
    elif isinstance(node, list) and depth:
        for item in node[:5]:
            _collect(item, parts, depth - 1)
    elif isinstance(node, dict) and depth:
        for key in _NESTED:
            if key in node:
                _collect(node[key], parts, depth - 1)
        _collect_codes(node, parts)


def _collect_codes(node: Mapping[str, Any], parts: _ErrorParts) -> None:
    parts.codes.update(str(node[key]).lower()[:80] for key in _CODES if isinstance(node.get(key), str | int))
    if isinstance(node.get("param"), str):
        parts.params.append(node["param"][:80])
    if isinstance(node.get("loc"), list):
        parts.params.append(".".join(str(step) for step in node["loc"])[:80])
    if "flagged_input" in node:
        parts.codes.add("moderation")
    if delay := re.fullmatch(r"(\d{1,6}(?:\.\d{1,9})?)s", string(node.get("retryDelay"))):
        parts.delay = _bounded(float(delay[1]))
    seconds = node.get("estimated_time")  # Hugging Face, while it loads a model
    if isinstance(seconds, int | float) and not isinstance(seconds, bool):
        parts.delay = _bounded(float(seconds))


_NO_MONEY = frozenset(("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "account_deactivated"))
_NO_KEY = re.compile(
    r"(?:incorrect|invalid|missing|wrong|expired)[^.]{0,20}\bapi[ _-]?key|api[ _-]?key[^.]{0,12}"
    r"(?:not valid|not found|invalid|expired|missing)|credit balance is too low|reached your specified api usage limits"
)
_FILTERED_CODES = frozenset(
    (
        *("content_filter", "content_filtered", "content_policy_violation", "responsibleaipolicyviolation"),
        *("moderation", "moderation_blocked", "data_inspection_failed", "datainspectionfailed"),
        *("prohibited_content", "invalid_prompt"),
    )
)
_FILTERED = re.compile(
    r"content (?:management |usage )?(?:policy|filter|violat|exists risk)|content[_-]filter|usage (?:policy|guidelines)"
    r"|moderation|flagged|safety[ _](?:check|filter|system|reasons)|considered high risk|inappropriate content"
)
# What is said of a text, and never of a filter that does not work, for which a gateway has the same statuses.
_FLAGGED = re.compile(
    r"\b(?:content|prompt|input|output|request|response|message)s? "
    r"(?:was|were|is|are|has been|have been)(?: \w+)? flagged\b"
)
_NO_ANSWER = "output limit was reached"  # OpenAI's 400 where a reasoning model came to no answer
_NO_MODEL_CODES = frozenset(("model_not_found", "model_not_available", "invalid_model"))
_NO_MODEL = re.compile(
    r"not a valid model|(?:invalid|unknown|no such) model\b|model[^.]{0,120}?(?:does not exist|not exist|not found)"
    r"|\bpinned to\b|\b(?:only serves|serves only)\b|model mismatch|model[^.]{0,80}? is not (?:served|loaded|hosted)\b"
)
_LOADING = re.compile(r"\bloading\b|\bbeing loaded\b|\bwarming up\b|\bstarting up\b|\binitiali[sz]ing\b|\bnot ready\b")


def barred(error: ApiError) -> type[ModelError] | None:
    """The error that ends a run, as no ask can succeed until key, account or model is another; None for all else."""
    status, text = error.status, error.message.lower()
    if status in (401, 402, 407) or error.codes & _NO_MONEY:
        return AccessError
    if status in (408, 409, 429) or status >= 500:
        return None
    if _NO_KEY.search(text) or error.codes & {"api_key_invalid", "invalid_api_key"}:
        return AccessError
    if _is_filtered(error) or _NO_ANSWER in text:
        return None
    if status == 404 or error.codes & _NO_MODEL_CODES or _NO_MODEL.search(text):
        return UnknownModel
    return AccessError if status == 403 else None


def cause_of(error: ApiError) -> Cause:
    """The cause why there is no answer, by what a server says of it."""
    if error.status >= 500 and _FLAGGED.search(error.message.lower()):
        return "filtered"
    if error.status in (408, 409, 429) or error.status >= 500:
        return "timeout" if error.status == 408 else "rate_limit" if error.status == 429 else "server_error"
    if _is_filtered(error):
        return "filtered"
    return "unclosed_reasoning" if _NO_ANSWER in error.message.lower() else "bad_request"


def trouble_of(error: ApiError, body: Mapping[str, Any], wait: float | None = None) -> Trouble:
    """The remedy for a server's error to the request `body`."""
    status, text = error.status, error.message.lower()
    detail = f"{status}: {error.message}" if error.message else str(status)
    if fatal := barred(error):
        return Trouble("bad_request", detail, fatal=fatal)
    cause = cause_of(error)
    if cause in ("timeout", "rate_limit", "server_error"):
        refused = objection(error, body) if status in (500, 501) else None  # llama.cpp: a template's error is a 500
        if refused is not None:
            return Trouble("bad_request", detail, feature=refused[0], cap=refused[1])
        loading = status == 503 and _LOADING.search(text) is not None
        return Trouble(cause, detail, retry=True, wait=wait if wait is not None else error.delay, loading=loading)
    if cause != "bad_request":
        return Trouble(cause, detail)
    feature, cap = objection(error, body) or (None, None)
    told = f"{detail} (where tools are not taken: --tool-calls text)" if "tools" in body else detail
    return Trouble("bad_request", told, feature=feature, cap=cap)


def _is_filtered(error: ApiError) -> bool:
    return bool(error.codes & _FILTERED_CODES or _FILTERED.search(error.message.lower()))


_REFUSES = (
    r"unsupported|n[o']t (?:currently |yet )?(?:support|allow|permit|enabl|accept|availab|recogni)|unavailable"
    r"|deprecated|unknown|unrecogni[sz]ed|unexpected|unpermitted|\bextra|cannot find field|invalid|must be|\bonly\b"
)
_SYSTEM = re.compile(
    r"developer instruction is not enabled|does not support 'system'|roles must alternate|only user and assistant roles"
    rf"|system (?:role|message|prompt|instruction)s?\b.{{0,40}}?(?:{_REFUSES})"
    rf"|(?:{_REFUSES}).{{0,40}}?\bsystem (?:role|message|prompt|instruction)"
)
_SCHEMA = re.compile(
    r"response[_ ]?format|output[_ ]?(?:config|format)|json[_ ]?schema|response[_ ]?schema|structured output|grammar"
    r"|json mode"
)


def objection(error: ApiError, body: Mapping[str, Any]) -> tuple[Feature, int | None] | None:
    """The part of the request that a server objects to, and the token limit it would take; None where it is unclear."""
    text = f"{error.param} {error.message}".lower()
    limit, other = "max_tokens", "max_completion_tokens"
    if other in body:
        limit, other = other, limit
    room = _room(text)
    if room is not None and _FEWEST <= room[1] < body[limit]:
        return room
    if "json_validate_failed" in error.codes:  # Groq: this answer did not fit the schema; the next one may
        return ("schema_once", None) if "response_format" in body else None
    refuses = re.search(_REFUSES, text) is not None
    system = has_system(body["messages"])
    objections: tuple[tuple[Feature, bool], ...] = (
        ("limit", refuses and (limit in text or other in text) and _TOO_MUCH.search(text) is None),
        ("system", system and (_SYSTEM.search(text) is not None or error.param.endswith("].role"))),
        ("temperature", refuses and "temperature" in body and re.search(r"\btemperature\b", text) is not None),
        ("schema", bool({"response_format", "output_config"} & set(body)) and _SCHEMA.search(text) is not None),
        ("logprobs", "logprobs" in body and re.search(r"log_?probs", text) is not None),
        ("seed", refuses and "seed" in body and re.search(r"\bseed\b", text) is not None),
    )
    return next(((feature, None) for feature, objected in objections if objected), None)


_TOO_MUCH = re.compile(r"too large|at most|less than|exceed|maximum")
_MOST = re.compile(
    r"at most (\d+) (?:completion|output) tokens|> (\d+), which is the maximum|less than or equal to [`'\"]?(\d+)"
    r"|valid range of max_\w*tokens is \[\d+, ?(\d+)\]|max_tokens > (\d+) must have stream"
)
_CONTEXT = re.compile(r"maximum context length (?:is|of) (\d+)|must be <= (\d+)\. given: \d+ `inputs`")
_GIVEN = re.compile(
    r"(at least )?(\d+) (?:in the messages|input tokens|tokens from the input|`?inputs`? tokens)"
    r"|given: ()(\d+) `inputs`"
)


def _room(text: str) -> tuple[Feature, int] | None:
    """The largest token limit that would do: for this model always ("most"), or beside this prompt ("room")."""
    if most := _MOST.search(text):
        return "most", int(next(filter(None, most.groups())))
    context, given = _CONTEXT.search(text), _GIVEN.search(text)
    if context is None or given is None:
        return None
    left = int(context[1] or context[2]) - int(given[2] or given[4])
    return "room", left // 2 if given[1] else left  # "at least": vLLM stopped counting where the prompt was too long


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait as the headers ask, at most MAX_WAIT; `now` is Unix time."""
    text = headers.get("retry-after-ms")
    try:
        if text is not None:
            return _bounded(float(text) / 1000)
        text = headers.get("Retry-After")
        return None if text is None else _bounded(float(text))
    except ValueError:
        pass
    try:
        return _bounded(parsedate_to_datetime(text or "").timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _bounded(seconds: float) -> float | None:
    return None if math.isnan(seconds) else min(max(seconds, 0.0), MAX_WAIT)


_SECRETS = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|key)[-_][\w*.-]{6,}|\b(?:akia|aiza)[\w-]{12,}|(?<=bearer )[^\s,;]+|(?<=://)[^/\s@]+@",
    re.IGNORECASE,
)


def looks_secret(text: str) -> bool:
    """Whether a text holds something of the shape of a key."""
    return _SECRETS.search(text) is not None


def mask(text: str) -> str:
    """A server's words without anything that looks like a key, as one short line."""
    return clean(_SECRETS.sub("***", clean(text, 4 * _READ)))
