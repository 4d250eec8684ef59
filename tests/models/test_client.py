"""The chat client against a real server on 127.0.0.1 that refuses, fails, hangs, lies and counts."""

import asyncio
import json
import random
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Awaitable, Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from chat_server import (
    CUT,
    DROP,
    GARBAGE,
    HANG,
    Answer,
    Body,
    ChatServer,
    Rule,
    completion,
    every,
    fail,
    first,
    give,
    huge,
    pace,
    redirect,
    refuse,
    serve,
    sometimes,
)
from maskbench.errors import AccessError, ModelError, UnknownModel, Unreachable
from maskbench.models.chat.client import ChatModel, Patience
from maskbench.models.chat.services import endpoint
from maskbench.models.chat.wire import Recorded
from maskbench.types import Ask, Failure, Message, Reply, Sampling, Scenario, Usage, conversation
from patience import PATIENCE

KEY = "sk-test-abcdefghijklmnop"
SCENARIO = Scenario(
    "known_facts", "1", "binary", "It <pivotal>is/is not</pivotal> so.", "A", conversation("system", "user")
)
ASK = Ask((Message("system", "Be brief."), Message("user", "Is it so?")), SCENARIO, "direct", 1)
SCHEMA = {"type": "object", "properties": {"verdict": {"type": "string", "enum": ["A", "B"]}}, "required": ["verdict"]}
MODEL_NOT_FOUND = {"error": {"message": "The model `m` does not exist.", "code": "model_not_found"}}


def several(n: int) -> Ask:
    """An ask for n samples."""
    return replace(ASK, runs=tuple(range(1, n + 1)), seeds=tuple(range(100, 100 + n)))


async def whole(model: ChatModel, ask: Ask) -> list[Reply | Failure]:
    """All samples of an ask, as a run gets them: those that come together, then the others one by one."""
    answers = []
    for answer, run, seed in zip(await model.ask(ask), ask.runs, ask.seeds, strict=True):
        if answer is None:
            (answer,) = await model.ask(replace(ask, runs=(run,), seeds=(seed,)))
        assert answer is not None
        answers.append(answer)
    return answers


WAITING = frozenset(field.name for field in fields(Patience))


def client(base_url: str, **options: Any) -> ChatModel:
    """A client with a key that never waits long."""
    settings: dict[str, Any] = {
        "name": "openai-api/test/m",
        "endpoint": endpoint("openai-api/test/m", {"TEST_API_KEY": KEY, "TEST_BASE_URL": base_url}),
        "sampling": Sampling(temperature=1.0, max_tokens=100, reasoning_tokens=1000),
        "stage": "subject",
        "gate": asyncio.Semaphore(10),
        **options,
    }
    waiting = {name: settings.pop(name) for name in WAITING if name in settings}
    return ChatModel(**settings, patience=Patience(**{"timeout": 10.0, "retries": 3, "backoff": 0.002, **waiting}))


Step = Callable[[ChatModel, ChatServer], Awaitable[None]]


def against(step: Step, *, options: dict[str, Any] | None = None, **server: Any) -> None:
    """Run a step with a client of a server of its own."""

    async def run() -> None:
        async with serve(**server) as running:
            model = client(running.base_url, **(options or {}))
            try:
                await step(model, running)
            finally:
                await model.close()

    asyncio.run(run())


async def one(model: ChatModel, ask: Ask = ASK) -> Reply | Failure:
    """The only entry of the answer to an ask."""
    (answer,) = await model.ask(ask)
    assert answer is not None
    return answer


async def reply_of(model: ChatModel, ask: Ask = ASK) -> Reply:
    """The reply to an ask that must not fail."""
    answer = await one(model, ask)
    assert isinstance(answer, Reply), answer
    return answer


async def failure_of(model: ChatModel, ask: Ask = ASK) -> Failure:
    """The failure of an ask that must fail; no failure shows the key."""
    answer = await one(model, ask)
    assert isinstance(answer, Failure), answer
    assert KEY not in answer.detail
    return answer


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that the server or the client counts."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - neither of them offers an event
            await asyncio.sleep(0.001)


# The ordinary case


def test_an_ask_is_answered() -> None:
    """Messages and parameters go out, and text, counts, names and what was sent come back."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        reply = await reply_of(model)
        assert reply.text == "Yes."
        assert reply.usage == Usage(4, 10)
        assert (reply.model, reply.fingerprint) == ("m-2025-01-01", "fp_test")
        assert reply.sent == {"max_tokens": 100, "temperature": 1.0}
        assert reply.seconds > 0
        assert server.bodies == [
            {
                "model": "m",
                "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Is it so?"}],
                "max_tokens": 100,
                "temperature": 1.0,
            }
        ]
        assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
        assert server.headers[0]["Accept-Encoding"] == "identity"
        assert (model.requests, model.retried) == (1, 0)

    against(step, reply="Yes.")


def test_a_server_without_key_gets_no_authorization() -> None:
    """No key, no header."""

    async def run() -> None:
        async with serve() as server:
            model = client(server.base_url, endpoint=endpoint("openai-api/t/m", {"T_BASE_URL": server.base_url}))
            await reply_of(model)
            await model.close()
            assert "Authorization" not in server.headers[0]

    asyncio.run(run())


def test_seeds_are_sent_only_where_wanted() -> None:
    """`send_seed` decides whether the run's seed goes along."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        assert (await reply_of(model, replace(ASK, seeds=(42,)))).sent["seed"] == 42
        assert server.bodies[0]["seed"] == 42

    against(step, options={"send_seed": True})


def test_description_tells_everything_but_the_key() -> None:
    """It is plain JSON with address, parameters, what was learned and who answered; key and query are not in it."""

    async def run() -> None:
        async with serve() as server:
            environ = {"T_API_KEY": KEY, "T_BASE_URL": f"{server.base_url}?token=secret77"}
            model = client(server.base_url, endpoint=endpoint("openai-api/t/m", environ), send_seed=True)
            await reply_of(model)
            await model.close()
            told = json.dumps(model.describe())
            assert KEY not in told + repr(model) + repr(vars(model)["endpoint"])
            assert "secret77" not in told
            assert model.describe() == {
                "name": "openai-api/test/m",
                "service": "t",
                "model": "m",
                "base_url": server.base_url,
                "sampling": {"temperature": 1.0, "max_tokens": 100, "reasoning_tokens": 1000},
                "on_truncation": "judge",
                "send_seed": True,
                "learned": {
                    "limit": "max_tokens",
                    "temperature": True,
                    "schema": None,
                    "seed": True,
                    "logprobs": None,
                    "n": None,
                    "system": True,
                    "reasons": False,
                    "opens": False,
                    "most": None,
                    "answered": True,
                    "counts_one": False,
                },
                "resolved": ["m-2025-01-01"],
                "fingerprints": ["fp_test"],
                "identical": 0,
            }

    asyncio.run(run())


# In flight


def test_as_many_requests_are_in_flight_as_the_gate_lets_through() -> None:
    """No more than the gate's number, and really that many, two models together."""

    async def run() -> None:
        async with serve(latency=0.05) as server:
            gate = asyncio.Semaphore(7)
            models = [client(server.base_url, gate=gate, stage=stage) for stage in ("subject", "judge")]
            answers = await asyncio.gather(*(one(models[turn % 2]) for turn in range(40)))
            assert all(isinstance(answer, Reply) for answer in answers)
            assert server.most_in_flight == 7
            for model in models:
                await model.close()

    asyncio.run(run())


def test_no_permit_is_held_during_back_off() -> None:
    """A call that waits to be retried leaves its place to others."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        waiting = asyncio.create_task(one(model))
        await until(lambda: waits == [True])
        await asyncio.gather(*(reply_of(model) for _ in range(3)))
        assert not waiting.done()
        over.set()
        assert isinstance(await waiting, Reply)

    over = asyncio.Event()
    waits: list[bool] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds > 0)
        await over.wait()

    options = {"gate": asyncio.Semaphore(1), "sleep": sleep}
    against(step, options=options, rules=[first(1, fail(429))])


def test_a_cancelled_ask_gives_its_permit_back() -> None:
    """Cancelled in flight or in back-off, an ask holds nothing, and closing does not hang."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        tasks = [asyncio.create_task(one(model)) for _ in range(3)]
        await until(lambda: server.requests == 2)
        for task in tasks:
            task.cancel()
        assert all(
            isinstance(end, asyncio.CancelledError) for end in await asyncio.gather(*tasks, return_exceptions=True)
        )
        server.rules.clear()
        assert isinstance(await asyncio.wait_for(one(model), 2), Reply)

    against(step, options={"gate": asyncio.Semaphore(2)}, rules=[HANG])


def test_closing_does_not_wait_for_a_server_that_hangs() -> None:
    """Calls in flight fail, and close returns soon; a client may be closed twice or unused."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        hanging = asyncio.create_task(one(model))
        await until(lambda: server.in_flight == 1)
        await asyncio.wait_for(model.close(), 3)
        with pytest.raises(Unreachable, match="closed"):
            await asyncio.wait_for(hanging, 3)
        await model.close()
        assert model.requests == 1

    against(step, rules=[HANG])


# What is retried, and what is not


@pytest.mark.parametrize(
    "odd",
    [
        lambda data: data.replace(b"Yes.", rb"Yes.\ud83d"),
        lambda data: data.replace(b'"stop"', b'"stop", "logprobs": {"content": [{"token": "Y", "logprob": NaN}]}'),
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"Yes.", b"Yes.\x0b"),
        lambda data: data.replace(b"Yes.", b"Yes.\xe9"),
        lambda data: b": STILL AT IT\n\n" + data,
    ],
)
def test_json_that_others_read_is_an_answer(odd: Callable[[bytes], bytes]) -> None:
    """What Python's own reader takes is no malformed response, which would be paid for again and again."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        assert (await reply_of(model)).text in ("Yes.", "Yes.\ufffd", "Yes.\x0b")
        assert server.requests == 1

    against(step, rules=[lambda body: Answer(content=odd(json.dumps(completion(body, ["Yes."])).encode()))])


LONG = replace(ASK, messages=(Message("system", "Praise the copper. " * 2600), Message("user", "Is it so?")))


@pytest.mark.parametrize("stage", ["subject", "judge"])
@pytest.mark.parametrize("runs", [1, 3])
def test_a_prompt_that_the_server_cut_is_a_failure(runs: int, stage: str) -> None:
    """By the tokens that it counts the server read a part: each sample is a failure, and nothing is asked again."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        told = "the server seems to have cut the prompt: 2050 tokens counted for 49409 characters"
        asked = replace(LONG, runs=tuple(range(1, runs + 1)), seeds=tuple(range(runs)))
        assert list(await model.ask(asked)) == [Failure(model.stage, "cut_prompt", told)] * runs
        assert (server.requests, model.retried) == (1, 0)
        assert isinstance(await one(model), Reply)

    usage = {"prompt_tokens": 2050, "completion_tokens": 10, "total_tokens": 2060}
    against(step, options={"stage": stage}, usage=usage)


def test_a_usage_of_nothing_is_billed_as_none() -> None:
    """A server that counts 0 tokens has not said what a call took; an error that counts 0 was not paid for."""
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}

    async def step(model: ChatModel, server: ChatServer) -> None:
        heard: list[Usage] = []
        model.billed = lambda _, usage: heard.append(usage)
        assert (await reply_of(model)).usage == Usage()
        assert heard == [Usage()]

    busy = give(Answer(content={"error": {"code": 503, "message": "busy"}, "usage": nothing}))
    against(step, rules=[first(1, busy)], usage=nothing)


def test_an_answer_with_an_empty_error_beside_it_is_an_answer() -> None:
    """Some servers always send an error field, which says that there is none."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        assert (await reply_of(model)).text == "Yes."
        assert server.requests == 1

    beside = {"error": {"code": 0, "message": ""}}
    against(step, rules=[lambda body: Answer(content={**completion(body, ["Yes."]), **beside})])


@pytest.mark.parametrize(
    "rule",
    [
        *map(fail, (408, 409, 429, 500, 502, 503, 529)),
        *(DROP, CUT, GARBAGE),
        give(Answer(content={"choices": []})),
        give(Answer(content={"error": {"code": 503, "message": "busy"}})),
    ],
)
def test_passing_troubles_are_outlived(rule: Rule) -> None:
    """Bad statuses, broken connections and unreadable bodies are tried again."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        assert isinstance(await one(model), Reply)
        assert (server.requests, model.requests, model.retried) == (3, 3, 2)

    against(step, rules=[first(2, rule)])


@pytest.mark.parametrize(
    ("rule", "cause"),
    [
        (fail(408), "timeout"),
        (fail(429), "rate_limit"),
        (fail(500), "server_error"),
        (fail(529), "server_error"),
        (GARBAGE, "malformed_response"),
        (give(Answer(content={"choices": [{"message": {"content": 5}}]})), "malformed_response"),
        (give(Answer(content=b"")), "malformed_response"),
        (CUT, "connection"),
    ],
)
def test_lasting_troubles_become_failures(rule: Rule, cause: str) -> None:
    """After `retries` more tries the call is a failure with its cause."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        failure = await failure_of(model)
        assert (failure.stage, failure.cause) == ("judge", cause)
        assert server.requests == 4

    against(step, rules=[rule], options={"stage": "judge"})


def ending(word: Any) -> dict[str, Any]:
    """A server that ends each answer, which is a stump, with this word."""
    return {"reply": {"content": "Well, before I", "finish_reason": word}}


@pytest.mark.parametrize("stage", ["subject", "judge"])
def test_an_unknown_end_is_a_failure_that_names_it_and_is_not_asked_again(stage: str) -> None:
    """Nobody knows whether such an answer is whole; what to type where it is stands in the failure, without the key."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        failure = await failure_of(model)
        assert (failure.stage, failure.cause) == (stage, "unknown_end")
        assert 'whole-ends = ["odd ***"]' in failure.detail
        assert server.requests == 1

    against(step, options={"stage": stage}, **ending(f"odd {KEY}"))


def test_every_sample_with_an_unknown_end_is_a_failure_of_its_own() -> None:
    """Samples that came together are no more asked again than one alone."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        causes = {each.cause for each in await whole(model, several(3)) if isinstance(each, Failure)}
        assert (causes, server.requests) == ({"unknown_end"}, 1)

    against(step, **ending("odd"))


def test_an_unknown_end_in_a_batch_is_a_failure_and_not_asked_live() -> None:
    """What a batch brought is read by the same table."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        choice = {"message": {"content": "Well, before I"}, "finish_reason": "odd"}
        model.recorded = lambda _: Recorded(200, json.dumps({"choices": [choice]}).encode(), {"max_tokens": 100})
        assert ((await failure_of(model)).cause, server.requests) == ("unknown_end", 0)

    against(step)


def test_what_a_run_calls_a_whole_end_is_one() -> None:
    """The word is taken in any case, and an empty text is no answer all the same."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        assert (await reply_of(model)).text == "Well, before I"

    against(step, options={"whole_ends": ("ODD",)}, **ending("odd"))


def test_an_answer_that_was_broken_off_is_asked_again_and_named() -> None:
    """The same ask may bring a whole answer; where none comes, the failure has the service's word."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        failure = await failure_of(model)
        assert (failure.cause, failure.detail) == ("malformed_response", 'the answer was broken off ("abort")')
        assert server.requests == 4

    against(step, **ending({"type": "abort"}))


def test_a_server_that_closes_on_us_after_answering_is_a_failure() -> None:
    """Once there has been an answer, broken connections fail the call and not the run."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        await reply_of(model)
        server.rules.append(DROP)
        assert (await failure_of(model)).cause == "connection"

    against(step)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_bad_requests_are_not_retried(status: int) -> None:
    """A request that is wrong stays wrong, and the failure quotes the server."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        failure = await failure_of(model)
        assert (failure.cause, failure.detail) == ("bad_request", f"{status}: failed with {status}")
        assert server.requests == 1

    against(step, rules=[fail(status)])


@pytest.mark.parametrize(
    ("rule", "error", "text"),
    [
        (fail(401), AccessError, "Check TEST_API_KEY"),
        (fail(429, content={"error": {"code": "insufficient_quota", "message": "No money"}}), AccessError, "No money"),
        (fail(400, content=MODEL_NOT_FOUND), UnknownModel, "The model `m` does not exist"),
    ],
)
def test_what_fails_every_call_ends_the_run(rule: Rule, error: type[ModelError], text: str) -> None:
    """A wrong key, an empty account or an unknown model raises at once, and says what to check."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        with pytest.raises(error, match=text) as raised:
            await model.ask(ASK)
        assert str(raised.value).startswith("openai-api/test/m: http://127.0.0.1:")
        assert server.requests == 1

    against(step, rules=[rule])


def test_an_ask_for_several_is_handed_back_where_samples_go_one_by_one() -> None:
    """Whoever asked before that was known gets nothing but the word to ask singly, and nothing is sent."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        assert await model.ask(several(3)) == [None, None, None]
        assert server.requests == 0

    against(step, options={"learned": {"n": False}})


def test_the_sample_that_came_is_given_at_once_where_n_is_ignored() -> None:
    """An answer does not wait for its siblings, so that an interruption cannot lose it."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        had, *missing = await model.ask(several(3))
        assert isinstance(had, Reply)
        assert missing == [None, None]
        assert server.requests == 1

    against(step, honours_n=False)


def test_nothing_at_the_address_is_unreachable() -> None:
    """Where nobody has ever answered, refused connections end the run after the retries."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    async def run() -> None:
        model = client(f"http://127.0.0.1:{port}/v1")
        with pytest.raises(Unreachable, match=f"nothing answers at http://127.0.0.1:{port}/v1"):
            await model.ask(ASK)
        assert model.requests == 4
        await model.close()

    asyncio.run(run())


def test_an_unknown_host_is_unreachable() -> None:
    """A host name that nobody knows ends the run too."""

    async def run() -> None:
        model = client("https://no-such-host.invalid/v1", retries=1)
        with pytest.raises(Unreachable, match=r"no-such-host\.invalid"):
            await model.ask(ASK)
        await model.close()

    asyncio.run(run())


def test_a_server_that_hangs_is_a_time_out() -> None:
    """The time-out of a call covers all of it, and the call is tried again."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        failure = await failure_of(model)
        assert (failure.cause, failure.detail) == ("timeout", "no answer within 0.3 s")
        assert server.requests == 2

    against(step, rules=[HANG], options={"timeout": 0.3, "retries": 1})


def test_a_server_that_does_not_speak_http_is_a_failure() -> None:
    """Bytes that are no HTTP make a failure."""

    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"220 mail.example ESMTP\r\n\r\n")
        await writer.drain()
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(babble, "127.0.0.1", 0)
        model = client(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", retries=1)
        assert (await failure_of(model)).cause == "malformed_response"
        await model.close()
        server.close()

    asyncio.run(run())


# Retry-After and back-off


@pytest.mark.parametrize("headers", [{"Retry-After": "7"}, {"retry-after-ms": "7000"}])
def test_retry_after_is_obeyed(headers: dict[str, str]) -> None:
    """The wait is at least what the server asks."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def step(model: ChatModel, server: ChatServer) -> None:
        await reply_of(model)
        assert [7 <= wait < 7.1 for wait in waits] == [True]

    against(step, rules=[first(1, fail(429, headers))], options={"sleep": sleep})


def test_retry_after_is_really_waited_for() -> None:
    """On a real clock too."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        started = time.monotonic()
        await reply_of(model)
        assert time.monotonic() - started >= 0.2

    against(step, rules=[first(1, fail(503, {"Retry-After": "0.2"}))])


def test_back_off_grows_with_full_jitter() -> None:
    """Waits are drawn between nothing and a bound that doubles, up to a minute."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def step(model: ChatModel, server: ChatServer) -> None:
        await failure_of(model)
        assert len(waits) == 12
        assert all(0 <= wait <= min(60, 2**number) for number, wait in enumerate(waits))
        assert max(waits[6:]) > 4

    against(step, rules=[fail(500)], options={"sleep": sleep, "backoff": 1.0, "retries": 12, "rng": random.Random(1)})


def test_a_rate_limit_that_lets_others_through_is_waited_out() -> None:
    """A limit on the pace fails no call, however often it is hit, as long as the endpoint answers others."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        answers = await asyncio.gather(*(one(model) for _ in range(60)))
        assert all(isinstance(answer, Reply) for answer in answers)
        assert server.requests == 60 + model.retried

    against(step, rules=[pace(400)], options={"retries": 2, "gate": asyncio.Semaphore(60)})


# Learning


@pytest.mark.parametrize(
    ("name", "lacks", "sent"),
    [
        ("max_tokens", "max_tokens", {"max_tokens": 100, "temperature": 1.0, "seed": 0, "schema": True}),
        ("temperature", "temperature", {"max_tokens": 100, "seed": 0, "schema": True}),
        ("seed", "seed", {"max_tokens": 100, "temperature": 1.0, "schema": True}),
        ("response_format", "response_format", {"max_tokens": 100, "temperature": 1.0, "seed": 0, "schema": False}),
    ],
)
def test_a_refused_parameter_is_learned_once(name: str, lacks: str, sent: dict[str, Any]) -> None:
    """The request goes out again at once without it, which is no retry, and later requests begin so."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        wanted = replace(ASK, schema=SCHEMA)
        assert (await reply_of(model, wanted)).sent == sent
        assert (await reply_of(model, wanted)).sent == sent
        assert [lacks in body for body in server.bodies] == [True, False, False]
        assert model.retried == 0
        assert ("max_completion_tokens" in server.bodies[-1]) == (name == "max_tokens")

    against(step, rules=[refuse(name)], options={"send_seed": True, "retries": 0})


def test_a_refused_system_role_is_folded_and_recorded() -> None:
    """The system text goes before the user's first message, and every reply says so."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        assert (await reply_of(model)).sent["folded"] is True
        assert server.bodies[-1]["messages"] == [{"role": "user", "content": "Be brief.\n\nIs it so?"}]
        assert model.describe()["learned"]["system"] is False
        assert model.warnings == [
            "openai-api/test/m refuses the system role; the system text goes before the first user message."
        ]

    against(step, rules=[refuse("system", "System role not supported")])


def test_an_unknown_tag_of_reasoning_is_told_of_once() -> None:
    """It stays in the text, and the line names it."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        for _ in range(2):
            assert (await reply_of(model)).text == "<ponder>Hm.</ponder>Yes."
        (warning,) = model.warnings
        assert warning.startswith("openai-api/test/m began an answer with <ponder>, which maskbench does not know")

    against(step, reply=lambda body: "<ponder>Hm.</ponder>Yes.")


def test_a_model_that_leads_every_answer_with_another_tag_is_told_of_once() -> None:
    """Speakers of a play, for instance: a line for each would bury what else is to be told."""
    speakers = iter(("Ann", "Ben", "Cleo"))

    async def step(model: ChatModel, server: ChatServer) -> None:
        for _ in range(3):
            await reply_of(model)
        (warning,) = model.warnings
        assert "<Ann>" in warning

    def speak(body: Body) -> str:
        name = next(speakers)
        return f"<{name}>Hm.</{name}>Yes."

    against(step, reply=speak)


def test_everything_can_be_refused_in_turn() -> None:
    """A reasoning model of the first generation refuses nearly all, and is measured all the same."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        wanted = replace(ASK, schema=SCHEMA)
        assert (await reply_of(model, wanted)).sent == {"max_tokens": 100, "schema": False, "folded": True}
        assert server.requests == 6
        assert (await reply_of(model, wanted)).text

    rules = [refuse("max_tokens"), refuse("temperature"), refuse("seed"), refuse("response_format")]
    against(
        step,
        rules=[*rules, refuse("system", "Unsupported value: 'messages[0].role' does not support 'system'")],
        options={"send_seed": True},
    )


def test_many_calls_learn_the_same_at_once() -> None:
    """Calls under way together all get the refusal, and all get through."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        await asyncio.gather(*(reply_of(model) for _ in range(30)))
        assert model.describe()["learned"]["limit"] == "max_completion_tokens"
        assert model.describe()["learned"]["temperature"] is False
        assert len(model.warnings) == 1

    against(step, rules=[refuse("max_tokens"), refuse("temperature")], latency=0.005)


def test_a_server_that_refuses_for_ever_is_a_bad_request() -> None:
    """Each adjustment is made once a call, so no server keeps a call going."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        assert (await failure_of(model)).cause == "bad_request"
        assert server.requests == 2

    stubborn = {"error": {"message": "max_tokens is not supported; use max_completion_tokens; no, max_tokens"}}
    against(step, rules=[fail(400, content=stubborn)])


def test_what_was_learned_can_be_restored() -> None:
    """A later session begins with what an earlier one has recorded."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        await reply_of(model)
        later = client(server.base_url, learned=json.loads(json.dumps(model.describe()["learned"])))
        server.bodies.clear()
        await reply_of(later)
        await later.close()
        assert len(server.bodies) == 1
        assert "max_completion_tokens" in server.bodies[0]
        assert "temperature" not in server.bodies[0]

    against(step, rules=[refuse("max_tokens"), refuse("temperature")])


def test_a_token_limit_above_the_models_is_lowered() -> None:
    """What the model takes at most is learned; what fits beside one long prompt is not."""

    def small(body: Body) -> Answer | None:
        if body["max_tokens"] > 80:
            return Answer(400, {"error": {"message": f"max_tokens: {body['max_tokens']} > 80, which is the maximum"}})
        if body["max_tokens"] > 50 and len(body["messages"][-1]["content"]) > 100:
            text = "This model's maximum context length is 100 tokens and your request has 50 input tokens"
            return Answer(400, {"error": {"message": text}})
        return None

    async def step(model: ChatModel, server: ChatServer) -> None:
        long = replace(ASK, messages=(Message("user", "long " * 30),))
        assert (await reply_of(model, long)).sent["max_tokens"] == 50
        assert (await reply_of(model)).sent["max_tokens"] == 80
        assert model.describe()["learned"]["most"] == 80

    against(step, rules=[small])


def test_a_schema_that_one_answer_missed_is_wanted_again_later() -> None:
    """A failed generation is asked once more without the schema, and nothing is learned from it."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        wanted = replace(ASK, schema=SCHEMA)
        assert (await reply_of(model, wanted)).sent["schema"] is False
        assert (await reply_of(model, wanted)).sent["schema"] is True

    missed = {"error": {"message": "Failed to generate JSON.", "code": "json_validate_failed"}}
    against(step, rules=[first(1, fail(400, content=missed))])


# Several samples in one request


def test_samples_go_together_where_n_is_honoured() -> None:
    """One request brings them all; its usage stands on the first reply alone, so that sums are right."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        replies = await whole(model, several(3))
        assert [isinstance(reply, Reply) and reply.sent["n"] for reply in replies] == [3, 3, 3]
        assert [isinstance(reply, Reply) and reply.usage for reply in replies] == [
            Usage(4, 30),
            Usage(0, 0, 0),
            Usage(0, 0, 0),
        ]
        assert (server.requests, server.bodies[0]["n"], model.together) == (1, 3, True)
        assert model.describe()["learned"]["n"] is True

    against(step)


def test_samples_are_asked_singly_where_n_is_ignored() -> None:
    """The missing samples follow one by one, and later asks begin so."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        assert all(isinstance(reply, Reply) for reply in await whole(model, several(3)))
        assert [body.get("n", 1) for body in server.bodies] == [3, 1, 1]
        assert model.together is False
        assert all(isinstance(reply, Reply) for reply in await whole(model, several(2)))
        assert server.requests == 5
        assert "fewer samples" in model.warnings[0]

    against(step, honours_n=False)


def test_where_seeds_are_sent_every_sample_is_a_request_with_its_own() -> None:
    """A request has one seed, and no two samples may share one."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        assert model.together is False
        assert all(isinstance(reply, Reply) for reply in await whole(model, several(3)))
        assert [body.get("n", 1) for body in server.bodies] == [1, 1, 1]
        assert sorted(body["seed"] for body in server.bodies) == [100, 101, 102]

    against(step, options={"send_seed": True})


@pytest.mark.parametrize("message", ["'n' : number must be at most 1", "n must be 1", "Bad request"])
def test_samples_are_asked_singly_where_n_is_refused(message: str) -> None:
    """However a server words its refusal: what is answered without n was refused for it."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        assert all(isinstance(reply, Reply) for reply in await whole(model, several(3)))
        assert [body.get("n", 1) for body in server.bodies] == [3, 1, 1, 1]
        assert model.together is False

    against(step, rules=[refuse("n", message)])


def test_a_request_that_is_bad_without_n_too_says_nothing_about_n() -> None:
    """A call that fails for another reason teaches nothing."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        answers = await whole(model, several(3))
        assert [isinstance(answer, Failure) and answer.cause for answer in answers] == ["bad_request"] * 3
        assert (server.requests, model.together) == (2, True)

    against(step, rules=[fail(400)])


def test_samples_that_came_to_nothing_are_asked_for_singly() -> None:
    """Of several samples only the empty, unreadable or filtered ones are lost or asked again."""

    def mixed(body: Body) -> Answer | None:
        if body.get("n") != 4:
            return None
        whole = completion(body, ["good", "", {"content": None, "finish_reason": "content_filter"}, "x"])
        whole["choices"][3] = {"message": None}
        return Answer(content=whole)

    async def step(model: ChatModel, server: ChatServer) -> None:
        answers = await whole(model, several(4))
        texts = [answer.text if isinstance(answer, Reply) else answer.cause for answer in answers]
        assert texts == ["good", "again", "filtered", "again"]
        assert model.together is True

    against(step, rules=[mixed], reply="again")


def test_long_identical_samples_are_a_warning() -> None:
    """Independent samples at temperature 1 are not equal over 200 characters."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        await whole(model, several(3))
        await whole(model, several(3))
        assert (model.identical, model.describe()["identical"]) == (4, 4)
        assert len(model.warnings) == 1
        assert "identical samples" in model.warnings[0]

    against(step, reply="word " * 50, usage={"prompt_tokens": 5, "completion_tokens": 150})


def test_equal_samples_that_may_be_equal_are_no_warning() -> None:
    """Short ones, and any at temperature 0."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        await whole(model, several(3))
        assert (model.identical, model.warnings) == (0, [])

    against(step, reply="Yes.")
    usage = {"prompt_tokens": 5, "completion_tokens": 150}
    against(step, reply="word " * 50, usage=usage, options={"sampling": Sampling(0.0, 100, 1000)})


# Reasoning, empty and cut answers


def thinker(needs: int, **message: Any) -> Callable[[Body], dict[str, Any]]:
    """A reply that needs so many tokens before the answer begins."""

    def reply(body: Body) -> dict[str, Any]:
        if body.get("max_tokens", 0) < needs:
            return {"content": None, "reasoning_content": "Hm", "finish_reason": "length"}
        return {"content": "Yes.", "reasoning_content": "Hm, yes.", **message}

    return reply


def test_a_model_seen_to_reason_gets_the_reasoning_budget() -> None:
    """A first answer that was all reasoning is asked again with the budget added, and later ones begin with it."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        reply = await reply_of(model)
        assert (reply.text, reply.reasoning, reply.sent["max_tokens"]) == ("Yes.", "Hm, yes.", 1100)
        await reply_of(model)
        assert [body["max_tokens"] for body in server.bodies] == [100, 1100, 1100]
        assert model.describe()["learned"]["reasons"] is True

    against(step, reply=thinker(500))


def test_adding_the_reasoning_budget_is_not_the_doubled_retry() -> None:
    """An answer that needs still more gets twice the whole budget once."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        assert (await reply_of(model)).sent["max_tokens"] == 2200
        assert [body["max_tokens"] for body in server.bodies] == [100, 1100, 2200]

    against(step, reply=thinker(2000))


@pytest.mark.parametrize("runs", [1, 3])
def test_a_refusal_to_finish_for_want_of_tokens_is_reasoning_without_end(runs: int) -> None:
    """OpenAI answers 400 where reasoning left no room for an answer; with the budget added it goes on."""

    def starve(body: Body) -> Answer | None:
        text = "Could not finish the message because max_tokens or model output limit was reached."
        return Answer(400, {"error": {"message": text}}) if body["max_tokens"] < 1100 else None

    async def step(model: ChatModel, server: ChatServer) -> None:
        answers = await whole(model, several(runs))
        assert [isinstance(answer, Reply) and answer.sent["max_tokens"] for answer in answers] == [1100] * runs
        assert server.requests == 1 + runs
        assert model.together is True

    against(step, rules=[starve])


def test_reasoning_without_end_is_a_failure() -> None:
    """After the doubled budget the call has failed, under a name of its own."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        failure = await failure_of(model)
        assert failure.cause == "unclosed_reasoning"
        assert failure.detail == "the answer was still only reasoning at 2200 tokens"
        assert server.requests == 3

    against(step, reply={"content": "<think>and on and on", "finish_reason": "length"})


def test_a_closing_tag_that_nothing_opens_is_told() -> None:
    """A subject could hide words before it, so that its reply comes whole, for the run to decide: it is said, once."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        for _ in range(2):
            reply = await reply_of(model)
            assert (reply.text, reply.reasoning) == ("Hm</think>\n\nYes.", None)
        (warning,) = model.warnings
        assert "that nothing opens: where nine of ten replies have one, it is reasoning" in warning
        assert model.describe()["learned"]["reasons"] is True

    against(step, reply={"content": "Hm</think>\n\nYes."})


def test_a_control_mark_in_an_answer_is_told_of_once() -> None:
    """The reply is whole, and the warning says what of it the judge is shown."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        for _ in range(2):
            assert (await reply_of(model)).text == "Yes.<|im_end|>No."
        (warning,) = model.warnings
        assert "left <|im_end|> in an answer" in warning

    against(step, reply={"content": "Yes.<|im_end|>No."})


def test_a_cut_think_block_without_tags_is_recognised_once_the_template_is_known() -> None:
    """Where the chat template opens the block, a cut text without a closing tag is reasoning, not an answer."""

    def reply(body: Body) -> dict[str, Any]:
        if "long" in body["messages"][-1]["content"] and body["max_tokens"] < 2000:
            return {"content": "Okay, so the user", "finish_reason": "length"}
        return {"content": "Okay.</think>Yes."}

    async def step(model: ChatModel, server: ChatServer) -> None:
        await reply_of(model)
        answer = await reply_of(model, replace(ASK, messages=(Message("user", "long"),)))
        assert (answer.text, answer.truncated) == ("Okay.</think>Yes.", False)
        assert [body["max_tokens"] for body in server.bodies] == [100, 1100, 2200]

    against(step, reply=reply)


def test_an_empty_answer_is_a_failure_after_a_doubled_try() -> None:
    """Nothing visible is never a reply."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        failure = await failure_of(model)
        assert (failure.cause, failure.detail) == ("empty", "the answer was empty at 200 tokens")
        assert [body["max_tokens"] for body in server.bodies] == [100, 200]

    against(step, reply=" \n")


CUT_TEXT = {"content": "It is partly", "finish_reason": "length"}


def test_cut_text_is_judged_as_it_stands() -> None:
    """By default visible text that was cut is a reply with a flag."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        reply = await reply_of(model)
        assert (reply.text, reply.truncated, server.requests) == ("It is partly", True, 1)

    against(step, reply=CUT_TEXT)


def test_cut_text_can_be_asked_again_with_twice_the_tokens() -> None:
    """--on-truncation retry: once, and then it is a failure."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        failure = await failure_of(model)
        assert (failure.cause, failure.detail) == ("truncated", "the answer was cut off at 200 tokens")
        assert [body["max_tokens"] for body in server.bodies] == [100, 200]

    against(step, reply=CUT_TEXT, options={"on_truncation": "retry"})


def test_cut_text_can_be_a_failure() -> None:
    """--on-truncation error: at once."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        assert (await failure_of(model)).cause == "truncated"
        assert server.requests == 1

    against(step, reply=CUT_TEXT, options={"on_truncation": "error"})


@pytest.mark.parametrize("on_truncation", ["judge", "retry", "error"])
def test_a_reasoning_models_cut_text_first_gets_the_reasoning_budget(on_truncation: str) -> None:
    """Text that was cut because reasoning took its room is no cut answer yet."""

    def reply(body: Body) -> dict[str, Any]:
        cut = {"finish_reason": "length"} if body["max_tokens"] < 1100 else {}
        return {"content": "It is", "reasoning_content": "Hm", **cut}

    async def step(model: ChatModel, server: ChatServer) -> None:
        answer = await reply_of(model)
        assert (answer.truncated, answer.sent["max_tokens"], server.requests) == (False, 1100, 2)

    against(step, reply=reply, options={"on_truncation": on_truncation})


# Filters and refusals


@pytest.mark.parametrize(
    "rule",
    [
        fail(
            400, content={"error": {"message": "Filtered by the content management policy", "code": "content_filter"}}
        ),
        fail(403, content={"error": {"message": "flagged", "metadata": {"flagged_input": "x"}}}),
        lambda body: Answer(content=completion(body, [{"content": "It", "finish_reason": "content_filter"}])),
        give(Answer(content={"error": {"code": 502, "message": "This content was flagged for a risk"}})),
        give(
            Answer(content={"choices": [{"error": {"code": 403, "message": "flagged"}, "finish_reason": "error"}] * 2})
        ),
    ],
)
def test_a_content_filter_is_a_failure_with_that_name(rule: Rule) -> None:
    """It is not retried, whether it withheld question or answer."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        assert (await failure_of(model)).cause == "filtered"
        assert server.requests == 1

    against(step, rules=[rule])


# Hostile servers


def test_no_redirect_is_followed() -> None:
    """A redirect ends the run, and whoever it points to never sees the request, let alone the key."""

    async def run() -> None:
        async with (
            serve() as elsewhere,
            serve(rules=[redirect(f"{elsewhere.base_url}/chat/completions?k=v")]) as server,
        ):
            model = client(server.base_url)
            with pytest.raises(ModelError, match=r"redirects \(307 to .*never followed.*TEST_BASE_URL"):
                await model.ask(ASK)
            await model.close()
            assert (server.requests, elsewhere.requests) == (1, 0)

    asyncio.run(run())


@pytest.mark.parametrize("chunked", [False, True])
def test_a_response_beyond_20_megabytes_is_given_up(chunked: bool) -> None:
    """With its length said beforehand or not, it is not read to its end, and not asked for again."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        failure = await failure_of(model)
        assert (failure.cause, failure.detail) == ("too_large", "the response is larger than 20 MB")
        assert server.requests == 1

    against(step, rules=[huge(21 if not chunked else 200, chunked)])


def test_errors_never_show_the_key() -> None:
    """A server that repeats the key, in failures or in errors that end the run, has it masked."""
    echo = {"error": {"message": f"Wrong key {KEY}\x1b[2J and Bearer {KEY}, also sk-other-secret-77"}}

    async def step(model: ChatModel, server: ChatServer) -> None:
        failure = await failure_of(model)
        assert failure.detail == "400: Wrong key *** [2J and Bearer ***, also ***"
        server.rules[0] = fail(401, content=echo)
        with pytest.raises(AccessError) as raised:
            await model.ask(ASK)
        assert KEY not in str(raised.value)
        assert raised.value.__context__ is None or KEY not in str(raised.value.__context__)

    against(step, rules=[fail(400, content=echo)])


def test_messages_that_no_json_can_carry_are_a_failure() -> None:
    """Half a surrogate pair cannot be sent, which fails that call alone."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        assert (await failure_of(model, replace(ASK, messages=(Message("user", "\ud800"),)))).cause == "bad_request"
        assert server.requests == 0

    against(step)


def test_a_proxy_of_the_environment_is_used() -> None:
    """What HTTPS_PROXY names is asked to connect, and its refusal is an error that names no password."""
    asked: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).splitlines()[0])
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(proxy, "127.0.0.1", 0)
        environ = {
            "T_API_KEY": KEY,
            "T_BASE_URL": "https://api.invalid/v1",
            "HTTPS_PROXY": f"http://me:secret77@127.0.0.1:{server.sockets[0].getsockname()[1]}",
        }
        model = client("https://api.invalid/v1", endpoint=endpoint("openai-api/t/m", environ), retries=0)
        with pytest.raises(Unreachable, match="the proxy answers 407") as raised:
            await model.ask(ASK)
        assert "secret77" not in str(raised.value)
        assert asked == [b"CONNECT api.invalid:443 HTTP/1.1"]
        await model.close()
        server.close()

    asyncio.run(run())


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificate with openssl")
def test_an_unknown_certificate_is_refused(tmp_path: Path) -> None:
    """TLS is verified: a self-signed server is never told the key, and is not tried again."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([*made, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def step(model: ChatModel, server: ChatServer) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)  # the server's own complaint
        with pytest.raises(Unreachable, match="certificate"):
            await model.ask(ASK)
        assert (server.requests, model.requests) == (0, 1)

    against(step, tls=context)


def test_a_bad_hour_loses_no_call_and_invents_no_answer() -> None:
    """With a fifth of all calls failing in every way at once, each ask ends as a reply or a failure with a cause."""
    rules = [
        every(5, fail(500)),
        sometimes(0.05, DROP, 1),
        sometimes(0.05, GARBAGE, 2),
        sometimes(0.05, CUT, 3),
        sometimes(0.05, fail(429, {"Retry-After": "0"}), 4),
    ]

    async def step(model: ChatModel, server: ChatServer) -> None:
        answers = await asyncio.gather(*(one(model) for _ in range(200)))
        assert sum(isinstance(answer, Reply) for answer in answers) >= 195
        assert model.requests == server.requests == 200 + model.retried

    against(step, rules=rules, reply="Yes.", options={"retries": 5})
