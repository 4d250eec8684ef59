"""1,000 rows in the layout of the public data set (method.md section 8): its files, ids, columns and oddities.

No text is from there, and no truth. `python tests/published_layout.py FOLDER` writes the six CSV files.
"""

import sys
from pathlib import Path
from random import Random

from maskbench.scenarios.hub import SIZES, public_rows
from maskbench.types import Archetype
from scenario_rows import Cells, write_csv, write_parquet

CANARY = "No benchmark of ours may be trained on (canary 0f0e0d0c-1111-4222-8333-444455556666)"
PROPOSITIONS = 944  # different ones
TWICE = 50  # propositions of doubling_down_known_facts that stand in known_facts, too
SHARE_A = {"known_facts": 0.85, "continuations": 0.25}  # elsewhere half of the true options are A
OPEN = 45  # the row of statistics whose truth is open on one side
AT_ODDS = (7, 11)  # rows of continuations whose sentence is option B, and whose letter is A
COMMON = ("task_id", "system_prompt", "user_prompt", "type", "proposition", "ground_truth")
LAST = ("delivery", "formatted_ground_truth", "canary")
TURNS = ("dd_turn_1_prompt", "dd_turn_1_response")
QUESTIONS = ("belief_elicit_1", "belief_elicit_2", "belief_elicit_3")


def columns(archetype: Archetype) -> tuple[str, ...]:
    """The columns of an archetype's file, in order."""
    asked = {"provided_facts": (), "statistics": QUESTIONS[:1]}.get(archetype, QUESTIONS)
    turns = TURNS if archetype == "doubling_down_known_facts" else ()
    return (*COMMON, *turns, *asked, *LAST)


def rows() -> dict[Archetype, list[Cells]]:
    """Every row, by archetype."""
    return {name: [row(name, number) for number in range(size)] for name, size in SIZES.items()}


def row(archetype: Archetype, number: int) -> Cells:
    """One row, always the same for the same number."""
    rng = Random(f"{archetype} {number}")
    about = _about(archetype, number)
    cells: Cells = {
        "task_id": ids(archetype)[number],
        "system_prompt": f'You run the desk, "as always", for {about},\n\nand a bonus of {rng.randint(2, 90)}.',
        "user_prompt": f"Before the shift ends, one line on {about}:\n- short,\n- no ifs, no buts – “please”.",
        "type": "binary",
        "delivery": str(rng.randint(0, 3)),
        "canary": CANARY,
        "dd_turn_1_prompt": f"Quick one: is {about} shut?",
        "dd_turn_1_response": f"No, {about} is open.",
        **dict(zip(QUESTIONS, _questions(about), strict=True)),
        **(_number(about, number, rng) if archetype == "statistics" else _options(archetype, about, number, rng)),
    }
    return {column: cells[column] for column in columns(archetype)}


def ids(archetype: Archetype) -> list[str]:
    """The public ids of an archetype."""
    return [task_id for task_id, row in public_rows().items() if row["archetype"] == archetype]


def _about(archetype: Archetype, number: int) -> str:
    """What the row's proposition is on: some rows share one, so that there are as many as in the public set."""
    if archetype == "doubling_down_known_facts" and number < TWICE:
        archetype = "known_facts"
    if archetype == "disinformation" and number < sum(SIZES.values()) - TWICE - PROPOSITIONS:
        archetype = "continuations"
    return f"gate {number} of the {archetype.replace('_', ' ')} yard"


def _questions(about: str) -> tuple[str, str, str]:
    return f"Is {about} shut, or how high is it?", f"Can a cart pass {about} now?", f"Would a guard wait at {about}?"


def _options(archetype: Archetype, about: str, number: int, rng: Random) -> Cells:
    letter = "A" if rng.random() < SHARE_A.get(archetype, 0.5) else "B"
    sentence = f"{about[0].upper()}{about[1:]} {'is' if letter == 'A' else 'is not'} shut."
    if archetype == "continuations" and number in AT_ODDS:
        letter, sentence = "A", f"{about[0].upper()}{about[1:]} is not shut."
    return {
        "proposition": f"{about[0].upper()}{about[1:]} <pivotal>is/is not</pivotal> shut.",
        "ground_truth": sentence,
        "formatted_ground_truth": letter,
    }


def _number(about: str, number: int, rng: Random) -> Cells:
    low = round(rng.uniform(8, 13), 1)
    high = None if number == OPEN else round(low + rng.choice((0.0, 0.5, 3.0)), 1)
    return {
        "type": "numerical",
        "proposition": f"{about[0].upper()}{about[1:]} is <pivotal><value></pivotal> feet high.",
        "ground_truth": f"It is {low} feet high{'.' if high else ' at least.'}",
        "formatted_ground_truth": repr([low, high]),
    }


def as_csv(place: Path) -> Path:
    """Six CSV files in one folder, named after the archetypes."""
    for archetype, cells in rows().items():
        write_csv(place / f"{archetype}.csv", cells)
    return place


def as_parquet(place: Path) -> Path:
    """A folder an archetype with one split in Parquet, as the hub's copy has them."""
    for archetype, cells in rows().items():
        write_parquet(place / archetype / "test-00000-of-00001.parquet", cells)
    return place


if __name__ == "__main__":
    as_csv(Path(sys.argv[1]))
