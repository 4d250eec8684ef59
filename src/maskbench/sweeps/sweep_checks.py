"""What is known of the runs of a sweep before anything is asked: what is wrong with them, and what they would take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from maskbench.asking.begin import check_held, checked, wanted
from maskbench.asking.estimate import Estimate, of_run, planned
from maskbench.asking.meter import known_prices
from maskbench.asking.stored_programs import to_ask_by
from maskbench.asking.watching import Unwatched
from maskbench.errors import MaskbenchError, RunMismatch, UsageError
from maskbench.method.asks import VERDICTS
from maskbench.method.forms import prompts_of
from maskbench.models.names import check_judges, check_models
from maskbench.settings import Budget, Settings
from maskbench.store.bill import prices_kept
from maskbench.store.folder import RunFolder, check_same_judge
from maskbench.sweeps.record import OVER, read_sweep
from maskbench.sweeps.sweep_plan import Task, arrange, as_identified, as_one, waits_for


def estimates(
    runs: Mapping[str, Settings], out: Path, environ: Mapping[str, str], budget: Budget
) -> tuple[dict[str, Estimate], dict[str, str]]:
    """What runs that are not done would take, all of it where they were begun, and why runs are refused; by name."""
    tasks, why = looked_at(as_one(runs, budget), out, environ, budget)
    left = {}
    for task in tasks:
        try:
            left[task.name] = _estimate(task, environ)
        except MaskbenchError as error:
            why.setdefault(task.name, str(error))
    return left, why


def _estimate(task: Task, environ: Mapping[str, str]) -> Estimate:
    """What one run would take, as its own dry run has it; whoever judges stored replies asks no subject."""
    return of_run(task.settings, environ, RunFolder(task.folder), task.stages, task.verdicts or VERDICTS)[2]


def looked_at(
    runs: Mapping[str, Settings], out: Path, environ: Mapping[str, str], budget: Budget
) -> tuple[list[Task], dict[str, str]]:
    """The runs of a sweep that are not done, and all that is known to be wrong with any run, by its name."""
    record = read_sweep(out)
    done = {run.name for run in record.runs if run.state in OVER} if record else set[str]()
    tasks = arrange(as_identified(runs), out)
    left = [task for name, task in tasks.items() if name not in done]
    why = _faults(left, environ, budget) | _refusals(tasks, environ)
    return left, {name: why[name] for name in tasks if name in why}


def refuse(why: Mapping[str, str]) -> None:
    """Raise UsageError where anything is wrong with any run."""
    if why:
        lines = (f"  {name}: {sentence}" for name, sentence in why.items())
        raise UsageError("\n".join(["Nothing was asked, because not every run could be:", *lines]))


def _faults(tasks: Iterable[Task], environ: Mapping[str, str], budget: Budget) -> dict[str, str]:
    """What is known to be wrong with these runs, by name: of settings, files, keys and prices."""
    why = {}
    for task in tasks:
        try:
            _check_asked(task, environ, budget)
        except MaskbenchError as error:
            why[task.name] = str(error)
    return why


def _refusals(tasks: Mapping[str, Task], environ: Mapping[str, str]) -> dict[str, str]:
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
        return f"{error} In a sweep: give the changed run another name."
    except MaskbenchError as error:
        return str(error)
    return None


def _check_asked(task: Task, environ: Mapping[str, str], budget: Budget) -> None:
    """Raise what a run would as soon as it began: settings, files, names, keys, addresses, prices and scenarios."""
    settings, run = checked(task.settings, environ), RunFolder(task.folder)
    (check_judges if task.verdicts else check_models)(settings, environ)
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


def judging(folder: RunFolder, settings: Settings) -> Settings:
    """The settings of a run in a folder, with the judging, the budget and the connections of others."""
    connections = settings.pace.connections
    stored = folder.settings().having(judging=settings.judging, budget=settings.budget, connections=connections)
    return to_ask_by(stored, (), folder.path, ("judge",))
