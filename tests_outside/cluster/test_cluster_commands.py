"""The commands on a cluster: adapters of a transformers model beside each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from flows import command
from local_cluster import exported
from maskbench.pinocchio.network import packaged
from maskbench.runs.folder import RunFolder
from tiny_models import tiny_adapter


def done(*line: object) -> str:
    """What a command prints that ends well."""
    ended = command(*line, env={})
    assert ended.code == 0, ended.err
    return ended.out


def test_adapters_are_measured_beside_each_other(cluster: Any, tmp_path: Path) -> None:
    """Two adapters, each with two copies of the model, have the rows byte for byte that they have in one process."""
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
