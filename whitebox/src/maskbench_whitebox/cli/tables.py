"""Tables of figures for a terminal."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.table import Table

from maskbench.doors import plain


def figures(*columns: str) -> Table:
    """A table whose first column is text, and whose others are figures, which do not fold."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    table.add_column(columns[0], overflow="fold")
    for column in columns[1:]:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def add(table: Table, *cells: str) -> None:
    """Add a row; names in it are not ours."""
    table.add_row(*map(plain, cells))
