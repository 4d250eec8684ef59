"""Which runs of a sweep their folders refuse, found before anything is asked and without writing anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from maskbench.errors import MaskbenchError, RunMismatch
from maskbench.method.judge_ask import load_prompts
from maskbench.runs.begin import as_held, check_held, wanted
from maskbench.runs.folder import RunFolder, check_same_judge
from maskbench.runs.watching import Unwatched
from maskbench.settings import JUDGING, Settings
from maskbench.sweeps.sweep_plan import Task, refused, waits_for


def refusals(tasks: Mapping[str, Task], environ: Mapping[str, str]) -> dict[str, str]:
    """Why runs will not be asked: the folder holds another run, or what they need is refused; by the run's name."""
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
            prompts = load_prompts(settings.judge_prompts, settings.judge_style, settings.judge_beliefs)
            check_same_judge(folder, task.verdicts, settings, prompts.hash)
    except RunMismatch as error:
        return refused(error)
    except MaskbenchError as error:
        return str(error)
    return None


def _check_run(folder: RunFolder, settings: Settings, environ: Mapping[str, str]) -> None:
    prompts = load_prompts(settings.judge_prompts, settings.judge_style, settings.judge_beliefs)
    settings = as_held(folder, settings, Unwatched())
    check_held(folder, settings, prompts, wanted(folder, settings, environ, Unwatched()))


STARTED = ("serve_judge", "trust_remote_code")  # of what starts here the folder itself has no say


def judging(folder: RunFolder, settings: Settings) -> Settings:
    """The settings of a run in a folder, with the judging, the budget and the connections of others."""
    changed = {each: getattr(settings, each) for each in (*JUDGING, "budget", "connections", *STARTED)}
    return replace(folder.settings(), **changed)
