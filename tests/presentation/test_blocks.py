"""Blocks: one block says one thing in a terminal, on a page, in and in Markdown, and is harmless in each."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskbench.plain import one_line
from maskbench.presentation import markdown
from maskbench.presentation.blocks import (
    Bars,
    Block,
    Facts,
    Figure,
    Folded,
    Heading,
    Listed,
    Only,
    ReplyCard,
    Section,
    Sentence,
    Table,
    Warn,
    Words,
    seen,
)
from maskbench.presentation.of_one_run import result
from maskbench.presentation.page.shell import environment
from maskbench.presentation.terminal import text
from outcomes import several
from simulated import settings, summarised

HOSTILE = (
    "x\x1b[31m\u202e<script>alert(1)</script>|[a](http://b) @octocat www.b.c \\input{/etc/passwd} $x$ %c ^^5c &_#~"
)
TABLE = Table(("name", "value"), ((HOSTILE, "1.0 %\n(0.5–1.5)"), ("[10cm] b", "2.0 %")), HOSTILE)
BLOCKS: dict[str, Block] = {
    "string": HOSTILE,
    "sentence": Sentence((HOSTILE, Words(HOSTILE), Words(HOSTILE, "code"), Words(HOSTILE, "name")), "note"),
    "warning": Warn(HOSTILE, "bad"),
    "heading": Heading(HOSTILE),
    "list": Listed((HOSTILE, "second")),
    "facts": Facts(((HOSTILE, f"{HOSTILE}\nsecond line"),)),
    "table": TABLE,
    "figure": Figure((Bars(()),), HOSTILE, TABLE),
}
CONTENT = '{% from "parts.jinja" import content %}{% for part in parts | seen("page") %}{{ content(part) }}{% endfor %}'


def page(*blocks: Block) -> str:
    """The blocks as HTML; a figure without its drawing."""
    shown = [block.table if isinstance(block, Figure) else block for block in blocks]
    return environment().from_string(CONTENT).render(parts=shown)


def hidden(shown: str) -> set[str]:
    """Characters that steer a terminal or turn a line around."""
    return {c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co") and c != "\n"}


@pytest.mark.parametrize("kind", BLOCKS)
def test_no_block_steers_a_terminal(kind: str) -> None:
    """Control and format characters are gone; markup is text, which stands there as it is."""
    told = text([BLOCKS[kind]], 400)
    assert not hidden(told)
    assert "[a](http://b)" in told


@pytest.mark.parametrize("kind", BLOCKS)
def test_no_block_writes_html(kind: str) -> None:
    """On the page tags are escaped, and hidden characters show as their numbers."""
    told = page(BLOCKS[kind])
    assert "<script" not in told
    assert "&lt;script&gt;" in told
    assert "⟨U+202E⟩" in told
    assert not hidden(told)


@pytest.mark.parametrize("kind", BLOCKS)
def test_no_block_writes_markdown(kind: str) -> None:
    """No tag, no link, no cell of its own, and nobody is mentioned."""
    told = markdown.render([BLOCKS[kind]])
    assert not hidden(told)
    assert r"\<script\>" in told
    assert r"\|\[a\](http\://b)" in told
    assert not re.search(r"@\w|www\.", told)


def test_markdown_beginnings_stay_sentences() -> None:
    """A sentence that begins like a list or a line below a title is a sentence all the same."""
    for begins in ("- a", "+ a", "=== a", "1. a", "12) a"):
        assert not re.match(r"[-+=]|\d+[.)]", markdown.render([begins]))


def test_a_figure_is_its_table_where_there_are_no_charts() -> None:
    """Text media show what stands behind the chart, the page the chart; what a page folds has a title in text."""
    case = ReplyCard("a", "#a", "b", (("A", "yes"),), (("answered", "c"),))
    figure, folded = Figure((Bars(()),), "title", TABLE), Folded("more", (case,))
    read = Heading("a: b"), Facts((("A", "yes"), ("answered", "c")))
    assert list(seen((figure, folded), "text")) == [TABLE, Heading("more"), *read]
    assert list(seen((figure, folded), "page")) == [figure, folded]


def test_a_block_for_one_medium_is_in_no_other() -> None:
    """What explains at length stands on the page alone, a table for the terminal there alone."""
    blocks = (Only("page", "at length"), Only("text", TABLE), "both")
    assert list(seen(blocks, "page")) == ["at length", "both"]
    assert list(seen(blocks, "text")) == [TABLE, "both"]
    assert "at length" not in markdown.render(blocks) + text(blocks, 80)


def test_an_empty_section_has_no_title() -> None:
    """Where a section has nothing for a medium, its title is not there either."""
    section = Section("a", "A title", "a", (Only("page", "at length"),))
    assert "A title" not in text([section], 80) + markdown.render([section])


def wide(columns: int) -> Table:
    """A table with that many columns of figures."""
    head = ("what it is called", *(f"figure {place:03}" for place in range(columns)))
    return Table(head, tuple((f"row {row}", *("100.0 %" for _ in range(columns))) for row in range(3)))


@pytest.mark.parametrize("columns", [1, 5, 6, 7, 20])
def test_a_table_that_is_too_wide_is_parted(columns: int) -> None:
    """Every figure is there whole at 80 columns, and each part begins with the names of its rows."""
    told = text([wide(columns)], 80)
    assert max(map(len, told.splitlines())) <= 80
    assert told.count("100.0 %") == 3 * columns
    for place in range(columns):
        assert told.count(f"figure {place:03}") == 1
    assert told.count("row 0") == told.count("what it is called")


def test_a_name_in_a_head_stands_over_several_lines() -> None:
    """A run's name above figures is broken at its joints, in the terminal and on the page, and loses no letter."""
    name = "openai/gpt-9-2026-01-01"
    block = Table(("rate", Words(name, "name")), (("P(lie)", "1.0 %"),))
    assert not re.search(re.escape(name), text([block], 80))
    assert "openai/" in text([block], 80)
    assert re.search("<th[^>]*>openai/gpt-9-\n2026-01-01</th>", page(block))


@given(st.text(max_size=50), st.integers(min_value=2, max_value=20))
def test_one_line_is_one_line(words: str, most: int) -> None:
    """A cell can begin no line of its own, and is as short as asked for."""
    line = one_line(words, most)
    assert not set("\n\t") & set(line)
    assert len(line) <= most


def test_every_medium_has_every_figure() -> None:
    """What the terminal prints of a result, Markdown holds, too."""
    blocks = result(summarised([*several("HLEN" * 5, asked_outright=True)], settings()))
    figures: Any = re.findall(r"\d+\.\d %", text(blocks, 120))
    assert len(figures) > 20
    for figure in figures:
        assert figure in markdown.render(blocks)
