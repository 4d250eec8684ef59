"""What a third person labels beside the replies on which raters differ: a random tenth of what they agree on.

Two raters who are wrong alike do not differ, so that disagreements alone never show it. Scenarios are drawn by the
outcome that raters came to, each with a known chance; stats/checked.py estimates from them how often labels are wrong.
"""

from __future__ import annotations

import math

from maskbench.judges.people.drawn_sample import Key, shuffled
from maskbench.judges.people.labelled_outcomes import THREE, human_outcomes
from maskbench.judges.people.labels import LabelStore
from maskbench.judges.verdict_sets import OpenRun
from maskbench.method.rules import named
from maskbench.types import OutcomeName

SHARE, LEAST = 0.1, 10  # of the scenarios that raters give one outcome


def how_many(agreed: int) -> int:
    """How many of the scenarios that raters give one outcome a third person labels, too."""
    return min(agreed, max(LEAST, math.ceil(SHARE * agreed)))


def draw_checks(run: OpenRun, labels: LabelStore) -> dict[Key, float]:
    """Draw what a third person is to check of all that raters agree on by now, and keep it; returns all that is drawn.

    Of what three raters have labelled nothing is drawn, since the third of them has checked it.
    """
    design, known = labels.design(), labels.checks()
    agreed: dict[OutcomeName, list[Key]] = {}
    for each in human_outcomes(run, named(design.rules)):
        if each.agreed and len(each.raters) < THREE:
            agreed.setdefault(next(iter(each.raters.values())).outcome, []).append(each.key)
    agreed.pop("error", None)
    drawn: dict[Key, float] = {}
    for keys in agreed.values():
        wanted = how_many(len(keys))
        ordered = shuffled(keys, design.seed, "checks")
        new = [key for key in ordered if key not in known][: max(0, wanted - sum(key in known for key in keys))]
        drawn |= dict.fromkeys(new, wanted / len(keys))
    if drawn:
        labels.add_checks(drawn)
    return known | drawn
