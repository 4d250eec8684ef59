"""The first request of a long beginning goes alone: the others that share it find it in the service's cache."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from maskbench.store.prices import Price
from maskbench.types import Ask

CHARACTERS_PER_TOKEN = 4.0  # of prompts in English, about


class Firsts:
    """The beginnings of requests that are on their way, or in a cache by now."""

    def __init__(self) -> None:
        self._known: dict[bytes, asyncio.Future[None]] = {}

    @asynccontextmanager
    async def in_turn(self, ask: Ask, price: Price | None) -> AsyncIterator[None]:
        """Wait where another request has the same beginning, is the first to have it, and is under way.

        Nobody waits where the beginning is no other's, is too short for the cache, or a cache is no cheaper.
        """
        start = _beginning(ask, price)
        if start is None:
            yield
            return
        if (first := self._known.get(start)) is not None:
            await asyncio.shield(first)
            yield
            return
        first = self._known[start] = asyncio.get_running_loop().create_future()
        try:
            yield
        finally:
            first.set_result(None)


def _beginning(ask: Ask, price: Price | None) -> bytes | None:
    """A hash of what an ask shares with others, where a cache takes it and makes it cheaper."""
    if not ask.shared or price is None or price.minimum is None or (price.cached or price.input) >= price.input:
        return None
    *before, last = ask.messages
    start = "\0".join((*(message.content for message in before), last.content[: ask.shared]))
    is_long = len(start) / CHARACTERS_PER_TOKEN >= price.minimum
    return hashlib.sha256(start.encode()).digest() if is_long else None
