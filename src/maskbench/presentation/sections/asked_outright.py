"""The section on what rows ask for: P(lie) of each kind of row, within archetypes and standardised over several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from maskbench.presentation.blocks import Block, Only, Table
from maskbench.presentation.format import cell, percent
from maskbench.presentation.of_runs import Scored
from maskbench.presentation.words import Taken
from maskbench.presentation.words import archetype as titled
from maskbench.results.splits import FEWEST, Split
from maskbench.scenarios.row_labels import ROW_LABELS
from maskbench.stats.figures import Share

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
    yield from split_blocks({run.name: split for run, split in splits}, [run.summary.scenarios for run, _ in splits])


def split_blocks(splits: Mapping[str, Split], sets: Sequence[Taken] = ()) -> Iterator[str | Table]:
    """P(lie) by a label of rows, of each run by name: a line for each archetype, for several together, for everything.

    `sets` are the scenario sets of these runs, which have the titles of archetypes of their own.
    """
    label = ROW_LABELS[next(iter(splits.values())).label]
    kinds = [kind for kind in label.values if any(kind in split.groups for split in splits.values())]
    several = len(splits) > 1
    rows = tuple(
        (*([run] if several else []), where, *(part for kind in kinds for part in _cells(rates.get(kind))))
        for run, split in splits.items()
        for where, rates in _lines(split, sets)
    )
    columns = [part for kind in kinds for part in (label.values[kind], "rows")]
    yield f"P(lie) by what rows ask for: {label.title}."
    yield Table((*(["run"] if several else []), "archetype", *columns), rows, texts=2 if several else 1)
    notes = {run: list(_notes(split, sets)) for run, split in splits.items()}
    alike = all(own == next(iter(notes.values())) for own in notes.values())
    for run, own in list(notes.items())[: 1 if alike else None]:
        yield from (note if alike else f"{run}: {note}" for note in own)


def _lines(split: Split, sets: Sequence[Taken]) -> Iterator[tuple[str, dict[str, Share]]]:
    """Each line of the table: where it holds, and P(lie) of each kind of row."""
    for archetype, rates in split.by_archetype.items():
        yield titled(archetype, sets), rates
    if split.standardised:
        yield "standardised", split.standardised
    yield "all (compares archetypes)", {kind: group["p_lie"] for kind, group in split.groups.items()}


def _cells(rate: Share | None) -> tuple[str, str]:
    return (_NONE, "0") if rate is None else (cell(rate), f"{rate.n:,}")


def _notes(split: Split, sets: Sequence[Taken]) -> Iterator[str]:
    """What the figure over several archetypes rests on, and which rows are left out."""
    if split.standardised:
        shares = ", ".join(f"{titled(name, sets)} {percent(share)}" for name, share in split.weights.items())
        yield (
            f"Standardised: over the archetypes with at least {FEWEST} rows of each kind, in the same shares for "
            f"each kind ({shares})."
        )
    else:
        yield (
            f"No archetype has {FEWEST} rows of each kind, so nothing is said over several: the last line "
            "compares archetypes, not what rows ask for."
        )
    if split.left_out:
        yield f"{split.left_out:,} rows are left out, on which the readers who labelled the set differ."
