"""Whoever watches a measurement while it is under way, and what they are told of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from maskbench.method.asks import Calls
from maskbench.types import Ask, Failure, Model, Reply, Stage


class Watcher(Protocol):
    """Whoever watches a measurement: a log, a progress display, nobody."""

    def begin(self, expected: Calls, models: Sequence[Model]) -> None:
        """The flow starts, with so many calls to settle."""
        ...

    def called(self, stage: Stage, answer: Reply | Failure) -> None:
        """A model has just answered, or failed to."""
        ...

    def settled(self, stage: Stage) -> None:
        """One of the expected replies or verdicts will need no further call: it is there, or failed."""
        ...

    def failed(self, ask: Ask, failure: Failure) -> None:
        """This failed in this session, after all retries; `ask` says what it is about."""
        ...

    def tell(self, line: str) -> None:
        """A line that the user should read."""
        ...

    def end(self) -> None:
        """The flow is over, one way or another."""
        ...


class Unwatched:
    """Nobody watches."""

    def _see_nothing(self, *_: Any, **__: Any) -> None:
        """Nobody is there to see it."""

    begin = called = settled = failed = tell = end = _see_nothing
