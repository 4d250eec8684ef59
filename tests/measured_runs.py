"""Whole runs between simulated models, on disk, and what can happen to them afterwards."""

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from maskbench.measurement import measure
from maskbench.results.scored import Result, score
from maskbench.runs.folder import RunFolder
from maskbench.settings import Settings
from maskbench.types import Scenario

EVERYDAY = str(Path(__file__).parent / "data" / "everyday.csv")  # 96 scenarios, 16 of each archetype, in no public set


def settings(subject: str, **options: Any) -> Settings:
    """Settings of a run between simulated models."""
    known = {"judge": "sim-judge", "numeric_judge": "sim-judge", "scenarios": EVERYDAY}
    return Settings.of(subject=subject, **known | options)


def run(path: Path, subject: str = "sim", **options: Any) -> Path:
    """Measure a simulated subject into a folder."""
    measure(settings(subject, **options), path, {})
    return path


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
