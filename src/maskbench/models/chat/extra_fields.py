"""A user's additions to every request to the subject: variables of its chat template, fields of the body.

Both are JSON objects, kept in the settings as canonical text: they are part of the protocol id and of the storage keys,
and stand in the run's record. So nothing secret may be in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from maskbench.errors import UsageError
from maskbench.models.chat.refusals import looks_secret
from maskbench.models.chat.wire import NO_VARIABLES
from maskbench.settings import Settings
from maskbench.store.masking import keys_in

TEMPLATE_ARGS, EXTRA_BODY = "--template-args", "--extra-body"
LONGEST = 10_000  # characters
_OURS: Mapping[str, str] = {  # fields of a request that maskbench sets, and the option for each
    "model": "Name the model as the subject",
    "messages": "They are what is measured",
    "n": "Give --statements and --beliefs",
    "stream": "Answers are read whole",
    "stream_options": "Answers are read whole",
    "max_tokens": "Give --max-tokens",
    "max_completion_tokens": "Give --max-tokens",
    "temperature": "Give --temperature",
    "seed": "Give --send-seed",
    "response_format": "Replies of the subject are free text",
    "logprobs": "They are asked of judges",
    "top_logprobs": "They are asked of judges",
    "chat_template_kwargs": f"Give {TEMPLATE_ARGS}",
}
_SECRET = {
    *("key", "apikey", "token", "secret", "authorization", "auth", "bearer", "cookie", "jwt"),
    *("password", "passwd", "pwd", "passphrase", "credential", "credentials"),
}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def canonical(option: str, text: str) -> str:
    """The JSON object of an option, its keys sorted and without spaces.

    Raises UsageError for other text, for a field that maskbench itself sets and for what looks like a secret; the error
    names the field and never its value.
    """
    if len(text) > LONGEST:
        raise UsageError(f"{option} is longer than {LONGEST:,} characters. Give a shorter JSON object.")
    try:
        fields = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{option} is no JSON ({error}). Give an object, such as {_EXAMPLE[option]}.") from None
    if not isinstance(fields, dict):
        raise UsageError(f"{option} is JSON, but no object. Give one, such as {_EXAMPLE[option]}.")
    refused = _OURS if option == EXTRA_BODY else dict.fromkeys(NO_VARIABLES, "It is no variable of a template")
    for name in fields:
        if name in refused:
            raise UsageError(f"{option}: {name} is set by maskbench. {refused[name]}.")
    _check_secrets(option, fields)
    return orjson.dumps(fields, option=orjson.OPT_SORT_KEYS).decode()


_EXAMPLE = {TEMPLATE_ARGS: '{"enable_thinking": false}', EXTRA_BODY: '{"top_k": 20}'}


def fields(text: str | None) -> dict[str, object]:
    """The fields of a canonical text; none where there is none."""
    parsed: dict[str, Any] = orjson.loads(text) if text else {}
    return parsed


def check_extra(settings: Settings, environ: Mapping[str, str]) -> None:
    """Raise UsageError for what a user adds to requests that cannot be meant.

    `environ` is where keys are configured: none of them may stand anywhere in these.
    """
    own = settings.subject.options
    _check_secrets("-M", own)
    _check_keys("-M", own, environ)
    for option, text in ((TEMPLATE_ARGS, settings.subject.template_args), (EXTRA_BODY, settings.subject.extra_body)):
        if text is None:
            continue
        if canonical(option, text) != text:
            raise UsageError(
                f"{option}: the settings take it as maskbench.models.chat.extra_fields.canonical writes it."
            )
        _check_keys(option, fields(text), environ)


def _check_keys(option: str, value: Any, environ: Mapping[str, str]) -> None:
    if any(key in string for string in _strings(value) for key in keys_in(environ)):
        raise UsageError(f"{option} holds a key of the environment, and would be kept with the run. Take it out.")


def _check_secrets(option: str, value: Any) -> None:
    """Raise UsageError where a field is called as secrets are and holds text, or where text looks like a key."""
    for name, inner in _members(value):
        if _SECRET & {word.lower() for word in _WORD.findall(name)} and any(True for _ in _strings(inner)):
            raise UsageError(f"{option}: {name} looks like a secret, and would be kept with the run. Take it out.")
        if any(map(looks_secret, _strings(inner))):
            raise UsageError(f"{option}: the value of {name} looks like a key. Take it out.")


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    """Every field at any depth, with its value."""
    inner = value.items() if isinstance(value, dict) else ()
    yield from inner
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _members(each)


def _strings(value: Any) -> Iterator[str]:
    """Every text at any depth, names of fields below it among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from _strings(each)
