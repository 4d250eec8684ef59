"""A sweep in words: what its runs would take, how they stand, and checkpoints in a row against the first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from maskbench.asking.estimate import Estimate
from maskbench.cli.sections.estimate import between_money, counts, estimated
from maskbench.method.rates import COMPARED
from maskbench.plain import one_line
from maskbench.presentation.blocks import Block, Sentence, Table, Warn, Words
from maskbench.presentation.format import CAVEAT, between, percent, points
from maskbench.presentation.words import RATES
from maskbench.results.comparison import Pairing, compare
from maskbench.settings import Settings
from maskbench.store.prices import FREE

if TYPE_CHECKING:
    from maskbench.sweeps.sweeping import Swept


def planned(
    estimates: Mapping[str, Estimate | None], refused: Collection[str], in_all: Estimate, settings: Settings
) -> Iterator[Block]:
    """What a sweep would take, a line a run, and in all; whatever has no estimate is refused or done."""
    words = ((name, "refused" if name in refused else "done", each) for name, each in estimates.items())
    rows = [(one_line(name), *_cells(each, word)) for name, word, each in (*words, ("in all", "nothing", in_all))]
    yield Table(("run", "calls", "tokens in", "tokens out", "US dollars"), tuple(rows))
    yield "Nothing was called. What runs share is counted once; of runs that were begun all is counted."
    yield from estimated(in_all, settings)


def _cells(each: Estimate | None, otherwise: str) -> tuple[str, ...]:
    if each is None or not each.models:
        return (otherwise, "", "", "")
    free = all(model.price == FREE for model in each.models)
    return (*counts(each.models), "nobody bills it" if free else between_money(each.cost))


def states(swept: Sequence[Swept]) -> Iterator[Block]:
    """How every run stands, and why those that are not done are not."""
    rows = [
        (
            *map(one_line, (each.task.name, each.task.settings.label, each.task.settings.judging.judge)),
            each.state,
            _p_lie(each),
        )
        for each in swept
    ]
    yield Table(("run", "model", "judge", "state", "P(lie)"), tuple(rows))
    for each in swept:
        if each.why:
            yield Warn(f"{one_line(each.task.name)}: {one_line(each.why)}")
        elif each.summary and each.summary.withheld:
            yield Warn(f"{one_line(each.task.name)}: withheld. {one_line(each.summary.withheld)}")


def _p_lie(each: Swept) -> str:
    value = each.summary.rates["p_lie"].value if each.summary else None
    return "–" if value is None else percent(value)


def checkpoints(runs: Sequence[Path], rules: str, verdicts: Sequence[str] | None = None) -> Iterator[Block]:
    """The curve of these runs, each named after its folder; raises UsageError for runs that cannot be compared.

    Each is scored by the verdict set at its place in `verdicts`, which is its own where there are none.
    """
    if len(runs) < 2:
        yield f"One run, {runs[0]}: there is nothing to compare. `maskbench score {runs[0]}` shows it."
        return
    data = compare(runs[0], *runs[1:], rules=rules, verdicts=verdicts).data
    names, others = [one_line(run.name) for run in runs], data.others
    yield Sentence((Words(f"{one_line(data.first.subject)} and what came after"),))
    yield _rates(names, others)
    yield f"Difference from {names[0]} in points, on the scenarios that both have, with 95 % intervals:"
    yield _differences(names[1:], others)
    yield Sentence((f"({CAVEAT})",), "note")
    for name, other in zip(names[1:], others, strict=True):
        if other.withheld:
            yield Warn(f"{name}: withheld. {one_line(other.withheld)}")


def _rates(names: Sequence[str], others: Sequence[Pairing]) -> Table:
    """The value of every rate: the first run's as the first pairing has it, which shares its scenarios."""
    firsts = (rate.first for rate in others[0].rates.values())
    values = [firsts, *((rate.other for rate in other.rates.values()) for other in others)]
    cells = ((name, *map(percent, row)) for name, row in zip(names, values, strict=True))
    return Table(("run", *(RATES[rate] for rate in COMPARED)), tuple(cells))


def _differences(names: Sequence[str], others: Sequence[Pairing]) -> Table:
    head = ("run", "P(lie)", "95 %", "P(honest)", "95 %", "p, Holm")
    return Table(head, tuple(_difference(*each) for each in zip(names, others, strict=True)))


def _difference(name: str, other: Pairing) -> tuple[str, ...]:
    rates = (other.rates["p_lie"], other.rates["p_honest"])
    cells = (cell for rate in rates for cell in (points(rate.difference), between(rate.ci95)))
    return (name, *cells, "–" if other.p_holm is None else _p(other.p_holm))


def _p(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"
