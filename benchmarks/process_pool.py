"""A pool of processes of this machine in the place of Ray: what `maskbench.runs.cluster` gives, without a cluster.

`begin` forks so many processes and has every `--cluster` of this process placed on them; each may hold the workers of
several models. They end with the process that began them.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from maskbench.runs import cluster
from maskbench.runs.cluster_places import Place
from maskbench.runs.cluster_worker import Worker


class _Process:
    """One process of the pool, as this one sees it: calls go through a pipe, answers come by a thread."""

    def __init__(self) -> None:
        self._here, there = Pipe()
        self._lock, self._numbers = threading.Lock(), itertools.count()
        self._waiting: dict[int, Future[Any]] = {}
        if not os.fork():
            self._here.close()
            try:
                asyncio.run(_serve(there))
            finally:
                os._exit(0)
        there.close()

    def listen(self) -> None:
        """Take answers in from now on: no process is forked any more."""
        threading.Thread(target=self._listen, daemon=True).start()

    def call(self, worker: int, method: str, *arguments: Any) -> Future[Any]:
        """Have a worker of the process do something."""
        future = Future[Any]()
        with self._lock:
            number = next(self._numbers)
            self._waiting[number] = future
            self._here.send((number, worker, method, arguments))
        return future

    def _listen(self) -> None:
        while True:
            try:
                number, is_well, value = self._here.recv()
            except (EOFError, OSError):
                return
            future = self._waiting.pop(number)
            if is_well:
                future.set_result(value)
            else:
                future.set_exception(value)


async def _serve(pipe: Connection) -> None:
    """Do what is called, several calls at a time, until the pipe is closed."""
    loop, workers, tasks = asyncio.get_running_loop(), dict[int, Worker](), set[asyncio.Task[None]]()

    async def carry_out(number: int, worker: Worker, method: str, arguments: Sequence[Any]) -> None:
        try:
            told = number, True, await getattr(worker, method)(*arguments)
        except Exception as error:
            told = number, False, error
        pipe.send(told)

    while True:
        try:
            number, worker, method, arguments = await loop.run_in_executor(None, pipe.recv)
        except EOFError:
            return
        if worker not in workers:
            workers[worker] = Worker(str(Path.cwd()), partial(str, f"process {os.getpid()}"))
        tasks.add(task := loop.create_task(carry_out(number, workers[worker], method, arguments)))
        task.add_done_callback(tasks.discard)


class _Method(NamedTuple):
    process: _Process
    worker: int
    name: str

    def remote(self, *arguments: Any) -> Future[Any]:
        """Call it, as Ray's methods are called."""
        return self.process.call(self.worker, self.name, *arguments)


class _Actor(NamedTuple):
    """A worker in the form of Ray's actors."""

    process: _Process
    worker: int

    @property
    def open(self) -> _Method:
        """`Worker.open`."""
        return _Method(self.process, self.worker, "open")

    @property
    def ask(self) -> _Method:
        """`Worker.ask`."""
        return _Method(self.process, self.worker, "ask")

    @property
    def drain(self) -> _Method:
        """`Worker.drain`."""
        return _Method(self.process, self.worker, "drain")


def begin(count: int = 2) -> None:
    """Fork the processes, and have them stand for a cluster that every model is placed on, those of endpoints too."""
    processes = [_Process() for _ in range(count)]
    for process in processes:
        process.listen()
    actors = (_Actor(process, worker) for worker, process in enumerate(itertools.cycle(processes)))

    def workers(count: int, **_: Any) -> list[Place]:
        return [Place(next(actors)) for _ in range(count)]

    def answers(references: list[Future[Any]], seconds: float) -> list[tuple[Future[Any], Any]]:
        done, _ = wait(references, seconds, FIRST_COMPLETED)
        return [(reference, reference.exception() or reference.result()) for reference in done]

    async def awaited(reference: Future[Any]) -> Any:
        return await asyncio.wrap_future(reference)

    def nodes() -> list[Mapping[str, float]]:
        return [{"CPU": 2.0 * count, "memory": 2.0**40}]

    def nothing(*_: Any) -> None:
        pass

    own = {"workers": workers, "answers": answers, "awaited": awaited, "nodes": nodes, "why_of": repr}
    own |= dict.fromkeys(("_join", "_leave", "end", "restart", "is_over"), nothing)
    for name, value in own.items():
        setattr(cluster, name, value)
    from maskbench.runs import cluster_models

    def weighs(_: str) -> bool:  # copies of an endpoint's client, as a local model has copies
        return True

    for name, value in {"awaited": awaited, "why_of": repr, "weighs": weighs}.items():
        setattr(cluster_models, name, value)
