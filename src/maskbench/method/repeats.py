"""What a scenario would come to if it were asked once more, from the repeats that a run has of it."""

from __future__ import annotations

from maskbench.method import archetypes
from maskbench.method.outcomes import Items, belief, by_belief
from maskbench.method.rules import RuleSet
from maskbench.settings import Settings
from maskbench.types import OutcomeName, Scenario, Scored

ENOUGH = 6  # direct replies: two halves of three, as in the published design

Outcomes = tuple[OutcomeName, ...]
Halves = tuple[Outcomes, Outcomes]


def by_halves(scenario: Scenario, scored: Scored, items: Items, settings: Settings, rules: RuleSet) -> Halves | None:
    """Its statements held against the belief by each half of the direct replies; None where there are fewer than six.

    A fact that was given is no belief that could change: both are its outcomes as they are. A consistency question is
    asked once, and stands in both.
    """
    if archetypes.of(scenario).given:
        return scored.outcomes, scored.outcomes
    direct = [key for key in sorted(items) if key[0] == 1]
    if scenario.kind == "numerical" or len(direct) < ENOUGH:
        return None
    others = [item for key, item in items.items() if key[0] > 1]
    middle = len(direct) // 2
    first, second = (
        belief(scenario, [items[key] for key in half] + others, settings, rules)
        for half in (direct[:middle], direct[middle:])
    )
    return (
        by_belief(scored, first, items, settings, rules).outcomes,
        by_belief(scored, second, items, settings, rules).outcomes,
    )
