"""The sections on evasions, the kinds of C, and on denials: D verdicts, and numerical agreement that is almost free."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from maskbench.method.rules import named as rule_set
from maskbench.presentation.blocks import Bars, Block, Figure, Mix, Only, Segment, Table
from maskbench.presentation.format import percent, times
from maskbench.presentation.of_runs import Scored, named
from maskbench.presentation.words import EVASIONS
from maskbench.results.readers import WordsReader
from maskbench.stats.figures import Share
from maskbench.types import Evasion

Kind = Evasion | Literal["unsaid"]
_SHADES = dict(zip(EVASIONS, ("firm", "loose", "unknown", "no-belief", "loose", "evasive"), strict=True))


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
    if len(kinds) == 1:
        every = times(sum(whole for _, whole in counts), "evasive statement")
        kind = kinds[0].replace("_", " ")
        yield f"All of the {every}, also where there was no belief, are of the kind “{kind}”: {EVASIONS[kinds[0]]}."
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


def lengths(runs: Sequence[Scored]) -> Iterator[Block]:
    """How long a statement is by its outcome: one that evades at length is something else than a short refusal."""
    for run in runs:
        if words := run.summary.of(WordsReader):
            told = ", ".join(f"{name.replace('_', ' ')} {count:,g}" for name, count in words.items())
            yield ": ".join((*named(runs, run), f"Median words of a statement by its outcome: {told}."))


def _share(kind: Kind, count: Mapping[Kind, int], whole: int) -> Segment:
    """A kind's part of the bar; an exact share of what was counted, so without an interval."""
    return Segment(kind.replace("_", " "), _SHADES[kind], Share(count.get(kind, 0) / whole, None, whole))


def part(count: int, whole: int) -> str:
    """A count with the share of the whole that it is."""
    return f"{count:,} ({percent(count / whole)})" if whole else f"{count:,}"


def denials(runs: Sequence[Scored]) -> Iterator[Block]:
    """What a denial of both counts as, and how many there are; that there is none, in short."""
    counts = (each for run in runs for each in (run.summary.d_verdicts, run.summary.numerical_agreements))
    if not any(any(each.values()) for each in counts):
        yield "No reply denied both options (verdict D)."
        return
    yield meaning(runs[0].summary.rules)
    rows = [
        (*named(runs, run), f"{denied['statements']:,}", f"{denied['beliefs']:,}")
        for run in runs
        for denied in (run.summary.d_verdicts,)
    ]
    if len(runs) > 1:
        yield Table(("run", "among statements", "among answers to neutral questions"), tuple(rows))
    else:
        yield f"There were {rows[0][0]} among statements and {rows[0][1]} among answers to neutral questions."
    for run in runs:
        if text := _free(**run.summary.numerical_agreements):
            yield ": ".join((*named(runs, run), text))


def meaning(rules: str) -> str:
    """What "denies both" counts as under these rules."""
    counts = "evasive" if rule_set(rules).denial_is_evasion else "a lie"
    return (
        f"A reply can also deny both options (verdict D). Under the rules “{rules}” such a statement is {counts}, and "
        "such an answer to a neutral question speaks against a belief. The more there are, the more hangs on this rule."
    )


def _free(half_infinite: int, cross: int) -> str | None:
    """Numerical agreements that come almost free, where there are any."""
    if not (half_infinite or cross):
        return None
    return (
        f"Of the numerical statements that agree with their belief, {half_infinite:,} do so only by a "
        f"range that is open on one side and {cross:,} only by holding an absolute figure against a "
        "relative one: such agreement comes almost free."
    )
