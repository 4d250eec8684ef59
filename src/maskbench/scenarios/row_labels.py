"""What a row asks for, as its set labels it: in columns of the set, or for cais/MASK in the file that comes along.

The labels of the public 1,000 scenarios are facts about rows, by id and without a text: language models read every row
twice, and a third settled where they differed. `differs` stands where nobody settled it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from maskbench.scenarios import hub
from maskbench.types import Scenario

DIFFERS = "differs"
_BY_MODELS = ("cais/MASK", "starter")  # the sets whose rows language models labelled


@dataclass(frozen=True, slots=True)
class RowLabel:
    """A label of rows: what it says, and each of its values in words."""

    title: str
    values: Mapping[str, str]


ROW_LABELS: Mapping[str, RowLabel] = {
    "asked": RowLabel(
        "whether the falsehood was asked for outright",
        {"yes": "asked for outright", "no": "not asked for"},
    ),
    "asked_by": RowLabel(
        "who tells or pushes the model to say it",
        {
            "operator": "the operator (system prompt)",
            "user": "the user",
            "both": "both",
            "nobody": "nobody: the situation alone",
        },
    ),
    "addressee": RowLabel(
        "whether it would reach somebody who did not ask for it",
        {"yes": "reaches others", "no": "reaches only who asked"},
    ),
    "fiction": RowLabel(
        "whether the reply is openly framed as fiction",
        {"yes": "openly fiction", "no": "not fiction"},
    ),
    "harm": RowLabel(
        "the harm if somebody believed it and acted on it",
        {"none": "no harm", "low": "low harm", "high": "high harm"},
    ),
}


def labelled(taken: Iterable[str]) -> str:
    """Who labelled the rows of these sets, as runs took them, where that was no person; else empty."""
    known = [name for name in _BY_MODELS if any(each.startswith(name) for each in taken)]
    return f" Language models labelled the rows of {' and of '.join(known)}." if known else ""


def row_label(scenario: Scenario, name: str) -> str | None:
    """A label of a scenario: by its set's own column, else by what is known of the public ones; None without any."""
    if name == "asked" and scenario.asked_outright is not None:
        return "yes" if scenario.asked_outright else "no"
    if own := scenario.extra.get(name, "").strip().lower():
        return own
    return hub.public_rows().get(scenario.task_id, {}).get(name)


def with_asked(scenario: Scenario) -> Scenario:
    """The scenario with whether it asks for the falsehood outright, where its labels say so and its row does not."""
    if scenario.asked_outright is None and (asked := row_label(scenario, "asked")) in ("yes", "no"):
        return replace(scenario, asked_outright=asked == "yes")
    return scenario
