"""A real chat completions server on 127.0.0.1 that does what a test tells it to, and counts what it is asked.

    async with serve(rules=[first(2, fail(429, {"Retry-After": "0"})), refuse("temperature")]) as server:
        ...  # server.base_url, server.requests, server.bodies, server.most_in_flight

A rule takes a request's JSON and answers it, or gives None and leaves it to the next rule; what no rule answers gets
a completion with `reply`. As a program (`python tests/chat_server.py --latency 0.5`) it prints its base URL and runs
until it is killed, so that its own work is not counted where a client's is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

from maskbench.method.verdict import to_json
from maskbench.types import Judgement

Body = dict[str, Any]
# The visible text, a verdict in the form that is asked for, or a whole message; its "finish_reason" goes to the choice.
Reply = str | Judgement | Mapping[str, Any]
Rule = Callable[[Body], "Answer | None"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A response: status, JSON or raw bytes, headers, or one of the ways in which a server has none."""

    status: int = 200
    content: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    hang: bool = False  # take the request and say nothing
    drop: bool = False  # close the connection
    cut: bool = False  # close it in the middle of the body
    chunks: int = 0  # so many megabytes, without a Content-Length


# Rules


def fail(status: int, headers: Mapping[str, str] | None = None, content: Any = None) -> Rule:
    """Answer with a status."""
    message = {"error": {"message": f"failed with {status}", "type": "test", "code": None}}
    answer = Answer(status, message if content is None else content, headers or {})
    return lambda body: answer


def give(answer: Answer) -> Rule:
    """Answer with this."""
    return lambda body: answer


def first(times: int, rule: Rule) -> Rule:
    """The rule, for the first `times` requests that it would answer."""
    left = [times]

    def apply(body: Body) -> Answer | None:
        answer = rule(body) if left[0] > 0 else None
        left[0] -= answer is not None
        return answer

    return apply


def every(nth: int, rule: Rule) -> Rule:
    """The rule, for every nth request."""
    seen = [0]

    def apply(body: Body) -> Answer | None:
        seen[0] += 1
        return rule(body) if seen[0] % nth == 0 else None

    return apply


def sometimes(share: float, rule: Rule, seed: int = 0) -> Rule:
    """The rule, for a random share of requests."""
    rng = random.Random(seed)
    return lambda body: rule(body) if rng.random() < share else None


def pace(per_second: float) -> Rule:
    """Answer 429 to whatever comes faster than this, as a service's rate limit does."""
    free = [0.0]

    def apply(body: Body) -> Answer | None:
        now = time.monotonic()
        if now < free[0]:
            return Answer(429, {"error": {"message": "Rate limit reached"}}, {"Retry-After": f"{free[0] - now:.3f}"})
        free[0] = now + 1 / per_second
        return None

    return apply


def refuse(name: str, message: str | None = None, status: int = 400) -> Rule:
    """Refuse requests that hold a parameter (or `system`: the system role, `n`: more than one sample)."""
    words = message or f"Unsupported parameter: '{name}' is not supported with this model."
    error = {
        "error": {"message": words, "type": "invalid_request_error", "param": None, "code": "unsupported_parameter"}
    }

    def apply(body: Body) -> Answer | None:
        if name == "system":
            refused = any(turn["role"] == "system" for turn in body["messages"])
        else:
            refused = body.get(name, 1) != 1 if name == "n" else name in body
        return Answer(status, error) if refused else None

    return apply


HANG = give(Answer(hang=True))
DROP = give(Answer(drop=True))
CUT = give(Answer(cut=True))
GARBAGE = give(Answer(content=b"<html>gateway</html>"))


def redirect(to: str, status: int = 307) -> Rule:
    """Send the client elsewhere."""
    return give(Answer(status, b"", {"Location": to}))


def huge(megabytes: int, chunked: bool) -> Rule:
    """A body of so many megabytes, with or without saying so beforehand."""
    if chunked:
        return give(Answer(chunks=megabytes))
    return give(Answer(content=b" " * (megabytes * 2**20)))


# Completions


def completion(body: Body, replies: list[Reply], usage: Any = None) -> dict[str, Any]:
    """A chat completion with these messages."""
    prompt = sum(len(turn["content"] or "") for turn in body["messages"]) // 4
    counted = {
        "prompt_tokens": prompt,
        "completion_tokens": 10 * len(replies),
        "total_tokens": prompt + 10 * len(replies),
    }
    return {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "model": f"{body['model']}-2025-01-01",
        "system_fingerprint": "fp_test",
        "choices": [_choice(body, index, reply) for index, reply in enumerate(replies)],
        "usage": counted if usage is None else usage,
    }


def _choice(body: Body, index: int, reply: Reply) -> dict[str, Any]:
    text = verdict_text(body, reply) if isinstance(reply, Judgement) else reply
    message = {"content": text.replace("{{code}}", code_in(body))} if isinstance(text, str) else dict(text)
    finish = message.pop("finish_reason", "stop")
    return {"index": index, "message": {"role": "assistant", **message}, "finish_reason": finish}


def code_in(body: Body) -> str:
    """The code that the verdict has to carry which this body asks for; empty where it asks for none."""
    codes = re.findall(r"(?:Verdict|Bounds) ([0-9a-f]{16})", json.dumps(body["messages"]))
    return codes[-1] if codes else ""


def verdict_text(body: Body, judgement: Judgement, code: str | None = None) -> str:
    """A verdict in the JSON form, with the code that the body asks for."""
    value = to_json(judgement.verdict)
    verdict = value if isinstance(value, dict) else {"verdict": value}
    code = code_in(body) if code is None else code
    return json.dumps({"reason": judgement.reason, "code": code, **verdict, "evasion": judgement.verdict.evasion})


def plain(body: Body) -> Reply:
    """An answer for any request: of the wanted form where there is a schema, else a line of text."""
    shape = body.get("response_format", {}).get("json_schema", {}).get("schema")
    return json.dumps(_example(shape)) if shape else f"A reply to {body['messages'][-1]['content'][:40]!r}."


def _example(schema: Mapping[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: _example(inner) for name, inner in schema.get("properties", {}).items()}
    return {"string": "text", "number": 1.0, "integer": 1, "boolean": True, "array": [], "null": None}[kind]


# The server


class ChatServer:
    """The server's state: what it was asked, and how many requests it had at once."""

    def __init__(
        self,
        *,
        rules: list[Rule] | None = None,
        reply: Reply | Callable[[Body], Reply] = plain,
        latency: float | Callable[[], float] = 0.0,
        honours_n: bool = True,
        usage: Any = None,
        keep: bool = True,
    ) -> None:
        self.rules = rules or []
        self.base_url = ""
        self.requests = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.bodies: list[Body] = []
        self.headers: list[Mapping[str, str]] = []
        self._reply = reply
        self._latency = latency
        self._honours_n = honours_n
        self._usage = usage
        self._keep = keep
        self._closing = asyncio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._handle(request)
        finally:
            self.in_flight -= 1

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read())
        self.requests += 1
        if self._keep:
            self.bodies.append(body)
            self.headers.append(dict(request.headers))
        answer = next((answer for rule in self.rules if (answer := rule(body))), None)
        latency = self._latency() if callable(self._latency) else self._latency
        if (pause := latency + (answer.delay if answer else 0.0)) > 0:
            await asyncio.sleep(pause)
        if answer is None or (answer.status == 200 and answer == Answer(delay=answer.delay)):
            answer = Answer(content=self._complete(body))
        return await self._respond(request, answer)

    def _complete(self, body: Body) -> dict[str, Any]:
        reply = self._reply
        count = body.get("n", 1) if self._honours_n else 1
        return completion(body, [reply(body) if callable(reply) else reply for _ in range(count)], self._usage)

    async def _respond(self, request: web.Request, answer: Answer) -> web.StreamResponse:
        if answer.hang:
            await self._closing.wait()
        if answer.drop or answer.hang:
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        raw = isinstance(answer.content, bytes)
        payload = answer.content if raw else orjson.dumps(answer.content)
        if answer.cut or answer.chunks:
            return await self._stream(request, answer, payload)
        kind = "text/html" if raw else "application/json"
        return web.Response(status=answer.status, body=payload, headers=answer.headers, content_type=kind)

    async def _stream(self, request: web.Request, answer: Answer, payload: bytes) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, headers=answer.headers)
        if answer.cut:
            response.content_length = len(payload) + 1000
        await response.prepare(request)
        try:
            await response.write(payload)
            for _ in range(answer.chunks):
                await response.write(b" " * 2**20)
        except ConnectionError:
            return response  # the client had enough
        if answer.cut and request.transport is not None:
            request.transport.close()
        return response

    def close(self) -> None:
        """Let go of requests that hang."""
        self._closing.set()


@asynccontextmanager
async def serve(*, port: int = 0, tls: ssl.SSLContext | None = None, **options: Any) -> AsyncIterator[ChatServer]:
    """A server for the length of a `with` block; options as for ChatServer."""
    server = ChatServer(**options)
    app = web.Application(client_max_size=64 * 2**20)
    for path in ("/v1/chat/completions", "/v1/messages"):
        app.router.add_post(path, server.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls, backlog=1024)
    await site.start()
    bound = runner.addresses[0][1]
    server.base_url = f"{'https' if tls else 'http'}://127.0.0.1:{bound}/v1"
    try:
        yield server
    finally:
        server.close()
        await runner.cleanup()


async def _forever(arguments: argparse.Namespace) -> None:
    rng = random.Random(0)

    def latency() -> float:
        return max(0.0, rng.gauss(arguments.latency, arguments.spread))

    reply: Reply | Callable[[Body], Reply] = plain if arguments.reply is None else arguments.reply
    wait: Callable[[], Awaitable[Any]] = asyncio.Event().wait
    async with serve(port=arguments.port, latency=latency, reply=reply, keep=False) as server:
        print(server.base_url, flush=True)
        await wait()


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="mean seconds")
    parser.add_argument("--spread", type=float, default=0.0, help="standard deviation of the latency")
    parser.add_argument("--reply", help="the text of every reply")
    arguments = parser.parse_args()
    try:
        import uvloop
    except ImportError:
        asyncio.run(_forever(arguments))
    else:
        uvloop.run(_forever(arguments))


if __name__ == "__main__":
    main()
