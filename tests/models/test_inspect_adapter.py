"""What Inspect's providers give and raise, read as chat completions and HTTP errors; no provider is needed for it."""

from __future__ import annotations

from types import SimpleNamespace as Value
from typing import Any

import orjson
import pytest

from maskbench.errors import UnknownModel
from maskbench.models.chat import wire
from maskbench.models.inspect_adapter import answered, failure_of, raised, reply_of, unsent
from maskbench.models.names import check_name
from maskbench.models.prices import packaged, price_of
from maskbench.store.prices import FREE
from maskbench.types import Failure, Message, Reply, Usage


def output(content: Any, reason: str = "stop", *, error: str | None = None, usage: Any = None) -> Any:
    """An output with one choice, as Inspect has it."""
    parts = [] if isinstance(content, str) else content
    text = content if isinstance(content, str) else "\n".join(part.text for part in parts if part.type == "text")
    choice = Value(message=Value(text=text, content=content), stop_reason=reason, logprobs=None)
    return Value(choices=[choice], completion=text, error=error, usage=usage, model="m", time=2.0)


def _nested(depth: int) -> Any:
    """An error within an error, so many times."""
    error: Any = "odd"
    for _ in range(depth):
        error = {"error": error}
    return error


def read(given: Any, call: Any = None) -> wire.Answer:
    """The answer that our reader makes of it."""
    exchanged = answered(given, call)
    assert exchanged[0] == 200
    answer = wire.read(orjson.loads(exchanged[2]), wire.Learned())
    assert answer is not None
    return answer


def test_parts_are_taken_apart() -> None:
    """Thinking, or its summary where it is redacted, stands beside the text."""
    thought = Value(type="reasoning", reasoning="hm", summary=None, redacted=False)
    hidden = Value(type="reasoning", reasoning="c2VjcmV0", summary="in short", redacted=True)
    (choice,) = read(output([thought, hidden, Value(type="text", text="yes")])).choices
    assert choice is not None
    assert (choice.text, choice.reasoning) == ("yes", "hm\n\nin short")


@pytest.mark.parametrize(
    ("text", "reason", "trouble"),
    [
        ("yes", "stop", None),
        ("y", "max_tokens", "truncated"),
        ("no", "content_filter", "filtered"),
        ("(no content)", "stop", "empty"),
        ("", "model_length", "unclosed_reasoning"),
        ("ye", "unknown", "unknown_end"),
    ],
)
def test_stop_reasons(text: str, reason: str, trouble: str | None) -> None:
    """Each reason of Inspect is the trouble that our own client has for it; a placeholder is no answer."""
    (choice,) = read(output(text, reason)).choices
    assert choice is not None
    assert choice.trouble == trouble


def test_usage_counts_the_cache_into_the_input() -> None:
    """Inspect leaves cached tokens out of the input, and we do not."""
    usage = Value(
        input_tokens=3,
        output_tokens=9,
        input_tokens_cache_read=40,
        input_tokens_cache_write=5,
        reasoning_tokens=4,
    )
    assert read(output("yes", usage=usage)).usage == Usage(48, 9, 4, 40, 5)


@pytest.mark.parametrize(
    ("given", "call"),
    [
        (output("prompt is too long", "model_length", error="prompt is too long"), None),
        (output("too many tokens", "model_length"), Value(error=True)),
        (Value(choices=[], completion="", error=None), None),
    ],
)
def test_an_error_in_the_place_of_an_answer_is_no_answer(given: Any, call: Any) -> None:
    """A provider may write a service's error where the answer would stand; it never becomes a reply."""
    exchanged = answered(given, call)
    assert exchanged[0] == 400
    assert b'"error"' in exchanged[2]


class _Status(Exception):
    def __init__(self, status: int, body: Any = None) -> None:
        super().__init__("it said no")
        self.status_code, self.body = status, body


def test_what_is_raised_keeps_its_status_and_its_words() -> None:
    """The status and the service's own JSON reach our reader of errors; a wait reaches it as Retry-After."""
    exchanged = raised(_Status(429, {"error": {"message": "slow"}}), Value(kind="rate_limit", retry_after=7.0), False)
    assert exchanged[:2] == (429, {"Retry-After": "7.0"})
    assert b"slow" in exchanged[2]
    assert raised(ValueError("odd"), None, False)[0] == 400
    assert raised(ValueError("odd"), None, True)[0] == 401
    assert raised(_Status(400), Value(kind="transient", retry_after=None), False)[0] == 503


@pytest.mark.parametrize(("name", "kind"), [("APITimeoutError", TimeoutError), ("APIConnectionError", ConnectionError)])
def test_a_call_without_a_response_is_raised_as_ours(name: str, kind: type[Exception]) -> None:
    """Time-outs and broken connections of any library are told by their class."""
    with pytest.raises(kind):
        raised(type(name, (Exception,), {})("gone"), None, False)


def test_what_was_left_out_is_told_by_the_record_of_the_request() -> None:
    """Names in any style count; a record without the token limit tells nothing."""
    wanted = {"temperature": True, "seed": True, "schema": True, "logprobs": False}
    whole = {"generationConfig": {"maxOutputTokens": 9, "temperature": 1.0, "responseJsonSchema": {}, "seed": None}}
    assert unsent(Value(request=whole), wanted) == ["seed"]
    assert unsent(Value(request={"messages": []}), wanted) == []
    assert unsent(None, wanted) == []


def test_a_name_has_a_provider_and_a_model() -> None:
    """A name of another form is refused before Inspect is loaded."""
    check_name("inspect/anthropic/claude-x")
    with pytest.raises(UnknownModel, match="inspect/PROVIDER/NAME"):
        check_name("inspect/anthropic")


def test_by_inspect_a_model_costs_what_its_service_takes() -> None:
    """The list price is the service's, and a model that has none is not free."""
    assert price_of("inspect/openai/gpt-4o", packaged()) == price_of("openai/gpt-4o", packaged()) is not None
    assert price_of("inspect/google/of-nobody", packaged()) is None
    assert price_of("inspect/hf/some-model", packaged()) is FREE


def test_an_output_is_a_reply_or_a_failure() -> None:
    """Text is a reply with its tokens; what is withheld, empty or an error in the answer's place is a failure."""
    usage = Value(
        input_tokens=3, output_tokens=9, input_tokens_cache_read=None, input_tokens_cache_write=None, reasoning_tokens=0
    )
    reply = reply_of(output("y", "max_tokens", usage=usage), "subject", "m")
    assert isinstance(reply, Reply)
    assert (reply.text, reply.truncated, reply.seconds, reply.usage.output) == ("y", True, 2.0, 9)
    unknown = reply_of(output("ye", "unknown"), "judge", "m")
    assert isinstance(unknown, Failure)
    assert (unknown.stage, unknown.cause) == ("judge", "unknown_end")
    withheld = reply_of(output("no", "content_filter"), "judge", "m")
    assert withheld == Failure("judge", "filtered", "m: a content filter took the answer.")
    broken = reply_of(output("", error="the prompt is flagged"), "subject", "m")
    assert broken == Failure("subject", "filtered", "the prompt is flagged")


def test_half_a_character_is_a_mark() -> None:
    """JSON cannot carry half a surrogate pair, and no reply, judgement or failure is lost over one."""
    (choice,) = read(output("yes \ud83d")).choices
    assert choice is not None
    assert choice.text == "yes \ufffd"
    assert isinstance(told := reply_of(output("\udc00 yes"), "judge", "m"), Reply)
    assert told.text == "\ufffd yes"
    assert reply_of(output("", error="flagged \ud83d"), "judge", "m") == Failure("judge", "filtered", "flagged \ufffd")
    assert failure_of(OSError("gone \ud83d"), "judge", str) == Failure("judge", "connection", "OSError: gone \ufffd")
    body = raised(ValueError("\ud83d"), Value(kind="rate_limit"), False)[2]
    assert "\ufffd" in orjson.loads(body)["error"]["message"]


@pytest.mark.parametrize("body", [{1: "x"}, *(_nested(depth) for depth in (300, 3000))])
def test_an_error_that_no_json_can_carry_is_an_error(body: Any) -> None:
    """A service may nest its error as deeply as it likes: the status is kept, and nothing is raised."""
    error = ValueError("odd")
    error.status, error.body = 400, body  # type: ignore[attr-defined]
    assert raised(error, None, False)[0] == 400


def test_a_prompt_that_the_server_cut_is_a_failure() -> None:
    """What Inspect counts is held against what was sent, with what a cache held."""
    prompt = [Message("system", "Praise the copper. " * 2600)]
    usage = {"input_tokens": 2050, "output_tokens": 9, "input_tokens_cache_write": None, "reasoning_tokens": 0}
    cut = reply_of(output("yes", usage=Value(**usage, input_tokens_cache_read=None)), "judge", "m", prompt)
    assert isinstance(cut, Failure)
    assert (cut.cause, cut.detail) == (
        "cut_prompt",
        "m: the server seems to have cut the prompt: 2050 tokens counted for 49400 characters.",
    )
    read_whole = output("yes", usage=Value(**usage, input_tokens_cache_read=9000))
    assert isinstance(reply_of(read_whole, "judge", "m", prompt), Reply)


def test_what_is_raised_is_a_failure_or_final() -> None:
    """A failure has its cause and no key; what no further call can mend is none."""

    class Refused(Exception):
        def __init__(self, status: int, words: str = "") -> None:
            super().__init__(words)
            self.status_code = status

    def failed(error: Exception) -> Failure | None:
        return failure_of(error, "subject", lambda text: text.replace("secret", "***"))

    assert failed(Refused(429, "secret")) == Failure("subject", "rate_limit", "Refused: ***")
    assert failed(TimeoutError("late")) == Failure("subject", "timeout", "TimeoutError: late")
    assert failed(OSError("gone")) == Failure("subject", "connection", "OSError: gone")
    assert [failed(Refused(status)) for status in (401, 403, 404)] == [None] * 3
