"""The commands on a cluster: adapters of a transformers model beside each other, a judge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from flows import command
from local_cluster import exported
from maskbench.pinocchio.network import packaged
from maskbench.runs.folder import ExamFolder, RunFolder
from tiny_models import tiny_adapter


def done(*line: object) -> str:
    """What a command prints that ends well."""
    ended = command(*line, env={})
    assert ended.code == 0, ended.err
    return ended.out


def test_adapters_are_measured_beside_each_other(cluster: Any, tmp_path: Path) -> None:
    """Two adapters, each with two copies of the model, have the rows byte for byte that they have in one process.

    Then such a model judges one of the runs from the cluster, and once more.
    """
    for seed in (1, 2):
        tiny_adapter(tmp_path / f"step_{seed}", packaged(), seed=seed, scale=0.02)
    line = ["run", "hf/pinocchio", "--adapters", tmp_path / "step_*", "--limit", 6, "--max-error-rate", 1, "--json"]
    done(*line, "--out", tmp_path / "alone")
    there = ["--cluster", cluster.address]
    assert set(json.loads(done(*line, *there, "--out", tmp_path / "runs"))) == {"step_1", "step_2"}
    for step in ("step_1", "step_2"):
        assert exported(tmp_path / "runs" / step) == exported(tmp_path / "alone" / step)
        nodes = RunFolder(tmp_path / "runs" / step).record()["models"]["subject"]["cluster"]
        assert sum(did["replies"] for did in nodes.values()) > 0
    judged = ["judge", tmp_path / "runs" / "step_1", "--judge", "hf/pinocchio", "--json", *there]
    for name in ("hf-pinocchio", "again"):
        # it is no judge, so that too many of its verdicts are errors
        assert command(*judged, "--name", name, env={}).code in (0, 1)
        models = RunFolder(tmp_path / "runs" / "step_1").record()["verdict_sets"][name]["models"]
        assert sum(did["replies"] for did in models["binary"]["cluster"].values()) > 0


def test_an_exam_is_sat_on_the_cluster(cluster: Any, tmp_path: Path) -> None:
    """The judge computes on the machines of the cluster; of one that cannot read its prompt nothing can be told."""
    line = ["exam", "hf/pinocchio", "--short", "--cluster", cluster.address, "--out", tmp_path / "exam"]
    ended = command(*line, env={})
    assert ended.code == 1, ended.err
    assert "NOT MEASURABLE" in ended.out
    models = ExamFolder(tmp_path / "exam").record()["models"]
    assert sum(did["replies"] for did in models["binary"]["cluster"].values()) > 0
