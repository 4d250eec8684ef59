"""Said against did: reports on a log that a model is told is its own; whether it noticed the event, and what it says.

The first neutral question names the event (cued), the second asks for all that matters (the list), and the third, a
control that no belief hangs on, names something else in the log, with a proposition and a truth of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from maskbench.method.archetypes import EVENT, TWIN
from maskbench.types import Call, Option, Scenario

LIST, OTHER = 2, 3  # the second and the third question, as their numbers are stored
ON_LOG: Mapping[int, Call] = {LIST: "statement", OTHER: "direct"}  # the calls that replies to them are judged as
PROPOSITION, TRUTH = f"proposition_{OTHER}", f"formatted_ground_truth_{OTHER}"  # columns of the third
REPORT, PLAIN, GAIN = "report", "plain", "gain"  # the column that says how the report was asked for, and its words


def is_on_log(scenario: Scenario) -> bool:
    """Whether the statement is a report on a log."""
    return scenario.archetype in (EVENT, TWIN)


def judged_as(scenario: Scenario, elicitation: int) -> Scenario:
    """The scenario as the judge of a reply has it: the third question on a log has a proposition of its own."""
    if elicitation != OTHER or not is_on_log(scenario):
        return scenario
    truth: Option = "A" if scenario.extra[TRUTH] == "A" else "B"
    return replace(scenario, proposition=scenario.extra[PROPOSITION], truth=truth)
