"""The record of a contact with a service: how it answered, without a text, a key or an address of somebody's own.

What a service sends is counted by its kind. A name that it gives is kept only where it is short and made of the
letters of names, so that no text and no path of a machine comes into a record that people publish.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from functools import cache
from importlib import resources
from importlib.metadata import version
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from maskbench.models.chat.reasoning import split_reasoning
from maskbench.models.chat.services import SERVICES, Endpoint
from maskbench.models.chat.wire import Learned, is_visible, parse, string

Taken = Literal["taken", "refused", "ignored"]
Counts = dict[str, int]

OTHER = "(other)"  # in place of what is no name
_NAME = re.compile(r"[A-Za-z0-9][\w.:+@-]{0,59}(?:/[\w.:+@-]{1,60}){0,3}", re.ASCII)
_LIMITS = re.compile(r"[a-z0-9-]*rate-?limit[a-z0-9-]*|retry-after(-ms)?")  # headers
_MOST = 30  # names of one kind
_READ = frozenset(("content", "reasoning", "reasoning_content", "refusal"))  # fields in which a text is looked for
_NO_TEXT = frozenset(("role", "finish_reason", "native_finish_reason", "stop_reason", "id", "object", "model", "type"))
_AROUND = _NO_TEXT | {"created", "usage", "system_fingerprint", "provider", "service_tier", "status", "choices"}


class Contact(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One model of a service at one contact: what it was asked for, and how it answered.

    `host` is there only where it is the service's own. `statuses`, `usage` and `headers` count responses, the last two
    by fields with numbers of tokens and by headers that tell of limits; `content`, `stops` and `unread` count samples,
    by the kinds of what a message holds, by why they ended, and by fields with a text that maskbench does not read.
    `parameters` says of each that was wanted whether the service took it, refused it, or took it and did not do what
    it says; `schema` among them is the form of a judge's answer.
    """

    service: str
    model: str
    maskbench: str
    date: Annotated[str, Meta(description="of the record, as in 2026-11-23", pattern=r"^\d{4}-\d\d-\d\d$")]
    host: str | None = None
    server: Annotated[str | None, Meta(description="its name by its own header")] = None
    served: list[str] = []
    fingerprints: list[str] = []
    statuses: Counts = {}
    parameters: dict[str, Taken] = {}
    content: Counts = {}
    stops: Counts = {}
    unread: Counts = {}
    usage: Counts = {}
    headers: Counts = {}
    schema: int = 1


class Witness:
    """Whoever sees each request to an endpoint and what came back, and counts kinds of it."""

    def __init__(self) -> None:
        self.seen: dict[str, Counter[str]] = defaultdict(Counter)  # by the field of a record that has it
        self._server = ""
        self._seeded: dict[int, int] = {}  # texts by request, where a seed was sent

    def saw(self, body: Mapping[str, Any], status: int, headers: Mapping[str, str], payload: bytes | None) -> None:
        """Take in one response to the request with this body."""
        self._count("statuses", str(status))
        for name in map(str.lower, headers):
            if _LIMITS.fullmatch(name):
                self._count("headers", name)
        self._server = self._server or headers.get("Server", "").partition(" ")[0]
        data = parse(payload) if payload is not None and 200 <= status < 300 else None
        if isinstance(data, dict):
            self._read(body, data)

    def _read(self, body: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        if "system" in body:  # where it is no role, as with Anthropic
            self._count("sent", "system")
        for field in _numbers(data.get("usage")):
            self._count("usage", field)
        samples = list(_samples(data))
        for stop, message, _ in samples:
            self._count("stops", stop)
            for kind in _kinds(message):
                self._count("content", kind)
        texts = [split_reasoning(_text(message))[0] for _, message, _ in samples]
        for place, text in enumerate(texts):
            if not is_visible(text):
                self._note_unread({**samples[place][2], **samples[place][1]}, _READ | _NO_TEXT)
        if not samples:
            self._note_unread(data, _AROUND)
        self._note_ignored(body, data, texts)

    def _note_unread(self, fields: Mapping[str, Any], known: Iterable[str]) -> None:
        for name, value in fields.items():
            if name not in known and value and isinstance(value, str | list):
                self._count("unread", name)

    def _note_ignored(self, body: Mapping[str, Any], data: Mapping[str, Any], texts: list[str]) -> None:
        """Note what was sent, taken, and not done."""
        if body.get("n", 1) > 1:
            self._count("sent", "n")
            if 0 < len(texts) < body["n"]:
                self._count("ignored", "n")
        is_shaped = "response_format" in body or "output_config" in body
        if is_shaped and any(text.strip() and not text.lstrip().startswith("{") for text in texts):
            self._count("ignored", "schema")
        if body.get("logprobs") and texts and not any(choice.get("logprobs") for _, _, choice in _samples(data)):
            self._count("ignored", "logprobs")
        if "seed" in body and len(texts) == 1:
            text = hash(texts[0])
            if self._seeded.setdefault(hash(str(body)), text) != text:
                self._count("ignored", "seed")

    def _count(self, what: str, name: Any) -> None:
        counter, name = self.seen[what], plain_name(name)
        counter[name if name in counter or len(counter) < _MOST else OTHER] += 1

    def contact(
        self, endpoint: Endpoint, learned: Learned, served: Iterable[str], fingerprints: Iterable[str]
    ) -> Contact:
        """The record of everything that was seen; `served` and `fingerprints` are what the service calls its model."""
        host = _own_host(endpoint)
        counts = {name: dict(sorted(counter.items())) for name, counter in self.seen.items()}
        return Contact(
            service=endpoint.service,
            model=_model(endpoint.model, host),
            maskbench=version("maskbench"),
            date=date.today().isoformat(),
            host=host,
            server=plain_name(self._server) if self._server else None,
            served=sorted({_model(name, host) for name in served}),
            fingerprints=sorted(map(plain_name, fingerprints)),
            statuses=counts.get("statuses", {}),
            parameters=self._parameters(learned),
            content=counts.get("content", {}),
            stops=counts.get("stops", {}),
            unread=counts.get("unread", {}),
            usage=counts.get("usage", {}),
            headers=counts.get("headers", {}),
        )

    def _parameters(self, learned: Learned) -> dict[str, Taken]:
        sent = self.seen["sent"]
        taken: dict[str, bool | None] = {
            "temperature": learned.temperature,
            "seed": learned.seed,
            "logprobs": learned.logprobs,
            "schema": learned.schema,
            "system": True if "system" in sent else learned.system,
            "n": learned.n if "n" in sent else None,
        }
        if learned.answered:
            taken |= {"max_tokens": learned.limit == "max_tokens", learned.limit: True}
        ignored = self.seen["ignored"]
        return {
            name: "ignored" if name in ignored else "taken" if is_so else "refused"
            for name, is_so in sorted(taken.items())
            if is_so is not None
        }


def _samples(data: Mapping[str, Any]) -> Iterator[tuple[Any, Mapping[str, Any], Mapping[str, Any]]]:
    """Of each sample of a response: why it ended, its message, and what stands around that."""
    if data.get("type") == "message":
        yield data.get("stop_reason"), {"content": data.get("content")}, {}
    choices = data.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict) and isinstance(choice.get("message"), dict):
            yield choice.get("finish_reason"), choice["message"], choice


def _kinds(message: Mapping[str, Any]) -> Iterator[Any]:
    """The fields of a message that hold something; content in parts is counted by the kinds of its parts."""
    for name, value in message.items():
        if name == "content" and isinstance(value, list):
            yield from (f"content:{part.get('type')}" for part in value if isinstance(part, dict))
        elif value and name != "role":
            yield name


def _text(message: Mapping[str, Any]) -> str:
    """The text of a message in the fields in which maskbench looks for one."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    text = "".join(string(part.get("text")) for part in parts if isinstance(part, dict))
    return text or string(message.get("refusal"))


def _numbers(value: Any, above: str = "", levels: int = 3) -> Iterator[str]:
    """The names of the fields that hold numbers, those of inner objects behind a dot."""
    for name, inner in value.items() if isinstance(value, dict) else ():
        if isinstance(inner, dict) and levels > 1:
            yield from _numbers(inner, f"{above}{name}.", levels - 1)
        elif isinstance(inner, int | float):
            yield f"{above}{name}"


def plain_name(value: Any) -> str:
    """A name as it is, `none` for nothing, and OTHER for whatever is no name."""
    if value is None:
        return "none"
    return value if isinstance(value, str) and _NAME.fullmatch(value) else OTHER


def _model(name: str, host: str | None) -> str:
    """The name of a model; where no service of its own has it, without the folders of a machine."""
    return plain_name(name if host else re.split(r"[/\\]", name)[-1])


def _own_host(endpoint: Endpoint) -> str | None:
    """The host, where it is the one that a hosted service documents."""
    known = SERVICES.get(endpoint.service)
    host = urlsplit(endpoint.base_url).hostname
    return host if known and not known.local and host == urlsplit(known.address).hostname else None


@cache
def contacts() -> tuple[Contact, ...]:
    """Every record that comes with this version, in the order of their files' names."""
    files = sorted(resources.files("maskbench.models").joinpath("contacts").iterdir(), key=lambda each: each.name)
    return tuple(contact for each in files for contact in msgspec.json.decode(each.read_bytes(), type=list[Contact]))
