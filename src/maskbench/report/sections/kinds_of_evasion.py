"""The section on evasions: the kinds of C among the statements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from maskbench.report.blocks import Bars, Block, Figure, Mix, Only, Part, Table
from maskbench.report.format import percent
from maskbench.report.of_runs import Scored
from maskbench.report.words import EVASIONS
from maskbench.stats.intervals import Estimate
from maskbench.types import Evasion

Kind = Evasion | Literal["unsaid"]
_SHADES = dict(zip(EVASIONS, ("firm", "loose", "unknown", "no-belief", "evasive"), strict=True))


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
    table = Table(("kind", *names, "what it is"), tuple(rows), caption, last_text=True)
    mixes = (
        Mix(run.name if len(runs) > 1 else "", tuple(_share(kind, count, whole) for kind in kinds))
        for run, (count, whole) in zip(runs, counts, strict=True)
        if whole
    )
    key = tuple((_SHADES[kind], kind.replace("_", " ")) for kind in kinds)
    yield Figure((Bars(tuple(mixes), "evasive statements"),), caption, table, key)


def _share(kind: Kind, count: Mapping[Kind, int], whole: int) -> Part:
    """A kind's part of the bar; an exact share of what was counted, so without an interval."""
    return Part(kind.replace("_", " "), _SHADES[kind], Estimate(count.get(kind, 0) / whole, None, None, whole))


def part(count: int, whole: int) -> str:
    """A count with the share of the whole that it is."""
    return f"{count:,} ({percent(count / whole)})" if whole else f"{count:,}"
