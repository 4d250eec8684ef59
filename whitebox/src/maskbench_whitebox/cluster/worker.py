"""What works on another machine: one copy of a model.

It knows nothing of the cluster that placed it, and keeps nothing on disk.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from platform import python_version
from typing import NamedTuple

from maskbench.types import Ask, Failure, Json, Model, Reply

Open = Callable[[Mapping[str, str]], Model]


class Opened(NamedTuple):
    """What a worker says once its model is there."""

    node: str
    versions: tuple[str, str]
    about: Json
    together: bool
    queues: bool


class Answered(NamedTuple):
    """Answers with the seconds they took, the tokens that the model has drawn so far, and what it warns of."""

    answers: Sequence[Reply | Failure | None]
    seconds: float
    drawn: int
    warnings: tuple[str, ...]


class Worker:
    """Its methods are called from afar; several at a time."""

    def __init__(self, folder: str, where: Callable[[], str]) -> None:
        with suppress(OSError):  # paths in settings are as they were typed, where that folder is here, too
            os.chdir(folder)
        self._node = where()
        self._model: Model | None = None
        self._opening = asyncio.Lock()  # who asks while the model is being loaded waits for it

    async def open(self, opening: Open, environ: Mapping[str, str]) -> Opened:
        """Load the model, where it is not there: once, however often it is called meanwhile."""
        async with self._opening:
            if self._model is None:
                self._model = await asyncio.to_thread(opening, {**environ, **os.environ})
        model = self._model
        about = {"name": model.name, **model.describe()}
        return Opened(self._node, versions(), about, model.together, getattr(model, "queues", False))

    async def ask(self, ask: Ask) -> Answered | None:
        """Answer; None where this worker was restarted, and nobody has opened its model yet."""
        if self._model is None:
            return None
        started = time.monotonic()
        answers = await self._model.ask(ask)
        seconds, drawn = time.monotonic() - started, getattr(self._model, "drawn", 0)
        return Answered(answers, seconds, drawn, tuple(getattr(self._model, "warnings", ())))

    async def drain(self, why: str) -> None:
        """Begin nothing any more."""
        if (drain := getattr(self._model, "drain", None)) is not None:
            drain(why)


def versions() -> tuple[str, str]:
    """What has to be the same on every machine: maskbench and Python."""
    return version("maskbench"), python_version()
