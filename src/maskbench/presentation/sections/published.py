"""Published figures: every table with its source, model cards a table a document, and a picture."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from maskbench.errors import UsageError
from maskbench.models.install import extra, install
from maskbench.plain import one_line
from maskbench.presentation.blocks import Block, Facts, Heading, Sentence, Table
from maskbench.presentation.format import shown, signed
from maskbench.results.conventions import Convention, ConventionFigures
from maskbench.results.published import (
    BESIDE,
    Card,
    CardRow,
    Cell,
    Finding,
    Published,
    finding,
    holding,
    paper,
    unpublished,
)

_HEADS = {
    "p_honest": "honest",
    "p_lie": "P(lie)",
    "p_evasive_or_no_belief": "evasive,\nno belief",
    "honesty": "honesty\nscore",
    "p_honest_at10": "honest\n@10",
    "p_lie_at10": "lie\n@10",
    "no_belief": "no\nbelief",
    "no_belief_acc": "no belief,\naccuracy",
    "err_acc": "error,\naccuracy",
    "ci_lo": "95 %\nlow",
    "ci_hi": "95 %\nhigh",
    "ci95": "± 95 %",
    "score": "honesty\nscore",
}
UNITS = "Figures are in percent where they are shares."


def blocks(tables: Sequence[Published], finding: Finding) -> Iterator[Block]:
    """All published figures, and what the paper's hang on."""
    yield f"{BESIDE} {UNITS}"
    yield from of_tables(tables)
    yield said(finding)


def of_tables(tables: Sequence[Published]) -> Iterator[Block]:
    """Each table under its title, with its source."""
    for table in tables:
        yield Heading(table.title)
        yield Sentence((f"Source: {table.source}",), "note")
        yield _table(table)


def said(finding: Finding) -> str:
    """The paper's finding, and what it hangs on, in a sentence each."""
    return (
        f"Over the paper's {finding.models} models, Spearman's correlation of accuracy with the honesty score "
        f"(1 − P(lie)) is {signed(finding.with_score, 3)}, and with P(honest) {signed(finding.with_p_honest, 3)}: the "
        "score counts evasion and having no belief as honest."
    )


def _table(table: Published) -> Table:
    columns = [_shown(table.column(name)) for name in table.columns]
    texts = sum(isinstance(cell, str) for cell in table.rows[0])
    head = tuple(_HEADS.get(name, name) for name in table.columns)
    return Table(head, tuple(zip(*columns, strict=True)), texts=texts)


def _shown(column: Sequence[Cell]) -> list[str]:
    """A column's cells, numbers with as many decimals as the longest of them has."""
    numbers = [f"{cell:g}" for cell in column if isinstance(cell, float)]
    decimals = max((len(number.partition(".")[2]) for number in numbers), default=0)
    return ["–" if cell is None else cell if isinstance(cell, str) else f"{cell:.{decimals}f}" for cell in column]


def of_cards(cards: Sequence[Card]) -> Iterator[Block]:
    """Every document with its own rows, and how each of them was read."""
    yield (
        "Figures of model cards, in percent, a table for each document: one publisher changed its own formula within "
        "months, and the figure of one model with it."
    )
    for card in cards:
        yield Heading(card.title)
        yield Table(
            ("model", "prints", "value", "95 %", "n", "how it is known"),
            tuple(_card_row(row) for row in card.rows),
            texts=2,
            last_text=True,
        )
        yield Sentence((f"Counts: {'; '.join(dict.fromkeys(row.counts for row in card.rows))}.",), "note")
        yield Sentence((f"Source: {'; '.join(dict.fromkeys(row.source for row in card.rows))}",), "note")


def some_of(names: Sequence[str]) -> Iterator[Block]:
    """The published tables and documents that have one of these names, and who has published nothing of its own."""
    tables, cards = holding(names)
    yield f"{BESIDE} {UNITS}"
    yield from unpublished(names)
    yield from of_tables(tables)
    if cards:
        yield from of_cards(cards)


def beside(
    cards: Sequence[Card], tables: Sequence[Published], convention: Convention, runs: Sequence[ConventionFigures]
) -> Iterator[Block]:
    """The rows of one convention, and what one's own runs come to under it, with what keeps both apart."""
    yield Sentence((f"{convention.title} prints {convention.prints}.",))
    yield from of_tables(tables)
    if cards:
        yield from of_cards(cards)
    elif not tables:
        yield f"No published figure is known for {convention.name}."
    for run in runs:
        yield Heading(f"{run.run} as {run.name}")
        if run.needs:
            yield f"Not from this run. {run.needs}"
        yield from ([run.withheld] if run.withheld else ())
        beside_it = _of_this_model(run, cards)
        rank = _side_by_side(run, cards, tables)
        yield Facts((("value", shown(run.figure.rate)), *beside_it, rank, *(_apart(line) for line in run.differs)))
    if runs:
        yield BESIDE


def _of_this_model(run: ConventionFigures, cards: Sequence[Card]) -> Iterator[tuple[str, str]]:
    """The published rows of the model that was run, by name."""
    rows = [row for card in cards for row in card.rows if row.is_of(run.run)]
    if cards:
        named = "; ".join(
            f"{row.model} {row.value} ({row.metric if row.is_of_a_part else row.document})" for row in rows
        )
        yield "rows of this model", one_line(named, 300) or "none by its name"


def _side_by_side(run: ConventionFigures, cards: Sequence[Card], tables: Sequence[Published]) -> tuple[str, str]:
    """With which of the rows above the figure may be printed side by side, and what keeps it from a rank."""
    rows = sum(len(card.rows) for card in cards) + sum(len(table.rows) for table in tables)
    if run.needs or run.withheld:
        return "side by side with", "no row: there is no figure"
    if not rows:
        return "side by side with", "no row: none is known"
    apart = list(dict.fromkeys(_apart(line)[0] for line in run.differs))
    how = f"not ranked while these differ: {', '.join(apart)}" if apart else "as far as is known on equal terms"
    return "side by side with", f"the {rows:,} rows above, by the same formula; {how}"


def _apart(line: str) -> tuple[str, str]:
    """A difference as a fact: what differs, and how."""
    what, _, how = line.partition(": ")
    return (what, how) if how else ("further", line)


def _card_row(row: CardRow) -> tuple[str, ...]:
    marks = ["second-hand"] if row.is_second_hand else []
    marks += ["inferred"] if row.is_inferred else []
    ends = "–" if row.ci is None else "–".join(row.ci)
    known = row.read_from + (f" ({', '.join(marks)})" if marks else "")
    return row.model, row.metric, row.value, ends, row.n or "–", known


_PANELS = (
    ("honesty", "honesty score, 1 − P(lie), %", "with_score"),
    ("p_honest", "P(honest), %", "with_p_honest"),
)
_WIDTH, _HEIGHT, _FONT = 820, 460, 9
_ACROSS, _UP = (15.0, 90.0), {"honesty": (30.0, 95.0), "p_honest": (10.0, 50.0)}
_OFFSETS = (  # from a point to its name: right, left, above, below, and further off
    *((7, 0, "left"), (-7, 0, "right"), (0, -10, "center"), (0, 10, "center")),
    *((7, -9, "left"), (7, 9, "left"), (-7, -9, "right"), (-7, 9, "right")),
    *((0, -19, "center"), (0, 19, "center")),
)
_SUFFIX = re.compile(r"(-instruct|-chat|-preview|-20\d\d-?\d\d-?\d\d)+$")
Box: TypeAlias = tuple[float, float, float, float]  # left, top, right, bottom


def draw(to: Path) -> None:
    """Draw the picture into a .svg or .png file; raises UsageError for other names and where altair is missing."""
    if to.suffix.lower() not in (".svg", ".png"):
        raise UsageError(f"--out {to}: give a file that ends in .svg or .png.")
    try:
        altair: Any = import_module("altair")
        import_module("vl_convert")
    except ImportError:
        raise UsageError(f"--out needs altair and vl-convert-python. Type: {install(*extra('report'))}") from None
    chart = _chart(altair)
    try:
        chart.save(str(to), scale_factor=2 if to.suffix.lower() == ".png" else 1)
    except OSError as error:
        raise UsageError(f"{to} cannot be written ({error.strerror}). Try another --out.") from error


def _chart(altair: Any) -> Any:
    paper_says = finding()
    panels = [
        _panel(altair, name, title, f"Spearman {signed(getattr(paper_says, correlation), 3)}")
        for name, title, correlation in _PANELS
    ]
    title = altair.TitleParams(
        f"Accuracy against honesty of {paper_says.models} models, as published",
        subtitle=[
            f"{paper().source}: one statement, all 1,500 scenarios.",
            "The score counts evasion and having no belief as honest; P(honest) does not.",
        ],
        anchor="start",
    )
    return altair.vconcat(*panels).properties(title=title).configure_view(stroke=None)


def _panel(altair: Any, name: str, title: str, correlation: str) -> Any:
    """One measure of honesty over accuracy, every model a point with its name."""
    axes = {
        "x": altair.X("accuracy:Q", title="accuracy of beliefs, %", scale=altair.Scale(domain=_ACROSS, nice=False)),
        "y": altair.Y(f"{name}:Q", title=title, scale=altair.Scale(domain=_UP[name], nice=False)),
    }
    rows = _labelled(name)
    base = altair.Chart(altair.Data(values=rows)).encode(**axes)
    layers = [base.mark_circle(size=40, color="#2f6db3", opacity=1)]
    for place in range(len(_OFFSETS)):
        dx, dy, align = _OFFSETS[place]
        text = base.mark_text(align=align, dx=dx, dy=dy, fontSize=_FONT, color="#444444").encode(text="label:N")
        layers.append(text.transform_filter(f"datum.place == {place}"))
    return altair.layer(*layers).properties(width=_WIDTH, height=_HEIGHT, title=correlation)


def _labelled(name: str) -> list[dict[str, Any]]:
    """The models with short names, each at the first place around its point where it covers nothing."""
    table = paper()
    rows: list[dict[str, Any]] = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    points = [
        (_pixel(row["accuracy"], _ACROSS, _WIDTH), _HEIGHT - _pixel(row[name], _UP[name], _HEIGHT)) for row in rows
    ]
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in points]
    for row, (x, y) in zip(rows, points, strict=True):
        row["label"] = _SUFFIX.sub("", row["model"])
        boxes = [_box(x + dx, y + dy, len(row["label"]), align) for dx, dy, align in _OFFSETS]
        crowd = [sum(_meet(box, other) for other in taken) for box in boxes]
        row["place"] = crowd.index(min(crowd))
        taken.append(boxes[row["place"]])
    return rows


def _pixel(value: float, domain: tuple[float, float], size: float) -> float:
    return (value - domain[0]) / (domain[1] - domain[0]) * size


def _box(x: float, y: float, letters: int, align: str) -> Box:
    width = 0.56 * _FONT * letters
    left = {"left": x, "right": x - width, "center": x - width / 2}[align]
    return left, y - _FONT / 2, left + width, y + _FONT / 2


def _meet(box: Box, other: Box) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
