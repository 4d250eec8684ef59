"""The parts of a sweep as jobs of SLURM, by submitit: one array, a job a part, and each is put back once it is stopped.

submitit writes the script, calls `sbatch`, and starts each job again where SLURM stops it for its time or for others.
What a job is given is written below the sweep's folder: settings and names, and no key. A job reads its keys where
every command does, in its environment and in `.env`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from maskbench.errors import UsageError
from maskbench.models.install import extra, install
from maskbench.plain import one_line
from maskbench.sweeps.parts import PARTS, Part

CLUSTERS = ("slurm", "local")  # local: processes of this machine, to try it
_OURS = ("cluster", "requeue")  # keys that are none of sbatch's
_MINUTES = 60  # that a job has, unless the file says another number
_SHOWN = 500  # characters of an error
_TIMES = 3  # that a job is started again where its time is over, unless the file says another number


class _Job:
    """A part of a sweep as submitit calls it; stopped by SLURM for its time or for others, it is put back in the queue.

    submitit asks whoever has a `checkpoint` what to call then: the same, which goes on with what is kept.
    """

    def __init__(self, part: Part) -> None:
        self.part = part

    def __call__(self) -> dict[str, str]:
        """Measure."""
        return self.part()

    def checkpoint(self) -> Any:
        """Stop gently; what was in flight comes home or is asked again."""
        self.part.stop()
        return _submitit().helpers.DelayedSubmission(self)


def check_slurm(wanted: Mapping[str, Any]) -> None:
    """Raise UsageError for a [slurm] table with a key or a cluster that submitit does not know."""
    known = (*sorted(_submitit().SlurmExecutor._valid_parameters()), *_OURS)
    for key in wanted:
        if key not in known:
            close = get_close_matches(key, known, 1)
            meant = f"Did you mean {close[0]}?" if close else f"There are {', '.join(known)}."
            raise UsageError(f"[slurm], {key}: submitit knows no such parameter. {meant}")
    if (cluster := wanted.get("cluster", "slurm")) not in CLUSTERS:
        raise UsageError(f"[slurm], cluster: {cluster!r} is none. Give one of {', '.join(CLUSTERS)}.")
    for key, least in (("time", 1), ("requeue", 0)):
        value = wanted.get(key, least)
        if type(value) is not int or value < least:
            what = "minutes" if key == "time" else "times that a job is started again"
            raise UsageError(f"[slurm], {key}: {value!r} is no number of {what}. Write it as in {key} = 60.")


def words_for(wanted: Mapping[str, Any], at_once: int | None, name: str) -> dict[str, Any]:
    """What `sbatch` is asked for, in submitit's words."""
    if wanted.get("cluster", "slurm") == "local":
        return {"cluster": "local", "timeout_min": wanted.get("time", _MINUTES)}
    limits = {} if at_once is None else {"array_parallelism": at_once}
    given = {key: value for key, value in wanted.items() if key not in _OURS}
    return {"job_name": name, "time": _MINUTES, **limits, **given}


def submit(parts: Sequence[Part], wanted: Mapping[str, Any], at_once: int | None, name: str) -> dict[str, str]:
    """Submit each part as a job of one array, so many of them at once; returns the jobs' ids by the parts' names.

    Raises UsageError where there is no SLURM, and where it takes no such job.
    """
    submitit = _submitit()
    logs, parameters = parts[0].out / PARTS / "logs", words_for(wanted, at_once, name)
    try:
        if parameters.pop("cluster", None) == "local":
            executor = submitit.LocalExecutor(logs)
        else:
            executor = submitit.SlurmExecutor(logs, max_num_timeout=wanted.get("requeue", _TIMES))
        executor.update_parameters(**parameters)
        jobs = executor.submit_array([_Job(part) for part in parts])
    except (RuntimeError, ValueError, TypeError, OSError) as error:
        raise UsageError(f"No job was submitted: {one_line(str(error))[:_SHOWN]}") from error
    return {part.name: job.job_id for part, job in zip(parts, jobs, strict=True)}


def _submitit() -> Any:
    """The library; raises UsageError where it is not installed."""
    try:
        import submitit
        import submitit.helpers
    except ImportError:
        raise UsageError(f"--submitit needs submitit. Type: {install(*extra('slurm'))}") from None
    return submitit
