"""One cluster for most tests: each gets it with four nodes that are up, whatever the last one has killed."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
_HERE = Path(__file__).parent
for place in (_HERE, _HERE.parents[1] / "tests"):
    sys.path.insert(0, str(place))
os.environ["PYTHONPATH"] = os.pathsep.join([str(_HERE), os.environ.get("PYTHONPATH", "")])  # of the nodes

import local_cluster  # noqa: E402
import pytest  # noqa: E402

NODES = 4


@pytest.fixture(scope="session")
def started() -> Iterator[Any]:
    """The cluster of the session."""
    cluster = local_cluster.start(NODES)
    yield cluster
    cluster.shutdown()


@pytest.fixture
def cluster(started: Any) -> Any:
    """The cluster with all of its nodes."""
    for _ in range(NODES - len(started.worker_nodes)):
        local_cluster.add(started)
    return started
