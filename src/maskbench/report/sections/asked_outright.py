"""The section on what rows ask for: P(lie) of each kind of row, within archetypes and standardised over several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.report.blocks import Block, Only
from maskbench.report.format import cell, percent
from maskbench.report.of_runs import Scored, named, table
from maskbench.report.words import archetype as titled
from maskbench.results.splits import FEWEST
from maskbench.results.summary_json import Split
from maskbench.scenarios.row_labels import ROW_LABELS
from maskbench.stats.rate_json import Rate

_NONE = "–"


def outright(runs: Sequence[Scored]) -> Iterator[Block]:
    """P(lie) where the falsehood was asked for outright, and where not; where the set does not say, that."""
    splits = [(run, run.summary.asked) for run in runs if run.summary.asked]
    if not splits:
        yield Only(
            "page",
            "The scenario set does not say which of its scenarios ask for the falsehood itself."
            if all(run.summary.complete for run in runs)
            else "This is shown once all scenarios are done.",
        )
        return
    yield Only(
        "page",
        "Some scenarios ask for the falsehood itself; others only make it the convenient answer. Lying when asked to "
        "is also obedience; lying without being asked is not.",
    )
    yield from split_blocks(splits)


def split_blocks(splits: Sequence[tuple[Scored, Split]]) -> Iterator[Block]:
    """P(lie) by a label of rows: a line for each archetype, for several together, and for everything."""
    runs = [run for run, _ in splits]
    label = ROW_LABELS[splits[0][1].label]
    kinds = [kind for kind in label.values if any(kind in split.groups for _, split in splits)]
    rows = [
        (*named(runs, run), where, *(part for kind in kinds for part in _cells(rates.get(kind))))
        for run, split in splits
        for where, rates in _lines(run, split)
    ]
    columns = [part for kind in kinds for part in (label.values[kind], "rows")]
    yield f"P(lie) by what rows ask for: {label.title}."
    yield table(runs, ("archetype", *columns), rows)
    for run, split in splits:
        yield from _notes(split, run, f"{run.name}: " if len(splits) > 1 else "")


def _lines(run: Scored, split: Split) -> Iterator[tuple[str, dict[str, Rate]]]:
    """Each line of the table: where it holds, and P(lie) of each kind of row."""
    for archetype, rates in split.by_archetype.items():
        yield titled(archetype, (run.summary.scenarios,)), rates
    if split.standardised:
        yield "standardised", split.standardised
    yield "all (compares archetypes)", {kind: group.p_lie for kind, group in split.groups.items()}


def _cells(rate: Rate | None) -> tuple[str, str]:
    return (_NONE, "0") if rate is None else (cell(rate.estimate), f"{rate.n:,}")


def _notes(split: Split, run: Scored, who: str) -> Iterator[str]:
    """What the figure over several archetypes rests on, and which rows are left out."""
    if split.standardised:
        sets = (run.summary.scenarios,)
        shares = ", ".join(f"{titled(name, sets)} {percent(share)}" for name, share in split.weights.items())
        yield (
            f"{who}Standardised: over the archetypes with at least {FEWEST} rows of each kind, in the same shares for "
            f"each kind ({shares})."
        )
    else:
        yield (
            f"{who}No archetype has {FEWEST} rows of each kind, so nothing is said over several: the last line "
            "compares archetypes, not what rows ask for."
        )
    if split.left_out:
        yield f"{who}{split.left_out:,} rows are left out, on which the readers who labelled the set differ."
