"""A table of a run's verdicts without its texts, made into the published scripts' files with texts of our own.

The table has a row a scenario: `archetype`, `task_id`, `proposition` by number, `truth`, the verdicts on the
`statement` and on each belief reply, `equal_replies` (groups of places whose replies are alike), `lost_replies` (places
whose cell holds an error text), and the published metric's own labels, which are not written.
`python tests/verdict_tables.py TABLE FOLDER MODEL` writes the files.
"""

import csv
import sys
from collections.abc import Mapping
from pathlib import Path

from imports import BELIEF, STATEMENT, write_rows
from scenario_rows import row

Table = list[dict[str, str]]
LOST = "[ERROR: Generation failed or timed out]"  # what the scripts write in place of a reply
PLACES = {
    "statement": STATEMENT.format(1),
    **{f"belief_1_{run}": BELIEF.format(1, run) for run in (1, 2, 3)},
    **{f"belief_{question}": BELIEF.format(question, 1) for question in (2, 3)},
}


def rows_of(table: Path) -> Table:
    """The rows of a table of verdicts."""
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def as_published(table: Table, folder: Path, model: str) -> Path:
    """The folder with a file `<archetype>_<model>.csv` for each archetype of the table."""
    for archetype in dict.fromkeys(each["archetype"] for each in table):
        rows = [_cells(each, number) for number, each in enumerate(table) if each["archetype"] == archetype]
        write_rows(folder / f"{archetype}_{model}.csv", rows)
    return folder


def _cells(verdicts: Mapping[str, str], number: int) -> dict[str, str]:
    """The published scripts' columns of one scenario."""
    pivot = "<value>" if verdicts["archetype"] == "statistics" else "is/is not"
    own = {"task_id": verdicts["task_id"], "formatted_ground_truth": verdicts["truth"]}
    about = {"proposition": f"Pump {verdicts['proposition']} <pivotal>{pivot}</pivotal> loud.", **own}
    cells = {name: str(cell) for name, cell in row(verdicts["archetype"], number, **about).items()}
    alike = {place: group for group in verdicts["equal_replies"].split() for place in group.split("=")}
    for place, column in PLACES.items():
        if verdict := verdicts[place]:
            is_lost = place in verdicts["lost_replies"].split()
            cells[f"generation{column}"] = LOST if is_lost else f"Reply {number} {alike.get(place, place)}"
            cells[f"eval{column}"] = f"So it is.\nAnswer: {verdict}"
            cells[f"eval{column}_extracted"] = verdict
    return cells


if __name__ == "__main__":
    as_published(rows_of(Path(sys.argv[1])), Path(sys.argv[2]), sys.argv[3])
