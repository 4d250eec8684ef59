"""Lets a flow run to its end: in a loop of its own, stopped by signals, and with somebody who watches."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, contextmanager, suppress
from functools import partial
from typing import TypeVar

from maskbench.asking.executor import Executor
from maskbench.asking.live import GRACE_SECONDS, Gate
from maskbench.asking.watching import Watcher
from maskbench.types import Model

_Done = TypeVar("_Done")


class Stopper:
    """Stops a flow from another thread than the flow's: gently at first, at once where it is asked again."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal may come while a signal is handled
        self._asked = 0
        self._interrupt: Callable[[], object] | None = None

    @property
    def asked(self) -> int:
        """How often it was asked to stop."""
        return self._asked

    def gate(self, connections: int) -> Gate:
        """Where the requests of the flow wait for their turn."""
        return Gate(connections)

    def stop(self) -> None:
        """Do what Ctrl-C does; before the flow has begun it is kept for then."""
        with self._lock:
            self._asked += 1
            if self._interrupt:
                self._interrupt()

    @contextmanager
    def attached(self, interrupt: Callable[[], object]) -> Iterator[None]:
        """While the flow runs in the running loop, `stop` calls `interrupt` there."""
        loop = asyncio.get_running_loop()
        with self._lock:
            self._interrupt = lambda: loop.call_soon_threadsafe(interrupt)
            for _ in range(self._asked):
                self._interrupt()
        try:
            yield
        finally:
            with self._lock:
                self._interrupt = None


def in_loop() -> bool:
    """Whether a loop runs in this thread, as in a notebook or a server."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def beside_loop(work: Callable[[Stopper], _Done]) -> _Done:
    """Do this in a thread of its own, where it can have a loop of its own, and wait for it; Ctrl-C stops it gently."""
    stopper = Stopper()
    with ThreadPoolExecutor(1, "maskbench") as pool, _stopping(stopper):
        return pool.submit(work, stopper).result()


@contextmanager
def _stopping(stopper: Stopper) -> Iterator[None]:
    """Ctrl-C stops by `stopper`, whoever else listens to it; outside the main thread nobody can hear it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: stopper.stop())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)


async def awaited(work: Callable[[Stopper], _Done]) -> _Done:
    """Do this in a thread of its own while the running loop goes on; a task that is cancelled stops it gently first."""
    stopper, pool = Stopper(), ThreadPoolExecutor(1, "maskbench")
    future = asyncio.get_running_loop().run_in_executor(pool, work, stopper)
    pool.shutdown(wait=False)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        while not future.done():
            stopper.stop()
            with suppress(asyncio.CancelledError):  # who cancels again has it stopped at once
                await asyncio.wait([future])
        future.exception()  # it was stopped, and whoever cancelled hears of that
        raise


def run_flow(flow: Executor, models: Sequence[Model], watcher: Watcher, stopper: Stopper | None = None) -> None:
    """Let a flow run to its end in a loop of its own, then close the models; signals and `stopper` stop it gently."""
    with _loop() as runner:
        runner.run(_flow(flow, models, watcher, stopper or Stopper()))


async def _flow(flow: Executor, models: Sequence[Model], watcher: Watcher, stopper: Stopper) -> None:
    """The flow with its signals: the first Ctrl-C, SIGTERM or SIGHUP lets calls in flight come home."""
    loop = asyncio.get_running_loop()

    def interrupt(by: str) -> None:
        if flow.stopped:
            flow.stop(flow.stopped, grace=0)
            return
        flow.stop(f"Stopped by {by}.")
        watcher.tell(
            f"Stopping: waiting up to {GRACE_SECONDS:.0f} s for calls that are still running. "
            "Ctrl-C again stops at once."
        )

    signals = _signals() if threading.current_thread() is threading.main_thread() else ()
    async with AsyncExitStack() as opened:
        for model in {id(model): model for model in models}.values():  # one model may be both judges
            opened.push_async_callback(model.close)
        for number in signals:
            loop.add_signal_handler(number, interrupt, _NAMES.get(number, number.name))
            opened.callback(loop.remove_signal_handler, number)
        with stopper.attached(partial(interrupt, _NAMES[signal.SIGINT])):
            await flow.run()


_NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGHUP: "SIGHUP, as its terminal was closed"}


def _signals() -> tuple[signal.Signals, ...]:
    """What stops a flow gently; a closed terminal does not where `nohup` says so."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return (signal.SIGINT, signal.SIGTERM, *(() if ignored else (signal.SIGHUP,)))


def _loop() -> asyncio.Runner:
    """A loop of our own: uvloop's where it is installed, for half the processor time a call."""
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)
