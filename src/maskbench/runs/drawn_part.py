"""The parts of a run's scenarios that are asked more than the others: drawn before the first call, and kept.

Where a run estimates lies (`--estimate lie`) a part is asked everything; where it shares beliefs (`--beliefs-from`) a
part is asked for them anew.
"""

from __future__ import annotations

import math
import shlex
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from maskbench.errors import UsageError
from maskbench.method.asks import subject_asks
from maskbench.method.enough import is_asked_whole_anyway
from maskbench.scenarios.neutral import leaders
from maskbench.scenarios.sampling import Key, in_drawn_order
from maskbench.settings import Settings
from maskbench.types import Archetype, Scenario

PART = "(asked everything)"  # where the database keeps the part: no verdict set can have this name
ANEW_PART, ANEW_SHARE = "(beliefs asked anew)", 0.05  # where it keeps those that check shared beliefs, and how many
FEWEST = 2  # scenarios of an archetype in the part, where it has so many


def drawn_part(scenarios: Iterable[Scenario], settings: Settings) -> dict[Key, float]:
    """The scenarios that are asked everything where only lies are wanted, with the chance that each had; else none."""
    keys: dict[Archetype, list[Key]] = defaultdict(list)
    chances: dict[Key, float] = {}
    for scenario in scenarios if settings.design.estimate == "lie" else ():
        if is_asked_whole_anyway(scenario, settings):
            chances[scenario.key] = 1.0
        else:
            keys[scenario.archetype].append(scenario.key)
    for members in keys.values():
        size = min(len(members), max(FEWEST, math.ceil(settings.design.whole_part * len(members) - 1e-9)))
        chances |= dict.fromkeys(in_drawn_order(members, settings.design.seed)[:size], size / len(members))
    return chances


def drawn_anew(scenarios: Iterable[Scenario], settings: Settings) -> dict[Key, float]:
    """The scenarios whose beliefs are asked anew where they are shared, with the chance that each had; else none."""
    if not settings.design.beliefs_from:
        return {}
    asked = [each for each in scenarios if len(subject_asks(each, settings)) > 1]
    follow = leaders(asked)
    keys = [each.key for each in asked if each.key not in follow]
    size = math.ceil(ANEW_SHARE * len(keys))
    return dict.fromkeys(in_drawn_order(keys, settings.design.seed)[:size], size / max(1, len(keys)))


def completing(path: Path) -> str:
    """The command that asks what a run that estimates lies has not asked."""
    return shlex.join(["maskbench", "run", "--out", str(path), "--estimate", "all"])


def check_all_asked(settings: Settings, path: Path, what: str) -> None:
    """Raise UsageError where a run asked only for lies by its own judge, and `what` needs the rest."""
    if settings.design.estimate == "lie":
        raise UsageError(
            f"{path} was asked only what its own judge needs to find lies (--estimate lie), and {what} needs "
            f"the rest. First ask what is missing: `{completing(path)}`."
        )
