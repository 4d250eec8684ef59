"""The workers of a cluster as the process that asks them sees them, and how much each machine did."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskbench.doors import read_nodes
from maskbench.types import Json

if TYPE_CHECKING:
    from maskbench_whitebox.cluster.worker import Answered


@dataclass(slots=True, eq=False)
class Place:
    """A worker: `gone` says why it works no more, `back` waits until it is there."""

    actor: Any
    node: str = ""
    is_up: bool = False
    gone: str | None = None
    under_way: int = 0
    replies: int = 0
    seconds: float = 0.0
    restarts: int = 0
    drawn: int = 0
    drawn_before: int = 0  # by this worker before it was restarted
    warnings: tuple[str, ...] = ()
    back: asyncio.Task[None] | None = None

    def lose(self) -> None:
        """Note that it is away."""
        self.is_up, self.restarts = False, self.restarts + 1
        self.drawn_before, self.drawn = self.drawn_before + self.drawn, 0

    def take(self, answered: Answered) -> None:
        """Count what it has done."""
        self.replies += sum(answer is not None for answer in answered.answers)
        self.seconds += answered.seconds
        self.drawn, self.warnings = answered.drawn, answered.warnings


def by_node(places: Iterable[Place]) -> dict[str, Json]:
    """What each machine did, as a run's record holds it."""
    nodes: dict[str, Json] = {}
    for place in places:
        if place.node:
            row = nodes.setdefault(place.node, {"workers": 0, "replies": 0, "seconds": 0.0, "restarts": 0})
            row["workers"] += 1
            for what in ("replies", "seconds", "restarts"):
                row[what] = round(row[what] + getattr(place, what), 3)
    return nodes


def lines(name: str, places: Iterable[Place]) -> Iterator[str]:
    """What each machine did, for people."""
    for node, did in read_nodes({"cluster": by_node(places)}).items():
        yield f"{name} on {node}: {did.words}."
