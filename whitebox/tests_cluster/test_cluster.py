"""A real cluster: same outcomes, nothing lost and little repeated when nodes, workers or the driver die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import local_cluster
import pytest
import ray
from local_cluster import all_up, asked, copies, exported, on, settings, slow, until

from maskbench.errors import ModelError, RunLocked, UnknownModel, UsageError
from maskbench.measurement import measure
from maskbench.presentation.of_runs import Alone
from maskbench.presentation.sections.provenance import identity
from maskbench.results.scored import score
from maskbench.store.folder import RunFolder
from maskbench.sweeps.sweeping import sweep
from maskbench_whitebox.cluster.connection import joined

REPLIES = 145  # that thirty scenarios ask for
AT_ONCE = 16  # connections, and so samples that may be under way


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The rows of thirty scenarios, measured in one process."""
    place = tmp_path_factory.mktemp("alone") / "run"
    measure(settings(limit=30), place, {})
    return exported(place)


def record(run: Path) -> dict[str, Any]:
    """What a run's record says of its subject's machines."""
    nodes: dict[str, Any] = RunFolder(run).record()["models"]["subject"]["cluster"]
    return nodes


def test_four_workers_give_what_one_process_gives(cluster: Any, tmp_path: Path) -> None:
    """The rows are the same byte for byte, and the record says what each of four machines did."""
    measure(on(cluster.address, limit=30), tmp_path / "run", {})
    measure(on("none", limit=30), tmp_path / "alone", {})
    assert exported(tmp_path / "run") == exported(tmp_path / "alone")
    nodes = record(tmp_path / "run")
    assert sum(did["replies"] for did in nodes.values()) == REPLIES
    assert sum(did["workers"] for did in nodes.values()) >= 1
    assert set(next(iter(nodes.values()))) == {"workers", "replies", "seconds", "restarts"}
    log = (tmp_path / "run" / "run.log").read_text()
    assert all(f"hf/pinocchio on {node}: {did['replies']} replies" in log for node, did in nodes.items())
    facts = dict(identity(Alone(score(tmp_path / "run").summary)))
    assert all(f"{node}: {did['replies']} replies" in facts["computed on"] for node, did in nodes.items())


def test_all_four_work(cluster: Any, tmp_path: Path, alone: bytes) -> None:
    """Slow copies share the asks evenly, each sample is asked for once, and the rows are the same."""
    told: list[str] = []
    with joined(cluster.address):
        pair = copies(slow(tmp_path / "asked", 0.05), 4, told)
        all_up(pair[0])
        measure(settings(limit=30), tmp_path / "run", {}, models=pair)
    assert exported(tmp_path / "run") == alone
    assert set(asked(tmp_path / "asked").values()) == {1}
    assert len({line.split()[0] for line in (tmp_path / "asked").read_text().splitlines()}) == 4
    assert len(asked(tmp_path / "asked")) == REPLIES


def test_a_node_that_dies_costs_what_was_under_way(
    cluster: Any, tmp_path: Path, alone: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its asks go to the others: the rows are the same, little is asked twice, and Ray is silent."""
    told: list[str] = []
    file = tmp_path / "asked"
    victim = next(iter(cluster.worker_nodes))

    def kill() -> None:
        until(lambda: file.exists() and len(file.read_text().splitlines()) > REPLIES // 3)
        cluster.remove_node(victim, allow_graceful=False)

    with joined(cluster.address):
        pair = copies(slow(file, 0.6), 4, told)
        all_up(pair[0])
        killer = threading.Thread(target=kill)
        killer.start()
        measure(settings(limit=30, connections=AT_ONCE), tmp_path / "run", {}, models=pair)
        killer.join()
    assert exported(tmp_path / "run") == alone
    counts = asked(file)
    assert len(counts) == REPLIES
    assert 0 < sum(counts.values()) - REPLIES <= 8 * AT_ONCE
    assert any("was lost, and Ray restarts it" in line for line in told)
    assert capfd.readouterr() == ("", "")
    assert sum(did["restarts"] for did in record(tmp_path / "run").values()) == 1


@pytest.mark.parametrize("model", ["narrow"])
def test_a_worker_without_memory_is_restarted(cluster: Any, tmp_path: Path, alone: bytes, model: str) -> None:
    """A MemoryError ends the worker; Ray restarts it, the user hears of it, and the rows are the same."""
    told: list[str] = []
    with joined(cluster.address):
        pair = copies(partial(getattr(local_cluster, model), tmp_path / "was"), 2, told)
        measure(settings(limit=30), tmp_path / "run", {}, models=pair)
    assert exported(tmp_path / "run") == alone
    assert any("ran out of memory. Unable to allocate 9.31 GiB" in line for line in told)


def test_a_model_that_kills_each_worker_ends_the_run(cluster: Any, tmp_path: Path) -> None:
    """A few restarts that brought no answer are enough: the run stops with an error, and no failure is scored."""
    told: list[str] = []
    with joined(cluster.address), pytest.raises(ModelError, match=r"answered nothing on the cluster\. 3 workers were"):
        measure(settings(), tmp_path / "run", {}, models=copies(local_cluster.deadly, 1, told))
    assert len([line for line in told if "was lost" in line]) == 3


def test_an_ask_that_kills_its_worker_is_a_failure(cluster: Any, tmp_path: Path) -> None:
    """Three workers are lost at it, and nobody else's answer is: all other scenarios have their outcome."""
    told: list[str] = []
    with joined(cluster.address):
        pair = copies(partial(local_cluster.poisoned, tmp_path / "asked"), 3, told)
        summary = measure(settings(limit=30, max_error_rate=0.5), tmp_path / "run", {}, models=pair)
    assert summary.failures == {"subject": {"raised": 1}}
    log = (tmp_path / "run" / "run.log").read_text()
    assert log.count("failure: subject raised") == 1
    assert "3 workers were tried. The last: " in log


def test_a_model_that_opens_nowhere_says_why(cluster: Any) -> None:
    """What opening it raised on the other machine is what the user reads."""
    with joined(cluster.address), pytest.raises(UnknownModel, match="There is no folder weights/7b on this machine"):
        copies(local_cluster.broken, 2, [])


def test_other_versions_are_refused(cluster: Any) -> None:
    """A machine with another maskbench or Python is named, with both versions."""
    with joined(cluster.address), pytest.raises(ModelError, match=r"has maskbench 0\.1\.0 on Python 3\.9\.1, and this"):
        copies(local_cluster.older, 1, [])


def test_a_model_without_room_is_told_and_given_up(cluster: Any, tmp_path: Path) -> None:
    """What no machine can hold is refused at once; what waits for others' workers is told, and ends."""
    wide = settings(subject="hf/pinocchio", model_options={"threads": 64, "cluster": cluster.address})
    with pytest.raises(UsageError, match=r"hf/pinocchio does not fit the cluster: each copy takes 64 CPU and .*none"):
        measure(wide, tmp_path / "a", {})
    told: list[str] = []
    with joined(cluster.address):
        held = copies(slow(tmp_path / "asked", 0), 4, told)[0]
        free: Any = ray.available_resources
        until(lambda: not free().get("CPU"))
        with pytest.raises(
            ModelError, match=r"waits for room on the cluster: each copy takes 1 CPU .*Nothing was free"
        ):
            copies(slow(tmp_path / "asked", 0), 1, told, patience=2)
        held.release()  # type: ignore[attr-defined]


def test_no_cluster_at_an_address_is_told_at_once(tmp_path: Path) -> None:
    """The error names the address and what to type, and no folder is left."""
    with pytest.raises(UsageError, match=r"-M cluster=127.0.0.1:1: there is no cluster to join .*ray start --head"):
        measure(on("127.0.0.1:1"), tmp_path / "run", {})


DRIVER = """
import sys
from pathlib import Path
from local_cluster import copies, settings, slow
from maskbench.measurement import measure
from maskbench_whitebox.cluster.connection import joined
address, run, file = sys.argv[1:]
with joined(address):
    measure(settings(limit=30, connections=16), run, {}, models=copies(slow(Path(file), 0.3), 4, []))
"""


def driver(cluster: Any, run: Path, file: Path) -> subprocess.Popen[bytes]:
    """Another process that measures on the cluster."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", DRIVER, cluster.address, run, file], env=env)


def test_a_driver_that_is_killed_goes_on(cluster: Any, tmp_path: Path, alone: bytes) -> None:
    """While it runs a second one is refused; after kill -9 another goes on, and repeats what was under way."""
    run, file = tmp_path / "run", tmp_path / "asked"
    process = driver(cluster, run, file)
    until(lambda: file.exists() and len(file.read_text().splitlines()) > REPLIES // 2)
    with pytest.raises(RunLocked):
        measure(settings(limit=30, connections=AT_ONCE), run, {})
    process.kill()
    process.wait()
    before = sum(asked(file).values())
    assert before < REPLIES
    with joined(cluster.address):
        measure(settings(limit=30, connections=AT_ONCE), run, {}, models=copies(slow(file, 0), 2, []))
    assert exported(run) == alone
    counts = asked(file)
    assert len(counts) == REPLIES
    assert sum(counts.values()) - REPLIES <= 8 * AT_ONCE


def test_runs_of_a_sweep_take_turns_on_the_machines(cluster: Any, tmp_path: Path) -> None:
    """Each run has the whole cluster, one after the other, and the rows that it has alone."""
    runs = {f"seed{seed}": on(cluster.address, seed=seed) for seed in (1, 2)}
    for name, each in runs.items():
        measure(each.having(model_options={"batch_tokens": 1}), tmp_path / "alone" / name, {})
    swept = sweep(runs, tmp_path / "swept", environ={})
    assert {each.state for each in swept.values()} == {"done"}
    for name in runs:
        assert exported(tmp_path / "swept" / name) == exported(tmp_path / "alone" / name)


def test_ctrl_c_ends_it_without_a_word_of_rays(cluster: Any, tmp_path: Path) -> None:
    """The exit code is 130, the run goes on by the line that is printed, and nothing on the terminal is Ray's."""
    command = [sys.executable, "-m", "maskbench", "run", "hf/pinocchio", "--statements", "40"]
    command += ["-M", f"cluster={cluster.address}", "--out", str(tmp_path / "run")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        until(lambda: (tmp_path / "run" / "run.log").exists(), 180)  # it loads torch, here and in each worker
    except TimeoutError:
        process.kill()  # else the cluster is its own for all tests that follow
        raise
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "maskbench run --out" in told
    assert not [word for word in ("raylet", "Ray runtime", "INFO", "WARNING", "Traceback") if word in out + told]


def test_a_port_where_something_else_listens_is_refused_in_time() -> None:
    """A real Ray waits for minutes at a web server; the command says within a limit that this is no cluster."""
    program = """
import http.server, sys, threading
from maskbench.errors import UsageError
from maskbench_whitebox.cluster import connection as cluster
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
cluster.FIRST = 8.0
try:
    with cluster.joined(f"127.0.0.1:{server.server_port}"):
        pass
except UsageError as error:
    print(error)
server.shutdown()
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert "there is no cluster to join" in ran.stdout, ran.stderr
    assert "6379" in ran.stdout
