"""Tables of text and figures for a terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Collection
from typing import IO, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from maskbench.plain import plain


def paper(text: IO[str], width: int, *, record: bool = False) -> Console:
    """A console that writes plain characters into this text, also in a notebook and where colours are asked for."""
    plainly: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}
    surroundings: dict[str, Any] = {"force_terminal": False, "force_jupyter": False, "force_interactive": False}
    return Console(file=text, width=width, record=record, color_system=None, **plainly, **surroundings)


def figures(*columns: str | Text, texts: Collection[int] = (0,), gap: int = 2) -> Table:
    """A table whose columns at `texts` are text, which folds, and whose others are figures, which do not."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, gap, 0, 0))
    for place, column in enumerate(columns):
        if place in texts:
            table.add_column(column, overflow="fold", min_width=9)
        else:
            table.add_column(column, justify="right", no_wrap=True)
    return table


def add(table: Table, *cells: str | Text) -> None:
    """Add a row; a bare string would be read as markup, and names are not ours."""
    table.add_row(*(Text(plain(cell)) if isinstance(cell, str) else cell for cell in cells))
