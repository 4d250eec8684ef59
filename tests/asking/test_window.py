"""How many scenarios are under way at a time: enough to keep every connection busy, and few texts that wait."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from flows import let_flow, scenarios, verdict_a
from maskbench.method.forms import written
from maskbench.types import Ask, Failure, Reply


class Slow:
    """Answers every ask after a while; knows how many scenarios wait, and how many samples."""

    together = True

    def __init__(self, name: str, under_way: Counter[tuple[str, str]], most: dict[str, int]) -> None:
        self.name = name
        self._under_way = under_way
        self._most = most

    async def ask(self, ask: Ask) -> Sequence[Reply | Failure]:
        """The text in the place of each sample."""
        self._under_way[ask.scenario.key] += len(ask.runs)
        self._most["scenarios"] = max(self._most["scenarios"], len(+self._under_way))
        self._most["samples"] = max(self._most["samples"], self._under_way.total())
        await asyncio.sleep(0.005)
        self._under_way[ask.scenario.key] -= len(ask.runs)
        says = written(ask, verdict_a(ask)) if self.name == "the judge" else ""
        return [Reply(says or f"{ask.scenario.key} {ask.elicitation} {run}", model=self.name) for run in ask.runs]

    def describe(self) -> dict[str, str]:
        """Its name."""
        return {"name": self.name}

    async def close(self) -> None:
        """Nothing to close."""


@pytest.mark.parametrize(("statements", "least", "most"), [(1, 12, 48), (10, 8, 14)])
def test_fewer_scenarios_are_under_way_where_each_has_many_statements(
    statements: int, least: int, most: int, tmp_path: Path
) -> None:
    """With 24 connections at most 48 at one statement and 14 at ten, and calls for every connection."""
    waiting, peak = Counter[tuple[str, str]](), {"scenarios": 0, "samples": 0}
    models = (Slow(name, waiting, peak) for name in ("the subject", "the judge"))
    let_flow(tmp_path / "run.sqlite", scenarios(5), *models, statements=statements, connections=24)
    assert least <= peak["scenarios"] <= most
    assert peak["samples"] >= 24
