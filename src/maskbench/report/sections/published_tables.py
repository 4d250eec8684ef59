"""What `maskbench published` says: every published table with its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.report.blocks import Block, Heading, Sentence, Table
from maskbench.report.format import signed
from maskbench.results.published import Cell, Finding, Published

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
APART = (
    "Published figures, in percent where they are shares. They are on other scenarios and by other judges: never "
    "compare your own runs with them."
)


def blocks(tables: Sequence[Published], finding: Finding) -> Iterator[Block]:
    """All published figures, and what the paper's hang on."""
    yield APART
    yield from shown(tables)
    yield said(finding)


def shown(tables: Sequence[Published]) -> Iterator[Block]:
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
