"""A machine whose memory runs out: Ray ends the worker that takes most, and the run goes on."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import local_cluster
from local_cluster import copies, exported, settings

from maskbench.measurement import measure
from maskbench_whitebox.cluster.connection import joined


def test_a_worker_that_ray_ends_for_want_of_memory_is_back(tmp_path: Path) -> None:
    """Ray's own monitor ends it, at a limit a tenth of the memory above what is used now; nothing is lost."""
    kibibytes = dict(re.findall(r"(\w+): +(\d+) kB", Path("/proc/meminfo").read_text()))
    limit = 1.1 - int(kibibytes["MemAvailable"]) / int(kibibytes["MemTotal"])
    measure(settings(), tmp_path / "alone", {})
    told: list[str] = []
    cluster = local_cluster.start(1, 2, memory_usage_threshold=min(limit, 0.95), memory_monitor_refresh_ms=100)
    try:
        with joined(cluster.address):
            pair = copies(partial(local_cluster.hungry, tmp_path / "was"), 2, told)
            measure(settings(), tmp_path / "run", {}, models=pair)
    finally:
        cluster.shutdown()
    assert exported(tmp_path / "run") == exported(tmp_path / "alone")
    assert any("was lost, and Ray restarts it" in line for line in told)
    assert any("where memory ran out, Ray has ended it" in line for line in told)
