"""What a sweep would take, and which of its runs would be refused, found before anything is asked or written."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from msgspec import Struct, structs

from maskbench.errors import MaskbenchError, RunMismatch, UsageError
from maskbench.method.asks import VERDICTS
from maskbench.method.forms import prompts_of
from maskbench.models.chat.extra_fields import check_extra
from maskbench.models.hf.opening import check_options, identified
from maskbench.models.names import check_judges, check_models
from maskbench.models.serve.own_server import addressed
from maskbench.models.serve.serve_command import check_program
from maskbench.runs.begin import check_held, wanted
from maskbench.runs.bill import StagePrices, prices_kept
from maskbench.runs.estimate import Estimate, Range, estimate, planned
from maskbench.runs.folder import RunFolder, check_same_judge
from maskbench.runs.forecast import Load
from maskbench.runs.meter import known_prices
from maskbench.runs.options import check
from maskbench.runs.stored_programs import to_ask_by
from maskbench.runs.watching import Unwatched
from maskbench.settings import Budget, Settings
from maskbench.sweeps.record import changes, read_sweep
from maskbench.sweeps.sweep_plan import Task, arrange, as_identified, refused, waits_for
from maskbench.types import Stage

Loads = dict[tuple[Stage, str], Load]


class TaskForecast(Struct, frozen=True, kw_only=True):
    """What one run would take; `done` runs take nothing more, and a `problem` says why one cannot be counted.

    `refused` says why the sweep would not begin with it: its folder holds a run with other settings, it needs one of
    these, or its model, key, address or price is not there.

    With `verdicts` the run judges the replies of another one in `folder`.
    """

    name: str
    folder: str
    verdicts: str | None
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


def forecast(runs: Mapping[str, Settings], out: Path, environ: Mapping[str, str], budget: Budget) -> SweepForecast:
    """Count what a sweep would take; raises UsageError for a price list that is none."""
    record = read_sweep(out)
    done = {run.name for run in record.runs if run.state in ("done", "withheld")} if record else set[str]()
    tasks = arrange(as_identified(runs), out)
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
        loads, problem = ({}, None) if not is_asked else _counted(task, environ)
        for key, load in loads.items():
            total[key] = total.get(key, Load()) + load
        shown.append(
            TaskForecast(
                name=task.name,
                folder=str(task.folder),
                verdicts=task.verdicts,
                done=task.name in done and task.name not in refused,
                problem=problem,
                refused=refused.get(task.name),
                estimate=estimate(loads, task.settings, own),
            )
        )
    every = next(iter(tasks.values())).settings
    in_all = structs.replace(estimate(total, every, prices), seconds=_seconds(total, every, prices))
    return SweepForecast(changes=changes(record, runs, out), runs=shown, estimate=in_all)


def _counted(task: Task, environ: Mapping[str, str]) -> tuple[Loads, str | None]:
    """What one run would ask, or why that cannot be told; whoever judges stored replies asks no subject."""
    try:
        prompts = prompts_of(task.settings)
        loads = planned(task.settings, environ, prompts)[0].loads
    except MaskbenchError as error:
        return {}, str(error)
    return {key: load for key, load in loads.items() if key[0] in task.stages}, None


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


def faults(
    tasks: Mapping[str, Task], environ: Mapping[str, str], budget: Budget, done: Collection[str]
) -> dict[str, str]:
    """What is known to be wrong with runs that are still to be asked, by name: of settings, files, keys and prices."""
    why = {}
    for task in (task for name, task in tasks.items() if name not in done):
        try:
            _check_asked(task, environ, budget)
        except MaskbenchError as error:
            why[task.name] = str(error)
    return why


def refusals(tasks: Mapping[str, Task], environ: Mapping[str, str]) -> dict[str, str]:
    """Why folders refuse runs: they hold others, or what the runs need is refused; by the run's name."""
    why = {name: sentence for name, task in tasks.items() if (sentence := _refusal(task, environ))}
    while held := [task for task in tasks.values() if task.name not in why and not why.keys().isdisjoint(task.needs)]:
        why |= {task.name: waits_for(next(name for name in task.needs if name in why)) for task in held}
    return {name: why[name] for name in tasks if name in why}


def _refusal(task: Task, environ: Mapping[str, str]) -> str | None:
    folder = RunFolder(task.folder)
    if not folder.exists:
        return None
    try:
        if task.verdicts is None:
            _check_run(folder, task.settings, environ)
        elif task.verdicts in folder.read().verdict_sets:
            settings = judging(folder, task.settings)
            prompts = prompts_of(settings)
            check_same_judge(folder, task.verdicts, settings, prompts.hash)
    except RunMismatch as error:
        return refused(error)
    except MaskbenchError as error:
        return str(error)
    return None


def _check_asked(task: Task, environ: Mapping[str, str], budget: Budget) -> None:
    """Raise what a run would as soon as it began: settings, files, names, keys, addresses, prices and scenarios."""
    settings, run = identified(task.settings), RunFolder(task.folder)
    check(settings)
    check_options(settings)
    check_extra(settings, environ)
    check_program(settings)
    (check_judges if task.verdicts else check_models)(settings, addressed(environ, settings))
    prompts = prompts_of(settings)
    if not run.exists and not task.needs:
        planned(settings, environ, prompts)
    try:
        limited = replace(settings, budget=replace(settings.budget, max_cost=budget.max_cost))
        known_prices(limited, environ, stages=task.stages, kept=prices_kept(run, task.verdicts or VERDICTS))
    except UsageError as error:
        raise UsageError(f"{error} In a sweep's file these options are keys of [every].") from None


def _check_run(folder: RunFolder, settings: Settings, environ: Mapping[str, str]) -> None:
    prompts = prompts_of(settings)
    check_held(folder, settings, prompts, wanted(folder, settings, environ, Unwatched()))


STARTED = ("serve", "serve_judge", "cluster", "trust_remote_code")  # which the file says, and not the folder


def judging(folder: RunFolder, settings: Settings) -> Settings:
    """The settings of a run in a folder, with the judging, the budget and the connections of others."""
    options = settings.options
    started = {name: options[name] for name in ("connections", *STARTED)}
    stored = folder.settings().having(judging=settings.judging, budget=settings.budget, **started)
    return to_ask_by(stored, STARTED, folder.path, ("judge",))
