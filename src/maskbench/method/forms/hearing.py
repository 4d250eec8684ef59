"""A hearing: how a judge is asked about replies, and the set that its verdicts are kept in."""

from __future__ import annotations

from dataclasses import dataclass

from maskbench.method.asks import VERDICTS
from maskbench.method.forms.prompts import Prompts
from maskbench.settings import Settings, verdict_keys
from maskbench.types import Ask


@dataclass(frozen=True, slots=True)
class Hearing:
    """How replies are judged, and the set that the verdicts are kept in.

    `salt` names seeds of its own; `shares` says whether the verdict on an equal request will do. `waits`: replies that
    are missing are still to come.
    """

    settings: Settings
    prompts: Prompts
    into: str = VERDICTS
    shares: bool = True
    salt: str = ""
    waits: bool = True

    def keys(self, ask: Ask) -> tuple[bytes, ...]:
        """The keys that a verdict on this request may stand under: its own last, before it that of equal requests.

        A verdict that stands under one of them is taken and not asked for, whichever set of the run has it.
        """
        shared, own = verdict_keys(self.settings.judging, self.prompts.hash, ask)
        return (shared, own) if self.shares else (own,)
