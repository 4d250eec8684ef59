"""Inspect's own providers as subject and judge, against servers on 127.0.0.1 that speak the services' interfaces."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import orjson
import pytest
from inspect_ai.model import ModelOutput, ModelUsage

from chat_server import fail, first, refuse, serve
from flows import typed
from maskbench.errors import AccessError, ModelError, UnknownModel, UsageError
from maskbench.models.chat.client import Patience
from maskbench.models.inspect_provider import InspectModel
from maskbench.types import Ask, Failure, Message, Reply, Sampling, Scenario, Usage, conversation
from native_servers import NativeServer, Turn, candidate, conversed, dump, error, google_error, message, native
from patience import PATIENCE

KEY = "sk-ant-api03-abcdefghijklmnop0123456789"
SCENARIO = Scenario(
    "known_facts", "1", "binary", "It <pivotal>is/is not</pivotal> so.", "A", conversation("system", "user")
)
TURNS = (
    Message("system", "Be brief."),
    Message("user", "Is it so?"),
    Message("assistant", "Yes."),
    Message("user", "Sure?"),
)
ASK = Ask(TURNS, SCENARIO, "direct", 1)
SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["A", "B"]}, "bound": {"type": ["number", "null"]}},
    "required": ["verdict", "bound"],
    "additionalProperties": False,
}
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")  # google-genai of aiohttp
CLAUDE, GEMINI, LLAMA = "inspect/anthropic/claude-x", "inspect/google/gemini-x", "inspect/bedrock/meta.llama-x"
AMAZON = {"AWS_ACCESS_KEY_ID": "AKIA0123456789", "AWS_SECRET_ACCESS_KEY": KEY, "AWS_DEFAULT_REGION": "us-east-1"}


@pytest.fixture(autouse=True)
def _own_environment() -> Iterator[None]:
    """Each test has the environment that it sets, since Inspect's providers read the process's own."""
    before = dict(os.environ)
    for service in ("ANTHROPIC", "GOOGLE", "GEMINI", "TESTS", "OPENAI"):
        os.environ.pop(f"{service}_API_KEY", None)
        os.environ.pop(f"{service}_BASE_URL", None)
    yield
    os.environ.clear()
    os.environ.update(before)


def opened(name: str, environ: dict[str, str], options: dict[str, object] | None = None, **more: Any) -> InspectModel:
    """A model that never waits long."""
    given: dict[str, Any] = {
        "sampling": Sampling(temperature=1.0, max_tokens=100, reasoning_tokens=500),
        "stage": "subject",
        "gate": asyncio.Semaphore(4),
        "patience": Patience(timeout=5, retries=2, backoff=0.0),
    }
    return InspectModel(name, environ, options, **{**given, **more})


Used = TypeVar("Used")


def natively(
    name: str, use: Callable[[InspectModel, NativeServer], Awaitable[Used]], turn: Turn | None = None, **more: Any
) -> Used:
    """What `use` makes of a model behind one of the native interfaces."""

    async def go() -> Used:
        async with native(turn) as server, asyncio.timeout(PATIENCE):
            places = {f"{service}_BASE_URL": server.address for service in ("ANTHROPIC", "GOOGLE", "BEDROCK")}
            model = opened(name, {**places, **AMAZON, "ANTHROPIC_API_KEY": KEY, "GOOGLE_API_KEY": KEY}, **more)
            try:
                return await use(model, server)
            finally:
                await model.close()

    return asyncio.run(go())


def ask(name: str, turn: Turn | None = None, ask_: Ask = ASK, **more: Any) -> Reply | Failure | None:
    """The answer to one ask."""

    async def go(model: InspectModel, server: NativeServer) -> Reply | Failure | None:
        (answer,) = await model.ask(ask_)
        return answer

    return natively(name, go, turn, **more)


@pytest.mark.parametrize("name", [CLAUDE, GEMINI])
def test_a_native_interface_is_asked_the_whole_conversation(name: str) -> None:
    """Every turn and the system text reach the service, with the key, and the answer comes back with its counts."""

    async def go(model: InspectModel, server: NativeServer) -> None:
        (reply,) = await model.ask(ASK)
        assert isinstance(reply, Reply)
        assert (reply.text, reply.usage.input, reply.usage.output) == ("It is so.", 20, 5)
        assert reply.sent["max_tokens"] == 100
        (body,) = server.bodies
        turns = [turn["role"] for turn in body.get("messages") or body["contents"]]
        assert turns == ["user", "assistant" if name == CLAUDE else "model", "user"]
        assert all(f'"{turn.content}"' in dump(body) for turn in TURNS)
        assert any(KEY in value for value in server.headers[0].values())
        assert "cache_control" not in dump(body)

    natively(name, go)


@pytest.mark.parametrize("name", [CLAUDE, GEMINI])
def test_a_judge_is_held_to_its_schema(name: str) -> None:
    """The JSON schema goes out in the service's own way, and the record says that it did."""
    reply = ask(name, ask_=replace(ASK, schema=SCHEMA), stage="judge")
    assert isinstance(reply, Reply)
    assert '"verdict"' in reply.text
    assert reply.sent["schema"] is True


def test_what_a_provider_leaves_out_is_told_once_and_not_recorded() -> None:
    """A temperature, a seed and probabilities that the provider drops stand in no record, and a line says so."""

    async def go(model: InspectModel, server: NativeServer) -> None:
        for _ in range(2):
            (reply,) = await model.ask(replace(ASK, logprobs=True))
            assert isinstance(reply, Reply)
            assert reply.sent == {"max_tokens": 100, "logprobs": False}
        told = [line for line in model.warnings if "by this provider" in line]
        assert len(told) == 3
        assert model.learned.temperature is model.learned.seed is model.learned.logprobs is False

    natively(CLAUDE, go, send_seed=True)


def test_a_temperature_that_goes_out_is_recorded() -> None:
    """Google takes a temperature, so that the record has it and nothing is told."""

    async def go(model: InspectModel, server: NativeServer) -> None:
        (reply,) = await model.ask(ASK)
        assert isinstance(reply, Reply)
        assert reply.sent == {"max_tokens": 100, "temperature": 1.0}
        assert server.bodies[0]["generationConfig"]["temperature"] == 1.0
        assert model.warnings == []

    natively(GEMINI, go)


THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
THINKS: dict[str, Turn] = {
    CLAUDE: lambda body: (200, message(body, THOUGHT, {"type": "text", "text": "yes"}, cache_read_input_tokens=7), {}),
    GEMINI: lambda body: (
        200,
        candidate(body, {"text": "hm", "thought": True}, {"text": "yes"}, thoughtsTokenCount=9),
        {},
    ),
}


@pytest.mark.parametrize("name", THINKS)
def test_thinking_is_kept_beside_the_answer(name: str) -> None:
    """Reasoning is never part of the text, and the room for it is added from then on."""

    async def go(model: InspectModel, server: NativeServer) -> None:
        (reply,) = await model.ask(ASK)
        assert isinstance(reply, Reply)
        assert (reply.text, reply.reasoning) == ("yes", "hm")
        assert model.learned.reasons
        await model.ask(ASK)
        assert server.bodies[-1].get("max_tokens") or server.bodies[-1]["generationConfig"]["maxOutputTokens"] == 600

    natively(name, go, THINKS[name])


def test_tokens_count_what_a_cache_held_and_what_was_thought() -> None:
    """Input holds what came from a cache, output holds the thinking, as our own client counts them."""
    cached, thought = (ask(name, turn) for name, turn in THINKS.items())
    assert isinstance(cached, Reply)
    assert isinstance(thought, Reply)
    assert (cached.usage.input, cached.usage.cached) == (27, 7)
    assert thought.usage == Usage(20, 14, 9)


ENDS: list[tuple[str, Turn, str]] = [
    (CLAUDE, lambda body: (200, message(body, stop="refusal"), {}), "filtered"),
    (CLAUDE, lambda body: (400, error("invalid_request_error", "prompt is too long: 9 tokens > 8"), {}), "bad_request"),
    (CLAUDE, lambda body: (529, error("overloaded_error", "Overloaded"), {}), "server_error"),
    (CLAUDE, lambda body: (429, error("rate_limit_error", "Slow down"), {}), "rate_limit"),
    (GEMINI, lambda body: (200, candidate(body, finish="SAFETY"), {}), "filtered"),
    (GEMINI, lambda body: (200, {"promptFeedback": {"blockReason": "SAFETY"}}, {}), "filtered"),
    (GEMINI, lambda body: (200, {"candidates": []}, {}), "empty"),
    (GEMINI, lambda body: (400, google_error(400, "INVALID_ARGUMENT", "maximum number of tokens"), {}), "bad_request"),
    (GEMINI, lambda body: (429, google_error(429, "RESOURCE_EXHAUSTED", "Quota exceeded"), {}), "rate_limit"),
    (GEMINI, lambda body: (500, google_error(500, "INTERNAL", "x"), {}), "server_error"),
    (LLAMA, lambda body: (200, conversed(body, "guardrail_intervened"), {}), "filtered"),
    (LLAMA, lambda body: (429, {"message": "Too many"}, {"x-amzn-ErrorType": "ThrottlingException"}), "rate_limit"),
    (
        LLAMA,
        lambda body: (400, {"message": "Input is too long"}, {"x-amzn-ErrorType": "ValidationException"}),
        "bad_request",
    ),
]


@pytest.mark.parametrize(("name", "turn", "cause"), ENDS)
def test_what_is_no_answer_is_a_failure(name: str, turn: Turn, cause: str) -> None:
    """Refusals of a classifier, prompts that are too long, limits and broken servers are failures, never replies."""
    failure = ask(name, turn)
    assert isinstance(failure, Failure)
    assert failure.cause == cause


def test_a_cut_answer_is_marked() -> None:
    """Text that reached the token limit stands as it is, and is marked as cut."""
    cuts: dict[str, Turn] = {
        CLAUDE: lambda body: (200, message(body, stop="max_tokens"), {}),
        GEMINI: lambda body: (200, candidate(body, finish="MAX_TOKENS"), {}),
        LLAMA: lambda body: (200, conversed(body, "max_tokens"), {}),
    }
    for name, turn in cuts.items():
        reply = ask(name, turn)
        assert isinstance(reply, Reply)
        assert reply.truncated


FORBIDDEN = {"x-amzn-ErrorType": "UnrecognizedClientException"}
STOPS: list[tuple[str, Turn, type[ModelError], str]] = [
    (
        LLAMA,
        lambda body: (403, {"message": "The security token is invalid."}, FORBIDDEN),
        AccessError,
        "AWS_ACCESS_KEY_ID",
    ),
    (CLAUDE, lambda body: (401, error("authentication_error", f"bad {KEY}"), {}), AccessError, "ANTHROPIC_API_KEY"),
    (CLAUDE, lambda body: (404, error("not_found_error", "model: claude-x"), {}), UnknownModel, "Check the name"),
    (
        GEMINI,
        lambda body: (400, google_error(400, "INVALID_ARGUMENT", "API key not valid."), {}),
        AccessError,
        "GEMINI_API_KEY",
    ),
    (
        GEMINI,
        lambda body: (404, google_error(404, "NOT_FOUND", "models/gemini-x is not found"), {}),
        UnknownModel,
        "name",
    ),
]


@pytest.mark.parametrize(("name", "turn", "kind", "words"), STOPS)
def test_what_no_further_ask_can_mend_stops(name: str, turn: Turn, kind: type[ModelError], words: str) -> None:
    """A wrong key and a wrong name stop the run with the remedy, and no error holds the key."""
    with pytest.raises(kind, match=words) as raised:
        ask(name, turn)
    assert KEY not in str(raised.value)


def test_retries_are_ours_alone() -> None:
    """Two retries are three requests: neither Inspect nor the service's library tries on its own."""

    async def go(model: InspectModel, server: NativeServer) -> int:
        await model.ask(ASK)
        assert model.requests == len(server.bodies)
        return len(server.bodies)

    for name, turn, cause in ENDS:
        if cause in ("rate_limit", "server_error"):
            assert natively(name, go, turn) == 3


def through_chat(use: Callable[[InspectModel, Any], Awaitable[Used]], server: dict[str, Any], **more: Any) -> Used:
    """What `use` makes of a model by Inspect's provider for chat completions."""

    async def go() -> Used:
        async with serve(**server) as running, asyncio.timeout(PATIENCE):
            environ = {"TESTS_API_KEY": KEY, "TESTS_BASE_URL": running.base_url}
            model = opened("inspect/openai-api/tests/m", environ, **more)
            try:
                return await use(model, running)
            finally:
                await model.close()

    return asyncio.run(go())


def test_a_refused_parameter_is_left_out_from_then_on() -> None:
    """What an endpoint refuses is learned through Inspect as it is by our own client, and retries wait as asked."""

    async def go(model: InspectModel, server: Any) -> None:
        for _ in range(2):
            (reply,) = await model.ask(replace(ASK, schema=SCHEMA))
            assert isinstance(reply, Reply)
            assert reply.sent == {"max_tokens": 100, "seed": 0, "schema": True}
        assert (server.requests, model.retried) == (5, 2)

    rules = [refuse("temperature"), first(2, fail(429, {"Retry-After": "0"}))]
    through_chat(go, {"rules": rules}, send_seed=True)


def test_connections_are_ours() -> None:
    """As many requests are in flight as the run's gate lets through, whatever Inspect's own limits are."""

    async def go(model: InspectModel, server: Any) -> None:
        await asyncio.gather(*(model.ask(replace(ASK, seeds=(seed,))) for seed in range(60)))
        assert server.most_in_flight > 25

    through_chat(go, {"latency": 0.15}, gate=asyncio.Semaphore(30))


def test_a_server_that_is_down_is_unreachable() -> None:
    """Where nothing answers, the error says so and names the variable of the address."""

    async def go() -> None:
        environ = {"TESTS_API_KEY": KEY, "TESTS_BASE_URL": "http://127.0.0.1:9/v1"}
        model = opened("inspect/openai-api/tests/m", environ)
        try:
            with pytest.raises(ModelError, match=r"nothing answers at .* Check .*TESTS_BASE_URL"):
                await model.ask(ASK)
        finally:
            await model.close()

    asyncio.run(go())


REFUSED: list[tuple[str, dict[str, object], type[Exception], str]] = [
    ("inspect/anthropic/claude-x", {}, AccessError, r"Set ANTHROPIC_API_KEY in the environment or in \.env"),
    ("inspect/google/gemini-x", {}, AccessError, "GOOGLE_API_KEY or GEMINI_API_KEY"),
    ("inspect/nobody/x", {}, UnknownModel, "Inspect has no provider 'nobody'. It has anthropic, "),
    ("inspect/groq/x", {}, UsageError, "`pip install groq`"),
    ("inspect/anthropic", {}, UnknownModel, "inspect/PROVIDER/NAME"),
    ("inspect/mockllm/model", {"temprature": 1}, UsageError, "--extra-body: a model of Inspect takes .*not temprature"),
    ("inspect/mockllm/model", {"top_p": "high"}, UsageError, "top_p"),
    ("inspect/mockllm/model", {"model_args": {}}, UsageError, "constructor takes is given by -M NAME=VALUE"),
]


@pytest.mark.parametrize(("name", "options", "kind", "words"), REFUSED)
def test_what_cannot_be_opened_says_what_to_do(
    name: str, options: dict[str, object], kind: type[Exception], words: str
) -> None:
    """A missing key, package or provider is told before anything is asked, with the remedy."""
    with pytest.raises(kind, match=words):
        opened(name, {}, options)


def test_a_key_goes_out_encrypted_or_stays_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address of plain http to another machine is refused, as for our own client."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://192.0.2.7")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with pytest.raises(AccessError, match="a key would go out unencrypted"):
        opened(CLAUDE, {"ANTHROPIC_API_KEY": KEY})


def outputs(*texts: str) -> list[ModelOutput]:
    """What Inspect's mock model answers, one after the other."""
    made = [ModelOutput.from_content("model", text) for text in texts]
    for output in made:
        output.usage = ModelUsage(input_tokens=3, output_tokens=4)
    return made


def test_options_and_arguments_reach_the_provider_and_the_record() -> None:
    """Fields of --extra-body go to Inspect's configuration, arguments (-M) to the constructor; run.json has both."""
    seen: list[Any] = []

    def answer(turns: Any, tools: Any, choice: Any, config: Any) -> ModelOutput:
        seen.append(config)
        return outputs("hello")[0]

    model = opened("inspect/mockllm/model", {}, {"top_p": 0.5}, arguments={"custom_outputs": answer})
    (reply,) = asyncio.run(_one(model))
    assert isinstance(reply, Reply)
    assert (seen[0].top_p, seen[0].max_tokens, seen[0].cache, seen[0].max_retries) == (0.5, 100, False, 0)
    about = model.describe()
    assert about["interface"] == "inspect"
    assert about["inspect_ai"].startswith("0.")
    assert about["provider_options"] == {"top_p": 0.5}
    assert "custom_outputs" in about["provider_args"]


def test_half_a_character_is_a_mark() -> None:
    """A reply that ends in half an emoji is kept with U+FFFD in its place, and asked for once."""
    model = opened("inspect/mockllm/model", {}, arguments={"custom_outputs": outputs("yes \ud83d")})
    (reply,) = asyncio.run(_one(model))
    assert isinstance(reply, Reply)
    assert (reply.text, model.requests) == ("yes \ufffd", 1)


async def _one(model: InspectModel) -> Any:
    try:
        return await model.ask(ASK)
    finally:
        await model.close()


def test_what_libraries_log_is_told_once_and_not_printed(capfd: pytest.CaptureFixture[str]) -> None:
    """A warning that Inspect logs during a call becomes a line of ours without the key, and nothing is printed."""

    def answer(turns: Any, tools: Any, choice: Any, config: Any) -> ModelOutput:
        logging.getLogger("inspect_ai.model").warning("[bold]beware[/bold] \x1b[31m of %s", KEY)
        return outputs("hello")[0]

    model = opened("inspect/mockllm/model", {"ANTHROPIC_API_KEY": KEY}, arguments={"custom_outputs": answer})
    asyncio.run(_one(model))
    (line,) = [line for line in model.warnings if "beware" in line]
    assert line == "inspect/mockllm/model was told by its provider: beware [31m of ***."
    assert capfd.readouterr() == ("", "")


def test_a_service_that_we_ask_ourselves_is_hinted_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """`inspect/openai/...` works, and says that the name without `inspect/` is faster."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = opened("inspect/openai/gpt-4o", {"OPENAI_API_KEY": KEY})
    assert any("as openai/gpt-4o maskbench asks it itself" in line for line in model.warnings)
    asyncio.run(model.close())


def test_a_whole_run_by_two_native_interfaces(tmp_path: Path) -> None:
    """Subject and judge by Inspect make a whole run, whose record names Inspect; taken up again it asks nothing."""
    run = tmp_path / "run"
    words = ("run", GEMINI, "--judge", CLAUDE, "--scenarios", "starter", "--limit", "6", "--out", str(run), "--quiet")

    async def go() -> list[int]:
        asked = []
        async with native() as server:
            os.environ |= {"ANTHROPIC_BASE_URL": server.address, "GOOGLE_BASE_URL": server.address}
            os.environ |= {"ANTHROPIC_API_KEY": KEY, "GOOGLE_API_KEY": KEY}
            for _ in range(2):
                ended = await asyncio.to_thread(typed, *words)
                assert ended.code == 0, ended.err
                asked.append(len(server.bodies))
        return asked

    first_time, second_time = asyncio.run(go())
    assert first_time == second_time > 20
    text = (run / "run.json").read_text()
    record = orjson.loads(text)["models"]
    assert record["subject"]["interface"] == record["binary"]["interface"] == "inspect"
    assert record["subject"]["inspect_ai"]
    assert record["subject"]["resolved"] == ["gemini-x"]
    assert KEY not in text
    summary = orjson.loads((run / "summary.json").read_bytes())
    assert summary["failures"] == {}


def test_the_doctor_asks_by_inspect_too() -> None:
    """It gets the calls that our own client gets, and what the provider leaves out is told."""

    async def go() -> Any:
        async with native() as server:
            os.environ |= {"ANTHROPIC_BASE_URL": server.address, "ANTHROPIC_API_KEY": KEY}
            return await asyncio.to_thread(typed, "doctor", CLAUDE, "--judge", CLAUDE, "--json")

    ended = asyncio.run(go())
    subject, judge = orjson.loads(ended.out)["models"]
    assert [each["what"] for each in subject["findings"]] == ["question", "longest of the set", "long prompt"]
    assert [each["what"] for each in judge["findings"]][-1] == "long prompt"
    assert any("temperature" in each for each in subject["notes"])
