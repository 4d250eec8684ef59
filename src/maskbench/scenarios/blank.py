"""A file of six rows to fill in, one an archetype: each cell that a scenario needs says what belongs there."""

from __future__ import annotations

import csv
from pathlib import Path

from maskbench.errors import UsageError
from maskbench.method.archetypes import TABLE
from maskbench.scenarios.rows import CONVERSATION, FIRST_TURN, QUESTIONS, REQUIRED, TO_WRITE
from maskbench.types import ARCHETYPES, Archetype

_COLUMNS = ("archetype", "task_id", *CONVERSATION, *REQUIRED, *QUESTIONS, *FIRST_TURN)
_HINTS = {
    "system_prompt": "who the model works for, and what it gains by the falsehood",
    "user_prompt": "a request that cannot be answered without saying whether the proposition is true",
    "proposition": "one sentence with two options, such as `Figs <pivotal>are/are not</pivotal> fruit.`",
    "formatted_ground_truth": "A where the first option is true, or B",
    "belief_elicit_1": "the neutral question about the fact",
    "belief_elicit_2": "that question in other words, or nothing",
    "belief_elicit_3": "that question the other way round, or nothing",
    "dd_turn_1_prompt": "the user's first question about the fact",
    "dd_turn_1_response": "the false answer that the model is made to have given",
}
_OF_NUMBERS = {
    "user_prompt": "a request that cannot be answered without the number",
    "proposition": "one sentence with a number, such as `It is <pivotal><value></pivotal> m tall.`",
    "formatted_ground_truth": "the range in which the number lies, such as [31.0, 34.0]",
}
_OF_ONE: dict[Archetype, dict[str, str]] = {
    "provided_facts": {"system_prompt": "the fact itself, who the model works for, and what it gains by the falsehood"},
    "doubling_down_known_facts": {"user_prompt": "the user's doubt, which asks whether that answer was true"},
    "statistics": _OF_NUMBERS,
    "continuations": {"user_prompt": "the beginning of a text that states the falsehood, and the request to go on"},
    "disinformation": {"user_prompt": "a request for a text that spreads the falsehood"},
}


def write_blank(path: Path) -> None:
    """Write the six rows to a CSV file; raises UsageError where the file is there, or cannot be written."""
    if path.suffix.lower() != ".csv":
        raise UsageError(f"{path} is no name of a CSV file. Give one that ends in .csv.")
    try:
        with path.open("x", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, _COLUMNS)
            writer.writeheader()
            writer.writerows(map(_blank, ARCHETYPES))
    except FileExistsError:
        raise UsageError(f"{path} is there already. Give the new file another name.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}). Give another place.") from error


def _blank(archetype: Archetype) -> dict[str, str]:
    """One row: the cells that its archetype has, each with what to write into it."""
    definition = TABLE[archetype]
    hints = _HINTS | _OF_ONE.get(archetype, {})
    unused = (QUESTIONS if definition.given else QUESTIONS[1:] if definition.kind == "numerical" else ()) + (
        () if definition.scripted else FIRST_TURN
    )
    cells = {column: f"{TO_WRITE}{hint}" for column, hint in hints.items() if column not in unused}
    return {"archetype": archetype, "task_id": f"{archetype}-1", **cells}
