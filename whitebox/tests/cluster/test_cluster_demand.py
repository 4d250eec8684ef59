"""What a model needs of a cluster's machine, how many copies have room, and who may know the cluster's library."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import maskbench_whitebox
from maskbench.cli.asked import with_given
from maskbench.errors import UsageError
from maskbench.models.names import identified
from maskbench.models.pinocchio.network import open_pinocchio
from maskbench.settings import Settings, protocol_id, reply_key
from maskbench.store.machines import read_nodes
from maskbench.sweeps.sweep_plan import arrange
from maskbench.types import Model, Reply
from maskbench_whitebox.cluster import connection as cluster
from maskbench_whitebox.cluster import copies as cluster_models
from maskbench_whitebox.cluster.copies import BASE, GIB, Demand, capacity, check_gpus, demand_of, in_words
from maskbench_whitebox.cluster.places import Place, by_node, lines
from maskbench_whitebox.cluster.worker import Answered, Opened, Worker
from maskbench_whitebox.models.opening import HfOptions
from test_keys import STATEMENT

CPU_NODE = {"CPU": 8.0, "memory": 32.0 * GIB}
H100 = {"CPU": 16.0, "GPU": 8.0, "memory": 512.0 * GIB, "accelerator_type:H100": 1.0}


def settings(**options: Any) -> Settings:
    """Settings of a transformers model."""
    return Settings.of(subject="hf/model", judge="sim-judge", scenarios="starter", **options)


def taking(**own: Any) -> HfOptions:
    """What such a model takes."""
    return HfOptions(settings=settings(), environ={}, **own)


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A folder with weights of 70 GiB, of which the disk holds nothing."""
    for number in (1, 2):
        with (tmp_path / f"model-{number}.safetensors").open("wb") as file:
            file.truncate(35 * GIB)
    return tmp_path


def test_weights_decide_what_a_copy_takes(weights: Path) -> None:
    """On a CPU that is memory for them twice as wide and a quarter more, on GPUs so many that they fit."""
    assert demand_of(taking(), weights, [CPU_NODE]) == Demand(1, 0, BASE + 175 * GIB)
    assert demand_of(taking(threads=4), weights, [H100]) == Demand(4, 2, BASE)
    assert demand_of(taking(), weights, [{"GPU": 8.0}]).gpus == 1
    assert demand_of(taking(device="cpu"), weights, [H100]).gpus == 0
    assert demand_of(taking(gpus_per_model=0.5), weights, [H100]).gpus == 0.5


def test_fractions_of_a_gpu_hold_several_copies() -> None:
    """Three thirds of a GPU are three copies, though a third has no exact number; the scarcest thing decides."""
    assert capacity(Demand(1, 0.3, BASE), [{**H100, "GPU": 0.9}]) == 3
    assert capacity(Demand(1, 0.5, BASE), [H100, CPU_NODE]) == 16
    assert capacity(Demand(1, 0, BASE), [CPU_NODE, {"CPU": 0.0}]) == 8
    assert capacity(Demand(1, 0, 20 * GIB), [CPU_NODE]) == 1
    assert capacity(Demand(64, 0, BASE), [CPU_NODE, H100]) == 0


def test_what_machines_have_is_said() -> None:
    """People read the most that any of them has, or that none is up."""
    assert in_words([CPU_NODE, H100]) == "Of 2 machines none has more than 16 CPU, 8 GPU and 512.0 GiB of memory."
    assert in_words([]) == "The cluster has no machine that is up."


def test_gpus_that_ray_names_have_a_memory() -> None:
    """Each kind in the table has a sane size."""
    assert all(8 <= size <= 300 for size in cluster_models._MEMORY.values())


def test_a_worker_that_is_lost_keeps_what_it_did() -> None:
    """Its replies, and the tokens of its model before and after, are counted with its machine."""
    place = Place(None, "node1", is_up=True)
    place.take(Answered([Reply("a"), None], 2.0, 50, ("beware",)))
    place.lose()
    place.take(Answered([Reply("b")], 1.0, 7, ()))
    assert (place.drawn_before + place.drawn, place.restarts) == (57, 1)
    assert by_node([place, Place(None)]) == {"node1": {"workers": 1, "replies": 2, "seconds": 3.0, "restarts": 1}}
    said = list(lines("hf/model", [place, Place(None)]))
    assert said == ["hf/model on node1: 2 replies by 1 worker, 1 lost; with waiting, all calls together took 3.0 s."]
    assert read_nodes({"cluster": {"node1": {"workers": "many"}}}) == {} == read_nodes({})


def test_a_worker_loads_its_model_once_however_often_it_is_asked_to() -> None:
    """Who asks again while it is being loaded waits for it: two copies at once would take twice the memory."""
    opened: list[int] = []

    def slow(environ: Mapping[str, str]) -> Model:
        opened.append(len(opened))
        time.sleep(0.1)
        return open_pinocchio("pinocchio", settings().subject.sampling)

    async def twice() -> list[Opened]:
        worker = Worker(".", lambda: "node1")
        return list(await asyncio.gather(worker.open(slow, {}), worker.open(slow, {})))

    first, second = asyncio.run(twice())
    assert opened == [0]
    assert first == second


def test_where_it_is_computed_is_no_part_of_what_is_measured() -> None:
    """A cluster changes no key and no protocol id, and `none` takes a run back into this process."""
    plain = settings()
    there = identified(with_given(plain, {"model_options": ["cluster=auto", "gpus_per_model=0.5"]}))
    assert there.subject.options == {"cluster": "auto", "gpus_per_model": 0.5}
    assert protocol_id(plain, "prompts") == protocol_id(there, "prompts")
    assert reply_key(plain, STATEMENT, 1) == reply_key(there, STATEMENT, 1)
    back = with_given(there, {"model_options": ["cluster=none", "gpus_per_model=none"]})
    assert back.subject.options == {}


def test_runs_of_a_sweep_take_turns_on_a_cluster(tmp_path: Path) -> None:
    """Each has all of its machines, and the next one waits; none waits for a device of this machine."""
    own = {"cluster": "auto", "device": "cpu"}
    runs = {name: settings(seed=seed, model_options=own) for seed, name in enumerate("ab")}
    assert [task.device for task in arrange(runs, tmp_path).values()] == ["the cluster"] * 2


@pytest.mark.parametrize("address", ["bogus", "host:", ":6379", "host:port"])
def test_an_address_that_is_none_is_told(address: str) -> None:
    """What has no host and no number of a port is refused with the form that an address has."""
    with pytest.raises(UsageError, match="give HOST:PORT"), cluster.joined(address):
        pass


def test_one_module_knows_the_cluster_library() -> None:
    """cluster/connection.py alone imports ray, in 300 lines or fewer."""
    root = Path(maskbench_whitebox.__file__).parent
    knows = [path.name for path in root.rglob("*.py") if "import ray" in path.read_text("utf-8")]
    assert knows == ["connection.py"]
    assert len((root / "cluster" / "connection.py").read_text("utf-8").splitlines()) <= 300


def test_gpus_that_no_model_takes_are_refused() -> None:
    """A model that would land on CPUs is an error where GPUs were asked for."""
    cpu = Demand(1, 0, BASE)
    with pytest.raises(UsageError, match=r"gpus_per_model=2: hf/model .* no machine of the cluster has a GPU"):
        check_gpus("hf/model", taking(gpus_per_model=2), cpu)
    with pytest.raises(UsageError, match="device is cpu"):
        check_gpus("hf/model", taking(gpus_per_model=2, device="cpu"), cpu)
    check_gpus("hf/model", taking(gpus_per_model=2), Demand(1, 2, BASE))
    check_gpus("hf/model", taking(), cpu)


@pytest.mark.parametrize("program", ["import time; time.sleep(60)", "print('it talks HTTP'); raise SystemExit(1)"])
def test_what_listens_and_is_not_ray_is_refused_in_time(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Joining is tried in a process that is ended, and the error names Ray's port and the two mistaken for it."""
    monkeypatch.setattr(cluster, "FIRST", 0.5)
    monkeypatch.setattr(cluster, "_FIRST", program)
    before = time.monotonic()
    with pytest.raises(UsageError, match=r"(HTTP|does not answer as Ray).*6379.*8265 or 10001"):
        cluster._join_first("127.0.0.1:8265")
    assert time.monotonic() - before < 5
