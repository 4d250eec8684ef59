"""A real server on 127.0.0.1 with both batch interfaces, and the live ones beside them, that does what a test tells it.

It follows the two documented interfaces as far as maskbench uses them: OpenAI's files and batches with chat
completions, Anthropic's message batches with messages. Answers follow from a request alone, so that a live run and a
run in batches are given the same. What is nasty is a field of `Nasty`, or an entry of `at`, which is called at a step
by its name: `upload`, `create`, `created` (begun, and not said yet), `list`, `look`, `results`, `live`.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web

from chat_server import verdict_text
from flows import KEY, in_thread, letter, number, six_files
from maskbench import Settings, measure
from maskbench.asking.watching import Unwatched
from maskbench.results.summary import Summary
from maskbench.store.folder import RunFolder
from maskbench.types import ARCHETYPES, Item

Body = dict[str, Any]
Hook = Callable[[], Any]
SERVICES = ("openai", "anthropic")


@dataclass
class Nasty:
    """What goes wrong. `unanswered` and so on take a request's place in its job and say whether it is such a one."""

    looks: int = 1  # that find a job in progress before it has ended
    shuffled: bool = False
    ends: str = ""  # expired or cancelled: the second half of each job is not answered
    empty: Callable[[int], bool] = lambda place: False
    failed: Callable[[int], bool] = lambda place: False  # with a status of 400
    broken: Callable[[int], bool] = lambda place: False  # with a status of 500
    barred: tuple[int, str] | None = None  # status and type of what every request of a job is answered with
    left_out: Callable[[int], bool] = lambda place: False
    twice: bool = False  # each result comes twice, the second with other words
    strangers: bool = False  # results nobody asked for
    invalid: int = 0  # so many jobs fail as a whole
    full: int = 0  # so many jobs are not begun, since too many tokens wait
    lost: bool = False  # no job is known any more
    short: int = 0  # so many downloads end in the middle of a line
    cut: int = 0  # so many downloads are cut off
    refused: dict[str, list[int]] = field(default_factory=dict)  # statuses at a step, one after the other
    kind: str = "test"  # of what is refused
    no_temperature: bool = False  # live requests with one are refused, as newer models do
    foreign: int = 0  # jobs of somebody else, with as many requests, that began at the same time


class BatchServer:
    """The server's state, and what it has been asked: `paid` counts how often each request was billed, live or not."""

    def __init__(self, nasty: Nasty) -> None:
        self.nasty, self.at = nasty, dict[str, list[Hook]]()
        self.address = ""
        self.files: dict[str, bytes] = {}
        self.jobs: dict[str, dict[str, Any]] = {}
        self.steps: Counter[str] = Counter()
        self.paid: Counter[str] = Counter()
        self.live: list[Body] = []
        self.heads: list[Any] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        path, method, body = request.path, request.method, await request.read()
        self.heads.append(request.headers)
        for pattern, name, answer in _ROUTES:
            if match := re.fullmatch(pattern, f"{method} {path}"):
                self.steps[name] += 1
                for hook in self._hooks(name):
                    hook()
                if statuses := self.nasty.refused.get(name):
                    return _error(statuses.pop(0), self.nasty.kind)
                return await answer(self, request, body, *match.groups())
        return _error(404)

    def _hooks(self, name: str) -> list[Hook]:
        return [self.at[name].pop(0)] if self.at.get(name) else []

    # OpenAI

    async def upload(self, request: web.Request, body: bytes) -> web.StreamResponse:
        assert b'name="purpose"\r\n\r\nbatch\r\n' in body
        content = body.split(b"Content-Type: application/jsonl\r\n\r\n")[1].rpartition(b"\r\n--")[0]
        name = f"file-{len(self.files)}"
        self.files[name] = content
        return web.json_response({"id": name, "object": "file", "purpose": "batch"})

    async def create(self, request: web.Request, body: bytes) -> web.StreamResponse:
        wanted = orjson.loads(body)
        assert (wanted["endpoint"], wanted["completion_window"]) == ("/v1/chat/completions", "24h")
        rows = [orjson.loads(line) for line in self.files[wanted["input_file_id"]].split(b"\n")]
        assert len({row["custom_id"] for row in rows}) == len(rows)
        assert len({row["body"]["model"] for row in rows}) == 1
        job = self._begin([(row["custom_id"], row["body"]) for row in rows], "batch_")
        job |= {"metadata": wanted["metadata"], "input_file_id": wanted["input_file_id"]}
        return await self._created(request, self._openai(job))

    async def look(self, request: web.Request, body: bytes, name: str) -> web.StreamResponse:
        job = self.jobs.get(name)
        if job is None or self.nasty.lost:
            return _error(404)
        self._go_on(job)
        return web.json_response(self._openai(job))

    async def page(self, request: web.Request, body: bytes) -> web.StreamResponse:
        jobs = [self._openai(job) for job in reversed(self.jobs.values())]
        after = request.query.get("after")
        start = next((place + 1 for place, job in enumerate(jobs) if job["id"] == after), 0)
        rows = jobs[start : start + 2]
        return web.json_response({"object": "list", "data": rows, "has_more": start + 2 < len(jobs)})

    async def content(self, request: web.Request, body: bytes, name: str) -> web.StreamResponse:
        job, kind = self.jobs[name.removeprefix("out-").removeprefix("err-")], name[:3]
        lines = []
        for place, (each, asked) in enumerate(job["rows"]):
            status, answer = self._answer(job, place, asked)
            if answer is None:
                error = {"code": "batch_expired", "message": "This request could not be executed."}
                line = {"id": f"r{place}", "custom_id": each, "response": None, "error": error}
            else:
                response = {"status_code": status, "request_id": f"q{place}", "body": answer}
                line = {"id": f"r{place}", "custom_id": each, "response": response, "error": None}
            if (kind == "err") == (status != 200) and not self.nasty.left_out(place):
                lines.append(line)
        return await self._download(request, lines, lambda line: line["response"]["body"]["choices"][0]["message"])

    def _openai(self, job: dict[str, Any]) -> dict[str, Any]:
        is_over, total = job["looks"] <= 0, len(job["rows"])
        how = job["how"] if is_over else "in_progress"
        failed = how == "failed"
        done = total // 2 if self.nasty.ends else total
        errors = {"object": "list", "data": [{"code": job["code"], "message": job["why"], "line": None, "param": None}]}
        bad = any(self._answer(job, place, asked)[0] != 200 for place, (_, asked) in enumerate(job["rows"]))
        return {
            "id": job["id"],
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "input_file_id": job.get("input_file_id", "file-x"),
            "completion_window": "24h",
            "status": how,
            "created_at": int(job["at"]),
            "metadata": job.get("metadata"),
            "request_counts": {"total": total, "completed": done if is_over and not failed else 0, "failed": 0},
            "output_file_id": f"out-{job['id']}" if is_over and not failed else None,
            "error_file_id": f"err-{job['id']}" if is_over and not failed and bad else None,
            "errors": errors if failed and is_over else None,
        }

    async def completion(self, request: web.Request, body: bytes) -> web.StreamResponse:
        asked = orjson.loads(body)
        self.live.append(asked)
        self.paid[_named(asked)] += 1
        return web.json_response(_completion(asked))

    # Anthropic

    async def begin(self, request: web.Request, body: bytes) -> web.StreamResponse:
        rows = [(row["custom_id"], row["params"]) for row in orjson.loads(body)["requests"]]
        assert len({each for each, _ in rows}) == len(rows)
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", each) for each, _ in rows)
        for place in range(self.nasty.foreign):
            strangers = [(f"other-{place}-{each}", asked) for each, asked in rows]
            self._begin(strangers, "msgbatch_other")
        self.nasty.foreign = 0
        return await self._created(request, self._anthropic(self._begin(rows, "msgbatch_")))

    async def standing(self, request: web.Request, body: bytes, name: str) -> web.StreamResponse:
        job = self.jobs.get(name)
        if job is None or self.nasty.lost:
            return _error(404)
        self._go_on(job)
        return web.json_response(self._anthropic(job))

    async def listed(self, request: web.Request, body: bytes) -> web.StreamResponse:
        jobs = [self._anthropic(job) for job in reversed(self.jobs.values())]
        after = request.query.get("after_id")
        start = next((place + 1 for place, job in enumerate(jobs) if job["id"] == after), 0)
        rows = jobs[start : start + 2]
        last = rows[-1]["id"] if rows else None
        return web.json_response({"data": rows, "has_more": start + 2 < len(jobs), "first_id": None, "last_id": last})

    async def results(self, request: web.Request, body: bytes, name: str) -> web.StreamResponse:
        job, lines = self.jobs[name], []
        for place, (each, asked) in enumerate(job["rows"]):
            status, answer = self._answer(job, place, asked)
            if answer is None:
                result: Body = {"type": "expired" if self.nasty.ends == "expired" else "canceled"}
            elif status == 200:
                result = {"type": "succeeded", "message": answer}
            else:
                result = {"type": "errored", "error": answer}
            if not self.nasty.left_out(place):
                lines.append({"custom_id": each, "result": result})
        return await self._download(request, lines, lambda line: line["result"]["message"]["content"][0])

    def _anthropic(self, job: dict[str, Any]) -> dict[str, Any]:
        is_over, total = job["looks"] <= 0, len(job["rows"])
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        counts["succeeded" if is_over else "processing"] = total
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(job["at"]))
        return {
            "id": job["id"],
            "type": "message_batch",
            "processing_status": "ended" if is_over else "in_progress",
            "request_counts": counts,
            "created_at": moment,
            "expires_at": moment,
            "ended_at": moment if is_over else None,
            "results_url": f"https://elsewhere.invalid/{job['id']}" if is_over else None,
        }

    async def message(self, request: web.Request, body: bytes) -> web.StreamResponse:
        asked = orjson.loads(body)
        if self.nasty.no_temperature and "temperature" in asked:
            words = "`temperature` is deprecated for this model."
            refusal = {"type": "error", "error": {"type": "invalid_request_error", "message": words}}
            return web.json_response(refusal, status=400)
        self.live.append(asked)
        self.paid[_named(asked)] += 1
        return web.json_response(_message(asked))

    # Jobs

    def _begin(self, rows: list[tuple[str, Body]], prefix: str) -> dict[str, Any]:
        job: dict[str, Any] = {"id": f"{prefix}{len(self.jobs)}", "rows": rows, "at": time.time()}
        job["looks"] = self.nasty.looks
        job |= {"how": self.nasty.ends or "completed", "code": "", "why": "", "billed": False}
        if self.nasty.full > 0:
            self.nasty.full -= 1
            job |= {"how": "failed", "code": "token_limit_exceeded", "why": "Enqueued token limit reached."}
        elif self.nasty.invalid > 0:
            self.nasty.invalid -= 1
            job |= {"how": "failed", "code": "invalid_request", "why": "The file is not valid."}
        self.jobs[job["id"]] = job
        return job

    async def _created(self, request: web.Request, job: dict[str, Any]) -> web.StreamResponse:
        for hook in self._hooks("created"):
            if hook() == "cut":
                assert request.transport is not None
                request.transport.close()
        return web.json_response(job)

    def _go_on(self, job: dict[str, Any]) -> None:
        job["looks"] -= 1
        if job["looks"] <= 0 and not job["billed"] and job["how"] != "failed":
            job["billed"] = True
            for place, (_, asked) in enumerate(job["rows"]):
                if self._answer(job, place, asked)[0] == 200:
                    self.paid[_named(asked)] += 1

    def _answer(self, job: dict[str, Any], place: int, asked: Body) -> tuple[int, Body | None]:
        """What a job says to a request: status and body; no body where it was not answered."""
        if self.nasty.ends and place >= len(job["rows"]) // 2:
            return 0, None
        if self.nasty.barred:
            status, kind = self.nasty.barred
            return status, {"type": "error", "error": {"type": kind, "message": f"no access with {KEY}"}}
        is_messages = "messages" in asked and job["id"].startswith("msg")
        for is_such, status, kind in (
            (self.nasty.failed, 400, "invalid_request_error"),
            (self.nasty.broken, 500, "api_error"),
        ):
            if is_such(place):
                return status, {"type": "error", "error": {"type": kind, "message": f"failed with {status}"}}
        answer = _message(asked) if is_messages else _completion(asked)
        if self.nasty.empty(place):
            if is_messages:
                answer["content"] = []
            else:
                answer["choices"][0]["message"]["content"] = ""
        return 200, answer

    async def _download(
        self, request: web.Request, lines: list[Body], words: Callable[[Body], Body]
    ) -> web.StreamResponse:
        if self.nasty.twice:
            again = orjson.loads(orjson.dumps(lines))
            for line in again:
                part = words(line)
                part["content" if "content" in part else "text"] = "something else"
            lines = [*lines, *again]
        if self.nasty.strangers:
            lines = [{**line, "custom_id": f"stranger-{place}"} for place, line in enumerate(lines[:2])] + lines
        if self.nasty.shuffled:
            random.Random(1).shuffle(lines)
        payload = b"".join(orjson.dumps(line) + b"\n" for line in lines)
        response = web.StreamResponse()
        if self.nasty.short > 0:
            self.nasty.short -= 1
            payload = payload[: len(payload) // 2]
        elif self.nasty.cut > 0:
            self.nasty.cut -= 1
            response.content_length = len(payload)
            payload = payload[: len(payload) // 2]
        await response.prepare(request)
        await response.write(payload)
        if response.content_length and response.content_length > len(payload):
            assert request.transport is not None
            request.transport.close()
        return response


_ROUTES = (
    (r"POST /v1/files", "upload", BatchServer.upload),
    (r"POST /v1/batches", "create", BatchServer.create),
    (r"GET /v1/batches", "list", BatchServer.page),
    (r"GET /v1/batches/([\w-]+)", "look", BatchServer.look),
    (r"GET /v1/files/([\w-]+)/content", "results", BatchServer.content),
    (r"POST /v1/chat/completions", "live", BatchServer.completion),
    (r"POST /v1/messages/batches", "create", BatchServer.begin),
    (r"GET /v1/messages/batches", "list", BatchServer.listed),
    (r"GET /v1/messages/batches/([\w-]+)", "look", BatchServer.standing),
    (r"GET /v1/messages/batches/([\w-]+)/results", "results", BatchServer.results),
    (r"POST /v1/messages", "live", BatchServer.message),
)


def _error(status: int, kind: str = "test") -> web.Response:
    body = {"type": "error", "error": {"type": kind, "message": f"failed with {status}"}}
    return web.json_response(body, status=status, headers={"Retry-After": "0"})


def _named(asked: Body) -> str:
    """A request by its words alone, however it was sent."""
    turns = [turn["content"] for turn in asked["messages"] if turn["role"] != "system"]
    return json.dumps([asked["model"], turns, asked.get("seed")])


def said_to(asked: Body) -> str:
    """What is answered: drawn by the words of the request, a verdict where the model is called a judge."""
    drawn = hash_of(_named(asked))
    if "judge" not in asked["model"]:
        return f"I say {drawn:x}."
    schema = asked.get("response_format", {}).get("json_schema", {}).get("schema")
    schema = schema or asked.get("output_config", {}).get("format", {}).get("schema", {})
    if "verdicts" in schema.get("properties", {}):
        replies = re.findall(
            r"^<reply_\d+ ([0-9a-f]+)>\n(.*?)\n</reply_", asked["messages"][-1]["content"], re.M | re.S
        )
        given = ((code, letter("AAABBC"[hash_of(text) % 6])) for code, text in replies)
        rows = [json.loads(verdict_text(asked, verdict, code)) for code, verdict in given]
        return json.dumps({"verdicts": rows})
    is_number = "lower_bound" in schema.get("properties", {})
    return verdict_text(asked, number(10 + drawn % 3) if is_number else letter("AAABBC"[drawn % 6]))


def hash_of(text: str) -> int:
    """A number that follows from a text."""
    return int.from_bytes(random.Random(text).randbytes(6), "big")


def _completion(asked: Body) -> dict[str, Any]:
    choices = [
        {
            "index": place,
            "message": {"role": "assistant", "content": said_to({**asked, "seed": asked.get("seed", place)})},
            "finish_reason": "stop",
        }
        for place in range(asked.get("n", 1))
    ]
    usage = {"prompt_tokens": 100, "completion_tokens": 10 * len(choices), "total_tokens": 100 + 10 * len(choices)}
    model = f"{asked['model']}-2026-01-01"
    return {"id": "c", "object": "chat.completion", "model": model, "choices": choices, "usage": usage}


def _message(asked: Body) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": asked["model"],
        "content": [{"type": "text", "text": said_to(asked)}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }


def serving(nasty: Nasty | None = None) -> AbstractContextManager[BatchServer]:
    """A server in a thread of its own, for the length of a `with` block."""
    return in_thread(lambda: serve_batches(nasty))


class Told(Unwatched):
    """Keeps the lines that a user is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.waiting = ""

    def tell(self, line: str) -> None:
        self.lines.append(line)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def small_set(folder: Path) -> Path:
    """Three scenarios of two archetypes, one of which is numerical."""
    six_files(folder, 3)
    for name in set(ARCHETYPES) - {"known_facts", "statistics"}:
        (folder / f"{name}.csv").unlink()
    return folder


def settings(service: str, scenarios: Path, **more: Any) -> Settings:
    """A run whose samples each are a request of their own, so that live and batch are given the same."""
    more = {"send_seed": True, "batch": "both", **more}
    return Settings.of(f"{service}/m", f"{service}/judge", str(scenarios), **more)


def run(server: BatchServer, chosen: Settings, out: Path, told: Told | None = None) -> Summary:
    """A run to its end."""
    return measure(chosen, out, environ(server), told or Told())


def run_live(scenarios: Path, place: Path) -> dict[str, tuple[list[tuple[Any, ...]], Counter[str]]]:
    """What a live run holds, and what was billed for it, by service."""
    had = {}
    for service in SERVICES:
        with serving() as server:
            run(server, settings(service, scenarios, batch=None), place / service)
            had[service] = read(place / service), Counter(server.paid)
    return had


def environ(server: BatchServer) -> dict[str, str]:
    """An environment in which both services are this server."""
    names = ("OPENAI", "ANTHROPIC")
    return {
        **{f"{name}_BASE_URL": server.address for name in names},
        **{f"{name}_API_KEY": KEY for name in names},
    }


def read(folder: Path) -> list[tuple[Any, ...]]:
    """Everything that a run holds: the samples of each scenario, with reply and verdict."""
    store = RunFolder(folder).store()
    try:
        return [
            (scenario.key, item.elicitation, item.run, getattr(item.reply, "text", item.reply), _verdict(item))
            for scenario, _ in store.scenarios()
            for item in store.samples(scenario).items()
        ]
    finally:
        store.close()


def _verdict(item: Item) -> Any:
    return getattr(item.judgement, "verdict", item.judgement)


@asynccontextmanager
async def serve_batches(nasty: Nasty | None = None) -> AsyncIterator[BatchServer]:
    """A server for the length of a `with` block."""
    server = BatchServer(nasty or Nasty())
    app = web.Application(client_max_size=64 * 2**20)
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.address = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield server
    finally:
        await runner.cleanup()
