"""Tables that benchmarks write beside the pages of docs/, as CSV."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """One line a row, under the names of the first row's columns."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
