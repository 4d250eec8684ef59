"""Blocks of a report, before any medium: sentences, tables, facts, figures as data, warnings, in sections.

A section is one file of `report/sections` that makes these blocks. `terminal.py`, `markdown.py` and the
templates of `pages` show them: how a block looks is theirs, what it says is the section's. Blocks hold texts of models
and endpoints as they are (on one line, see `plain.one_line`); each medium makes them harmless in its own way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

from msgspec import Struct, field

from maskbench.stats.figures import Share
from maskbench.types import OutcomeName

Medium = Literal["page", "text"]  # text: terminal and Markdown
How = Literal[
    "strong",
    "code",
    "name",
    "link",
    "good",
    "bad",
    "honest",
    "lie",
    "evasive",
    "no_belief",
    "error",
]
Tone = Literal["plain", "note", "caution", "bad", "good"]
Ends = tuple[float, float]
Key = tuple[tuple[str, str], ...]  # colours by name in page.css, and what they stand for
Json = Mapping[str, Any]


class Words(Struct, frozen=True):
    """Words that stand out: strong ones, a command, an outcome in its colour, a run's name that may be broken.

    A link leads to a place on the same page, and is words alone in every other medium.
    """

    text: str
    how: How = "strong"
    link: str = ""


Inline = str | Words


class Sentence(Struct, frozen=True):
    """A sentence or several; a bare string is one, too."""

    kind: ClassVar[str] = "sentence"
    parts: tuple[Inline, ...]
    tone: Tone = "plain"

    @property
    def text(self) -> str:
        """The sentence without emphasis."""
        return "".join(map(text_of, self.parts))


class Warn(Struct, frozen=True):
    """A sentence that must not be overlooked; `bad` where it takes the result away, else a caution."""

    kind: ClassVar[str] = "warning"
    text: str
    tone: Tone = "caution"


class Heading(Struct, frozen=True):
    """A title inside a section."""

    kind: ClassVar[str] = "heading"
    text: str


class Listed(Struct, frozen=True):
    """Sentences, one below the other."""

    kind: ClassVar[str] = "list"
    items: tuple[str, ...]


class Facts(Struct, frozen=True):
    """Labels with what is to say on each; a text may have several lines."""

    kind: ClassVar[str] = "facts"
    rows: tuple[tuple[str, str], ...]


class Table(Struct, frozen=True):
    """A table: the first `texts` columns are text, and the last where it explains; the others are figures.

    A line break in a cell parts a figure from its interval. Where there are `bars`, one a row, a terminal shows them as
    the last column; and a line below the first `above` rows, where more follow.
    """

    kind: ClassVar[str] = "table"
    head: tuple[Inline, ...]
    rows: tuple[tuple[Inline, ...], ...]
    caption: str = ""
    texts: int = 1
    last_text: bool = False
    bars: tuple[Mix, ...] = ()
    above: int = 0

    @property
    def kinds(self) -> tuple[Literal["text", "figure"], ...]:
        """What each column holds."""
        last = len(self.head) - 1
        return tuple(
            "text" if place < self.texts or (self.last_text and place == last) else "figure"
            for place in range(len(self.head))
        )


# Figures as data


class PointRow(Struct, frozen=True):
    """One rate on a line of its own; `reach` are bounds."""

    label: str
    estimate: Share
    colour: str = "ink"
    reach: Ends | None = None


class Segment(Struct, frozen=True):
    """A part of a bar: what it is, its colour by name in page.css, its share."""

    name: str
    colour: str
    share: Share


class Mix(Struct, frozen=True):
    """A bar: parts that add up to 1."""

    label: str
    parts: tuple[Segment, ...]


class Line(Struct, frozen=True):
    """Shares over k, each with its interval, and bounds that failures imply; `end` is its name there."""

    label: str
    colour: str
    points: Mapping[float, Share]
    bounds: Mapping[float, Ends] = field(default_factory=dict)
    shape: str = "circle"
    end: str = ""


class Point(Struct, frozen=True):
    """A run, by its place and its name, in the plane of accuracy and honesty."""

    place: int
    label: str
    across: Share
    up: Share


class Bars(Struct, frozen=True):
    """Bars of parts, one a row; `of` is what the shares are of. On a terminal they stand without a figure, too."""

    kind: ClassVar[str] = "bars"
    mixes: tuple[Mix, ...]
    of: str = "scenarios"
    thick: float = 30


class Points(Struct, frozen=True):
    """Rates with their intervals, one a line, or differences of rates; a string is a heading between them."""

    rows: tuple[PointRow | str, ...]
    axis: str = "share of scenarios"
    differences: bool = False


class Curve(Struct, frozen=True):
    """Lines over k; `marked` is one place of it, `band` and `around` what shares are there by chance."""

    lines: tuple[Line, ...]
    across: str
    up: str
    marked: float | None = None
    band: Ends | None = None
    around: tuple[float, ...] = ()


class Plane(Struct, frozen=True):
    """Runs between two rates, each of which has an axis with a name; or across powers of ten, given as logarithms."""

    points: tuple[Point, ...]
    across: str
    up: str
    powers: bool = False


class Flow(Struct, frozen=True):
    """Counts of scenarios that went from each outcome of one run (outer keys) to each of another (inner keys)."""

    first: str
    other: str
    counts: Mapping[OutcomeName, Mapping[OutcomeName, int]]


Chart = Bars | Points | Curve | Plane | Flow


class Figure(Struct, frozen=True):
    """Charts with a title and the table behind them, which is all that a medium without charts shows."""

    kind: ClassVar[str] = "figure"
    charts: tuple[Chart, ...]
    title: str
    table: Table
    key: Key = ()
    note: str = ""


class Panel(Struct, frozen=True):
    """A small chart beside others; none where it has no rates."""

    title: str
    charts: tuple[Chart, ...]
    text: str = ""
    count: str = ""


class Panels(Struct, frozen=True):
    """Small charts of one kind, with one table behind them all."""

    kind: ClassVar[str] = "panels"
    title: str
    panels: tuple[Panel, ...]
    table: Table
    key: Key = ()
    note: str = ""


def chart_or_table(chart: Points, title: str, table: Table, key: Key = ()) -> Figure | Table:
    """A chart with the table behind it; the table alone where no row has a value."""
    able = any(isinstance(row, PointRow) and row.estimate.value is not None for row in chart.rows)
    return Figure((chart,), title, table, key) if able else table


# What media show in ways of their own


class ReplyCard(Struct, frozen=True):
    """One reply to read: a link to its scenario on the same page, what is said of it, its claims by letter, and texts.

    Without claims and texts where these may not stand on the page.
    """

    kind: ClassVar[str] = "case"
    title: str
    link: str = ""
    text: str = ""
    claims: tuple[tuple[str, str], ...] = ()
    texts: tuple[tuple[str, str], ...] = ()


class Folded(Struct, frozen=True):
    """Blocks under a title, which a page folds away until one asks for them."""

    kind: ClassVar[str] = "folded"
    title: str
    parts: tuple[Block, ...]


Element = str | Sentence | Warn | Heading | Listed | Facts | Table | Bars | Figure | Panels | ReplyCard | Folded


class Only(Struct, frozen=True):
    """A block for one medium: what explains a section at length, or a list that is too long, is for the page."""

    kind: ClassVar[str] = "only"
    medium: Medium
    block: Element


Block = Element | Only


def folded(title: str, *parts: Element) -> tuple[Only, ...]:
    """What a page folds and other media show as it is, without a title."""
    return Only("page", Folded(title, parts)), *(Only("text", part) for part in parts)


class Section(Struct, frozen=True):
    """One section: `anchor` is its address on a page, `short` its name in the list of contents."""

    anchor: str
    title: str
    short: str
    parts: tuple[Block, ...]


def text_of(words: Inline) -> str:
    """The words without emphasis."""
    return words.text if isinstance(words, Words) else words


def seen(blocks: Sequence[Block], medium: Medium) -> Iterator[Element]:
    """The blocks that this medium shows; where it has no charts, the tables behind them."""
    for block in blocks:
        if isinstance(block, Only):
            if block.medium == medium:
                yield from seen((block.block,), medium)
        elif medium == "page" or isinstance(block, str):
            yield block
        elif isinstance(block, (Figure, Panels)):
            yield block.table
        elif isinstance(block, Folded):
            yield from (Heading(block.title), *seen(block.parts, medium))
        elif isinstance(block, ReplyCard):
            yield Heading(": ".join(filter(None, (block.title, block.text))))
            yield from (Facts(rows) for rows in [(*block.claims, *block.texts)] if rows)
        else:
            yield block


def as_text(blocks: Sequence[Block | Section]) -> Iterator[Section | Element]:
    """The blocks that a medium of text shows; a section stands before what it holds, and not where that is nothing."""
    for block in blocks:
        within = list(seen(block.parts if isinstance(block, Section) else (block,), "text"))
        if isinstance(block, Section) and within:
            yield block
        yield from within
