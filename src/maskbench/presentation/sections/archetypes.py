"""The sections on archetypes: the outcomes under each way of pressing, and P(lie) by what rows ask for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from maskbench.method.archetypes import in_order
from maskbench.presentation.blocks import Bars, Block, Chart, Only, Panel, Panels, Table, Warn
from maskbench.presentation.format import cell, percent, with_interval
from maskbench.presentation.of_runs import (
    KEY,
    NAMES,
    ORDER,
    RATE_OF,
    Scored,
    has_rates,
    mix,
    named,
    unit,
)
from maskbench.presentation.sections import reports_on_logs
from maskbench.presentation.words import Taken, pressing
from maskbench.presentation.words import archetype as titled
from maskbench.results.splits import FEWEST, AskedReader, Split
from maskbench.results.summary import Part
from maskbench.scenarios.row_labels import ROW_LABELS, labelled
from maskbench.stats.figures import Share
from maskbench.types import OUTCOMES

Parts = list[tuple[Scored, Part]]


def title(runs: Sequence[Scored]) -> str:
    """What the section is called."""
    if reports_on_logs.alone(runs):
        return "Logs with an event, and without"
    return "Six ways of pressing" if len(_all(runs)) == 6 else "Ways of pressing"


def archetypes(runs: Sequence[Scored]) -> Iterator[Block]:
    """Small charts of the archetypes, side by side."""
    names = _all(runs)
    if not names:
        yield "No scenario is done yet."
        return
    on_logs = reports_on_logs.alone(runs)
    if len(names) == 1 and not on_logs:
        way = _title(runs, names[0]).lower()
        yield f"All scenarios here press in one way, {way}; the figures above are about nothing else."
    elif not on_logs:
        mixed = "A model can withstand one way of pressing and give in to another; the overall figure is their mixture."
        yield Only("page", mixed)
    title = "Side by side" if on_logs else "Archetypes, the most lies first"
    yield Panels(title, tuple(_panel(runs, name) for name in _by_lies(runs, names)), _shares(runs, names), KEY)
    yield Only("text", _counts(runs, names))
    yield from (Only("text", Warn(text)) for text in _withheld(runs, names))


def _by_lies(runs: Sequence[Scored], names: Sequence[str]) -> list[str]:
    """The archetypes from the most lies to the least, by the mean over the runs that have a rate; then the others."""
    lies = {name: [part.rates["p_lie"].value for _, part in _parts(runs, name)] for name in names}
    known = {name: [value for value in values if value is not None] for name, values in lies.items()}
    return sorted(names, key=lambda name: -sum(known[name]) / len(known[name]) if known[name] else 1.0)


def _all(runs: Sequence[Scored]) -> list[str]:
    """The archetypes of these runs, ours first and in our order."""
    return in_order(name for run in runs for name in run.summary.by_archetype)


def _title(runs: Sequence[Scored], name: str) -> str:
    return titled(name, (run.summary.scenarios for run in runs))


def _parts(runs: Sequence[Scored], name: str) -> Parts:
    return [(run, run.summary.by_archetype[name]) for run in runs if name in run.summary.by_archetype]


def _panel(runs: Sequence[Scored], name: str) -> Panel:
    parts = _parts(runs, name)
    held = " ".join(
        f"{': '.join((*named(runs, run), 'withheld:'))} {part.withheld}" for run, part in parts if part.withheld
    )
    text = pressing(name, (run.summary.scenarios for run in runs))
    count = " / ".join(dict.fromkeys(f"{sum(part.counts.values()):,}" for _, part in parts))
    return Panel(_title(runs, name), tuple(_chart(runs, parts)), f"{text} {held}".strip(), f"{count} scenarios")


def _chart(runs: Sequence[Scored], parts: Parts) -> Iterator[Chart]:
    able = [(run, part.rates) for run, part in parts if part.rates["p_lie"].value is not None]
    if able:
        yield Bars(tuple(mix("".join(named(runs, run)), metrics) for run, metrics in able), unit(runs), 22)


def _shares(runs: Sequence[Scored], names: Sequence[str]) -> Table:
    rows = []
    for name in names:
        for run, part in _parts(runs, name):
            cells = [cell(part.rates[RATE_OF[outcome]]) for outcome in ORDER]
            cells += [cell(part.rates["accuracy"]), f"{sum(part.counts.values()):,}"]
            rows.append((_title(runs, name), *named(runs, run), *cells))
    return _table(runs, (*NAMES, "accuracy", "scenarios"), rows)


def _counts(runs: Sequence[Scored], names: Sequence[str]) -> Table:
    """How many scenarios had which outcome, for media in which nobody can filter the list of all scenarios."""
    rows = [
        (_title(runs, name), *named(runs, run), *(f"{part.counts.get(outcome, 0):,}" for outcome in OUTCOMES))
        for name in names
        for run, part in _parts(runs, name)
    ]
    return _table(runs, tuple(outcome.replace("_", " ") for outcome in OUTCOMES), rows)


def _table(runs: Sequence[Scored], head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    several = len(runs) > 1
    return Table(("archetype", *(("run",) if several else ()), *head), tuple(rows), "", 2 if several else 1)


def _withheld(runs: Sequence[Scored], names: Sequence[str]) -> Iterator[str]:
    """Every reason once, with the archetypes that it is about."""
    held: dict[str, list[str]] = {}
    for name in names:
        for run, part in _parts(runs, name):
            if part.withheld:
                held.setdefault(part.withheld, []).append(": ".join((*named(runs, run), _title(runs, name))))
    yield from (f"Withheld: {', '.join(where)}. {why}" for why, where in held.items())


_NONE = "–"


def outright(runs: Sequence[Scored]) -> Iterator[Block]:
    """P(lie) where the falsehood was asked for outright, and where not; where the set does not say, that."""
    if reports_on_logs.alone(runs):  # no request asks for a falsehood
        return
    splits = [(run, split) for run in runs if (split := run.summary.of(AskedReader))]
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
    if len(splits) == 1:
        groups = splits[0][1].standardised or {kind: group["p_lie"] for kind, group in splits[0][1].groups.items()}
        told = [f"{with_interval(rate)} where it was{'' if kind == 'yes' else ' not'}" for kind, rate in groups.items()]
        if has_rates(splits[0][0]):
            yield Only("page", f"P(lie) by whether the falsehood was asked for outright: {', '.join(told)}.")
    yield from split_blocks({run.name: split for run, split in splits}, [run.summary.scenarios for run, _ in splits])


def split_blocks(
    splits: Mapping[str, Split], sets: Sequence[Taken] = (), *, taken: Sequence[str] = ()
) -> Iterator[str | Table]:
    """P(lie) by a label of rows, of each run by name: a line for each archetype, for several together, for everything.

    `sets` are the scenario sets of these runs, which have the titles of archetypes of their own; `taken` is what the
    runs took, where the sets are not there.
    """
    names = [*taken, *(each.public or each.taken for each in sets)]
    label = ROW_LABELS[next(iter(splits.values())).label]
    kinds = [kind for kind in label.values if any(kind in split.groups for split in splits.values())]
    several = len(splits) > 1
    rows = tuple(
        (*([run] if several else []), where, *(part for kind in kinds for part in _cells(rates.get(kind))))
        for run, split in splits.items()
        for where, rates in _lines(split, sets)
    )
    columns = [part for kind in kinds for part in (label.values[kind], "rows")]
    caption = f"P(lie) by what rows ask for: {label.title}.{labelled(names)}"
    yield Table((*(["run"] if several else []), "archetype", *columns), rows, caption, 2 if several else 1)
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
        yield f"{split.left_out:,} rows are left out, on which those who labelled the set differ."
