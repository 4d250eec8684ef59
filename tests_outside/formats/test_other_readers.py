"""What maskbench writes for others, read by the libraries that define these formats or that most people read them by.

`make test-formats` installs them all. Every Eval Ever wants Python 3.12, so its package lies unpacked in the folder
that MASKBENCH_EVERY_EVAL_EVER names; where a library is missing, its tests say so and skip.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import measured_runs
import shared_runs
from flows import typed
from maskbench.results.scored import score

pytestmark = pytest.mark.filterwarnings("default")  # what other libraries warn of is theirs

EEE = os.environ.get("MASKBENCH_EVERY_EVAL_EVER", "") and str(Path(os.environ["MASKBENCH_EVERY_EVAL_EVER"]).resolve())
WITH_AND_WITHOUT = pytest.mark.parametrize("words", [(), ("--with-text",)], ids=["outcomes", "texts"])
needs_eee = pytest.mark.skipif(not EEE, reason="MASKBENCH_EVERY_EVAL_EVER names no folder: see `make test-formats`")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a private set, under the name of a real model."""
    return shared_runs.real(tmp_path_factory.mktemp("own"))


def library(name: str) -> Any:
    """A library, or a skip that names it."""
    return pytest.importorskip(name, reason=f"{name} is not installed: see `make test-formats`")


# The hub


@WITH_AND_WITHOUT
def test_datasets_loads_every_part_with_its_features(
    run: Path, tmp_path: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each configuration of the folder loads offline, with the types that the card promises."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    datasets = library("datasets")
    assert typed("export", run, "--format", "hf", "--out", tmp_path / "set", *words).code == 0
    names = datasets.get_dataset_config_names(str(tmp_path / "set"))
    parts = ["scenarios", "statements", "rates", *(("prompts", "replies") if words else ())]
    assert [name.partition("-")[0] for name in names] == parts
    infos = datasets.get_dataset_infos(str(tmp_path / "set"))
    for name in names:
        loaded = datasets.load_dataset(str(tmp_path / "set"), name, split="test", cache_dir=str(tmp_path / "cache"))
        assert loaded.features == infos[name].features
        assert len(loaded) > 0
    outcomes = datasets.load_dataset(str(tmp_path / "set"), split="test", cache_dir=str(tmp_path / "cache"))["outcome"]
    assert list(outcomes).count("lie") == score(run).summary.counts["lie"]


def test_datasets_loads_a_folder_s_own_rows_beside_another_of_its_name(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the library has kept of one run is not given for another whose folder has the same name."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = library("datasets")
    runs = (run, measured_runs.run(tmp_path / "liar", "sim/lie=1,evade=0", scenarios=score(run).settings.scenarios))
    for number, path in enumerate(runs):
        place = tmp_path / str(number) / "set"
        assert typed("export", path, "--format", "hf", "--out", place).code == 0
        loaded = datasets.load_dataset(str(place), split="test", cache_dir=str(tmp_path / "cache"))["outcome"]
        assert list(loaded).count("lie") == score(path).summary.counts["lie"]


# Every Eval Ever


def schema(name: str) -> Any:
    """A schema of the package, as a validator."""
    path = Path(EEE) / "every_eval_ever" / "schemas" / f"{name}.schema.json"
    return jsonschema.Draft7Validator(json.loads(path.read_text("utf-8")))


@needs_eee
@WITH_AND_WITHOUT
def test_both_files_are_valid_by_the_schemas_of_the_package(run: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    """The record, and every line of the outcomes, with texts and without."""
    assert typed("export", run, "--format", "every-eval-ever", "--out", tmp_path, *words).code == 0
    (record,), (samples,) = tmp_path.rglob("*.json"), tmp_path.rglob("*.jsonl")
    schema("eval").validate(json.loads(record.read_text("utf-8")))
    lines = [json.loads(line) for line in samples.read_text("utf-8").splitlines()]
    assert len(lines) == 2 * len(score(run).scenarios)
    for line in lines:
        schema("instance_level_eval").validate(line)


@needs_eee
@WITH_AND_WITHOUT
def test_its_own_validator_has_no_warning(run: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    """The data store's check of what is handed in passes: schema, paths, bounds, both files together."""
    library("pydantic")
    assert typed("export", run, "--format", "every-eval-ever", "--out", tmp_path, *words).code == 0
    command = [sys.executable, "-m", "every_eval_ever", "validate", "--format", "json", "data/*/*/*/*.json*"]
    environ = {**os.environ, "PYTHONPATH": EEE}
    ended = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr  # 2 would be warnings
    assert '"valid": true' in ended.stdout
    assert '"valid": false' not in ended.stdout


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


# Trackers


@pytest.mark.parametrize("store", ["sqlite:///{}/ml.db", "file://{}/mlruns"])
def test_mlflow_gives_back_what_was_logged(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    """Its own client reads parameters, rates with their ends, and summary.json; no text and no place is among it."""
    mlflow = library("mlflow")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store.format(tmp_path))
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # newer versions refuse a file store without it
    mlflow.set_tracking_uri(store.format(tmp_path))
    ended = typed("run", "--out", run, "--log", "mlflow", "--quiet")
    assert ended.code == 0, ended.err
    client = mlflow.MlflowClient()
    (logged,) = client.search_runs(["0"])
    result = score(run)
    assert logged.data.metrics["p_lie"] == result.rates["p_lie"].value
    assert logged.data.metrics["p_lie_high"] == result.rates["p_lie"].high
    assert logged.data.params["protocol"] == result.summary.protocol
    assert [each.path for each in client.list_artifacts(logged.info.run_id)] == ["summary.json"]
    summary = Path(client.download_artifacts(logged.info.run_id, "summary.json", str(tmp_path))).read_text("utf-8")
    assert json.loads(summary)["metrics"]["p_lie"]["value"] == result.rates["p_lie"].value
    assert not any(word in f"{summary} {logged.to_dictionary()['data']}" for word in (shared_runs.TEXT, "secret-place"))


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Weights & Biases without a network, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    for name, value in {"MODE": "offline", "DIR": str(tmp_path), "SILENT": "true", "PROJECT": "mine"}.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    return tmp_path


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


def test_wandb_keeps_what_was_logged_offline(run: Path, offline: Path) -> None:
    """Its own records hold config and rates in the file that `wandb sync` sends, and no text, place or command line."""
    library("wandb")

    ended = typed("run", "--out", run, "--log", "wandb")
    assert ended.code == 0, ended.err
    assert "Logged to Weights & Biases (offline: `wandb sync " in ended.err
    (path,) = offline.rglob("run-*.wandb")
    records = whole_log(path)
    (begun,) = [record.run for record in records if record.WhichOneof("record_type") == "run"]
    config = {item.key: json.loads(item.value_json) for item in begun.config.update}
    result = score(run)
    assert (begun.project, config["protocol"]) == ("mine", result.summary.protocol)
    history = {item.key or item.nested_key[0]: item.value_json for each in records for item in each.history.item}
    assert json.loads(history["p_lie"]) == result.rates["p_lie"].value
    said = str(records)
    assert not any(word in said for word in (shared_runs.TEXT + "p ", "secret-place", "--log", str(run)))


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_a_tracker_that_cannot_be_reached_fails_no_run(run: Path, tmp_path: Path, name: str) -> None:
    """The result is printed, the exit code is the run's, and a line says that it was not logged."""
    library(name)
    (tmp_path / "file").write_text("")
    environ = {
        **os.environ,
        "MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path}/file/ml.db",
        "WANDB_MODE": "online",
        "WANDB_API_KEY": "too-short",  # refused before any call
    }
    words = [sys.executable, "-m", "maskbench", "run", "--out", str(run), "--log", name, "--json", "--quiet"]
    ended = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["complete"] is True
    assert "The run is whole, but it was not logged (" in ended.stderr
    assert "too-short" not in ended.stderr


def test_judge_and_sweep_log_each_of_their_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A verdict set is logged by its own protocol, and a sweep logs each of its runs."""
    mlflow, run = library("mlflow"), shared_runs.own(tmp_path)
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/ml.db")
    ended = typed("judge", run, "--judge", "sim-judge/accuracy=0.9", "--name", "other", "--log", "mlflow")
    assert ended.code == 0, ended.err
    same = {"judge": "sim-judge", "scenarios": "starter@1", "sample": 24}
    lines = ["[every]", *(f"{name} = {json.dumps(value)}" for name, value in same.items())]
    lines += ["[product]", 'model = ["sim/lie=0.2", "sim/lie=0.6"]']
    (tmp_path / "sweep.toml").write_text("\n".join(lines))
    ended = typed("sweep", tmp_path / "sweep.toml", "--out", tmp_path / "swept", "--log", "mlflow")
    assert ended.code == 0, ended.err
    logged = [each.data.params for each in mlflow.MlflowClient().search_runs(["0"])]
    assert {each["subject"] for each in logged} == {shared_runs.SUBJECT, "sim/lie=0.2", "sim/lie=0.6"}
    (judged,) = [each for each in logged if each["subject"] == shared_runs.SUBJECT]
    assert (judged["verdicts"], judged["judge"]) == ("other", "sim-judge/accuracy=0.9")
    assert judged["protocol"] == score(run, verdicts="other").summary.protocol


def test_wandb_without_a_key_stays_offline_and_asks_nobody(run: Path, tmp_path: Path) -> None:
    """Who has never logged in gets a run in a folder, and the line that sends it."""
    library("wandb")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("WANDB_")}
    environ |= {"HOME": str(tmp_path), "NETRC": str(tmp_path / "none"), "WANDB_CONFIG_DIR": str(tmp_path)}
    words = [sys.executable, "-m", "maskbench", "run", "--out", str(run), "--log", "wandb"]
    ended = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert (ended.returncode, "offline: `wandb sync " in ended.stderr) == (0, True), ended.stderr
