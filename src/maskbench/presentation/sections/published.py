"""Published figures: every table with its source, model cards a table a document, and a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
    holding,
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
