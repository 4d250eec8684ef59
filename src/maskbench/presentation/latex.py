r"""Blocks as LaTeX, as people paste it into a paper: `\usepackage{booktabs}` is all that it takes.

Whatever a model wrote is text there and no command; signs of ours that pdfLaTeX's fonts lack are written out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from maskbench.plain import plain
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

_SIGNS = {
    **{sign: rf"\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': r"\char34{}",
    "'": "'{}",  # two of them would be a quotation mark
    "-": "-{}",  # two of them would be a dash
    "[": "{[}",  # after a line's end it would begin an option
    "]": "{]}",
    "*": "{*}",
    "?": "?{}",  # with a grave accent it would be another sign
    "!": "!{}",
    "–": "--",
    "−": "$-$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "→": r"$\rightarrow$",
    "↓": r"$\downarrow$",
    "κ": r"$\kappa$",
    "…": r"\ldots{}",
    "“": "``",
    "”": "''",
    "’": "'{}",
}
_BREAK = r"\newline "
_ESCAPES = re.compile("|".join(map(re.escape, _SIGNS)))


def render(blocks: Sequence[Block | Section]) -> str:
    """The blocks as LaTeX, sections under their titles."""
    return "\n\n".join(("% needs \\usepackage{booktabs}", *map(_block, as_text(blocks)))) + "\n"


def shown(text: str) -> str:
    """The text as LaTeX sets it letter by letter, on one line: no command, no comment, no option."""
    return _ESCAPES.sub(lambda sign: _SIGNS[sign[0]], plain(text))


def _block(block: Any) -> str:
    match block:
        case Section():
            return rf"\subsection*{{{shown(block.title)}}}"
        case Sentence():
            return "".join(map(_inline, block.parts))
        case Warn():
            return rf"\textbf{{{shown(block.text)}}}"
        case Heading():
            return rf"\paragraph*{{{shown(block.text)}}}"
        case Listed():
            return _environment("itemize", [rf"\item {shown(item)}" for item in block.items])
        case Facts():
            items = [rf"\item[{{{shown(label)}}}] {_lines(value, _BREAK)}" for label, value in block.rows]
            return _environment("description", items)
        case Table():
            return _table(block)
        case _:
            return shown(block)


def _table(table: Table) -> str:
    """A table with rules as booktabs draws them; what explains a row is a paragraph, so that it breaks."""
    last = len(table.head) - 1
    explains = [table.last_text and place == last for place in range(len(table.head))]
    columns = "".join(
        r"p{0.35\linewidth}" if long else "l" if kind == "text" else "r"
        for kind, long in zip(table.kinds, explains, strict=True)
    )
    head, *rows = (rf"{' & '.join(map(_inline, row))} \\" for row in (table.head, *table.rows))
    tabular = _environment("tabular", [r"\toprule", head, r"\midrule", *rows, r"\bottomrule"], f"{{{columns}}}")
    caption = [rf"\caption{{{shown(table.caption)}}}"] if table.caption else []
    return _environment("table", [r"\centering\small", *caption, tabular])


def _environment(name: str, lines: Sequence[str], argument: str = "") -> str:
    return "\n".join((rf"\begin{{{name}}}{argument}", *lines, rf"\end{{{name}}}"))


def _lines(text: str, ends: str) -> str:
    return ends.join(map(shown, text.split("\n")))


def _inline(words: Inline) -> str:
    if not isinstance(words, Words):
        return _lines(words, " ")
    if words.how == "strong":
        return rf"\textbf{{{shown(words.text)}}}"
    return rf"\texttt{{{shown(words.text)}}}" if words.how == "code" else shown(words.text)
