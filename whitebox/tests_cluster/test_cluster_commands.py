"""The commands on a cluster: adapters of a transformers model beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from local_cluster import exported

from flows import command
from maskbench.models.pinocchio.network import packaged
from maskbench.store.folder import RunFolder
from tiny_models import tiny_adapter


def done(*line: object) -> str:
    """What a command prints that ends well."""
    ended = command(*line, env={})
    assert ended.code == 0, ended.err
    return ended.out


def test_adapters_are_measured_one_after_the_other(cluster: Any, tmp_path: Path) -> None:
    """Two adapters, each with two copies of the model, have the rows byte for byte that they have in one process."""
    for seed in (1, 2):
        tiny_adapter(tmp_path / f"step_{seed}", packaged(), seed=seed, scale=0.02)
    head = "[every]\nlimit = 6\nmax-error-rate = 1\n[product.model]\nname = 'hf/pinocchio'\n"
    head += f"adapter = '{tmp_path}/step_*'\n"
    for name, more in (("alone", ""), ("runs", f'cluster = "{cluster.address}"\n')):
        (tmp_path / f"{name}.toml").write_text(head + more)
        done("sweep", tmp_path / f"{name}.toml", "--out", tmp_path / name)
    found = {path.parent.name: path.parent for path in (tmp_path / "runs").glob("*/run.json")}
    assert len(found) == 2
    alone = [exported(path.parent) for path in sorted((tmp_path / "alone").glob("*/run.json"))]
    assert [exported(found[name]) for name in sorted(found)] == alone
    for path in found.values():
        nodes = RunFolder(path).record()["models"]["subject"]["cluster"]
        assert sum(did["replies"] for did in nodes.values()) > 0
