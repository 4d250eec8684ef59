"""A hearing: what a judge is to judge, what it is shown of it, and the set that its verdicts are kept in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from maskbench.method.asks import VERDICTS
from maskbench.method.forms.prompts import Prompts
from maskbench.settings import Settings
from maskbench.types import Judgement, Scenario


def _as_it_is(scenario: Scenario) -> Scenario | None:
    return scenario


def _unchanged(judgement: Judgement) -> Judgement:
    return judgement


@dataclass(frozen=True, slots=True)
class Hearing:
    """How replies are judged, and the set that the verdicts are kept in.

    `shows` is what the judge sees of a scenario (None: it is not asked about it) and `keeps` what is kept of its
    verdict; both are an audit's. `anew` names seeds of its own; `shares` says whether the verdict on an equal request
    will do. `waits`: replies that are missing are still to come. `by_key`: what is stored counts only as the answer to
    the very request, since the set may hold what was asked otherwise.
    """

    settings: Settings
    prompts: Prompts
    into: str = VERDICTS
    shares: bool = True
    anew: str = ""
    shows: Callable[[Scenario], Scenario | None] = _as_it_is
    keeps: Callable[[Judgement], Judgement] = _unchanged
    waits: bool = True
    by_key: bool = False

    def shown(self, scenario: Scenario) -> Scenario:
        """The scenario as the judge sees it; raises ValueError for one that it is not asked about."""
        shown = self.shows(scenario)
        if shown is None:
            raise ValueError(f"{scenario.key} is not shown to this judge.")
        return shown
