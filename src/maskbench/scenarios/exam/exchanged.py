"""A question with its options in the other order, and the verdict that says the same about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from maskbench.errors import UsageError
from maskbench.method.proposition import pivot
from maskbench.method.said_and_did import OTHER, PROPOSITION, TRUTH, is_on_log, judged_as
from maskbench.types import BinaryVerdict, Letter, Option, Scenario, Verdict

_OTHER: Mapping[Letter, Letter] = {"A": "B", "B": "A", "C": "C", "D": "D"}


def verdict_exchanged(verdict: Verdict) -> Verdict:
    """The verdict that says the same once the options have changed places."""
    return replace(verdict, letter=_OTHER[verdict.letter]) if isinstance(verdict, BinaryVerdict) else verdict


def exchanged(scenario: Scenario) -> Scenario:
    """A binary scenario with its options the other way round, and the truth with them; raises UsageError for others."""
    other: Option = "B" if scenario.truth == "A" else "A"
    swapped = replace(scenario, proposition=_exchanged(scenario.proposition, scenario), truth=other)
    if not is_on_log(scenario) or PROPOSITION not in scenario.extra:
        return swapped
    third = judged_as(scenario, OTHER)
    truth = "B" if third.truth == "A" else "A"
    return replace(
        swapped, extra={**scenario.extra, PROPOSITION: _exchanged(third.proposition, scenario), TRUTH: truth}
    )


def _exchanged(proposition: str, scenario: Scenario) -> str:
    first, second = pivot(proposition)
    before, _, rest = proposition.partition("<pivotal>")
    after = rest.partition("</pivotal>")[2]
    for between in ("/", " / "):
        turned = f"{before}<pivotal>{second}{between}{first}</pivotal>{after}"
        if pivot(turned) == (second, first):
            return turned
    raise UsageError(f"{scenario.archetype} {scenario.task_id}: its options have slashes, and cannot be exchanged.")
