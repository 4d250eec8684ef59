"""docs/project/scale.md: its arithmetic is that of a dry run, and its files are what those who read them take."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

import scale
import scale_arithmetic

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "project" / "scale.md").read_text("utf-8")

# What KubeRay's types (ray.io/v1) call the fields that are used here.
RAY_JOB = {"entrypoint", "shutdownAfterJobFinishes", "ttlSecondsAfterFinished", "backoffLimit", "rayClusterSpec"}
RAY_CLUSTER = {"rayVersion", "headGroupSpec", "workerGroupSpecs"}
HEAD = {"rayStartParams", "template"}
WORKERS = {"groupName", "replicas", "minReplicas", "maxReplicas", "rayStartParams", "template"}


def manifest(name: str) -> dict[str, Any]:
    """A file of docs/scale."""
    read: dict[str, Any] = yaml.safe_load((DOCS / "scale" / name).read_text("utf-8"))
    return read


def test_the_arithmetic_is_that_of_today() -> None:
    """Calls, tokens and money are what a dry run counts with the prices that are packaged now."""
    assert "\n".join(scale_arithmetic.table(scale_arithmetic.CASES[:1], 20_000, 2_000)) in PAGE


@pytest.mark.parametrize(
    "case", [scale.Case("writer", scenarios=5), scale.Case("flow", scenarios=6, statements=1, runs=2)]
)
def test_the_simulation_drives_the_real_thing(case: scale.Case) -> None:
    """A small cell comes to its end, with every answer that is asked for and none lost."""
    figures = scale.cell(case)
    assert figures["answers"] == (50 if case.what == "writer" else figures["answers"])
    assert figures["answers"] >= 50
    assert figures.get("lost", 0) == 0


def test_the_ray_job_has_the_fields_of_kuberay() -> None:
    """Every field outside of the pods is one of KubeRay's, and start parameters are texts, as it wants them."""
    job = manifest("kuberay-job.yaml")
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    assert set(job["spec"]) <= RAY_JOB
    cluster = job["spec"]["rayClusterSpec"]
    assert set(cluster) <= RAY_CLUSTER
    assert set(cluster["headGroupSpec"]) == HEAD
    for group in cluster["workerGroupSpecs"]:
        assert set(group) == WORKERS
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
    starts = [group["rayStartParams"] for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"])]
    assert all(isinstance(value, str) for start in starts for value in start.values())


def test_no_manifest_holds_a_key() -> None:
    """Keys come from a secret of the cluster or of SkyPilot, and none stands in a file."""
    assert manifest("skypilot.yaml")["secrets"] == {"OPENAI_API_KEY": None}
    pod = manifest("kubernetes-job.yaml")["spec"]["template"]["spec"]["containers"][0]
    assert pod["envFrom"] == [{"secretRef": {"name": "maskbench-keys"}}]
    assert "env" not in pod


def test_a_pod_that_is_told_to_stop_stops_gently() -> None:
    """The pod's first process is maskbench: a shell in front of it would keep SIGTERM from it."""
    pod = manifest("kubernetes-job.yaml")["spec"]["template"]["spec"]["containers"][0]
    assert pod["command"][0] == "maskbench"


def test_a_machine_that_may_vanish_has_no_run() -> None:
    """A run that is copied when it ends is lost with its machine, so such a machine is no spot instance."""
    cloud = manifest("skypilot.yaml")
    assert "cp -r ~/runs/. /runs/" in cloud["run"]
    assert cloud["resources"]["use_spot"] is False


def test_the_cloud_machine_serves_and_waits_before_it_measures() -> None:
    """The server leaves the sampling as it is, gets no key, and has answered before the run begins."""
    serves, run = manifest("skypilot.yaml")["run"].split("maskbench run", 1)
    words = shlex.split(serves)
    assert words[:3] == ["env", "-u", "OPENAI_API_KEY"]
    assert "--generation-config vllm" in " ".join(words)
    assert "until curl" in serves
    assert run.startswith(' "vllm/$MODEL"')


@pytest.mark.parametrize("name", ["kubernetes-job.yaml", "kuberay-job.yaml", "skypilot.yaml"])
def test_the_files_install_a_checkout(name: str) -> None:
    """No file asks a package index for maskbench by name: who owns that name there gets the keys."""
    text = (DOCS / "scale" / name).read_text("utf-8")
    assert not re.search(r"pip install[^\n]* '?maskbench", text)
    assert "install -c constraints.txt -e" in text
