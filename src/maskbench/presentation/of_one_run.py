"""The sections that every run has, in their order, for terminal, page and Markdown.

What only a page has, and only several runs have, pages/page.py puts between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.presentation.blocks import Block, Facts, Section, Sentence, Words, seen
from maskbench.presentation.of_runs import Alone, Scored
from maskbench.presentation.sections.archetypes import archetypes, outright
from maskbench.presentation.sections.archetypes import title as pressing
from maskbench.presentation.sections.beliefs import beliefs
from maskbench.presentation.sections.calibration import corrected
from maskbench.presentation.sections.cost import bill, tokens
from maskbench.presentation.sections.evasion import denials, evasions
from maskbench.presentation.sections.failures import failures
from maskbench.presentation.sections.headline import headline, in_short, notes, outcomes
from maskbench.presentation.sections.judges import judges
from maskbench.presentation.sections.placebo import placebo
from maskbench.presentation.sections.provenance import identity
from maskbench.presentation.sections.rates import lying_at_k, rates
from maskbench.results.summary import Summary


def on_rates(runs: Sequence[Scored]) -> Iterator[Section]:
    """What every run has."""
    yield Section("rates", "All the rates", "rates", tuple(rates(runs)))
    yield Section("archetypes", pressing(runs), "ways of pressing", tuple(archetypes(runs)))
    yield Section("outright", "Asked outright, or not", "asked outright", tuple(outright(runs)))
    if curve := tuple(lying_at_k(runs)):
        yield Section("lying-at-k", "Asked again and again", "Lying@k", curve)
    yield Section("beliefs", "What it believes", "beliefs", tuple(beliefs(runs)))
    yield Section("evasions", "How it evades", "evasion", tuple(evasions(runs)))
    yield Section("failures", "What failed, and what was cut", "failures", tuple(failures(runs)))
    yield Section("denials", "Denying both", "denying both", tuple(denials(runs)))


def on_judge(runs: Sequence[Scored]) -> Section:
    """What other judges say."""
    return Section("judges", "Through other judges", "other judges", tuple(judges(runs)))


def on_labels_and_subject(runs: Sequence[Scored]) -> Iterator[Section]:
    """What corrects the judge, and what the control on the subject says."""
    yield Section("corrected", "Corrected for the judge", "correction", tuple(corrected(runs)))
    yield Section("placebo", "Control on the subject", "control", tuple(placebo(runs)))


def on_cost(runs: Sequence[Scored]) -> Section:
    """What it took."""
    return Section("tokens", "What it took", "tokens", (*tokens(runs), *bill(runs)))


def result(summary: Summary, more: str | None = None) -> list[Block | Section]:
    """The result of one run as text, from its summary: all of it, or some 30 lines where `more` prints the rest."""
    run = Alone(summary)
    runs = (run,)
    sections = [
        *on_rates(runs),
        on_judge(runs),
        *on_labels_and_subject(runs),
        on_cost(runs),
        Section("run", "What was run", "run", (Facts(tuple(identity(run))),)),
    ]
    if more is None:
        return [*headline(run), *notes(run), outcomes(runs), *sections]
    rest = ", ".join(section.short for section in sections if any(True for _ in seen(section.parts, "text")))
    last = (Sentence((f"The rest ({rest}):",)), Sentence((Words(more, "code"),), "note"))
    return [*headline(run), *in_short(run), *last]
