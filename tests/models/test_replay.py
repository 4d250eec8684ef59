"""The whole client against answers of real services: recorded shapes, replayed by a server on 127.0.0.1.

`data/wire.jsonl` has 165 shapes of the HTTP exchanges that pydantic-ai's tests recorded (MIT licence, snapshot of
2026-08-22): texts are replaced by their lengths, control words and errors' messages stay.
`data/wire_documented.jsonl` has what was not recorded, by each service's documentation: `source` is the page,
`ends` what has to come of it.
What a recorded shape has to end as is worked out here from its fields, by the services' own documentation, and not by
the client's reader.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from chat_server import Answer, Body, ChatServer, first, give, serve
from maskbench.errors import AccessError, UnknownModel
from maskbench.models.chat.client import ChatModel, Patience
from maskbench.models.chat.services import SERVICES, endpoint
from maskbench.types import Ask, Failure, Message, Reply, Sampling, Scenario, conversation

SCENARIO = Scenario(
    "known_facts", "1", "binary", "It <pivotal>is/is not</pivotal> so.", "A", conversation("system", "user")
)
ASK = Ask((Message("system", "Be brief."), Message("user", "Is it so?")), SCENARIO, "direct", 1)
KEY = "sk-test-abcdefghijklmnop"


@dataclass(frozen=True)
class Shape:
    """One recorded response: the service, its status and headers, and the body without texts."""

    service: str
    status: int
    headers: dict[str, str]
    request: Body
    body: Any

    @property
    def answer(self) -> Answer:
        """The response as the server sends it; its length is the one of this body."""
        kept = {name: value for name, value in self.headers.items() if name not in ("content-type", "content-length")}
        return Answer(self.status, self.body, kept)


def _rows(name: str) -> list[dict[str, Any]]:
    lines = (Path(__file__).parent.parent / "data" / name).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _shape(row: dict[str, Any]) -> Shape:
    return Shape(*(row[key] for key in ("service", "status", "headers", "request", "body")))


SHAPES = [_shape(row) for row in _rows("wire.jsonl")]
DOCUMENTED = [(_shape(row), row["ends"]) for row in _rows("wire_documented.jsonl")]


async def _asked(shape: Shape, server: ChatServer) -> Reply | Failure:
    """What the client of this service makes of what the server answers."""
    service = shape.service if shape.service in SERVICES else f"openai-api/{shape.service.replace('.', '')}"
    full = f"{service}/{shape.request.get('model', 'm')}"
    variable = service.rpartition("/")[2].upper().replace("-", "_")
    address = server.base_url.removesuffix("/v1") if service == "anthropic" else server.base_url
    about: dict[str, Any] = {
        "name": full,
        "endpoint": endpoint(full, _environment(variable, address)),
        "sampling": Sampling(temperature=1.0, max_tokens=100, reasoning_tokens=1000),
        "patience": Patience(timeout=10.0, retries=1, backoff=0.001),
        "stage": "subject",
        "gate": asyncio.Semaphore(1),
    }
    model = ChatModel(**about)
    try:
        (answer,) = await model.ask(ASK)
        assert answer is not None
        return answer
    finally:
        await model.close()


def _environment(variable: str, address: str) -> dict[str, str]:
    names = {"HF_INFERENCE_PROVIDERS": ("HF_TOKEN", "HF_INFERENCE_PROVIDERS_BASE_URL")}
    key, place = names.get(variable, (f"{variable}_API_KEY", f"{variable}_BASE_URL"))
    return {key: KEY, place: address}


def asked(shape: Shape, *rules: Any) -> tuple[Reply | Failure, ChatServer]:
    """The end of one ask, and the server that was asked; by default it answers each request with the shape."""

    async def go() -> tuple[Reply | Failure, ChatServer]:
        async with serve(rules=list(rules) or [give(shape.answer)]) as server:
            return await _asked(shape, server), server

    return asyncio.run(go())


# What a shape has to end as


def visible(shape: Shape) -> str:
    """The text that the model wrote for its reader."""
    if shape.service == "anthropic":
        return "".join(block["text"] for block in shape.body["content"] if block["type"] == "text")
    content = shape.body["choices"][0]["message"].get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def thought(shape: Shape) -> bool:
    """Whether readable thinking stands beside the text."""
    if shape.service == "anthropic":
        return any(block.get("thinking") for block in shape.body["content"] if block["type"] == "thinking")
    message = shape.body["choices"][0]["message"]
    parts = message.get("content") if isinstance(message.get("content"), list) else []
    beside = message.get("reasoning") or message.get("reasoning_content")
    return bool(beside) or any(part["type"] == "thinking" for part in parts)


def stop(shape: Shape) -> str:
    """Why the model ended."""
    return str(shape.body["stop_reason"] if shape.service == "anthropic" else shape.body["choices"][0]["finish_reason"])


ANSWERED = [each for each in SHAPES if each.status == 200]


@pytest.mark.parametrize("service", sorted({each.service for each in ANSWERED}))
def test_each_recorded_answer_ends_as_what_it_is(service: str) -> None:
    """Text is a reply with its tokens, its served name and what was thought; no text, or half a turn, is a failure."""
    for shape in ANSWERED:
        if shape.service != service:
            continue
        answer, server = asked(shape)
        if stop(shape) == "pause_turn":  # the service waits to be asked to go on: this is half a turn
            assert isinstance(answer, Failure)
            assert answer.cause == "malformed_response"
        elif not visible(shape).strip():
            assert isinstance(answer, Failure)
            assert answer.cause == "empty"
        else:
            assert isinstance(answer, Reply), answer
            assert answer.text == visible(shape)
            assert bool(answer.reasoning) is thought(shape)
            assert answer.truncated is (stop(shape) in ("length", "max_tokens"))
            assert answer.model == shape.body["model"]
            assert server.requests == 1
            _counts(shape, answer)


def _counts(shape: Shape, answer: Reply) -> None:
    """Tokens: what a cache held or took is part of the input, thinking of the output; a prompt of none is unknown."""
    usage = shape.body["usage"]
    if shape.service == "anthropic":
        cached = usage.get("cache_read_input_tokens", 0) + usage.get("cache_creation_input_tokens", 0)
        expected = (usage["input_tokens"] + cached, usage["output_tokens"])
    elif shape.service == "google":  # thinking is in the total alone
        expected = (usage["prompt_tokens"], usage["total_tokens"] - usage["prompt_tokens"])
    else:
        expected = (usage["prompt_tokens"], usage["completion_tokens"])
    assert (answer.usage.input, answer.usage.output) == (expected[0] or None, expected[1])


@pytest.mark.parametrize("shape", [each for each in SHAPES if each.status == 404], ids=lambda each: each.service)
def test_a_name_with_a_typing_error_ends_the_run_and_is_named(shape: Shape) -> None:
    """No further ask can succeed, so that nothing is sent again, and the message has the name."""
    with pytest.raises(UnknownModel, match=shape.request["model"]):
        asked(shape)


@pytest.mark.parametrize(
    "shape",
    [each for each in SHAPES if each.status == 400 and "developer" not in str(each.body)],
    ids=lambda each: f"{each.service}-{each.request['model']}",
)
def test_a_request_that_is_refused_is_a_failure_in_the_services_words(shape: Shape) -> None:
    """What cannot be left out is not sent again, and the failure quotes the reason."""
    failure, server = asked(shape)
    assert isinstance(failure, Failure)
    assert (failure.cause, server.requests) == ("bad_request", 1)
    assert failure.detail.startswith("400: ")
    assert shape.body["error"]["message"][:40] in failure.detail


def test_a_role_that_a_model_does_not_take_is_learned() -> None:
    """The system text is folded into the user's message, and the request is sent again."""
    (refusal,) = [each for each in SHAPES if each.status == 400 and "developer" in str(each.body)]
    then = next(each for each in ANSWERED if each.service == "openai" and visible(each))
    answer, server = asked(then, first(1, give(refusal.answer)), give(then.answer))
    assert isinstance(answer, Reply)
    assert [[turn["role"] for turn in body["messages"]] for body in server.bodies] == [["system", "user"], ["user"]]


def test_a_rate_limit_without_headers_is_waited_for() -> None:
    """A 429 that does not say how long is tried again after a pause of the client's own."""
    (limit,) = [each for each in SHAPES if each.status == 429]
    then = next(each for each in ANSWERED if each.service == "openrouter" and visible(each))
    answer, server = asked(then, first(1, give(limit.answer)), give(then.answer))
    assert isinstance(answer, Reply)
    assert server.requests == 2
    answer, server = asked(limit)
    assert isinstance(answer, Failure)
    assert answer.cause == "rate_limit"
    assert server.requests == 2


@pytest.mark.parametrize(("shape", "ends"), DOCUMENTED, ids=lambda each: getattr(each, "service", each))
def test_what_was_not_recorded_ends_as_the_documentation_says(shape: Shape, ends: str) -> None:
    """Filters, cut texts, broken answers, limits and accounts without money, by the services' documentation."""
    if ends == "AccessError":
        with pytest.raises(AccessError):
            asked(shape)
        return
    answer, server = asked(shape)
    if ends in ("reply", "cut"):
        assert isinstance(answer, Reply)
        assert answer.truncated is (ends == "cut")
    else:
        assert isinstance(answer, Failure)
        assert answer.cause == ends
        assert server.requests == (2 if ends in ("rate_limit", "server_error", "timeout") else server.requests)
