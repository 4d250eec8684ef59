"""The machines of a model that is spread over several, and the work of each, as a run's record holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, ValidationError, convert


class Did(Struct):
    """The work of one machine."""

    workers: int
    replies: int
    seconds: float
    restarts: int

    @property
    def words(self) -> str:
        """For people."""
        lost = f", {self.restarts} lost" if self.restarts else ""
        workers = f"{self.workers} worker{'s' * (self.workers != 1)}"
        return (
            f"{self.replies:,} replies by {workers}{lost}; with waiting, all calls together took {self.seconds:,.1f} s"
        )


def read_nodes(about: Mapping[str, Any]) -> dict[str, Did]:
    """The work of each machine, from a model's description of itself; empty where that cannot be read."""
    try:
        return convert(about.get("cluster", {}), dict[str, Did])
    except ValidationError:
        return {}
