"""Servers of one's own: keys on a private network, what stops a run and what is waited for, names and token counts."""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from chat_server import Answer, Body, ChatServer, Rule, completion, fail, first, serve
from flows import cells, command, environ, let_flow, letter, reply_to, scenarios, serving
from maskbench.errors import AccessError, ModelError, UnknownModel
from maskbench.measurement import measure
from maskbench.models.chat import wire
from maskbench.models.chat.client import LOADING, REFUSED, ChatModel, Patience, PrivateResolver
from maskbench.models.chat.services import Endpoint, endpoint, is_public
from maskbench.plain import plain
from maskbench.presentation.runs_shown import runs
from maskbench.presentation.sections.cost import tokens
from maskbench.presentation.sections.failures import commonest_failure
from maskbench.presentation.sections.failures import failed as what_failed
from maskbench.results.scored import result
from maskbench.results.summary import Summary
from maskbench.settings import Settings
from maskbench.store.folder import RunFolder
from maskbench.store.store import Store
from maskbench.types import Ask, Failure, Judgement, Message, Reply, Sampling, Scenario, conversation
from scenario_rows import write_jsonl
from there import there

KEY = "plain-key-0123456789"
SCENARIO = Scenario(
    "known_facts", "1", "binary", "It <pivotal>is/is not</pivotal> so.", "A", conversation("system", "user")
)
ASK = Ask((Message("system", "Be brief."), Message("user", "Is it so?")), SCENARIO, "direct", 1)
SEVERAL = Ask(ASK.messages, SCENARIO, "direct", 1, runs=(1, 2, 3), seeds=(1, 2, 3))

Step = Callable[[ChatModel, ChatServer], Any]


def against(step: Step, *, options: dict[str, Any] | None = None, **server: Any) -> None:
    """Run a step with a client of a server of its own; the client never really waits."""

    others = dict(options or {})
    waiting = {field.name: others.pop(field.name) for field in fields(Patience) if field.name in others}

    async def run() -> None:
        async with serve(**server) as running:
            model = ChatModel(
                name="vllm/my-model",
                endpoint=endpoint("vllm/my-model", {"VLLM_API_KEY": KEY, "VLLM_BASE_URL": running.base_url}),
                sampling=Sampling(1.0, 100, 1000),
                stage="subject",
                gate=asyncio.Semaphore(10),
                patience=Patience(**{"retries": 1, "backoff": 0.001, **waiting}),
                **others,
            )
            try:
                await step(model, running)
            finally:
                await model.close()

    asyncio.run(run())


# Keys on a private network

PRIVATE = ["http://10.1.2.3:8000/v1", "http://192.168.0.7/v1", "http://172.20.1.1/v1", "http://100.64.3.2:8000/v1"]
PRIVATE += ["http://[fd00::7]:8000/v1", "http://gpu7:8000/v1", "http://vllm.models.svc.cluster.local/v1"]


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_network_takes_a_key_by_an_explicit_word(address: str) -> None:
    """Plain http with a key within a private network is refused with three ways out, and allowed by one of them."""
    variables = {"VLLM_API_KEY": KEY, "VLLM_BASE_URL": address}
    with pytest.raises(AccessError, match=r"ssh -N -L .*127\.0\.0\.1.* VLLM_ALLOW_HTTP=1 .* leave VLLM_API_KEY unset"):
        endpoint("vllm/m", variables)
    for word in ("0", "no", "", "allow"):
        with pytest.raises(AccessError):
            endpoint("vllm/m", {**variables, "VLLM_ALLOW_HTTP": word})
    with pytest.raises(AccessError):
        endpoint("vllm/m", {**variables, "SGLANG_ALLOW_HTTP": "1"})
    allowed = endpoint("vllm/m", {**variables, "VLLM_ALLOW_HTTP": "1", "http_proxy": "http://proxy:3128"})
    assert (allowed.key, allowed.private_only) == (KEY, True)
    assert allowed.proxy is None  # it would read the key


@pytest.mark.parametrize(
    "address", ["http://8.8.8.8/v1", "http://[2001:4860::8]/v1", "http://0.0.0.0:8000/v1", "http://[::ffff:8.8.8.8]/v1"]
)
def test_public_addresses_take_no_key_whatever_is_allowed(address: str) -> None:
    """The word is for private networks: to a public address no key goes over plain http."""
    variables = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": address, "OPENAI_ALLOW_HTTP": "1"}
    with pytest.raises(AccessError, match="a public address") as raised:
        endpoint("openai/m", variables)
    assert KEY not in str(raised.value)
    with pytest.raises(AccessError, match="plain http") as refused:
        endpoint("openai/m", {**variables, "OPENAI_ALLOW_HTTP": ""})
    assert "ALLOW_HTTP" not in str(refused.value)


@pytest.mark.parametrize(("host", "public"), [("10.0.0.1", False), ("fe80::1%eth0", False), ("1.1.1.1", True)])
def test_public_is_what_anybody_could_have(host: str, public: bool) -> None:
    """Private, shared and link-local addresses are not; of a name that is told when it is looked up."""
    assert is_public(host) is public


class Names(AbstractResolver):
    """Looks names up in a table."""

    def __init__(self, **addresses: list[str]) -> None:
        self._addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """What the table says."""
        known = {"hostname": host, "port": port, "family": family, "proto": 0, "flags": 0}
        return [ResolveResult(**known, host=address) for address in self._addresses[host]]  # type: ignore[typeddict-item]

    async def close(self) -> None:
        """Nothing to close."""


def test_a_name_that_leads_to_a_public_address_gets_no_key() -> None:
    """Where a key goes out unencrypted, the name is held to private addresses as it is looked up."""
    names = PrivateResolver("vllm", Names(gpu7=["10.0.0.7"], both=["10.0.0.7", "8.8.8.8"]))
    assert [found["host"] for found in asyncio.run(names.resolve("gpu7", 80))] == ["10.0.0.7"]
    with pytest.raises(AccessError, match="both, which is a public address"):
        asyncio.run(names.resolve("both", 80))


def test_the_client_asks_that_resolver() -> None:
    """A key that is let out unencrypted never goes to a name that is public, and the run stops with that."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        model.endpoint = Endpoint("vllm", "m", "http://gpu7:8000/v1", KEY, plain_http=True)
        assert isinstance(model._resolver(), PrivateResolver)
        model.endpoint = Endpoint("vllm", "m", "https://gpu7:8000/v1", KEY)
        assert model._resolver() is None

    against(step)


# What stops a run


@pytest.mark.parametrize(
    "said",
    [
        "Server is pinned to '/models/a@main'; requested 'my-model'.",
        "This endpoint only serves a.",
        "Model mismatch: a is here",
        "model my-model is not loaded",
    ],
)
def test_a_server_of_another_model_stops_the_run(said: str) -> None:
    """A server that has one model and is asked for another ends the run at once as an unknown model."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        with pytest.raises(UnknownModel, match="knows no such model"):
            await model.ask(ASK)
        assert server.requests == 1

    against(step, rules=[fail(400, content={"detail": said})])


@pytest.mark.parametrize("status", [400, 422])
def test_refusals_in_the_same_words_stop_the_run(status: int) -> None:
    """Whatever a server says, once it has said it so many times and never answered, no further ask goes out."""
    numbers = iter(range(1000))

    def refuse(body: Body) -> Answer:
        return Answer(status, {"detail": f"Il manque quelque chose: {next(numbers)}"})

    async def step(model: ChatModel, server: ChatServer) -> None:
        for _ in range(REFUSED - 1):
            (answer,) = await model.ask(ASK)
            assert isinstance(answer, Failure)
        with pytest.raises(ModelError, match=f"refused {REFUSED} requests in the same words.*Il manque"):
            await model.ask(ASK)
        assert server.requests == REFUSED

    against(step, rules=[refuse])


@pytest.mark.parametrize("earlier", [True, False])
def test_refusals_after_an_answer_stop_nothing(earlier: bool) -> None:
    """Where one request was answered, in this session or before, refused ones are failures and the run goes on."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        if not earlier:
            assert isinstance((await model.ask(ASK))[0], Reply)
            server.rules.append(fail(400))
        for _ in range(2 * REFUSED):
            assert isinstance((await model.ask(ASK))[0], Failure)

    options = {"learned": {"answered": True}} if earlier else {}
    against(step, options=options, rules=[fail(400)] if earlier else [])


def test_refusals_of_different_kinds_stop_nothing() -> None:
    """Requests that are refused for different reasons may be followed by one that is not."""
    letters = iter("abcdefghijklmnopqrstuvwxyz")

    async def step(model: ChatModel, server: ChatServer) -> None:
        for _ in range(2 * REFUSED):
            assert isinstance((await model.ask(ASK))[0], Failure)

    against(step, rules=[lambda body: Answer(400, {"detail": f"no {next(letters)}"})])


# What is waited for

LOAD = fail(503, content={"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}})


class Clock:
    """A sleep that takes no time and adds up."""

    def __init__(self) -> None:
        self.slept = 0.0

    async def __call__(self, seconds: float) -> None:
        self.slept += seconds


@pytest.mark.parametrize("content", [None, {"error": "Model a is currently loading", "estimated_time": 20.0}])
def test_a_server_that_loads_its_model_is_waited_for(content: Any) -> None:
    """503 while a model loads costs no try, however often it comes, and the user is told once."""
    clock = Clock()

    async def step(model: ChatModel, server: ChatServer) -> None:
        assert isinstance((await model.ask(ASK))[0], Reply)
        assert server.requests == 31
        assert clock.slept == 30 * (20 if content else 5)
        assert [line for line in model.warnings if "loading" in line] == model.warnings[:1]

    rule = fail(503, content=content) if content else LOAD
    against(step, rules=[first(30, rule)], options={"sleep": clock, "retries": 0})


def test_a_server_that_never_ends_loading_is_a_failure() -> None:
    """After half an hour it is a server error like any other."""
    clock = Clock()

    async def step(model: ChatModel, server: ChatServer) -> None:
        (answer,) = await model.ask(ASK)
        assert isinstance(answer, Failure)
        assert answer.cause == "server_error"
        assert clock.slept >= LOADING

    against(step, rules=[LOAD], options={"sleep": clock, "retries": 0})


def test_an_overloaded_server_is_not_waited_for_so_long() -> None:
    """A 503 of another kind uses up tries."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        assert isinstance((await model.ask(ASK))[0], Failure)
        assert server.requests == 2

    against(step, rules=[fail(503, content={"error": {"message": "Overloaded"}})])


# Under which name it answers


def test_an_answer_under_another_name_is_told() -> None:
    """Whoever is asked for one model and answers as another is named, once."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        for _ in range(2):
            await model.ask(ASK)
        assert model.warnings == ["vllm/my-model answers as other-2025, another name than it was asked for."]

    def other(body: Body) -> Answer:
        return Answer(content={**completion(body, ["Yes."]), "model": "other-2025"})

    against(step, rules=[other])


def test_another_name_stands_in_the_result(tmp_path: Path) -> None:
    """The result notes it, so that a page says it, too."""

    def other(body: Body) -> Answer | None:
        if body["model"] == "judge":
            return None
        return Answer(content={**completion(body, ["Yes."]), "model": "quite-another"})

    summary = served(tmp_path, rules=[other])
    assert "openai-api/local/subject (subject) answered as quite-another, another name than it was asked for." in (
        summary.notes
    )


# How its tokens are counted


def rows(folder: Path) -> str:
    """A file with two scenarios."""
    made = [{**cells("known_facts", number), "archetype": "known_facts"} for number in (1, 2)]
    return str(write_jsonl(folder / "rows.jsonl", made))


def served(folder: Path, rules: list[Rule], **options: Any) -> Summary:
    """The result of a small run against a server."""
    subject, judge = "openai-api/local/subject", "openai-api/local/judge"
    chosen = Settings.of(
        subject=subject, judge=judge, numeric_judge=judge, scenarios=rows(folder), retries=0, **options
    )
    with serving(rules=rules, reply=reply_to) as server:
        return measure(chosen, folder / "run", environ(server))


def counted(choices: list[str], output: int, timed: int | None = None, cut: bool = False) -> Rule:
    """Several choices whose usage is this, as llama.cpp answers them where `timed` is given."""

    def answer(body: Body) -> Answer | None:
        if body.get("n", 1) == 1:
            return None
        usage = {"prompt_tokens": 30, "completion_tokens": output, "total_tokens": 30 + output}
        replies: list[Any] = [{"content": text, **({"finish_reason": "length"} if cut else {})} for text in choices]
        timings = {} if timed is None else {"timings": {"predicted_n": timed}}
        return Answer(content={**completion(body, replies, usage), **timings})

    return answer


@pytest.mark.parametrize(
    ("rule", "bound"),
    [
        (counted(["No.", "Yes.", "No, it is."], 3, timed=3), True),
        (counted(["No.", "Yes.", "No, it is."], 9, timed=3), False),
        (counted(["word " * 40] * 3, 100, cut=True), True),
        (counted(["word " * 40] * 3, 300, cut=True), False),
        (counted(["some longer answer of words " * 4 + each for each in "abc"], 28), True),
        (counted(["No.", "Yes.", "No, it is."], 9), False),
    ],
)
def test_a_server_that_counts_one_of_several_samples(rule: Rule, bound: bool) -> None:
    """Usage that can be that of one sample alone, by the server's own timing, the limit or the text, is told."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        await model.ask(SEVERAL)
        assert model.learned.counts_one is bound
        assert any("lower bounds" in line for line in model.warnings) is bound

    against(step, rules=[rule])


def test_its_total_is_marked(tmp_path: Path) -> None:
    """In the result, in the terminal and on the page the tokens of such a subject are at least so many."""
    summary = served(tmp_path, [counted(["No.", "Yes.", "No, it is."], 3, timed=3)])
    assert summary.usage.subject.at_least is True
    assert "at_least" not in summary.as_dict()["usage"]["judge"]
    assert result(RunFolder(tmp_path / "run")).usage.subject.at_least is True
    output = summary.usage.subject.output_tokens
    assert f"at least {output:,}" in command("score", tmp_path / "run", "--full", env={}).out
    assert f"at least {output:,}" in page(tmp_path / "run")

    (tmp_path / "other").mkdir()
    other = served(tmp_path / "other", [])
    assert other.usage.subject.at_least is False
    assert "at least" not in command("score", tmp_path / "other" / "run", "--full", env={}).out


def page(run: Path) -> str:
    """The table of tokens on the page of a run, as text."""
    with runs([run], None, None) as shown:
        return str(list(tokens(shown)))


def test_identical_samples_of_requests_of_their_own_are_told() -> None:
    """A server that gives one long text for every request of a question does not sample: that is counted and told."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        for _ in range(3):
            await model.ask(ASK)
        assert model.identical == 2
        assert [line for line in model.warnings if "temperature" in line] == model.warnings

    against(step, reply="word " * 50)
    against(step, reply="11 " * 30, usage={"prompt_tokens": 5, "completion_tokens": 80})


def test_the_sample_of_a_request_for_several_is_one_of_them() -> None:
    """Where a server gives one sample for a request of several, that one is held against the later ones, too."""

    async def step(model: ChatModel, server: ChatServer) -> None:
        assert [answer is not None for answer in await model.ask(SEVERAL)] == [True, False, False]
        await model.ask(ASK)
        assert model.identical == 1

    against(step, reply="word " * 50, honours_n=False)


# What failed most often


def test_the_commonest_failure_is_quoted(tmp_path: Path) -> None:
    """Terminal and page quote, in the same words, what failed most often, with its count."""
    left = [3]

    def rule(body: Body) -> Answer | None:
        if body["model"] == "judge":
            return None
        left[0] -= 1
        return Answer(500, {"error": {"message": "The disk is \u202efull"}}) if left[0] >= 0 else None

    summary = served(tmp_path, [rule], max_error_rate=1.0, statements=1)
    failed = sum(summary.failures["subject"].values())
    assert there(summary.failure).count == failed > 0
    said = commonest_failure(summary)
    assert said
    assert plain(said) == f"Most often ({failed} of {failed}): subject, server error: 500: The disk is full."
    assert said in what_failed(summary)


def test_nothing_failed_is_nothing_quoted(tmp_path: Path) -> None:
    """Without a failure there is nothing to quote."""
    summary = served(tmp_path, [])
    assert summary.failure is None
    assert commonest_failure(summary) is None


def test_failures_of_judge_and_subject_are_counted_together(tmp_path: Path) -> None:
    """The commonest is found over replies and verdicts; equal words of two causes are two failures."""

    def judge(ask: Ask, run: int) -> Failure | Judgement:
        return Failure("judge", "server_error", "500: busy") if ask.elicitation else letter("A")

    let_flow(tmp_path / "db", scenarios(1, ("known_facts",)), judge=judge)
    store = Store(tmp_path / "db")
    try:
        assert store.commonest_failure("default") == ("judge", "server_error", "500: busy", 5)
        assert store.commonest_failure("another") is None
    finally:
        store.close()


# Probabilities of tokens


def test_tokens_of_json_that_came_in_a_fence_are_found() -> None:
    """llama.cpp writes JSON in a fence and takes it off the text, not off the tokens: those of the text are taken."""
    said = ["`", "``", "json", "\n", "{", '"verdict": ', '"', "A", '"', "}", "\n", "```", ""]
    data = completion({"model": "m", "messages": []}, ['{"verdict": "A"}'])
    data["choices"][0]["logprobs"] = {"content": [{"token": each, "logprob": -0.5} for each in said]}
    answer = wire.read(data, wire.Learned())
    assert answer is not None
    assert answer.choices[0] is not None
    assert [token.text for token in answer.choices[0].tokens] == said[4:10]
