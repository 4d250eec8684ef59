"""All that knows Ray: being part of a cluster, and the workers that it places, starts and restarts.

What works there is in cluster_worker.py, and who asks them in cluster_models.py.
"""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from maskbench.doors import install, plain
from maskbench.errors import UsageError
from maskbench_whitebox.cluster.places import Place
from maskbench_whitebox.cluster.worker import Worker

RESTARTS = 3  # of each worker, by Ray
CONNECT = 10.0  # seconds in which a cluster has to answer
ASKS = 10_000  # that one worker may hold
FIRST = 60.0  # seconds that a first process may take to join
# It joins in a process that can be ended: Ray waits for minutes at a port where something else listens.
_FIRST = """
import logging, sys
import ray
try:
    ray.init(address=sys.argv[1], log_to_driver=False, logging_level=logging.CRITICAL)
except Exception as error:
    print(error)
    raise SystemExit(1)
"""


class _Connection:
    """This process's part in a cluster, which all of its runs share."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.address = ""
        self.is_ours = False


JOINED = _Connection()


@contextmanager
def joined(address: str) -> Iterator[None]:
    """Be part of the cluster; the last to leave lets go of it.

    Raises UsageError where Ray is not installed, nothing answers at the address, or it runs other versions.
    """
    with JOINED.lock:
        if JOINED.users == 0:
            _join(address)
        elif JOINED.address != address:
            raise UsageError(f"-M cluster={address}: this process is part of {JOINED.address}. Give all runs one.")
        JOINED.users += 1
    try:
        yield
    finally:
        with JOINED.lock:
            JOINED.users -= 1
            if JOINED.users == 0:
                _leave()


def _join(address: str) -> None:
    host, _, port = address.rpartition(":")
    if address not in ("auto", "local") and not (host and port.isascii() and port.isdigit()):
        raise UsageError(f"-M cluster={address}: give HOST:PORT as `ray start --head` prints it, auto or local.")
    if find_spec("ray") is None:
        raise UsageError(f"-M cluster needs Ray, which is not installed. Type: {install('ray>=2.50')}")
    if address.startswith("ray://"):
        raise UsageError(f"-M cluster={address}: start maskbench on a machine of the cluster, with -M cluster=auto.")
    if address not in ("auto", "local"):
        try:
            socket.create_connection((host, int(port)), CONNECT).close()
        except (OSError, OverflowError) as error:
            raise _no_cluster(address, str(error)) from None
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray

    ray._private.worker.print_to_stdstream = lambda *_, **__: None  # else it prints to stdout, where results go
    JOINED.address, JOINED.is_ours = address, not ray.is_initialized()
    if not JOINED.is_ours:
        return
    if address not in ("auto", "local"):
        _join_first(address)
    how: dict[str, Any] = {"address": address, "log_to_driver": False, "logging_level": logging.CRITICAL}
    how |= {"include_dashboard": False} if address == "local" else {}
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM) if is_main else None
    try:
        ray.init(**how)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        raise _no_cluster(address, str(error)) from None
    finally:
        if is_main:
            signal.signal(signal.SIGTERM, before or signal.SIG_DFL)  # Ray's own would end a run without its last words


def _join_first(address: str) -> None:
    """Join in a process that is ended after some time; raises UsageError where it cannot."""
    try:
        ran = subprocess.run(  # noqa: S603  # our own program
            [sys.executable, "-c", _FIRST, address],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=FIRST,
        )
    except subprocess.TimeoutExpired:
        why = f"what listens there does not answer as Ray within {FIRST:.0f} s"
    else:
        if ran.returncode == 0:
            return
        why = ran.stdout.decode(errors="replace") or "what listens there does not answer as Ray"
    raise _no_cluster(address, f"{why.strip()}; Ray's own port is 6379 unless you chose another, not 8265 or 10001")


def _no_cluster(address: str, why: str) -> UsageError:
    words = plain(" ".join(why.split()))[:300]
    hint = "Start one with `ray start --head`, or give -M cluster=local, which lasts as long as the run."
    return UsageError(f"-M cluster={address}: there is no cluster to join ({words}). {hint}")


def _leave() -> None:
    import ray

    if JOINED.is_ours:
        ray.shutdown()


def nodes() -> list[Mapping[str, float]]:
    """The resources of each machine that is up."""
    import ray

    listed: Any = ray.nodes
    return [node["Resources"] for node in listed() if node["Alive"]]


def _where() -> str:
    """This machine, with the number that tells several on one host apart."""
    import ray

    return f"{platform.node()} ({ray.get_runtime_context().get_node_id()[:6]})"


def workers(count: int, **how: Any) -> list[Place]:
    """So many workers, which Ray places by what they need, and restarts where they die."""
    import ray

    kind = ray.remote(Worker).options(max_restarts=RESTARTS, max_concurrency=ASKS, **how)
    return [Place(kind.remote(str(Path.cwd()), _where)) for _ in range(count)]


def end(places: Sequence[Place]) -> None:
    """End these workers for good."""
    import ray

    for place in places:
        place.gone = place.gone or "closed"
        if place.back:
            place.back.cancel()
        with suppress(Exception):
            ray.kill(place.actor)


def restart(place: Place) -> None:
    """Have Ray restart a worker that is there still."""
    import ray

    ray.kill(place.actor, no_restart=False)


def answers(references: list[Any], seconds: float) -> list[tuple[Any, Any | Exception]]:
    """Which call is over within so many seconds, if any, with what it returned or raised."""
    import ray

    over = []
    for reference in ray.wait(references, timeout=seconds)[0]:
        try:
            over.append((reference, ray.get(reference)))
        except Exception as error:
            over.append((reference, error))
    return over


async def awaited(reference: Any) -> Any:
    """What a call returns; raises what it raised, wrapped by Ray, or Ray's own where the worker was lost."""
    return await asyncio.wrap_future(reference.future())


def cause_of(error: BaseException | None) -> BaseException | None:
    """What a worker raised, out of what Ray wraps around it."""
    return getattr(error, "cause", None) or error


def is_over(error: BaseException) -> bool:
    """Whether Ray restarts this worker no more."""
    import ray

    return isinstance(error, ray.exceptions.ActorDiedError)


def why_of(error: BaseException | None) -> str:
    """Why a worker is gone, in one line."""
    import ray

    if error is None:
        return "it was restarted before its model was there."
    text = plain(" ".join(str(cause_of(error)).split()))[:300]
    if isinstance(cause_of(error), MemoryError) or "running low on memory" in text:
        return f"it ran out of memory. {text}".strip()
    if isinstance(error, ray.exceptions.ActorUnavailableError):
        return (
            "its process or machine is gone; where memory ran out, Ray has ended it, and says so in raylet.out there."
        )
    return f"{type(cause_of(error)).__name__}: {text}"
