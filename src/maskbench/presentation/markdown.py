"""Blocks as Markdown, as people paste it into a pull request: whatever a model wrote is shown as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from maskbench.plain import literal
from maskbench.presentation.blocks import (
    Block,
    Facts,
    Heading,
    Inline,
    Listed,
    Section,
    Sentence,
    Table,
    Warn,
    Words,
    as_text,
)


def render(blocks: Sequence[Block | Section]) -> str:
    """The blocks as Markdown, sections under their titles."""
    return "\n\n".join(map(_block, as_text(blocks))) + "\n"


def table(
    columns: Sequence[Inline], rows: Iterable[Sequence[Inline]], texts: int = 1, *, last_text: bool = False
) -> str:
    """A table whose first `texts` columns are text, and the last where it explains; the others are figures."""
    block = Table(tuple(columns), tuple(map(tuple, rows)), "", texts, last_text)
    marks = ["---" if kind == "text" else "---:" for kind in block.kinds]
    cells = [[_inline(cell) for cell in line] for line in (block.head, *block.rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (cells[0], marks, *cells[1:]))


def escaped(text: str) -> str:
    """The text as it is, on one line: no markup, no HTML, no link, and nobody mentioned."""
    return re.sub(r"@(?=\w)|(?<=\bwww)(?=\.)", lambda sign: f"{sign[0]}<!-- -->", literal(text))


def _block(block: Any) -> str:
    match block:
        case Section():
            return f"### {escaped(block.title)}"
        case Sentence():
            return _paragraph("".join(map(_inline, block.parts)))
        case Warn():
            return f"> **{escaped(block.text)}**"
        case Heading():
            return f"#### {escaped(block.text)}"
        case Listed():
            return "\n".join(f"- {escaped(item)}" for item in block.items)
        case Facts():
            return "\n".join(f"- **{escaped(label)}**: {_lines(value)}" for label, value in block.rows)
        case Table():
            caption = f"{escaped(block.caption)}\n\n" if block.caption else ""
            return caption + table(block.head, block.rows, block.texts, last_text=block.last_text)
        case _:
            return _paragraph(escaped(block))


def _lines(text: str) -> str:
    return "<br>".join(map(escaped, text.split("\n")))


def _paragraph(text: str) -> str:
    """The text so that its beginning makes no list and no line of it."""
    return re.sub(r"^([-+=])", r"\\\1", re.sub(r"^(\d+)([.)])", r"\1\\\2", text))


def _inline(words: Inline) -> str:
    if not isinstance(words, Words):
        return escaped(words)
    return f"**{escaped(words.text)}**" if words.how == "strong" else escaped(words.text)
