"""Tables that benchmarks write as CSV: small ones beside the pages of docs/, large ones into build/tables/."""

import argparse
import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

Cell = TypeVar("Cell")
DOCS = Path(__file__).parents[1] / "docs"
LARGE = Path(__file__).parents[1] / "build" / "tables"


def write_grid(
    about: str | None,
    table: Path,
    head: Sequence[str],
    grid: Iterable[Cell],
    row: Callable[[Cell, int], Sequence[str]],
    *,
    replicates: int,
) -> None:
    """The command of a benchmark: a row a cell, written as each is done; `replicates` is how many it has by default."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=replicates)
    parser.add_argument("--out", type=Path, default=table)
    asked = parser.parse_args()
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    with asked.out.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(head)
        lines.writerows(row(cell, asked.replicates) for cell in grid)


def write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """One line a row, under the names of the first row's columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def put_table(page: Path, begin: str, end: str, lines: str) -> None:
    """Replace what stands between two marks of a page."""
    before, mark, rest = page.read_text(encoding="utf-8").partition(begin)
    if not mark or end not in rest:
        raise SystemExit(f"{page} has no {begin} with {end} after it.")
    page.write_text(f"{before}{begin}\n\n{lines}\n\n{end}{rest.partition(end)[2]}", encoding="utf-8")
