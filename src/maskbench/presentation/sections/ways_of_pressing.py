"""The section on archetypes: the outcomes under each way of pressing, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.method.archetypes import in_order
from maskbench.presentation.blocks import Bars, Block, Chart, Figure, Only, Panel, Panels, Points, Row, Table, Warn
from maskbench.presentation.format import cell
from maskbench.presentation.of_runs import (
    KEY,
    NAMES,
    ORDER,
    RATE_OF,
    WHISKERS,
    Scored,
    colour_of,
    mix,
    named,
    run_colour,
    unit,
)
from maskbench.presentation.words import archetype as titled
from maskbench.presentation.words import pressing
from maskbench.results.summary import Part
from maskbench.types import OUTCOMES

Parts = list[tuple[Scored, Part]]


def title(runs: Sequence[Scored]) -> str:
    """What the section is called."""
    return "Six ways of pressing" if len(_all(runs)) == 6 else "Ways of pressing"


def archetypes(runs: Sequence[Scored]) -> Iterator[Block]:
    """Small charts of the archetypes, side by side."""
    names = _all(runs)
    if not names:
        yield "No scenario is done yet."
        return
    if len(names) == 1:
        way = _title(runs, names[0]).lower()
        yield f"All scenarios here press in one way, {way}; the figures above are about nothing else."
    else:
        mixed = "A model can withstand one way of pressing and give in to another; the overall figure is their mixture."
        yield Only("page", mixed)
    if len(names) > 1 and len(runs) <= _MOST_RUNS and (sorted_rows := _by_lies(runs, names)):
        heads = [run.name for run in runs] if len(runs) > 1 else ["P(lie)"]
        table = Table(("archetype", *heads), _lies(runs, names))
        yield Only("page", Figure((Points(sorted_rows, f"P(lie), share of {unit(runs)}"),), _SORTED, table))
    panels = tuple(_panel(runs, name) for name in names)
    note = WHISKERS if len(runs) > 1 else ""
    yield Panels("Archetypes side by side", panels, _shares(runs, names), KEY, note)
    yield Only("text", _counts(runs, names))
    yield from (Only("text", Warn(text)) for text in _withheld(runs, names))


_MOST_RUNS = 4  # with a line each under every archetype; more would be a wall of lines
_SORTED = "Where it lies most: P(lie) by archetype, the highest first"


def _sorted(runs: Sequence[Scored], names: Sequence[str]) -> list[str]:
    """The archetypes from the most lies to the least, by the mean over the runs that have a rate."""
    lies = {name: [part.rates["p_lie"].value for _, part in _parts(runs, name)] for name in names}
    known = {name: [value for value in values if value is not None] for name, values in lies.items()}
    return sorted((name for name in names if known[name]), key=lambda name: -sum(known[name]) / len(known[name]))


def _by_lies(runs: Sequence[Scored], names: Sequence[str]) -> tuple[Row | str, ...]:
    """P(lie) under each archetype, a line a run; under headings where there are several."""
    rows: list[Row | str] = []
    for name in _sorted(runs, names):
        rates = [(run, part.rates["p_lie"]) for run, part in _parts(runs, name)]
        if len(runs) == 1:
            rows.append(Row(_title(runs, name), rates[0][1], "lie"))
        else:
            rows += [_title(runs, name), *(Row(run.name, rate, run_colour(run.place)) for run, rate in rates)]
    return tuple(rows)


def _lies(runs: Sequence[Scored], names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (_title(runs, name), *(cell(part.rates["p_lie"]) for _, part in _parts(runs, name)))
        for name in _sorted(runs, names)
    )


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
    if len(runs) == 1 and able:
        metrics = able[0][1]
        rows = (
            Row(label, metrics[RATE_OF[outcome]], colour_of(outcome))
            for outcome, label in zip(ORDER, NAMES, strict=True)
        )
        yield Points(tuple(rows), f"share of {unit(runs)}")
    elif able:
        yield Bars(tuple(mix(run.name, metrics) for run, metrics in able), unit(runs), 22)


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
    counted = {outcome for name in names for _, part in _parts(runs, name) for outcome in part.counts}
    outcomes = (*OUTCOMES, *(name for name in ("disputed", "no_lie") if name in counted))
    rows = [
        (_title(runs, name), *named(runs, run), *(f"{part.counts.get(outcome, 0):,}" for outcome in outcomes))
        for name in names
        for run, part in _parts(runs, name)
    ]
    return _table(runs, tuple(outcome.replace("_", " ") for outcome in outcomes), rows)


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
