"""The two protocols that endpoints speak, as a client takes them: where to, with which headers, how to ask and read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from maskbench.models.chat import anthropic_messages, wire
from maskbench.models.chat.anthropic_messages import marked
from maskbench.types import Ask


@dataclass(frozen=True, slots=True)
class Dialect:
    """A protocol: the path below the base URL, the headers with a key, how a request is made and a response read.

    `alone` says that a request gives one sample, and that neither seeds nor probabilities of tokens exist.
    """

    path: str
    headers: Callable[[str | None], dict[str, str]]
    request: Callable[..., wire.Request]
    read: Callable[..., wire.Answer | None]
    hottest: float = 2.0  # temperature
    alone: bool = False


def _bearer(key: str | None) -> dict[str, str]:
    return {} if key is None else {"Authorization": f"Bearer {key}"}


def completion(*arguments: Any, cache_from: int | None, **more: Any) -> wire.Request:
    """A request of chat completions, whose caches need no mark."""
    return wire.request(*arguments, **more)


def _routed(model: str, ask: Ask, learned: wire.Learned, *, cache_from: int | None, **more: Any) -> wire.Request:
    """A request of chat completions by OpenRouter, which hands marks on to models of Anthropic."""
    request = wire.request(model, ask, learned, **more)
    if not model.startswith("anthropic/") or "folded" in request.sent:
        return request
    return replace(request, body={**request.body, "messages": marked(request.body["messages"], ask, cache_from)})


CHAT = Dialect("/chat/completions", _bearer, completion, wire.read)
MESSAGES = Dialect(
    "/messages", anthropic_messages.headers, anthropic_messages.request, anthropic_messages.read, 1.0, alone=True
)
_OTHERS: Mapping[str, Dialect] = {"anthropic": MESSAGES, "openrouter": replace(CHAT, request=_routed)}


def gives_one_sample(model: str) -> bool:
    """Whether a request to this model is known to give one sample; elsewhere the endpoint shows whether it does."""
    service = model.partition("/")[0]
    return service == "inspect" or dialect_of(service).alone


def dialect_of(service: str) -> Dialect:
    """The protocol of a service: chat completions, unless it has one of its own here."""
    return _OTHERS.get(service, CHAT)
