"""A sweep in words: what its runs would take, and how they stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from maskbench.models.prices import FREE
from maskbench.plain import one_line
from maskbench.report.blocks import Block, Table, Warn
from maskbench.report.format import percent
from maskbench.report.sections.money import between_money, estimated
from maskbench.runs.estimate import Estimate
from maskbench.settings import Budget, Settings
from maskbench.sweeps.sweep_forecast import SweepForecast, TaskForecast
from maskbench.sweeps.sweep_json import SweepRun
from maskbench.sweeps.sweeping import Swept


def planned(forecast: SweepForecast, settings: Settings, budget: Budget) -> Iterator[Block]:
    """What a sweep would take, a line a run, and in all; `settings` are those of any run, `budget` is of all."""
    rows = [(each.name, *_cells(each)) for each in forecast.runs]
    yield Table(("run", "calls", "tokens in", "tokens out", "US dollars"), (*rows, _cells_in_all(forecast.estimate)))
    yield from map(one_line, forecast.changes)
    for each in forecast.runs:
        if each.refused:
            yield Warn(f"{each.name}: {one_line(each.refused)}")
        if each.verdicts:
            yield f"{each.name} judges the replies in {one_line(each.folder)}, and asks the subject nothing."
        elif each.beliefs_from:
            yield f"{each.name} has the beliefs of {one_line(each.beliefs_from)}."
        if each.problem:
            yield Warn(f"{each.name} cannot be counted: {one_line(each.problem)}")
    yield "Nothing was called. What runs share is counted once; of runs that were begun all is counted."
    yield from estimated(forecast.estimate, replace(settings, budget=budget))


def _cells(each: TaskForecast) -> tuple[str, ...]:
    if each.done or (each.refused and not each.estimate.models):
        return ("refused" if each.refused else "done", "", "", "")
    return _counts(each.estimate)


def _cells_in_all(estimate: Estimate) -> tuple[str, ...]:
    return ("in all", *_counts(estimate))


def _counts(estimate: Estimate) -> tuple[str, ...]:
    """Calls, tokens and money, from least to most."""
    ends = (
        [(each.calls, each.input_tokens, each.output_tokens) for each in estimate.models]
        if estimate.models
        else [((0.0, 0.0), (0.0, 0.0), (0.0, 0.0))]
    )
    sums = [tuple(sum(each[column][end] for each in ends) for end in (0, 1)) for column in (0, 1, 2)]
    counts = (f"{low:,.0f}" if round(low) == round(high) else f"{low:,.0f}–{high:,.0f}" for low, high in sums)
    free = all(each.price == FREE for each in estimate.models)
    return (*counts, "nobody bills it" if free else between_money(estimate.cost))


def standing(swept: Sequence[Swept]) -> Iterator[Block]:
    """How every run stands, and why those that are not done are not."""
    rows = [
        (one_line(each.task.name), one_line(each.task.settings.label), one_line(each.task.settings.judge), each.state,
         _p_lie(each))
        for each in swept
    ]  # fmt: skip
    yield Table(("run", "model", "judge", "state", "P(lie)"), tuple(rows))
    for each in swept:
        if each.why:
            yield Warn(f"{one_line(each.task.name)}: {one_line(each.why)}")
        elif each.summary and each.summary.withheld:
            yield Warn(f"{one_line(each.task.name)}: withheld. {one_line(each.summary.withheld)}")


def begun(names: Iterable[str], known: Mapping[str, SweepRun], idle: Mapping[str, Sequence[str]]) -> Iterator[Block]:
    """How the runs of a sweep stand by its records, and the parts of it that were never started with their runs."""
    rows = [
        (one_line(name), one_line(run.subject), one_line(run.judge), run.state, _share(run.p_lie))
        if (run := known.get(name))
        else (one_line(name), "", "", "not begun", "–")
        for name in names
    ]
    yield Table(("run", "model", "judge", "state", "P(lie)"), tuple(rows))
    for part, left in idle.items():
        yield f"Part {part} was never started: {one_line(', '.join(left))}."


def _p_lie(each: Swept) -> str:
    return _share(each.summary.metrics.p_lie.value if each.summary else None)


def _share(value: float | None) -> str:
    return "–" if value is None else percent(value)
