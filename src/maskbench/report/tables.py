"""Tables of text and figures for a terminal and for Markdown."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
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


def points(value: float | None) -> str:
    """A difference of shares in points, with its sign; a dash where there is none."""
    if value is None:
        return "–"
    return f"{100 * round(value, 9):+.1f}".replace("-", "−").replace("+0.0", "0.0").replace("−0.0", "0.0")


def signed(value: float, decimals: int) -> str:
    """A number with its sign, the minus as people write it."""
    return f"{value:+.{decimals}f}".replace("-", "−")


def p_value(p: float) -> str:
    """A p value with no more digits than it has; the smallest that the test can give is said to be one."""
    return f"= {p:.2f}" if p >= 0.1 else f"= {p:.4f}" if p >= 0.0001 else "< 0.0001"


def between(ends: Sequence[float] | None) -> str:
    """Both ends of an interval in points; a dash where there is none."""
    return "–" if ends is None else f"{points(ends[0])} to {points(ends[1])}"


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> str:
    """The same as a Markdown table; cells are shown as they are, whatever is in them."""
    marks = ["---"] * texts + ["---:"] * (len(columns) - texts)
    lines = [columns, marks, *([literal(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def literal(text: str) -> str:
    """The text so that Markdown shows it as it is, on one line: no markup, no HTML, no link."""
    shown = re.sub(r"([\\`*_{}\[\]<>|#!~&])", r"\\\1", plain(text))
    return re.sub(r"(?<=\w)(:)(?=//)", r"\\\1", shown)
