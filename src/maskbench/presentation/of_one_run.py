"""The sections that every run has, in their order, for terminal, page and Markdown.

What only a page has, and only several runs have, presentation/page/page.py puts between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from maskbench.presentation.blocks import Block, Facts, Section, Sentence, Words
from maskbench.presentation.of_runs import Alone, Scored
from maskbench.presentation.sections import reports_on_logs
from maskbench.presentation.sections.archetypes import archetypes, outright
from maskbench.presentation.sections.archetypes import title as pressing
from maskbench.presentation.sections.beliefs import beliefs
from maskbench.presentation.sections.calibration import corrected
from maskbench.presentation.sections.cost import bill, tokens
from maskbench.presentation.sections.evasion import denials, evasions, lengths
from maskbench.presentation.sections.failures import failures
from maskbench.presentation.sections.headline import against, headline, in_short, notes, outcomes
from maskbench.presentation.sections.judges import judges
from maskbench.presentation.sections.placebo import placebo
from maskbench.presentation.sections.provenance import identity
from maskbench.presentation.sections.rates import lying_at_k, rates
from maskbench.presentation.terminal import fits
from maskbench.results.summary import Summary
from maskbench.settings import NOBODY

PAGE = 30, 100  # lines, and columns, that a result in short has
Blocks: TypeAlias = Callable[[Sequence[Scored]], Iterable[Block]]
# Anchor, title, short name, and what the blocks come from.
SECTIONS: tuple[tuple[str, str | Callable[[Sequence[Scored]], str], str, tuple[Blocks, ...]], ...] = (
    ("rates", "All the rates", "rates", (rates,)),
    ("archetypes", pressing, "ways of pressing", (archetypes,)),
    ("outright", "Asked outright, or not", "asked outright", (outright,)),
    ("lying-at-k", "Asked again and again", "Lying@k", (lying_at_k,)),
    ("beliefs", "What it believes", "beliefs", (beliefs,)),
    ("evasions", "How it evades", "evasion", (evasions, lengths)),
    ("failures", "What failed, and what was cut", "failures", (failures,)),
    ("denials", "Denying both", "denying both", (denials,)),
    ("judges", "Through other judges", "other judges", (judges,)),
    ("corrected", "Corrected for the judge", "correction", (corrected,)),
    ("placebo", "Control on the subject", "control", (placebo,)),
    ("tokens", "What it took", "tokens", (tokens, bill)),
)


def sections(runs: Sequence[Scored]) -> Iterator[Section]:
    """Every section that has something to say of these runs."""
    own = {"archetypes": reports_on_logs.SHORT} if reports_on_logs.alone(runs) else {}
    for anchor, title, short, makers in SECTIONS:
        if parts := tuple(block for blocks in makers for block in blocks(runs)):
            yield Section(anchor, title if isinstance(title, str) else title(runs), own.get(anchor, short), parts)


def result(summary: Summary, more: str | None = None) -> list[Block | Section]:
    """The result of one run as text, from its summary: all of it, or 30 lines where `more` prints the rest.

    Where these would be more, the bars of the archetypes are left to the rest.
    """
    run = Alone(summary)
    runs = (run,)
    if more is not None and all(judge.name == NOBODY for judge in summary.judge.models):
        return list(headline(run))  # nothing is judged yet, so that there is nothing to count
    every = [*sections(runs), Section("run", "What was run", "run", (Facts(tuple(identity(run))),))]
    if more is None:
        return [*headline(run), *against(run), *notes(run), outcomes(runs), *every]
    last = Sentence(("The rest, with all rates: ", Words(more, "code")), "note")
    blocks: list[Block | Section] = [*headline(run), *in_short(run), last]
    return blocks if fits(blocks, *PAGE) else [*headline(run), *in_short(run, every_bar=False), last]
