"""Which runs of a sweep would be refused, found before anything is asked and without writing anything."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from maskbench.errors import MaskbenchError, RunMismatch, UsageError
from maskbench.method.asks import VERDICTS
from maskbench.method.judge_ask import prompts_of
from maskbench.models.chat.extra_fields import check_extra
from maskbench.models.hf.opening import check_options, identified
from maskbench.models.names import check_judges, check_models
from maskbench.models.serve.own_server import addressed
from maskbench.models.serve.serve_command import check_program
from maskbench.runs.begin import as_held, check, check_held, wanted
from maskbench.runs.estimate import planned
from maskbench.runs.folder import RunFolder, check_same_judge
from maskbench.runs.meter import known_prices, prices_kept
from maskbench.runs.shared_beliefs import check_source
from maskbench.runs.watching import Unwatched
from maskbench.settings import JUDGING, Budget, Settings
from maskbench.sweeps.sweep_plan import Task, refused, waits_for


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
        elif task.verdicts in folder.read().sets:
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
        check_source(None, settings, prompts, environ)
        planned(settings, environ, prompts)
    try:
        limited = replace(settings, budget=replace(settings.budget, max_cost=budget.max_cost))
        known_prices(limited, environ, stages=task.stages, kept=prices_kept(run, task.verdicts or VERDICTS))
    except UsageError as error:
        raise UsageError(f"{error} In a sweep's file these options are keys of [every].") from None


def _check_run(folder: RunFolder, settings: Settings, environ: Mapping[str, str]) -> None:
    prompts = prompts_of(settings)
    settings = as_held(folder, settings, Unwatched())
    check_held(folder, settings, prompts, wanted(folder, settings, environ, Unwatched()))


STARTED = ("serve_judge", "trust_remote_code")  # of what starts here the folder itself has no say


def judging(folder: RunFolder, settings: Settings) -> Settings:
    """The settings of a run in a folder, with the judging, the budget and the connections of others."""
    changed = {each: getattr(settings, each) for each in (*JUDGING, "budget", "connections", *STARTED)}
    return replace(folder.settings(), **changed)
