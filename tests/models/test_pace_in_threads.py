"""A pace that several threads share: never too many at once, first come first served, and no place is lost."""

from __future__ import annotations

import asyncio
import threading
import time

from maskbench.models.chat.pacing import Pace


def in_threads(pace: Pace, threads: int, calls: int, seconds: float = 0.0005) -> int:
    """Have so many loops of their own make so many calls each at this pace; returns the most at once."""
    lock, now, most = threading.Lock(), 0, 0

    async def call() -> None:
        nonlocal now, most
        await pace.enter()
        with lock:
            now += 1
            most = max(most, now)
        await asyncio.sleep(seconds)
        with lock:
            now -= 1
        pace.leave()

    async def several() -> None:
        await asyncio.gather(*(call() for _ in range(calls)))

    workers = [threading.Thread(target=lambda: asyncio.run(several())) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(20)
        assert not worker.is_alive()
    return most


def test_all_threads_together_keep_to_the_number_at_once() -> None:
    """Eight loops with forty calls each never have more than three under way, and all of them come to their turn."""
    pace = Pace(most=3, start=3)
    assert in_threads(pace, 8, 40) == 3
    assert pace.in_flight == 0


def test_whoever_waits_is_let_in_by_a_place_that_another_thread_gives_back() -> None:
    """A call that waits in one loop gets the place that a call in another loop leaves."""
    pace = Pace(most=1, start=1)
    began, leave = threading.Event(), threading.Event()

    async def hold() -> None:
        await pace.enter()
        began.set()
        await asyncio.to_thread(leave.wait)
        pace.leave()

    async def wait() -> float:
        waiting = asyncio.create_task(pace.enter())
        await asyncio.sleep(0.02)
        assert not waiting.done()
        leave.set()
        started = time.monotonic()
        await asyncio.wait_for(waiting, 5)
        pace.leave()
        return time.monotonic() - started

    holder = threading.Thread(target=lambda: asyncio.run(hold()))
    holder.start()
    assert began.wait(5)
    assert asyncio.run(wait()) < 2
    holder.join(5)
    assert pace.in_flight == 0


def test_a_call_that_is_cancelled_gives_its_place_to_the_next() -> None:
    """Cancelled while it waits, or in the moment in which it is let in, a call takes no place with it."""
    pace = Pace(most=1, start=1)

    async def run() -> None:
        await pace.enter()
        first, second = (asyncio.create_task(pace.enter()) for _ in range(2))
        await asyncio.sleep(0)
        pace.leave()  # hands the place to the first ...
        first.cancel()  # ... which does not want it any more
        await asyncio.wait_for(second, 5)
        third = asyncio.create_task(pace.enter())
        await asyncio.sleep(0)
        third.cancel()
        await asyncio.sleep(0)
        pace.leave()
        assert pace.in_flight == 0

    asyncio.run(run())


def test_a_loop_that_is_gone_takes_no_place() -> None:
    """A waiting call whose loop was closed is passed over."""
    pace = Pace(most=1, start=1)
    loop = asyncio.new_event_loop()

    async def enter() -> None:
        await pace.enter()

    loop.run_until_complete(enter())
    forgotten = loop.create_task(enter())
    loop.run_until_complete(asyncio.sleep(0))
    forgotten.cancel()
    loop.run_until_complete(asyncio.gather(forgotten, return_exceptions=True))
    loop.close()
    pace.leave()
    assert pace.in_flight == 0
    asyncio.run(enter())
