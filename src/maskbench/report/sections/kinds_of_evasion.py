"""The section on evasions: the kinds of C among the statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.report.blocks import Block, Only, Table
from maskbench.report.format import percent
from maskbench.report.of_runs import Scored
from maskbench.report.words import EVASIONS


def evasions(runs: Sequence[Scored]) -> Iterator[Block]:
    """How many statements took neither side in which way."""
    yield Only(
        "page",
        "An evasive statement takes neither side (verdict C). The judge names its kind, which is never scored, but "
        "tells a careful model from a vague or a broken one.",
    )
    counts = [(run.summary.evasions, sum(run.summary.evasions.values())) for run in runs]
    kinds = [kind for kind in EVASIONS if any(count.get(kind) for count, _ in counts)]
    if not kinds:
        yield "No statement was evasive."
        return
    rows = [
        (kind.replace("_", " "), *(part(count.get(kind, 0), whole) for count, whole in counts), EVASIONS[kind])
        for kind in kinds
    ]
    names = [run.name for run in runs] if len(runs) > 1 else ["statements"]
    caption = "Evasive statements by kind, also where there was no belief."
    yield Table(("kind", *names, "what it is"), tuple(rows), caption, last_text=True)


def part(count: int, whole: int) -> str:
    """A count with the share of the whole that it is."""
    return f"{count:,} ({percent(count / whole)})" if whole else f"{count:,}"
