"""What a sweep would take: calls, tokens, money and time of each run and in all, counted before anything is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from msgspec import Struct, structs

from maskbench.errors import MaskbenchError
from maskbench.method.judge_ask import prompts_of
from maskbench.runs.bill_json import StagePrices
from maskbench.runs.estimate import Estimate, Range, estimate, planned
from maskbench.runs.folder import RunFolder
from maskbench.runs.forecast import Load
from maskbench.runs.meter import known_prices, prices_kept
from maskbench.settings import Budget, Settings
from maskbench.sweeps.refused_runs import faults, refusals
from maskbench.sweeps.sweep_json import changes, read_sweep
from maskbench.sweeps.sweep_plan import Task, arrange, as_identified
from maskbench.types import Stage

Loads = dict[tuple[Stage, str], Load]


class TaskForecast(Struct, frozen=True, kw_only=True):
    """What one run would take; `done` runs take nothing more, and a `problem` says why one cannot be counted.

    `refused` says why the sweep would not begin with it: its folder holds a run with other settings, it needs one of
    these, or its model, key, address or price is not there.

    With `verdicts` the run judges the replies of another one in `folder`, and with `beliefs_from` it has its beliefs.
    """

    name: str
    folder: str
    verdicts: str | None
    beliefs_from: str | None
    done: bool
    problem: str | None
    refused: str | None
    estimate: Estimate


class SweepForecast(Struct, frozen=True, kw_only=True):
    """What a sweep would take, a run at a time and in all; of runs that were begun all that they take.

    `changes` are sentences on runs that the sweep's folder does not know yet, or that its file does not name any more.
    """

    changes: list[str]
    runs: list[TaskForecast]
    estimate: Estimate


def forecast(
    runs: Mapping[str, Settings], out: Path, environ: Mapping[str, str], budget: Budget, *, share_beliefs: bool
) -> SweepForecast:
    """Count what a sweep would take; raises UsageError for a price list that is none."""
    record = read_sweep(out)
    done = {run.name for run in record.runs if run.state in ("done", "withheld")} if record else set[str]()
    tasks = arrange(as_identified(runs), out, share_beliefs=share_beliefs)
    held = refusals(tasks, environ)
    refused = faults(tasks, environ, budget, done) | held
    total: Loads = {}
    prices: StagePrices = {}
    shown = []
    for task in tasks.values():
        own = known_prices(task.settings, environ, kept=prices_kept(RunFolder(task.folder)))
        for stage, known in own.items():
            prices.setdefault(stage, {}).update(known)
        is_asked = task.name not in done and task.name not in held
        loads, problem = ({}, None) if not is_asked else _counted(task, tasks, environ)
        for key, load in loads.items():
            total[key] = total.get(key, Load()) + load
        shown.append(
            TaskForecast(
                name=task.name,
                folder=str(task.folder),
                verdicts=task.verdicts,
                beliefs_from=None if task.verdicts else task.settings.beliefs_from,
                done=task.name in done and task.name not in refused,
                problem=problem,
                refused=refused.get(task.name),
                estimate=estimate(loads, task.settings, own),
            )
        )
    every = next(iter(tasks.values())).settings
    in_all = structs.replace(estimate(total, every, prices), seconds=_seconds(total, every, prices))
    return SweepForecast(changes=changes(record, runs, out), runs=shown, estimate=in_all)


def _counted(task: Task, tasks: Mapping[str, Task], environ: Mapping[str, str]) -> tuple[Loads, str | None]:
    """What one run would ask, or why that cannot be told; whoever judges stored replies asks no subject."""
    settings = task.settings
    if task.verdicts is not None:
        base = next(other for other in tasks.values() if other.name == task.needs[0])
        is_known = base.settings.beliefs_from and any(
            other.verdicts and other.settings.judge == settings.judge for other in _on_same_beliefs(task, base, tasks)
        )
        settings = replace(settings, beliefs_from=base.settings.beliefs_from if is_known else None)
    try:
        prompts = prompts_of(settings)
        loads = planned(settings, environ, prompts)[0].loads
    except MaskbenchError as error:
        return {}, str(error)
    return {key: load for key, load in loads.items() if key[0] in task.stages}, None


def _on_same_beliefs(task: Task, base: Task, tasks: Mapping[str, Task]) -> list[Task]:
    """The tasks before this one that judge the run whose beliefs its replies rest on."""
    source = Path(base.settings.beliefs_from or "").resolve()
    return [other for name in task.follows if (other := tasks[name]).folder.resolve() == source]


def _seconds(loads: Loads, settings: Settings, prices: StagePrices) -> Range | None:
    """How long it takes: services are asked beside each other, so the slowest one counts; None as for one run."""
    services: dict[str, Loads] = {}
    for (stage, model), load in loads.items():
        services.setdefault(model.partition("/")[0], {})[stage, model] = load
    spans = [estimate(some, settings, prices).seconds for some in services.values()]
    known = [span for span in spans if span is not None]
    if len(known) < len(spans) or not known:
        return None
    return max(low for low, _ in known), max(high for _, high in known)
