"""What the pace of requests makes of services that refuse some: a grid by a simulated clock, and a real local server.

    python benchmarks/pace.py --out docs/pace.csv

drives the real class (`maskbench.models.chat.pacing.Pace`) and the client's own back-off in an event loop whose clock
jumps from event to event, so that five minutes take a few seconds. Beside it stands the simplest way: a fixed number
at once, where each refused request waits by itself. The score is the requests answered in five minutes, against the
best that the service allows anybody.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Protocol

from csv_tables import write
from maskbench.models.chat.client import ChatModel, Patience, back_off
from maskbench.models.chat.pacing import Pace
from maskbench.models.chat.services import Endpoint
from maskbench.scenarios.rows import read_row
from maskbench.types import Ask, Message, Reply, Sampling, Scenario
from scenarios import row

CONNECTIONS = 50
LATENCY = 0.3  # seconds that an answer takes on average
SPREAD = 0.3  # the standard deviation of its logarithm
REFUSAL = 0.03  # seconds that a refusal takes where a service is full
RUN = 300.0  # seconds
SETTLED = 30.0  # seconds after which refusals count
REAL = 2_225  # requests to the real server
WORKERS = 2 * CONNECTIONS  # asks under way, as a run has them
SEEDS = 100  # the first of the seeds: others than those by which the numbers in pacing.py were chosen


class Pacing(Protocol):
    """What a client wants of a pace."""

    async def enter(self) -> None:
        """Wait for a turn."""

    def leave(self) -> None:
        """Give it back."""

    def heard(self, status: int, headers: Mapping[str, str], began: float) -> None:
        """Learn from a response."""


class Fixed:
    """A fixed number at once that learns nothing."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(CONNECTIONS)

    async def enter(self) -> None:
        """Wait for a turn."""
        await self._places.acquire()

    def leave(self) -> None:
        """Give it back."""
        self._places.release()

    def heard(self, *_: object) -> None:
        """Learn nothing."""


@dataclass(frozen=True, slots=True)
class Service:
    """What a service allows, by the seconds since the run began, and how it refuses what is more."""

    name: str
    cap: Callable[[float], float] = lambda _: math.inf  # requests at once
    a_minute: float = math.inf  # what fills its bucket of tokens
    depth: float = 60.0  # tokens in the full bucket
    refused: Callable[[float], float] = lambda _: 0.0  # the share that is refused for no reason
    seconds: Callable[[float, int], float] = lambda _, __: LATENCY  # of an answer, with so many at once
    says_when: bool = False  # whether a refusal comes with Retry-After
    processes: int = 1
    limited: bool = False  # whether it has a cap or a bucket, so that few need be refused

    def best(self) -> float:
        """The most answers that anybody could get in a run."""
        step, total = 0.1, 0.0
        for now in (step * tick for tick in range(round(RUN / step))):
            most = int(min(self.cap(now), CONNECTIONS * self.processes))
            total += step * (1 - self.refused(now)) * max(at_once / self.seconds(now, at_once) for at_once in (1, most))
        return min(total, self.a_minute / 60 * RUN + self.depth)


def services() -> list[Service]:
    """The grid."""
    grid = []
    for says_when in (False, True):
        then = ", retry-after" if says_when else ""
        grid += [
            *(
                Service(f"cap of {cap}{then}", cap=_always(cap), says_when=says_when, limited=True)
                for cap in (8, 37, 200)
            ),
            *(
                Service(f"bucket of {rate} a minute{then}", a_minute=rate, says_when=says_when, limited=True)
                for rate in (60, 600)
            ),
            *(
                Service(f"{100 * share:.0f} % refused at random{then}", refused=_always(share), says_when=says_when)
                for share in (0.01, 0.05, 0.1, 0.2)
            ),
            Service(f"5 s of refusals every 30 s{then}", refused=_bursts, says_when=says_when),
        ]
    return [
        *grid,
        Service("slow start: 3 s an answer, 0.3 s after 30 s", seconds=_warming),
        Service("slower above 25 at once", seconds=lambda _, at_once: LATENCY * max(1.0, at_once / 25)),
        Service("cap of 37, then 8", cap=_then(37, 8), limited=True),
        Service("cap of 8, then 37", cap=_then(8, 37), limited=True),
        Service("cap of 37, two processes", cap=_always(37), processes=2, limited=True),
        Service("bucket of 600 a minute, two processes", a_minute=600, processes=2, limited=True),
    ]


def _always(value: float) -> Callable[[float], float]:
    return lambda _: value


def _then(first: float, second: float) -> Callable[[float], float]:
    return lambda now: first if now < RUN / 2 else second


def _bursts(now: float) -> float:
    return float(now % 30 >= 25)


def _warming(now: float, _: int) -> float:
    return LATENCY * (10 - 9 * min(1.0, now / 30))


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock stands still while something happens, and jumps to the next event otherwise."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_Jump(self))

    def time(self) -> float:
        """Seconds since the beginning."""
        return self.now


class _Jump(selectors.SelectSelector):
    def __init__(self, loop: SimulatedLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Let the time pass until the next event."""
        if timeout is None:
            raise RuntimeError("Everybody waits, and nothing will ever happen.")
        self._loop.now += max(0.0, timeout)
        return []


@dataclass(slots=True)
class Served:
    """A service at work, and what it counts."""

    service: Service
    rng: random.Random
    clock: Callable[[], float]
    answered: int = 0
    late: list[int] = field(default_factory=lambda: [0, 0])  # once settled: requests, and those refused
    _at_once: int = 0
    _tokens: float = field(init=False)
    _filled: float = 0.0

    def __post_init__(self) -> None:
        self._tokens = self.service.depth

    async def request(self) -> tuple[int, float | None]:
        """One request: the status, and what Retry-After says."""
        now, service = self.clock(), self.service
        full, unlucky = self._is_full(now), self.rng.random() < service.refused(now)
        if now >= SETTLED:
            self.late[0] += 1
            self.late[1] += full or unlucky
        if full:
            await asyncio.sleep(REFUSAL)
        else:
            self._at_once += 1
            mean = service.seconds(now, self._at_once)
            await asyncio.sleep(mean * self.rng.lognormvariate(-(SPREAD**2) / 2, SPREAD))
            self._at_once -= 1
        if full or unlucky:
            return 429, (1.0 if service.says_when else None)
        self.answered += 1
        return 200, None

    def _is_full(self, now: float) -> bool:
        """Whether one more is one too many; otherwise it takes a token."""
        if self._at_once >= self.service.cap(now):
            return True
        if math.isinf(self.service.a_minute):
            return False
        self._tokens += (now - self._filled) * self.service.a_minute / 60
        self._tokens, self._filled = min(self._tokens, self.service.depth), now
        if self._tokens < 1:
            return True
        self._tokens -= 1
        return False


async def _ask_for_ever(served: Served, pace: Pacing, rng: random.Random, clock: Callable[[], float]) -> None:
    """One ask after the other, each until it is answered."""
    while True:
        tries = 0
        while True:
            await pace.enter()
            began = clock()
            status, asked = await served.request()
            pace.heard(status, {}, began)
            pace.leave()
            if status == 200:
                break
            tries += 1
            await asyncio.sleep(back_off(tries, asked, Patience().backoff, rng))


@dataclass(frozen=True, slots=True)
class Cell:
    """What one way of pacing made of one service."""

    score: float
    refused: float  # of the requests once it was settled


def simulated(service: Service, paced: Callable[[Callable[[], float]], Pacing], seed: int) -> Cell:
    """Five minutes at a service; `paced` gives each process its pace, by the clock."""
    loop, rng = SimulatedLoop(), random.Random(seed)
    served = Served(service, rng, loop.time)

    async def run() -> None:
        work = [
            asyncio.create_task(_ask_for_ever(served, pace, rng, loop.time))
            for pace in [paced(loop.time) for _ in range(service.processes)]
            for _ in range(WORKERS)
        ]
        await asyncio.sleep(RUN)
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)

    try:
        loop.run_until_complete(run())
    finally:
        loop.close()
    return Cell(served.answered / service.best(), served.late[1] / max(1, served.late[0]))


def adaptive(clock: Callable[[], float]) -> Pacing:
    """The pace of a hosted service."""
    return Pace(CONNECTIONS, clock=clock)


WAYS: Mapping[str, Callable[[Callable[[], float]], Pacing]] = {"fixed": lambda _: Fixed(), "maskbench": adaptive}


def cell(service: Service, way: str, seeds: int) -> Cell:
    """The mean over seeds."""
    each = [simulated(service, WAYS[way], seed) for seed in range(SEEDS, SEEDS + seeds)]
    return Cell(mean(one.score for one in each), mean(one.refused for one in each))


def row_of(service: Service, cells: Mapping[str, Cell]) -> dict[str, object]:
    """A service as a row of the CSV file: each way's score, and the share that was refused in per cent."""
    scores = {f"{way}_score": f"{cells[way].score:.2f}" for way in WAYS}
    refused = {f"{way}_refused_percent": f"{100 * cells[way].refused:.1f}" for way in WAYS}
    return {"service": service.name, **scores, **refused}


def summary(grid: Sequence[tuple[Service, Mapping[str, Cell]]]) -> list[str]:
    """Per way: the mean and the least score, and the most refused under caps and buckets."""
    lines = []
    for way in WAYS:
        scores = [cells[way].score for _, cells in grid]
        refused = max(cells[way].refused for service, cells in grid if service.limited)
        lines.append(
            f"- {way}: {mean(scores):.3f} in the mean and at least {min(scores):.2f}; "
            f"at most {100 * refused:.1f} % refused under caps and buckets after {SETTLED:.0f} s."
        )
    ratios = [cells["maskbench"].score / cells["fixed"].score for _, cells in grid]
    lines.append(
        f"- maskbench over fixed: {mean(ratios):.3f} in the mean, from {min(ratios):.2f} to {max(ratios):.2f}."
    )
    return lines


async def _asked(base_url: str, pace: Pace | None) -> tuple[float, int]:
    """Ask so many requests of a server with the real client; returns the seconds, and how many were lost."""
    gate = asyncio.Semaphore(CONNECTIONS)
    model = ChatModel(
        name="openai-api/local/m",
        endpoint=Endpoint("local", "m", base_url, None),
        sampling=Sampling(1.0, 100, 0),
        stage="subject",
        gate=gate,
        patience=Patience(pace=pace, rng=random.Random(0)),
    )
    scenario = read_row(row(random.Random(0), "known_facts", 1), "known_facts", 1, "known_facts")
    assert isinstance(scenario, Scenario)
    ask = Ask((Message("user", "Was it so?"),), scenario, "statement", 0)
    left, lost = list(range(REAL)), 0

    async def work() -> None:
        nonlocal lost
        while left:
            left.pop()
            lost += not isinstance((await model.ask(ask))[0], Reply)

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(WORKERS)))
    seconds = time.perf_counter() - began
    await model.close()
    return seconds, lost


def real(share: float) -> str:
    """A line of what both ways take at a real server on this machine that refuses a share of requests at random."""
    told = []
    for way, pace in (("fixed", None), ("maskbench", Pace(CONNECTIONS))):
        command = [sys.executable, str(Path(__file__).with_name("server.py")), "--latency", str(LATENCY)]
        with subprocess.Popen([*command, "--refuse", str(share)], stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                seconds, lost = asyncio.run(_asked(server.stdout.readline().strip(), pace))
            finally:
                server.terminate()
        told.append(f"{way} {seconds:.1f} s, {lost} lost")
    return (
        f"- {REAL:,} requests to a real server on this machine that refuses {share:.0%} at random: "
        f"{'; '.join(told)} ({REAL / CONNECTIONS * LATENCY:.1f} s is the least).".replace("%", " %")
    )


def main() -> None:
    """Print a line a service and what they come to, and write the grid where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="services whose name holds this")
    parser.add_argument("--out", type=Path, help="write a row a service into this CSV file")
    arguments = parser.parse_args()
    chosen = [service for service in services() if arguments.only in service.name]
    print(real(0.05), flush=True)
    grid = []
    for service in chosen:
        grid.append((service, {way: cell(service, way, arguments.seeds) for way in WAYS}))
        print(row_of(*grid[-1]), flush=True)
    print("\n".join(summary(grid)))
    if arguments.out:
        write(arguments.out, [row_of(*each) for each in grid])


if __name__ == "__main__":
    main()
