"""A server on 127.0.0.1 that speaks Anthropic's, Google's and Bedrock's interfaces, as their documentation has them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from chat_server import code_in, plain

Body = dict[str, Any]
Given = tuple[int, Any, Mapping[str, str]]
Turn = Callable[[Body], Given | None]


class NativeServer:
    """What it was asked, and what it answers: a turn gives a whole response, or None for the usual answer."""

    def __init__(self, turn: Turn | None = None) -> None:
        self.turn = turn
        self.address = ""
        self.bodies: list[Body] = []
        self.headers: list[Mapping[str, str]] = []

    async def messages(self, request: web.Request) -> web.Response:
        """Anthropic's Messages API."""
        return await self._respond(request, message)

    async def generate(self, request: web.Request) -> web.Response:
        """Google's generateContent."""
        return await self._respond(request, candidate)

    async def converse(self, request: web.Request) -> web.Response:
        """Bedrock's Converse."""
        return await self._respond(request, conversed)

    async def _respond(self, request: web.Request, usual: Callable[[Body], Any]) -> web.Response:
        body = await request.json()
        self.bodies.append(body)
        self.headers.append(request.headers)
        status, content, headers = (self.turn and self.turn(body)) or (200, usual(body), {})
        return web.json_response(content, status=status, headers=dict(headers))


def message(body: Body, *blocks: Body, stop: str = "end_turn", **usage: int) -> Body:
    """A response of the Messages API."""
    schema = (body.get("output_format") or body.get("output_config", {}).get("format") or {}).get("schema")
    content = list(blocks) or [{"type": "text", "text": _text(schema, body)}]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 20, "output_tokens": 5, **usage},
    }


def candidate(body: Body, *parts: Body, finish: str = "STOP", **usage: int) -> Body:
    """A response of generateContent."""
    schema = body.get("generationConfig", {}).get("responseJsonSchema")
    content = {"parts": list(parts) or [{"text": _text(schema, body)}], "role": "model"}
    counted = {"promptTokenCount": 20, "candidatesTokenCount": 5, "totalTokenCount": 25, **usage}
    return {
        "candidates": [{"content": content, "finishReason": finish, "index": 0}],
        "usageMetadata": counted,
        "modelVersion": "gemini-x",
        "responseId": "r1",
    }


def conversed(body: Body, stop: str = "end_turn") -> Body:
    """A response of Converse."""
    answer = {"role": "assistant", "content": [{"text": "It is so."}]}
    usage = {"inputTokens": 20, "outputTokens": 5, "totalTokens": 25}
    return {"output": {"message": answer}, "stopReason": stop, "usage": usage, "metrics": {"latencyMs": 1}}


def _text(schema: Any, body: Body) -> str:
    """What fits the schema, with the code that the body asks for."""
    if schema is None:
        return "It is so."
    shape = {"response_format": {"json_schema": {"schema": schema}}, "messages": [{"content": "?"}]}
    text = plain(shape)
    assert isinstance(text, str)
    fields = json.loads(text)
    return json.dumps(fields | {"code": code_in({"messages": body})} if "code" in fields else fields)


def error(kind: str, words: str) -> Body:
    """An error of Anthropic's."""
    return {"type": "error", "error": {"type": kind, "message": words}, "request_id": "req_1"}


def google_error(code: int, status: str, words: str) -> Body:
    """An error of Google's."""
    return {"error": {"code": code, "message": words, "status": status}}


@asynccontextmanager
async def native(turn: Turn | None = None) -> AsyncIterator[NativeServer]:
    """All three interfaces at one address, for the length of a `with` block."""
    server = NativeServer(turn)
    app = web.Application()
    app.router.add_post("/v1/messages", server.messages)
    app.router.add_post("/{version}/models/{name}", server.generate)
    app.router.add_post("/model/{name}/converse", server.converse)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()


def dump(value: Any) -> str:
    """JSON, for looking into what was sent."""
    return json.dumps(value)
