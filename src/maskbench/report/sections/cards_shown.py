"""What `maskbench published` says of model cards: a table a document, for no two of them measured alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.plain import one_line
from maskbench.report.blocks import Block, Facts, Heading, Sentence, Table
from maskbench.report.format import shown
from maskbench.report.sections.published_tables import APART
from maskbench.report.sections.published_tables import shown as shown_tables
from maskbench.report.sections.under_conventions import SIDE_BY_SIDE
from maskbench.results.conventions import Convention
from maskbench.results.conventions_json import ConventionFigures
from maskbench.results.published import Card, CardRow, Published


def blocks(cards: Sequence[Card]) -> Iterator[Block]:
    """Every document with its own rows, and how each of them was read."""
    yield (
        "Figures of model cards, in percent, a table for each document. Never rank rows of two tables together: one "
        "publisher changed its own formula within months, and the figure of one model with it."
    )
    for card in cards:
        yield Heading(card.title)
        yield Table(
            ("model", "prints", "value", "95 %", "n", "how it is known"),
            tuple(_row(row) for row in card.rows),
            texts=2,
            last_text=True,
        )
        yield Sentence((f"Counts: {'; '.join(dict.fromkeys(row.counts for row in card.rows))}.",), "note")
        yield Sentence((f"Source: {'; '.join(dict.fromkeys(row.source for row in card.rows))}",), "note")


def holding(tables: Sequence[Published], cards: Sequence[Card]) -> Iterator[Block]:
    """Some of the published tables and documents."""
    if tables:
        yield APART
        yield from shown_tables(tables)
    if cards:
        yield from blocks(cards)


def beside(
    cards: Sequence[Card], tables: Sequence[Published], convention: Convention, runs: Sequence[ConventionFigures]
) -> Iterator[Block]:
    """The rows of one convention, and what one's own runs come to under it, with what keeps both apart."""
    yield Sentence((f"{convention.title} prints {convention.prints}.",))
    yield from shown_tables(tables)
    if cards:
        yield from blocks(cards)
    elif not tables:
        yield f"No published figure is known for {convention.name}."
    for run in runs:
        yield Heading(f"{run.run} as {run.name}")
        if run.needs:
            yield f"Not from this run. {run.needs}"
        yield from ([run.withheld] if run.withheld else ())
        beside_it = _of_this_model(run, cards)
        rank = _side_by_side(run, cards, tables)
        yield Facts(
            (("value", shown(run.figure.rate.estimate)), *beside_it, rank, *(_apart(line) for line in run.differs))
        )
    if runs:
        yield SIDE_BY_SIDE


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


def _row(row: CardRow) -> tuple[str, ...]:
    marks = ["second-hand"] if row.is_second_hand else []
    marks += ["inferred"] if row.is_inferred else []
    ends = "–" if row.ci is None else "–".join(row.ci)
    known = row.read_from + (f" ({', '.join(marks)})" if marks else "")
    return row.model, row.metric, row.value, ends, row.n or "–", known
