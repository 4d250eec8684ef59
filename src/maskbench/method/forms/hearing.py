"""A hearing: how a judge is asked about replies, and the set that its verdicts are kept in."""

from __future__ import annotations

from dataclasses import dataclass

from maskbench.method.asks import VERDICTS
from maskbench.method.forms.prompts import Prompts
from maskbench.settings import Settings


@dataclass(frozen=True, slots=True)
class Hearing:
    """How replies are judged, and the set that the verdicts are kept in.

    `anew` names seeds of its own; `shares` says whether the verdict on an equal request will do. `waits`: replies that
    are missing are still to come.
    """

    settings: Settings
    prompts: Prompts
    into: str = VERDICTS
    shares: bool = True
    anew: str = ""
    waits: bool = True
