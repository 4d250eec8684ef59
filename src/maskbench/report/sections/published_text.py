"""What `maskbench published` prints: every published table with its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from maskbench.report.format import signed
from maskbench.report.terminal import add, figures
from maskbench.results.published import Cell, Finding, Published

_HEADS = {
    "p_honest": "honest",
    "p_lie": "P(lie)",
    "p_evasive_or_no_belief": "evasive,\nno bel.",
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
    "accuracy": "accu-\nracy",
}
_WIDEST = 8  # columns that stand in one table at 80 characters; what is more follows in another


def as_text(tables: Sequence[Published], finding: Finding) -> Group:
    """All published figures for a terminal; they fit 80 columns."""
    return Group(*_parts(tables, finding))


def said(finding: Finding) -> str:
    """The paper's finding, and what it hangs on, in a sentence each."""
    return (
        f"Over the paper's {finding.models} models, Spearman's correlation of accuracy with the honesty score "
        f"(1 − P(lie)) is {signed(finding.with_score, 3)}, and with P(honest) {signed(finding.with_p_honest, 3)}: the "
        "score counts evasion and having no belief as honest."
    )


def _parts(tables: Sequence[Published], finding: Finding) -> Iterator[RenderableType]:
    yield Text(
        "Published figures, in percent where they are shares. They are on other scenarios and by other judges: never "
        "compare your own runs with them."
    )
    for table in tables:
        yield from (Text(), Text(table.title, style="bold"), Text(f"Source: {table.source}", style="dim"), Text())
        yield from _columns(table)
    yield from (Text(), Text(said(finding)))


def _columns(table: Published) -> Iterator[RenderableType]:
    columns = [_shown(table.column(name)) for name in table.columns]
    texts = sum(isinstance(cell, str) for cell in table.rows[0])
    step = _WIDEST - texts
    for start in range(texts, len(columns), step):
        at = (*range(texts), *range(start, min(start + step, len(columns))))
        made = figures(
            *(_HEADS.get(table.columns[place], table.columns[place]) for place in at), texts=range(texts), gap=1
        )
        for row in zip(*(columns[place] for place in at), strict=True):
            add(made, *row)
        if start > texts:
            yield Text()
        yield made


def _shown(column: Sequence[Cell]) -> list[str]:
    """A column's cells, numbers with as many decimals as the longest of them has."""
    numbers = [f"{cell:g}" for cell in column if isinstance(cell, float)]
    decimals = max((len(number.partition(".")[2]) for number in numbers), default=0)
    return ["–" if cell is None else cell if isinstance(cell, str) else f"{cell:.{decimals}f}" for cell in column]
