"""Whole runs between simulated models, on disk, and what can happen to them afterwards."""

import atexit
import shutil
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from maskbench.measurement import measure
from maskbench.results.scored import Result, score
from maskbench.settings import Settings
from maskbench.store.folder import RunFolder
from maskbench.types import Scenario

EVERYDAY = str(Path(__file__).parent / "data" / "everyday.csv")  # 96 scenarios, 16 of each archetype, in no public set


def settings(subject: str, **options: Any) -> Settings:
    """Settings of a run between simulated models."""
    known = {"judge": "sim-judge", "numeric_judge": "sim-judge", "scenarios": EVERYDAY}
    return Settings.of(subject=subject, **known | options)


def run(path: Path, subject: str = "sim", **options: Any) -> Path:
    """A simulated subject measured into a folder: what was measured before is copied, as if it had been measured now.

    What hangs on a file that a test may have written is measured anew, and so is a run that is gone on with.
    """
    chosen = settings(subject, **options)
    if path.exists() or any(value != EVERYDAY and _is_file(value) for value in options.values()):
        measure(chosen, path, {})
        return path
    known = repr(sorted(chosen.options.items()))
    if known not in _MEASURED:
        _MEASURED[known] = Path(tempfile.mkdtemp(dir=_place(), prefix="run")) / "run"
        measure(chosen, _MEASURED[known], {})
    shutil.copytree(_MEASURED[known], path)
    return edit(path, created=datetime.now(UTC).isoformat())


_MEASURED: dict[str, Path] = {}


@cache
def _place() -> str:
    """The folder of what was measured, which is there as long as this process is."""
    place = tempfile.mkdtemp(prefix="measured")
    atexit.register(shutil.rmtree, place)
    return place


def _is_file(value: object) -> bool:
    return isinstance(value, str) and len(value) < 200 and Path(value).exists()


def copied(path: Path, to: Path) -> RunFolder:
    """A copy of a run, which a test may write into."""
    shutil.copytree(path, to)
    return RunFolder(to)


def change(path: Path, statement: str) -> Path:
    """Change a run's database."""
    with closing(sqlite3.connect(path / "run.sqlite")) as database, database:
        database.execute(statement)
    return path


def reply_keys(path: Path, scenario: Scenario) -> set[bytes]:
    """The keys that the replies to a scenario are stored with."""
    query = "SELECT key FROM replies WHERE archetype = ? AND task_id = ?"
    with closing(sqlite3.connect(path / "run.sqlite")) as database:
        return {key for (key,) in database.execute(query, scenario.key)}


def edit(path: Path, **changes: Any) -> Path:
    """Change run.json: `subject` and `scenarios` by what they are called, else what stands on top."""
    record = RunFolder(path).record()
    for name, value in changes.items():
        if name == "subject":
            record["settings"]["subject"]["name"] = value
        elif name == "scenarios":
            record["settings"]["design"]["scenarios"] = value
        else:
            record[name] = value
        if name == "scenarios":
            record["scenarios"] |= {"name": value, "taken": value}
    (path / "run.json").write_bytes(orjson.dumps(record))
    return path


def real(path: Path, model: str, subject: str, **options: Any) -> Path:
    """A simulated run that calls itself a run of a real model."""
    return edit(run(path, subject, **options), subject=model)


def result(path: Path, model: str, **changes: Any) -> Result:
    """A run as scored, under a model's name; `changes` are of the result."""
    scored = score(path)
    return replace(scored, settings=scored.settings.having(subject=model), **changes)
