"""The client of Anthropic's Messages API against a real server on 127.0.0.1, and its requests and answers as values."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web

from maskbench.errors import AccessError, UnknownModel, UsageError
from maskbench.method.forms import ask_about, load_prompts
from maskbench.models.chat import anthropic_messages, wire
from maskbench.models.chat.client import ChatModel, Patience
from maskbench.models.chat.pacing import Pace
from maskbench.models.chat.services import endpoint
from maskbench.models.prices import packaged
from maskbench.store.prices import Tokens, cost
from maskbench.types import Ask, Failure, Message, Reply, Sampling, Scenario, Stage, Usage, conversation
from patience import PATIENCE

KEY = "sk-ant-api03-abcdefghijklmnop0123456789"
SCENARIO = Scenario(
    "known_facts",
    "1",
    "binary",
    "It <pivotal>is/is not</pivotal> so.",
    "A",
    conversation("system", "user"),
    ("Is it?", None, None),
)
TURNS = (
    Message("system", "Be brief."),
    Message("user", "Is it so?"),
    Message("assistant", "Yes."),
    Message("user", "?"),
)
ASK = Ask(TURNS, SCENARIO, "direct", 1)
SUBJECT = Sampling(temperature=1.0, max_tokens=100, reasoning_tokens=500)


def message(*blocks: dict[str, Any], stop: str | None = "end_turn", **usage: Any) -> dict[str, Any]:
    """A response with these blocks."""
    content = list(blocks) or [{"type": "text", "text": "It is so."}]
    counted = {"input_tokens": 20, "output_tokens": 5, **usage}
    about = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x-20260101"}
    return {**about, "content": content, "stop_reason": stop, "stop_sequence": None, "usage": counted}


def error(kind: str, words: str) -> dict[str, Any]:
    """An error as the interface has it."""
    return {"type": "error", "error": {"type": kind, "message": words}, "request_id": "req_1"}


class Server:
    """What it was asked, and what it answers, one after the other; the last answer stays."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers) or [message()]
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[Any] = []
        self.address = ""

    async def handle(self, request: web.Request) -> web.Response:
        """Answer one request; what is no tuple is an answer with status 200."""
        self.bodies.append(await request.json())
        self.headers.append(request.headers)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        answer = answer(self.bodies[-1]) if callable(answer) else answer
        status, content, headers = answer if isinstance(answer, tuple) else (200, answer, {})
        return web.json_response(content, status=status, headers=headers)


@asynccontextmanager
async def asked(server: Server, stage: Stage = "subject", **more: Any) -> Any:
    """A client at this server."""
    app = web.Application()
    app.router.add_post("/v1/messages", server.handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    place = endpoint("anthropic/claude-x", {"ANTHROPIC_BASE_URL": server.address, "ANTHROPIC_API_KEY": KEY})
    about = {"sampling": SUBJECT, "patience": Patience(timeout=5, retries=2, backoff=0.0), **more}
    try:
        model = ChatModel(name="anthropic/claude-x", endpoint=place, stage=stage, gate=asyncio.Semaphore(4), **about)
        try:
            async with asyncio.timeout(PATIENCE):
                yield model
        finally:
            await model.close()
    finally:
        await runner.cleanup()


def ask(server: Server, ask_: Ask = ASK, stage: Stage = "subject", **more: Any) -> Reply | Failure | None:
    """The answer to one ask."""

    async def go() -> Reply | Failure | None:
        async with asked(server, stage, **more) as model:
            (answer,) = await model.ask(ask_)
            return answer  # type: ignore[no-any-return]  # it is a model's

    return asyncio.run(go())


def test_the_request() -> None:
    """System, turns, limit and temperature stand where the interface has them, and the key in its own header."""
    server = Server()
    reply = ask(server)
    assert isinstance(reply, Reply)
    assert server.bodies == [
        {
            "model": "claude-x",
            "max_tokens": 100,
            "temperature": 1.0,
            "system": "Be brief.",
            "messages": [{"role": turn.role, "content": turn.content} for turn in TURNS[1:]],
        }
    ]
    assert server.headers[0]["x-api-key"] == KEY
    assert server.headers[0]["anthropic-version"] == "2023-06-01"
    assert "Authorization" not in server.headers[0]
    assert (reply.text, reply.model, reply.sent) == (
        "It is so.",
        "claude-x-20260101",
        {"max_tokens": 100, "temperature": 1.0},
    )


def test_samples_are_requests_of_their_own() -> None:
    """Several samples are asked for one by one, also where an earlier session learned otherwise elsewhere."""

    async def go() -> None:
        async with asked(Server(), learned={"n": True, "limit": "max_completion_tokens"}) as model:
            assert not model.together
            assert await model.ask(replace(ASK, runs=(1, 2), seeds=(1, 2))) == [None, None]
            assert model.learned.limit == "max_tokens"
            assert model.describe()["interface"] == "messages"

    asyncio.run(go())


def test_thinking_is_kept_beside_the_answer() -> None:
    """Thinking is reasoning and no part of the answer, redacted or not; from then on reasoning has its tokens."""
    thought = {"type": "thinking", "thinking": "Let me see.", "signature": "x"}
    hidden = {"type": "redacted_thinking", "data": "AAAA"}
    server = Server(message(thought, hidden, {"type": "text", "text": "A. "}, {"type": "text", "text": "B."}))

    async def go() -> None:
        async with asked(server, extra={"thinking": {"type": "enabled", "budget_tokens": 2000}}) as model:
            (reply,) = await model.ask(ASK)
            assert (reply.text, reply.reasoning) == ("A. B.", "Let me see.")
            await model.ask(ASK)

    asyncio.run(go())
    assert [body["max_tokens"] for body in server.bodies] == [2100, 2600]  # always above the tokens for thinking
    assert server.bodies[0]["thinking"]["budget_tokens"] == 2000


@pytest.mark.parametrize(
    ("stop", "text", "cause"),
    [
        ("end_turn", "It is so.", None),
        ("stop_sequence", "It is so.", None),
        ("tool_use", "It is so.", None),
        ("max_tokens", "It is so.", "cut"),
        ("model_context_window_exceeded", "It is so.", "cut"),
        ("refusal", "It is", "filtered"),
        ("pause_turn", "It is", "malformed_response"),
        ("compaction", "It is", "malformed_response"),
        ("error", "It is", "malformed_response"),
        ("guardrail_intervened", "It is", "filtered"),
        ("unknown", "It is", "unknown_end"),
        (None, "It is so.", None),
        ("end_turn", " ", "empty"),
    ],
)
def test_stop_reasons(stop: str | None, text: str, cause: str | None) -> None:
    """Each stop reason is what it is of chat completions: an end, a cut, a filter, or a text that is not whole."""
    reply = ask(Server(message({"type": "text", "text": text}, stop=stop)))
    if cause in (None, "cut"):
        assert isinstance(reply, Reply)
        assert (reply.text, reply.truncated) == (text, cause == "cut")
    else:
        assert isinstance(reply, Failure)
        assert reply.cause == cause


def test_usage_and_its_price() -> None:
    """What a cache held and took is part of the input, and the bill has the price of each."""
    usage: dict[str, Any] = {"cache_read_input_tokens": 900, "cache_creation_input_tokens": 80}
    usage["output_tokens_details"] = {"thinking_tokens": 3}
    heard: list[Usage] = []
    server = Server(message(**usage))

    async def go() -> None:
        async with asked(server) as model:
            model.billed = lambda _, usage: heard.append(usage)
            (reply,) = await model.ask(ASK)
            assert reply.usage == Usage(1000, 5, 3, 900, 80)

    asyncio.run(go())
    (took,) = heard
    price = packaged()["anthropic/claude-opus-5"]  # 5, cached 0.5, written 6.25, out 25
    tokens = Tokens(1, took.input or 0, took.cached or 0, took.written or 0, took.output or 0)
    assert cost(tokens, price) == pytest.approx((20 * 5 + 900 * 0.5 + 80 * 6.25 + 5 * 25) / 1e6)
    assert cost(tokens, price.batched) == pytest.approx(0.5 * cost(tokens, price))


def test_the_cache_is_marked_where_a_prompt_reaches_its_minimum() -> None:
    """The judge's first message has the mark from the model's minimum on, another message or a subject's has none."""
    prompts = load_prompts()
    judged = ask_about(SCENARIO, "direct", 1, 1, "It is so.", prompts)
    tokens = len(judged.messages[0].content) / 4
    for minimum, is_marked in ((int(tokens), True), (int(tokens) + 2, False), (None, False)):
        server = Server()

        async def go(server: Server = server, minimum: int | None = minimum) -> None:
            async with asked(server, "judge") as model:
                model.cache_from = minimum
                await model.ask(judged)

        asyncio.run(go())
        system = server.bodies[0]["system"]
        mark = {"type": "text", "text": judged.messages[0].content, "cache_control": {"type": "ephemeral"}}
        assert system == ([mark] if is_marked else judged.messages[0].content)
    server = Server()
    ask(server)
    assert isinstance(server.bodies[0]["system"], str)


def test_a_judge_is_held_to_its_form() -> None:
    """A judge's schema goes along as a structured output; where that is refused it is asked for its line instead."""
    judged = ask_about(SCENARIO, "direct", 1, 1, "It is so.", load_prompts())
    server = Server()
    assert isinstance(reply := ask(server, judged, "judge", sampling=replace(SUBJECT, temperature=0.0)), Reply)
    assert server.bodies[0]["output_config"] == {"format": {"type": "json_schema", "schema": judged.schema}}
    assert (server.bodies[0]["temperature"], reply.sent["schema"]) == (0.0, True)
    words = "output_config.format: Extra inputs are not permitted"
    refusing = Server((400, error("invalid_request_error", words), {}), message())
    assert isinstance(reply := ask(refusing, judged, "judge"), Reply)
    assert "output_config" not in refusing.bodies[1]
    assert reply.sent["schema"] is False


def test_a_model_without_temperature() -> None:
    """A model that takes no temperature is asked without one, and the user hears of it once."""
    server = Server((400, error("invalid_request_error", "`temperature` is deprecated for this model."), {}), message())

    async def go() -> None:
        async with asked(server) as model:
            (reply,) = await model.ask(ASK)
            assert "temperature" not in reply.sent
            assert model.warnings == ["anthropic/claude-x refuses temperature 1; its own default is used."]

    asyncio.run(go())
    assert "temperature" not in server.bodies[1]


def test_temperatures_end_at_one() -> None:
    """0 and 1 are taken, and what is above is refused before anything is asked, by the option's name."""
    for temperature in (0.0, 1.0):
        assert isinstance(ask(Server(), sampling=replace(SUBJECT, temperature=temperature)), Reply)
    with pytest.raises(UsageError, match=r"--temperature 1\.5: anthropic takes 0 to 1"):
        ask(Server(), sampling=replace(SUBJECT, temperature=1.5))
    with pytest.raises(UsageError, match=r"--judge-temperature 1\.5: anthropic takes 0 to 1"):
        ask(Server(), stage="judge", sampling=replace(SUBJECT, temperature=1.5))


@pytest.mark.parametrize(
    ("status", "kind", "words", "raised"),
    [
        (401, "authentication_error", "invalid x-api-key", AccessError),
        (403, "permission_error", "Your key cannot use this resource", AccessError),
        (400, "invalid_request_error", "Your credit balance is too low to access the API", AccessError),
        (404, "not_found_error", "model: claude-x", UnknownModel),
    ],
)
def test_what_ends_a_run(status: int, kind: str, words: str, raised: type[Exception]) -> None:
    """A key, an account and a name that the service does not take end the run, with its words and without the key."""
    with pytest.raises(raised, match=words.split(":")[0]) as caught:
        ask(Server((status, error(kind, f"{words} ({KEY})"), {})))
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "kind", "cause"),
    [
        (529, "overloaded_error", "server_error"),
        (429, "rate_limit_error", "rate_limit"),
        (500, "api_error", "server_error"),
    ],
)
def test_what_passes_is_tried_again(status: int, kind: str, cause: str) -> None:
    """An overload, a rate limit and an error of the server are tried again, and are failures only in the end."""
    trouble = (status, error(kind, "later"), {"retry-after": "0"})
    assert isinstance(ask(Server(trouble, trouble, message())), Reply)
    failure = ask(Server(trouble))
    assert isinstance(failure, Failure)
    assert failure.cause == cause


def test_used_up_limits_hold_requests_back() -> None:
    """A limit that Anthropic's headers call used up has the service wait until the hour that they name."""
    for what in ("requests", "input-tokens", "output-tokens"):
        waits: list[float] = []
        pace = Pace(4, 4, clock=lambda: 100.0)
        later = (datetime.now(UTC) + timedelta(seconds=20)).isoformat().replace("+00:00", "Z")
        named = f"anthropic-ratelimit-{what}"
        pace.heard(200, {f"{named}-remaining": "0", f"{named}-reset": later}, 99.0)

        async def sleep(seconds: float, waits: list[float] = waits) -> None:
            waits.append(seconds)
            raise TimeoutError

        pace.sleep = sleep
        with pytest.raises(TimeoutError):
            asyncio.run(pace.enter())
        assert waits[0] == pytest.approx(20, abs=3)
    pace = Pace(4, 4, clock=lambda: 100.0)
    pace.heard(200, {"anthropic-ratelimit-requests-remaining": "0"}, 99.0)
    asyncio.run(pace.enter())  # without a reset nothing is known


def test_the_key_is_masked_in_what_comes_back() -> None:
    """A server that sends the key back in text, thinking, model or error leaves no piece of it."""
    thought = {"type": "thinking", "thinking": f"the key is {KEY}"}
    said = {**message(thought, {"type": "text", "text": f"It is {KEY}."}), "model": f"m {KEY}"}
    assert KEY not in json.dumps(repr(ask(Server(said))))


@pytest.mark.parametrize(
    "odd",
    [
        None,
        [],
        {},
        {"type": "message"},
        {"type": "message", "content": "text"},
        {"type": "message", "content": [1, None]},
    ],
)
def test_odd_answers_are_none(odd: Any) -> None:
    """Whatever types a server puts anywhere, an answer is read or is none, or is empty."""
    answer = anthropic_messages.read(odd, wire.Learned())
    assert answer is None or answer.choices[0].trouble == "empty"  # type: ignore[union-attr]  # it has one
