"""A real Ray cluster of several nodes on this machine, and models that count what they are asked.

The models are opened on the nodes by the functions below, so PYTHONPATH has to hold the folder of this file.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from maskbench.interop.export import write
from maskbench.models.pinocchio.network import open_pinocchio
from maskbench.models.pinocchio.rule_judge import SandboxJudge
from maskbench.settings import Settings
from maskbench.types import Ask, Failure, Model, Reply
from maskbench_whitebox.cluster.copies import BASE, ClusterModel, Demand

STORE = 80 * 2**20  # bytes of each node's object store, which nothing here uses
SMALL = Demand(1, 0, BASE // 4)


def start(nodes: int, cpus: int = 1, **system: Any) -> Any:
    """A cluster whose first node only leads, and `nodes` others."""
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE}
    cluster = Cluster(initialize_head=True, head_node_args=head | ({"_system_config": system} if system else {}))
    for _ in range(nodes):
        add(cluster, cpus)
    return cluster


def add(cluster: Any, cpus: int = 1, **more: Any) -> Any:
    """One more node."""
    return cluster.add_node(num_cpus=cpus, object_store_memory=STORE, **more)


class Counted:
    """A model that writes the seeds of each ask into a file before it answers, after some seconds."""

    def __init__(self, model: Model, file: Path, seconds: float) -> None:
        self.name, self.together = model.name, model.together
        self._model, self._file, self._seconds = model, file, seconds

    async def ask(self, ask: Ask) -> Sequence[Reply | Failure | None]:
        """Note it, wait, answer."""
        with self._file.open("a") as file:
            file.writelines(f"{os.getpid()} {seed}\n" for seed in ask.seeds)
        await asyncio.sleep(self._seconds)
        return await self._model.ask(ask)

    def describe(self) -> dict[str, Any]:
        """As the model does."""
        return self._model.describe()

    async def close(self) -> None:
        """As the model does."""
        await self._model.close()


def pinocchio() -> Model:
    """The model that all of these have within."""
    return open_pinocchio("pinocchio", settings().subject.sampling)


def counted(file: Path, seconds: float, environ: Mapping[str, str]) -> Model:
    """pinocchio, counted."""
    return Counted(pinocchio(), file, seconds)


class Engine(Counted):
    """A model that takes some seconds for each reply, one after the other, as a busy device does."""

    def __init__(self, model: Model, file: Path, seconds: float) -> None:
        super().__init__(model, file, seconds)
        self._turn = asyncio.Lock()

    async def ask(self, ask: Ask) -> Sequence[Reply | Failure | None]:
        """Wait for its turn, take the time, answer."""
        async with self._turn:
            await asyncio.sleep(self._seconds * len(ask.runs))
        return await self._model.ask(ask)


def engine(seconds: float, environ: Mapping[str, str]) -> Model:
    """pinocchio, as slow as a device of its own."""
    return Engine(pinocchio(), Path(os.devnull), seconds)


class Deadly(Counted):
    """A model whose process ends at every ask, as one does whose native code breaks."""

    async def ask(self, ask: Ask) -> Sequence[Reply | Failure | None]:
        """End."""
        os._exit(1)


def deadly(environ: Mapping[str, str]) -> Model:
    """pinocchio, deadly."""
    return Deadly(pinocchio(), Path(os.devnull), 0)


class Poisoned(Counted):
    """A model whose process ends at one scenario's statement."""

    async def ask(self, ask: Ask) -> Sequence[Reply | Failure | None]:
        """End at it, else answer."""
        if ask.call == "statement" and ask.scenario.archetype == "statistics":
            with suppress(FileExistsError), self._file.open("x") as file:
                file.write(ask.scenario.task_id)
            if self._file.read_text() in ("", ask.scenario.task_id):
                os._exit(1)
        await asyncio.sleep(self._seconds)
        return await self._model.ask(ask)


def poisoned(file: Path, environ: Mapping[str, str]) -> Model:
    """pinocchio, poisoned."""
    return Poisoned(pinocchio(), file, 0.1)


class Hungry(Counted):
    """A model that takes memory until somebody ends it, at the first ask that any process gets."""

    async def ask(self, ask: Ask) -> Sequence[Reply | Failure | None]:
        """Eat, once."""
        try:
            self._file.touch(exist_ok=False)
        except FileExistsError:
            return await self._model.ask(ask)
        eaten = []
        for _ in range(200):
            eaten.append(b"x" * (100 * 2**20))
            await asyncio.sleep(0.02)
        raise MemoryError


def hungry(file: Path, environ: Mapping[str, str]) -> Model:
    """pinocchio, hungry."""
    return Hungry(pinocchio(), file, 0)


class Narrow(Counted):
    """A model that has no memory left at its first ask, as numpy says it."""

    async def ask(self, ask: Ask) -> Sequence[Reply | Failure | None]:
        """Fail, once."""
        with suppress(FileExistsError):
            self._file.touch(exist_ok=False)
            raise MemoryError("Unable to allocate 9.31 GiB for an array")
        return await self._model.ask(ask)


def narrow(file: Path, environ: Mapping[str, str]) -> Model:
    """pinocchio, narrow."""
    return Narrow(pinocchio(), file, 0)


def broken(environ: Mapping[str, str]) -> Model:
    """No model: its weights cannot be read on any machine."""
    from maskbench.errors import UnknownModel

    raise UnknownModel("There is no folder weights/7b on this machine.")


def older(environ: Mapping[str, str]) -> Model:
    """pinocchio, on a machine that has an older maskbench."""
    from maskbench_whitebox.cluster import worker as cluster_worker

    cluster_worker.versions = lambda: ("0.1.0", "3.9.1")
    return pinocchio()


def settings(**options: Any) -> Settings:
    """A small run of pinocchio."""
    names = {"subject": "pinocchio", "judge": "rules/sandbox", "scenarios": "sandbox", "limit": 12}
    return Settings.of(**{**names, **options})


def on(address: str, **options: Any) -> Settings:
    """A small run of pinocchio as a transformers model, on a cluster."""
    return settings(subject="hf/pinocchio", model_options={"cluster": address, "batch_tokens": 1}, **options)


def copies(opening: Any, count: int, told: list[str], patience: float = 30) -> tuple[Model, Model]:
    """A subject in so many copies, and the judge of pinocchio."""
    subject = ClusterModel("pinocchio", opening, SMALL, count, tell=told.append, patience=patience)
    return subject, SandboxJudge()


def all_up(subject: Any) -> None:
    """Wait until each copy has loaded its model."""
    import ray

    ray.get([place.actor.open.remote(*subject._call) for place in subject._places])


def slow(file: Path, seconds: float) -> Any:
    """What opens pinocchio, counted and slowed down."""
    return partial(counted, file, seconds)


def exported(run: Path) -> bytes:
    """The run's rows, as a file has them."""
    to = run.with_suffix(".jsonl")
    write(run, None, "jsonl", to)
    return to.read_bytes()


def asked(file: Path) -> Counter[str]:
    """How often each seed was asked for."""
    return Counter(line.split()[1] for line in file.read_text().splitlines())


def until(condition: Any, seconds: float = 60) -> None:
    """Wait for something; raises TimeoutError where it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.05)
