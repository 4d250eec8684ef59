"""What maskbench writes for others, read by the libraries that define these formats or that most people read them by.

`make test-formats` installs them all; where a library is missing, its tests say so and skip.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import measured_runs
import shared_runs
from flows import typed
from maskbench.results.scored import score

pytestmark = pytest.mark.filterwarnings("default")  # what other libraries warn of is theirs


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a private set, under the name of a real model."""
    return shared_runs.real(tmp_path_factory.mktemp("own"))


def library(name: str) -> Any:
    """A library, or a skip that names it."""
    return pytest.importorskip(name, reason=f"{name} is not installed: see `make test-formats`")


# JUnit


def test_junitparser_reads_pass_failure_and_error(run: Path, tmp_path: Path) -> None:
    """A limit that does not hold is one failure, a smoke run one error, and a name in colours is text."""
    parser = library("junitparser")
    hostile = measured_runs.copied(run, tmp_path / "hostile").path
    measured_runs.edit(hostile, subject='a\x1b[31m"><failure/>\u202e')
    place = tmp_path / "check.xml"
    assert typed("check", hostile, "--max-lie", "0.01", "--min-honest", "0.01", "--junit", place).code == 3
    read = parser.JUnitXml.fromfile(str(place))
    assert (read.tests, read.failures, read.errors) == (4, 1, 0)
    (suite,) = read
    kinds = [[type(each).__name__ for each in case.result] for case in suite]
    assert kinds == [["Failure"], [], [], []]
    assert '"><failure/>' in next(iter(suite)).classname
    smoke = measured_runs.run(tmp_path / "smoke", limit=2)
    assert typed("check", smoke, "--max-lie", "0.5", "--junit", place).code == 1
    read = parser.JUnitXml.fromfile(str(place))
    assert (read.tests, read.failures, read.errors) == (1, 0, 1)


# The lines of docs/results.md for trackers and for the hub


def lines_for(name: str) -> str:
    """The block of the page that imports a library."""
    page = (Path(__file__).parents[2] / "docs" / "results.md").read_text("utf-8")
    (block,) = (each for each in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if f"maskbench, {name}" in each)
    return str(block)


@pytest.fixture
def there(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the run where the page has it."""
    shutil.copytree(run, tmp_path / "runs" / "a")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_mlflow_gives_back_what_the_page_logs(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own client reads rates with their ends and parameters; no text and no place is among it."""
    mlflow = library("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # newer versions refuse a file store without it
    mlflow.set_tracking_uri(f"file://{there}/mlruns")
    exec(lines_for("mlflow"), {})  # noqa: S102  # the page's own lines
    (logged,) = mlflow.MlflowClient().search_runs(["0"])
    result = score(there / "runs" / "a")
    assert logged.data.metrics == pytest.approx(result.metrics())
    assert logged.data.params["protocol"] == result.summary.protocol
    said = {name: str(value) for name, value in logged.data.to_dictionary().items() if name != "tags"}
    assert not any(word in str(said) for word in (shared_runs.TEXT, "secret-place"))


def logged_records(log: bytes) -> Iterator[bytes]:
    """The records of a .wandb file: seven bytes of its own, then the log of LevelDB, in blocks of 32 KiB."""
    at, parts = 7, b""
    while at + 7 <= len(log):
        if 32_768 - at % 32_768 < 7:
            at += 32_768 - at % 32_768
            continue
        size, kind = int.from_bytes(log[at + 4 : at + 6], "little"), log[at + 6]
        parts += log[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # whole, or the last part of one
            yield parts
            parts = b""


def whole_log(path: Path) -> list[Any]:
    """The records of a .wandb file once its end stands in it: wandb's own process writes it, after `finish`, too."""
    from wandb.proto.wandb_internal_pb2 import Record

    deadline = time.monotonic() + 30
    while True:
        records = [Record.FromString(data) for data in logged_records(path.read_bytes())]
        if (records and records[-1].WhichOneof("record_type") == "exit") or time.monotonic() > deadline:
            return records
        time.sleep(0.05)


def test_wandb_keeps_what_the_page_logs(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Offline its own records hold the metrics and the protocol id."""
    library("wandb")
    for name, value in {"MODE": "offline", "DIR": str(there), "SILENT": "true"}.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    exec(lines_for("wandb"), {})  # noqa: S102  # the page's own lines
    (path,) = there.rglob("run-*.wandb")
    records = whole_log(path)
    (begun,) = [record.run for record in records if record.WhichOneof("record_type") == "run"]
    config = {item.key: json.loads(item.value_json) for item in begun.config.update}
    result = score(there / "runs" / "a")
    assert (begun.project, config["protocol"]) == ("maskbench", result.summary.protocol)
    history = {item.key or item.nested_key[0]: item.value_json for each in records for item in each.history.item}
    assert {name: json.loads(history[name]) for name in result.metrics()} == pytest.approx(result.metrics())


def test_the_hubs_loader_reads_the_page_s_entry(there: Path) -> None:
    """One entry with the honesty score in percent; judge and protocol stand in its notes."""
    yaml, hub = library("yaml"), library("huggingface_hub")
    exec(lines_for("yaml"), {})  # noqa: S102  # the page's own lines
    (entry,) = hub.parse_eval_result_entries(yaml.safe_load((there / ".eval_results" / "mask.yaml").read_text("utf-8")))
    result = score(there / "runs" / "a")
    assert entry.value == pytest.approx(100 * result.metrics()["honesty_score"], abs=0.005)
    assert (entry.dataset_id, entry.task_id, entry.date) == ("cais/MASK", "mask", result.created[:10])
    assert f"protocol {result.summary.protocol}" in entry.notes
