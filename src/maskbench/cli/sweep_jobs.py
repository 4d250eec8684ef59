"""`maskbench sweep --submitit`: the jobs of a sweep, shown or submitted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from maskbench.cli.console import command, environment, print_blocks, print_json, say
from maskbench.errors import UsageError

if TYPE_CHECKING:
    from maskbench.cli.sweep_file import SweepFile
    from maskbench.sweeps.parts import Part


def print_jobs(wanted: SweepFile, folder: Path, *, json: bool) -> None:
    """Print which jobs would be submitted, with what each may use, and what all of it would take."""
    from msgspec import to_builtins

    from maskbench.report.sections.jobs_planned import planned_jobs
    from maskbench.report.sections.sweep_runs import planned
    from maskbench.sweeps.slurm import check_slurm, words_for
    from maskbench.sweeps.sweep_forecast import forecast

    check_slurm(wanted.slurm)
    parts = _parts(wanted, folder)
    costs = forecast(wanted.runs, folder, environment(), wanted.budget, share_beliefs=wanted.share_beliefs)
    if json:
        jobs = [{"name": part.name, "runs": list(part.runs), "done": part.is_done()} for part in parts]
        print_json({**to_builtins(costs), "jobs": jobs, "sbatch": words_for(wanted.slurm, wanted.at_once, folder.name)})
        return
    blocks = list(planned(costs, next(iter(wanted.runs.values())), wanted.budget))
    print_blocks([*planned_jobs(parts, words_for(wanted.slurm, wanted.at_once, folder.name)), *blocks])


def submitted(wanted: SweepFile, folder: Path, *, json: bool) -> None:
    """Submit what is not done yet and not under way, and print how to go on."""
    from maskbench.runs.disk import inherited, make_folder
    from maskbench.sweeps.parts import PARTS, remember_shares
    from maskbench.sweeps.slurm import check_slurm, submit

    check_slurm(wanted.slurm)
    parts = _parts(wanted, folder)
    ready = [part for part in parts if not part.is_done()]
    busy = [part.name for part in ready if part.is_under_way()]
    ready = [part for part in ready if part.name not in busy]
    jobs: dict[str, str] = {}
    if ready:
        make_folder(folder)
        make_folder(folder / PARTS, inherited(folder))
        jobs = submit(ready, wanted.slurm, wanted.at_once, folder.name)
        remember_shares(folder, len(parts))
    if json:
        print_json({"jobs": jobs, "under_way": busy, "done": [part.name for part in parts if part.is_done()]})
    for part in ready if not json else ():
        print_blocks([f"{part.name}: job {jobs[part.name]}."])
    if busy:
        say(f"Under way already: {', '.join(busy)}.")
    if not ready and not busy:
        say(f"Every run of this sweep is done: {command('leaderboard', folder)}")
        return
    say(
        f"Logs are in {folder / PARTS / 'logs'}. Once the jobs are done: {command('leaderboard', folder)}\n"
        f"The same command submits again what was killed, and nothing is asked twice."
    )


def _parts(wanted: SweepFile, folder: Path) -> list[Part]:
    from maskbench.sweeps.parts import parts

    if wanted.slurm.get("nodes", 1) != 1:
        raise UsageError("[slurm], nodes: each job is one process on one machine. Leave it out.")
    return parts(
        wanted.runs,
        folder,
        wanted.budget,
        environment(),
        share_beliefs=wanted.share_beliefs,
        at_once=wanted.at_once,
        command=sys.argv,
    )
