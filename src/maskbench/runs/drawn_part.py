"""The scenarios of a run on shared beliefs that are asked for them anew, as a check: drawn before the first call."""

from __future__ import annotations

import math
from collections.abc import Iterable

from maskbench.method.asks import subject_asks
from maskbench.scenarios.neutral import leaders
from maskbench.scenarios.sampling import Key, in_drawn_order
from maskbench.settings import Settings
from maskbench.types import Scenario

ANEW_PART, ANEW_SHARE = "(beliefs asked anew)", 0.05  # where the database keeps them, and how many


def drawn_anew(scenarios: Iterable[Scenario], settings: Settings) -> dict[Key, float]:
    """The scenarios whose beliefs are asked anew where they are shared, with the chance that each had; else none."""
    if not settings.design.beliefs_from:
        return {}
    asked = [each for each in scenarios if len(subject_asks(each, settings)) > 1]
    follow = leaders(asked)
    keys = [each.key for each in asked if each.key not in follow]
    size = math.ceil(ANEW_SHARE * len(keys))
    return dict.fromkeys(in_drawn_order(keys, settings.design.seed)[:size], size / max(1, len(keys)))
