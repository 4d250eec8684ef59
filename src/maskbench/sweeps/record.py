"""The record that sweep.json holds: the runs of a sweep by name, where each is kept, and how it stands."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Literal, TypeAlias

import orjson
from msgspec import Struct, to_builtins

from maskbench.errors import RunUnreadable
from maskbench.store.disk import read_whole
from maskbench.store.fitting import fitted, from_file
from maskbench.store.folder import RunFolder

DATA = "sweep.json"
SCHEMA = 1
State: TypeAlias = Literal["waiting", "running", "done", "withheld", "stopped", "failed", "held"]
OVER: frozenset[State] = frozenset(("done", "withheld"))
_OTHERWISE = "give the sweep another --out"


class SweepRun(Struct, forbid_unknown_fields=True, kw_only=True):
    """A run: its folder below the sweep's, the verdict set that it is there, if it is no run of its own, how it stands.

    `withheld` has too many errors for a headline; `stopped` goes on; `held` waits for one that failed.
    """

    name: str
    folder: str
    verdicts: str | None = None
    state: State = "waiting"
    why: str | None = None


class SweepRecord(Struct, forbid_unknown_fields=True, kw_only=True):
    """A sweep; `gone` are runs of before that its file does not name any more, whose folders are as they were."""

    schema: int = SCHEMA
    maskbench: str
    created: str
    runs: list[SweepRun]
    gone: list[SweepRun] = []


def read_sweep(folder: Path) -> SweepRecord | None:
    """What sweep.json in a folder says, None where there is none; raises RunUnreadable for what is none."""
    path = folder / DATA
    try:
        plain = orjson.loads(read_whole(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (orjson.JSONDecodeError, OSError) as error:
        raise RunUnreadable(f"{path} cannot be read ({error}). Move it away: the runs beside it stay.") from error
    return from_file(path, plain, SCHEMA, lambda held: fitted(held, SweepRecord), "a sweep", _OTHERWISE)


def gone_from(record: SweepRecord | None, names: Collection[str]) -> list[SweepRun]:
    """The runs of earlier sessions that the file of a sweep does not name any more."""
    return [run for run in (*record.runs, *record.gone) if run.name not in names] if record else []


def changes(record: SweepRecord | None, names: Collection[str], out: Path) -> list[str]:
    """What a sweep's file names now that it had not named in earlier sessions, or names no more, as sentences."""
    if record is None:
        return []
    known = {run.name for run in (*record.runs, *record.gone)}
    told = [f"New in this sweep: {', '.join(new)}."] if (new := [name for name in names if name not in known]) else []
    if gone := ", ".join(run.name for run in gone_from(record, names)):
        told.append(f"No longer in this sweep: {gone}. What was measured stays in {out}.")
    return told


def write_sweep(folder: Path, record: SweepRecord) -> None:
    """Write sweep.json, whole or not at all."""
    RunFolder(folder).write(DATA, to_builtins(record))
