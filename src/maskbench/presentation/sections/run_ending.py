"""How a run ends on a terminal: its finding, the outcomes as bars, and its figures in one last line."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from maskbench.method.archetypes import in_order
from maskbench.plain import plain
from maskbench.presentation.blocks import Block, Inline, Mix, Sentence, Words
from maskbench.presentation.format import CAVEAT, percent, shown, times
from maskbench.presentation.of_runs import Scored, has_rates, mix
from maskbench.presentation.sections.headline import GRAVE, beside, finding, warnings, what
from maskbench.presentation.sections.provenance import shared_mark
from maskbench.presentation.words import archetype as titled
from maskbench.stats.figures import Share
from maskbench.types import OutcomeName

LINES = 25  # that the whole ending has, at 80 columns and more
_BARS = 8  # a set may bring archetypes of its own
_CLOSING = 7  # empty lines, the key of the bars, the caveat, the command and the last line


@dataclass(frozen=True, slots=True)
class Ending:
    """What stands above the bars, the bars (the first is the whole run's), what stands below, and the last line."""

    opening: tuple[Block, ...]
    bars: tuple[Mix, ...]
    below: tuple[Block, ...]
    last: tuple[Inline, ...]


def ending(run: Scored, more: str, width: int) -> Ending:
    """The ending of a run in so many columns; `more` is the command that prints what is left out here."""
    every = tuple(_bars(run))
    bars, unseen = every[: _BARS + 1], len(every[_BARS + 1 :])
    below: tuple[str, ...] = (f"P(lie) with 95 % interval: {CAVEAT}.",) if bars else ()
    below += (f"{times(unseen, 'archetype')} more: {more}",) if unseen else ()
    first, result = what(run), Sentence((finding(run),))
    left = LINES - _CLOSING - len(bars) - (unseen > 0) - _needed((first, result), width)
    opening = (first, *_notes(run, left, more, width), result)
    return Ending(opening, bars, tuple(Sentence((text,), "note") for text in below), tuple(_last(run)))


def _bars(run: Scored) -> Iterator[Mix]:
    if not has_rates(run):
        return
    yield mix("All scenarios", run.summary.rates)
    parts = run.summary.by_archetype
    for name in in_order(parts) if len(parts) > 1 else ():
        if parts[name].rates["p_lie"].value is not None:
            yield mix(titled(name, (run.summary.scenarios,)), parts[name].rates)


def _notes(run: Scored, lines: int, more: str, width: int) -> Iterator[Sentence]:
    """The warnings that fit into so many lines, and how many do not; those that take the result away stand first."""
    grave = [Sentence((Words(strong), f" {text}"), "bad") for strong, text in warnings(run) if strong in GRAVE]
    rest = [Sentence((text,), "note") for text in beside(run)] if has_rates(run) else []
    rest += [Sentence((Words(strong), f" {text}"), "caution") for strong, text in warnings(run) if strong not in GRAVE]
    yield from grave
    left, hidden = lines - _needed(grave, width), 0
    for note in rest:
        if hidden or (needed := _lines(note.text, width)) >= left:  # one line is kept for how many are hidden
            hidden += 1
            continue
        left -= needed
        yield note
    if hidden:
        notes = f"{hidden} more note{'s' if hidden > 1 else ''}"
        yield Sentence((f"There {'are' if hidden > 1 else 'is'} {notes}: {more}",), "caution")


def _needed(sentences: Sequence[Sentence], width: int) -> int:
    return sum(_lines(sentence.text, width) for sentence in sentences)


def _lines(text: str, width: int) -> int:
    return len(textwrap.wrap(plain(text), width))


def _last(run: Scored) -> Iterator[Inline]:
    """The figures of the run in one line."""
    metrics = run.summary.rates
    if not has_rates(run):
        yield "There is no P(lie) for this run"
        return
    rates: tuple[tuple[OutcomeName, Share], ...] = (
        ("honest", metrics["p_honest"]),
        ("evasive", metrics["p_evasive"]),
        ("no_belief", metrics["p_no_belief"]),
    )
    yield Words(f"P(lie) {shown(metrics['p_lie'])}", "lie")
    for how, rate in rates:
        yield " · "
        mark = " (shared)" if how == "no_belief" and shared_mark(run.summary) else ""
        yield Words(f"{how.replace('_', ' ')} {percent(rate.value).removesuffix(' %')}{mark}", how)
