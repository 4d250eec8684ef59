"""Blocks for a terminal: tables that fit its width, sentences, labels with what is to say on them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from io import StringIO
from typing import IO, Any

from rich.box import Box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from maskbench.plain import plain
from maskbench.presentation.blocks import (
    Bars,
    Block,
    Facts,
    Heading,
    Inline,
    Listed,
    Mix,
    Section,
    Segment,
    Sentence,
    Table,
    Warn,
    Words,
    as_text,
)
from maskbench.presentation.format import percent, stacked, with_interval
from maskbench.presentation.of_runs import NAMES, ORDER
from maskbench.presentation.words import RATES

_TONES = {"plain": "", "note": "dim", "caution": "yellow", "bad": "bold red", "good": "bold green"}
_STYLES = {
    "strong": "bold",
    "good": "bold green",
    "bad": "bold red",
    # As in page.css for lines and figures on light paper, as far as a dark terminal shows them: honesty is lighter.
    "honest": "#0072b2",
    "lie": "#c84c00",
    "evasive": "#b98500",
    "no_belief": "#847f75",
    "error": "#7a4a78",
}
_FULL = "█"
_SHADES = ("█", "▒", "░", "▓")  # of outcomes in their order, where there are no colours
_LETTERS = ("#", "~", ".", "=")  # where the terminal knows no such characters
_WIDEST = 60  # columns of a bar
_NARROW, _BROAD = 20, 40  # columns of a bar in a table
_LEAST = 9  # columns that a column of text has at least
_TEXT, _BESIDE = 26, 18  # columns that a text has before a table is parted for want of room; beside bars
# A line below the head, and where a section of rows ends.
_BOX = Box("    \n    \n ── \n    \n ── \n    \n    \n    \n")


def paper(text: IO[str], width: int, *, record: bool = False) -> Console:
    """A console that writes plain characters into this text, also in a notebook and where colours are asked for."""
    plainly: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}
    surroundings: dict[str, Any] = {"force_terminal": False, "force_jupyter": False, "force_interactive": False}
    return Console(file=text, width=width, record=record, color_system=None, **plainly, **surroundings)


def show(blocks: Sequence[Block | Section], console: Console, *, whole: bool = False) -> None:
    """Print the blocks, and sections under their titles, as wide as the console is; `whole` breaks no line."""
    console.print(Group(*parts(blocks, console.width, _fills(console))), soft_wrap=whole, crop=False)


def text(blocks: Sequence[Block | Section], width: int) -> str:
    """The blocks as plain text of this width, without colours."""
    out = StringIO()
    show(blocks, paper(out, width))
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def fits(blocks: Sequence[Block | Section], lines: int, width: int) -> bool:
    """Whether the blocks have no more than so many lines of this width."""
    return len(text(blocks, width).splitlines()) <= lines


def parts(blocks: Sequence[Block | Section], width: int, fills: Sequence[str] = _SHADES) -> Iterator[RenderableType]:
    """What rich prints of the blocks: an empty line between them, none before what a table is commented with.

    Bars are filled with `fills`, an outcome each.
    """
    last = None
    for block in as_text(blocks):
        beside = isinstance(block, Sentence | Warn) and block.tone != "plain" and last is not None
        if last is not None and not (beside or isinstance(last, Heading | Section)):
            yield Text()
        yield from _drawn(block, width, fills)
        last = block


def _drawn(block: Any, width: int, fills: Sequence[str]) -> Iterator[RenderableType]:
    match block:
        case str():
            yield Text(plain(block))
        case Sentence(parts=(*_, Words(text=command, how="code"))):  # whole on its line, however long, to be copied
            said = plain(block.text[: -len(command)]) or "  "
            yield Text(f"{said}{plain(command)}", style=_TONES[block.tone], no_wrap=True, overflow="ignore")
        case Sentence():
            yield Text.assemble(*map(_words, block.parts), style=_TONES[block.tone])
        case Warn():
            yield Text(plain(block.text), style=_TONES[block.tone])
        case Heading(text=title) | Section(title=title):
            yield Text(plain(title), style="bold")
        case Listed():
            yield from (Text(plain(f"- {item}")) for item in block.items)
        case Facts():
            yield _facts(block)
        case Table():
            yield from _tables(block, width, fills)
        case Bars():
            yield _bars(block.mixes, fills, width)


def _words(words: Inline) -> Text:
    if isinstance(words, Words):
        return Text(plain(words.text, lines=True), style=_STYLES.get(words.how, ""))
    return Text(plain(words, lines=True))


def _facts(block: Facts) -> Grid:
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in block.rows:
        grid.add_row(Text(plain(label), style="bold"), Text(plain(value, lines=True)))
    return grid


# Bars


def _bars(mixes: Sequence[Mix], fills: Sequence[str], width: int) -> Group:
    """Bars of the four outcomes below their key, each between its P(lie) and its P(honest), as wide as they fit."""
    labels = [plain(mix.label) for mix in mixes]
    rates = [[with_interval(mix.parts[place].share) for mix in mixes] for place in (0, -1)]
    indent = max(map(cell_len, labels)) + 2
    if width - indent - sum(_widest(column) + 2 for column in rates) < _BROAD:
        rates = [[percent(mix.parts[place].share.value) for mix in mixes] for place in (0, -1)]
    heads = [RATES["p_lie"], RATES["p_honest"]]
    left, right = (_widest([head, *column]) for head, column in zip(heads, rates, strict=True))
    wide = max(_LEAST, min(_WIDEST, width - indent - left - right - 4))
    key = Text("  ").join(_key(fills))
    key.pad_right(max(0, wide - key.cell_len))
    lines = [Text.assemble(" " * indent, f"{heads[0]:>{left}}  ", key, f"  {heads[1]}" * (key.cell_len <= wide))]
    for label, lie, mix, honest in zip(labels, rates[0], mixes, rates[1], strict=True):
        space = " " * (indent - cell_len(label))
        lines.append(Text.assemble(f"{label}{space}{lie:>{left}}  ", _bar(mix.parts, fills, wide), f"  {honest}"))
    return Group(*lines)


def _key(fills: Sequence[str], gap: str = "", wide: int = 2) -> list[Text]:
    """What each filling stands for, an outcome each."""
    return [
        Text(f"{fill * wide} {name}{gap}", _STYLES[how]) for fill, name, how in zip(fills, NAMES, ORDER, strict=True)
    ]


def _widest(cells: Sequence[str]) -> int:
    return max(map(cell_len, cells))


def _fills(console: Console) -> tuple[str, ...]:
    if console.options.ascii_only:
        return _LETTERS
    return _SHADES if console.no_color or console.color_system is None else (_FULL,) * len(ORDER)


def _bar(within: Sequence[Segment], fills: Sequence[str], width: int) -> Text:
    """A bar of this width; each part ends where the sum of the shares up to it does."""
    bar, ends, upto = Text(), [0], 0.0
    for part in within:
        upto += part.share.value or 0.0
        ends.append(min(width, round(width * upto)))
    for fill, how, start, end in zip(fills, ORDER, ends, ends[1:], strict=False):
        bar.append(fill * (end - start), _STYLES[how])
    return bar


# Tables


def _tables(table: Table, width: int, fills: Sequence[str]) -> Iterator[RenderableType]:
    """The table, in as many as it takes to show every figure; its first columns stand in each of them."""
    if table.caption:
        yield Text(plain(table.caption), style="dim")
    gap = next((gap for gap in (2, 1) if _needs(table, range(_columns(table)), gap) <= width), 0)
    for place, columns in enumerate(_parted(table, width, gap)):
        if place:
            yield Text()
        yield _grid(table, columns, gap, width, fills)


def _grid(table: Table, columns: Sequence[int], gap: int, width: int, fills: Sequence[str]) -> Grid:
    """These columns of a table; bars take the room that names leave."""
    bar, spare = len(table.head), width - _needs(table, columns, gap)
    names = min(spare, max(0, _most(table, 0) - _BESIDE))
    heads = [_head(table, column) if column < bar else _key_in_two(fills) for column in columns]
    if bar in columns:
        heads[0] = _jointed(heads[0], _BESIDE + names)
    texts = [at for at, column in enumerate(columns) if column < bar and table.kinds[column] == "text"]
    grid = figures(*heads, texts=texts, gap=gap)
    for at, row in enumerate(table.rows):
        cells = [_words(row[column]) for column in columns if column < bar]
        if bar in columns:
            cells[0] = _jointed(cells[0], _BESIDE + names)
            cells.append(_bar(table.bars[at].parts, fills, min(_BROAD, _NARROW + max(0, spare - names))))
        grid.add_row(*cells, end_section=at + 1 == table.above)
    return grid


def _jointed(name: Text, width: int) -> Text:
    """The lines of a name, each broken at its joints."""
    return Text("\n".join(stacked(line, width) for line in name.plain.split("\n")))


def _key_in_two(fills: Sequence[str]) -> Text:
    """The key of bars in two lines, to stand above them."""
    lie, evasive, no_belief, honest = _key(fills, "", 1)
    return Text.assemble(lie, " ", evasive, "\n", no_belief, " ", honest, justify="left")


def _columns(table: Table) -> int:
    """How many columns the table has, that of its bars among them."""
    return len(table.head) + bool(table.bars)


def _parted(table: Table, width: int, gap: int) -> Iterator[list[int]]:
    """The columns of each table, as many as fit beside the first ones."""
    first, rest = list(range(table.texts)), list(range(table.texts, _columns(table)))
    while rest:
        count = len(rest)
        while count > 1 and _needs(table, [*first, *rest[:count]], gap) > width:
            count -= 1
        yield [*first, *rest[:count]]
        rest = rest[count:]
    if len(table.head) <= table.texts:
        yield first


def _needs(table: Table, columns: Iterable[int], gap: int) -> int:
    """How wide these columns are: figures as they are, texts up to where they may as well fold."""
    wide, room = 0, _BESIDE if table.bars else _TEXT
    for column in columns:
        most = _NARROW if column == len(table.head) else _most(table, column)
        is_text = column < len(table.head) and table.kinds[column] == "text"
        most = max(_least(_head(table, column)), min(most, room)) if is_text else most
        wide += gap + 1 + most  # the box's own column is 1
    return wide - gap - 1


def _most(table: Table, column: int) -> int:
    """The longest line of a column."""
    lines = [_head(table, column), *(_words(row[column]) for row in table.rows)]
    return max(line.cell_len for cell in lines for line in cell.split("\n"))


def _head(table: Table, column: int) -> Text:
    """The head of a column; a run's name stands over several lines above its figures."""
    head = table.head[column]
    if isinstance(head, Words) and head.how == "name" and table.kinds[column] == "figure":
        return Text(stacked(plain(head.text)))
    return _words(head)


def figures(*columns: str | Text, texts: Collection[int] = (0,), gap: int = 2) -> Grid:
    """A table whose columns at `texts` are text, which folds, and whose others are figures, which do not."""
    table = Grid(box=_BOX, pad_edge=False, show_edge=False, padding=(0, gap, 0, 0))
    for place, column in enumerate(columns):
        if place in texts:
            table.add_column(column, overflow="fold", min_width=_least(column))
        else:
            table.add_column(column, justify="right", no_wrap=True)
    return table


def _least(head: str | Text) -> int:
    """How wide a column of text is at least: as wide as the longest word above it."""
    return max([_LEAST, *map(cell_len, str(head).split())])


def add(table: Grid, *cells: str | Text) -> None:
    """Add a row; a bare string would be read as markup, and names are not ours."""
    table.add_row(*(Text(plain(cell)) if isinstance(cell, str) else cell for cell in cells))
