"""Published figures: one table, with the sources below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.presentation.blocks import Block, Sentence, Table
from maskbench.results.published import BESIDE, PublishedFigure, sources


def blocks(figures: Sequence[PublishedFigure]) -> Iterator[Block]:
    """A row a figure, and where they are from."""
    yield f"{BESIDE} Figures are in percent."
    yield Table(
        ("model", "figure", "value", "95 %", "where"),
        tuple(map(_row, figures)),
        texts=2,
        last_text=True,
    )
    for source in sources(figures):
        yield Sentence((source,), "note")


def _row(each: PublishedFigure) -> tuple[str, ...]:
    ends = "–" if each.low is None or each.high is None else f"{each.low:g}–{each.high:g}"
    where = (each.document, each.date, f"as {each.convention}" if each.convention else "", each.known)
    return each.model, each.figure, f"{each.value:g}", ends, ", ".join(filter(None, where))
