"""How many requests a service gets: what it stands is found and kept busy, and what it says is obeyed."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping

import pytest

from chat_server import Answer, Body, ChatServer, serve
from flows import scenario, settings
from maskbench.method.asks import subject_asks
from maskbench.models.chat.client import ChatModel, Patience
from maskbench.models.chat.pacing import START, Pace
from maskbench.models.chat.services import Endpoint
from maskbench.models.names import Reach, open_judges, open_subject
from maskbench.settings import Budget
from maskbench.types import Reply, Sampling
from pace import Cell, adaptive, services, simulated

pytestmark = pytest.mark.slow

ASK = subject_asks(scenario("provided_facts"), settings())[0]


class Clock:
    """A clock that sleeping moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Let the time pass."""
        self.now += seconds
        await asyncio.sleep(0)


def paced(most: int = 100, **options: int) -> tuple[Pace, Clock]:
    """A pace with a clock of its own."""
    clock = Clock()
    return Pace(most, sleep=clock.sleep, clock=clock, **options), clock


def answers(pace: Pace, clock: Clock, times: int, status: int = 200, seconds: float = 1.0) -> None:
    """So many responses, each after so many seconds."""
    for _ in range(times):
        clock.now += 0.001
        pace.heard(status, {}, clock.now - seconds)


def gridded(name: str, seed: int = 0) -> Cell:
    """What the pace makes of a service of the benchmark's grid."""
    return simulated(next(service for service in services() if service.name == name), adaptive, seed)


def rounds(pace: Pace, clock: Clock, times: int, refused: Callable[[int], float]) -> None:
    """So many rounds of requests, each with as many as have a place, of which a share is refused."""
    owed = 0.0
    for _ in range(times):
        at_once = math.ceil(pace.limit)
        sent, clock.now = clock.now, clock.now + 1.0
        for _ in range(at_once):
            owed += refused(at_once)
            status, owed = (429, owed - 1) if owed >= 1 else (200, owed)
            pace.heard(status, {}, sent)


def test_it_starts_low_and_grows_with_every_answer() -> None:
    """Every answer makes room for one more, up to --connections and never above."""
    pace, clock = paced()
    assert pace.limit == START
    answers(pace, clock, START)
    assert pace.limit == 2 * START
    answers(pace, clock, 1000)
    assert pace.limit == 100
    assert Pace(4).limit == 4, "no more than the connections from the beginning"


@pytest.mark.parametrize("share", [0.01, 0.025, 0.05, 0.1])
def test_refusals_at_random_do_not_lower_the_number(share: float) -> None:
    """Where the share refused does not fall with the number, the number goes back: a run does not come to a stand."""
    pace, clock = paced(50)
    rounds(pace, clock, 300, lambda at_once: share)
    numbers = []
    for _ in range(100):
        rounds(pace, clock, 1, lambda at_once: share)
        numbers.append(pace.limit)
    assert sum(numbers) / len(numbers) > 0.9 * 50


@pytest.mark.parametrize("status", [429, 503, 529])
def test_a_full_service_gets_what_it_answers(status: int) -> None:
    """The number goes to what was answered, and from time to time a little more is tried."""
    pace, clock = paced()
    for _ in range(400):
        sent, clock.now = clock.now, clock.now + 1.0
        for place in range(math.ceil(pace.limit)):
            pace.heard(status if place >= 37 else 200, {}, sent)
    assert 33 <= pace.limit <= 41


def test_a_refusal_of_everything_says_nothing_of_the_number() -> None:
    """A service that refuses all for a while has its number when it answers again."""
    pace, clock = paced(50)
    rounds(pace, clock, 20, lambda at_once: 0.0)
    rounds(pace, clock, 40, lambda at_once: 1.0)
    assert pace.limit == 50


def test_a_refused_request_keeps_its_place_for_as_long_as_an_answer_takes() -> None:
    """Refusals that come at once do not make for more requests than answers do."""

    async def seconds() -> float:
        pace = Pace(1, 1)
        await pace.enter()
        pace.heard(200, {}, pace.clock() - 0.2)
        pace.leave()
        await pace.enter()
        began = pace.clock()
        pace.heard(429, {}, began)
        pace.leave()
        await pace.enter()
        return pace.clock() - began

    assert 0.19 < asyncio.run(seconds()) < 2


@pytest.mark.parametrize(
    "name", ["1 % refused at random", "5 % refused at random, retry-after", "5 s of refusals every 30 s"]
)
def test_a_service_that_refuses_for_reasons_of_its_own_is_kept_busy(name: str) -> None:
    """In five minutes at least eight in ten of the answers that anybody could get are got."""
    assert gridded(name).score > 0.8


@pytest.mark.parametrize("name", ["cap of 8", "bucket of 60 a minute", "bucket of 600 a minute, retry-after"])
def test_a_service_with_a_limit_is_kept_busy_and_refuses_few(name: str) -> None:
    """A number at once and a number a minute are found: once they are, at most 6 % of the requests are refused."""
    cell = gridded(name)
    assert cell.score > 0.8
    assert cell.refused < 0.06


def test_the_word_of_the_service_holds_for_all_its_requests() -> None:
    """A limit that the headers call used up holds the next requests back; Retry-After is for the refused one alone."""

    async def waited(status: int, headers: Mapping[str, str]) -> float:
        pace, clock = paced()
        pace.heard(status, headers, clock.now - 1)
        before = clock.now
        await pace.enter()
        return clock.now - before

    used_up = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m2s"}
    tokens = {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "120ms"}
    cases: tuple[tuple[int, dict[str, str], float], ...] = (
        (429, {"Retry-After": "7"}, 0.0),
        (429, used_up, 60.0),
        (200, {}, 0.0),
        (200, used_up, 60.0),
        (200, tokens, 0.12),
        (200, {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "soon"}, 0.0),
        (200, {"x-ratelimit-remaining-requests": "5", "x-ratelimit-reset-requests": "9s"}, 0.0),
    )
    for status, headers, expected in cases:
        assert asyncio.run(waited(status, headers)) == pytest.approx(expected), headers


def test_requests_and_tokens_a_minute_are_spaced() -> None:
    """At 60 requests a minute ten take nine seconds; tokens count as those of the answers lately."""

    async def seconds(**options: int) -> float:
        pace, clock = paced(**options)
        pace.counted(1000)
        for _ in range(10):
            await pace.enter()
            pace.leave()
        return clock.now - 100.0

    assert asyncio.run(seconds(rpm=60)) == pytest.approx(9.0)
    assert asyncio.run(seconds(tpm=30_000)) == pytest.approx(18.0)
    assert asyncio.run(seconds()) == 0


def test_a_turn_that_nobody_takes_goes_to_the_next() -> None:
    """A request that is given up while it waits holds nobody up."""

    async def walk() -> None:
        pace = Pace(1)
        await pace.enter()
        waiting = [asyncio.create_task(pace.enter()) for _ in range(3)]
        await asyncio.sleep(0)
        pace.leave()
        waiting[0].cancel()
        done, _ = await asyncio.wait(waiting, timeout=1, return_when=asyncio.ALL_COMPLETED)
        assert len([task for task in done if not task.cancelled()]) == 1
        assert pace.in_flight == 1
        for task in waiting:
            task.cancel()

    asyncio.run(walk())


def test_turns_are_taken_in_the_order_of_asking_and_nobody_is_woken_for_nothing() -> None:
    """Of forty that wait at four turns each gets one when it has waited longest, whoever comes in between."""

    async def walk() -> list[int]:
        pace, order = Pace(4), []

        async def work(number: int) -> None:
            await pace.enter()
            order.append(number)
            assert pace.in_flight <= 4
            await asyncio.sleep(0)
            pace.heard(200, {}, pace.clock())
            pace.leave()

        async with asyncio.TaskGroup() as group:
            for number in range(40):
                group.create_task(work(number))
        assert pace.in_flight == 0
        return order

    assert asyncio.run(walk()) == list(range(40))


def client(server: ChatServer, pace: Pace) -> ChatModel:
    """A client with 200 connections that waits next to nothing between tries."""
    return ChatModel(
        name="openai-api/t/m",
        endpoint=Endpoint("t", "m", server.base_url, None),
        sampling=Sampling(1.0, 10, 0),
        stage="subject",
        gate=asyncio.Semaphore(200),
        patience=Patience(retries=50, backoff=0.02, pace=pace),
    )


def test_a_server_that_allows_37_at_once_is_found_and_kept_busy() -> None:
    """Everything is answered, few requests are refused once the number is found, and most of 37 places are taken."""
    allowed, calls, latency = 37, 1000, 0.1
    servers: list[ChatServer] = []
    refused: list[int] = []
    at_once: list[int] = []
    pace = Pace(200)

    def full(_body: Body) -> Answer | None:
        if servers[0].in_flight <= allowed:
            return None
        refused.append(servers[0].requests)
        return Answer(429, {"error": {"message": "Too many at once"}}, delay=-latency)  # which is said at once

    async def look() -> None:
        while True:
            await asyncio.sleep(0.02)
            at_once.append(servers[0].in_flight)

    async def walk() -> None:
        async with serve(rules=[full], latency=latency, keep=False) as server:
            servers.append(server)
            model, looking = client(server, pace), asyncio.create_task(look())
            results = await asyncio.gather(*(model.ask(ASK) for _ in range(calls)))
            looking.cancel()
            await model.close()
        assert all(isinstance(result[0], Reply) for result in results)

    asyncio.run(walk())
    late = [number for number in refused if number > calls // 2]
    assert len(late) < 0.06 * calls / 2, "no storm of errors once it is found"
    assert allowed - 7 <= pace.limit <= allowed + 7
    middle = sorted(at_once[len(at_once) // 3 : -len(at_once) // 6])
    assert middle[len(middle) // 2] > 0.75 * allowed, "the usual number under way"


def test_models_of_one_service_share_its_pace() -> None:
    """Subject and judge at one address have one pace; a server of one's own gets all connections from the start."""
    environ = {"OPENAI_API_KEY": "k", "VLLM_BASE_URL": "http://127.0.0.1:1/v1"}
    chosen = settings(
        subject="openai/gpt-4o",
        judge="openai/gpt-4o-mini",
        numeric_judge="vllm/m",
        connections=50,
        budget=Budget(rpm=7),
    )
    reach = Reach(environ, asyncio.Semaphore(50))
    subject, judges = open_subject(chosen, reach), open_judges(chosen, reach)
    paces = [getattr(model, "_pace") for model in (subject, judges["binary"], judges["numerical"])]  # noqa: B009
    assert paces[0] is paces[1] is not paces[2]
    assert (paces[0].limit, paces[2].limit, paces[0].rpm) == (START, 50, 7)
