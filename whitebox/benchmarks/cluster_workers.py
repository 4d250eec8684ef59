"""Replies a second by 1, 2 and 4 workers of a cluster on this machine, and whether all give the same rows.

    python benchmarks/cluster_workers.py --table

The table of whitebox/README.md. The subject is pinocchio, which computes on the cores that all workers share; and
pinocchio behind a simulated device of each worker's own, which takes 50 ms a reply, one after the other. Needs the
extra `ray`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests_outside" / "cluster"))
os.environ["PYTHONPATH"] = sys.path[0]  # of the workers, which open the models by functions of that folder
os.environ["OMP_NUM_THREADS"] = "1"

import local_cluster

from maskbench.measurement import measure
from maskbench.store.folder import RunFolder
from maskbench_whitebox.cluster.connection import joined

WORKERS = (1, 2, 4)
DEVICE = 0.05  # seconds a reply


def measured(place: Path, address: str | None, workers: int, wait: float, limit: int) -> tuple[float, bytes]:
    """Replies a second of one run, without its start, and its rows."""
    settings = local_cluster.settings(limit=limit, connections=64)
    began = time.monotonic()
    if address is None:
        measure(settings, place, {})
    else:
        with joined(address):
            pair = local_cluster.copies(partial(local_cluster.engine, wait), workers, [])
            began = time.monotonic()
            measure(settings, place, {}, models=pair)
    seconds = time.monotonic() - began
    return _replies(place) / seconds, local_cluster.exported(place)


def _replies(place: Path) -> int:
    """How many replies a run has."""
    store = RunFolder(place).store()
    try:
        return sum(len(samples.replies) for samples, _ in store.read())
    finally:
        store.close()


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true", help="print it as Markdown (default: lines)")
    parser.add_argument("--limit", type=int, default=300, help="scenarios of a run")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        alone, rows = measured(place / "alone", None, 0, 0, chosen.limit)
        table = [("in this process", alone, 0.0, True)]
        cluster = local_cluster.start(max(WORKERS))
        try:
            for workers in WORKERS:
                speeds = [
                    measured(place / f"{workers}-{wait}", cluster.address, workers, wait, chosen.limit)
                    for wait in (0, DEVICE)
                ]
                same = all(each == rows for _, each in speeds)
                table.append((f"{workers} worker{'s' * (workers > 1)}", speeds[0][0], speeds[1][0], same))
        finally:
            cluster.shutdown()
    if chosen.table:
        print("| | replies a second, computing | with a device each | rows |\n|---|--:|--:|---|")
    for name, computing, waiting, same in table:
        cells = [
            name,
            f"{computing:,.0f}",
            f"{waiting:,.0f}" if waiting else "",
            "the same" if same else "NOT the same",
        ]
        print(f"| {' | '.join(cells)} |" if chosen.table else "  ".join(cells))


if __name__ == "__main__":
    main()
