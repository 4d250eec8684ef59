"""Scripted answers for the shelf: chat completions, messages and both batch interfaces, on a port of this machine.

What is answered follows from the words of a request alone, so that a run that was killed and gone on with is told what
a whole one is told. Nothing of maskbench is imported: every version meets the same server. A neutral reply says "I hold
X.", a pressured one "I say X."; the judge believes the option whose text has the smaller hash, reads X by its own dice,
and errs by the place of an option now and then. `PUT /kill` has a process killed at the N-th request from now on,
`GET /asked` tells what was asked since the last time.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any

from aiohttp import web

Body = dict[str, Any]
Turns = Sequence[Mapping[str, str]]
NEUTRAL = "You are a helpful assistant."
_SAID = re.compile(r"I (hold|say) ([0-9a-f]{12})\.")
_CODE = re.compile(r"(?:Verdict|Bounds) ([0-9a-f]{16})")
_OPTIONS = re.compile(r"^(?:A:|- ) ?(.+)\n(?:B:|- ) ?(.+)$", re.MULTILINE)


def dice(*words: object) -> int:
    """A number below a thousand that follows from words."""
    return int.from_bytes(hashlib.sha256(json.dumps(words, default=str).encode()).digest()[:4], "big") % 1000


def said(model: str, turns: Turns, sample: object) -> dict[str, Any]:
    """What the subject answers: a text, and what it thinks and how it ends where its model is of that kind."""
    words = json.dumps([model, [turn["content"] for turn in turns], sample])
    mark = hashlib.sha256(words.encode()).hexdigest()[:12]
    is_neutral = any(turn["content"].endswith(NEUTRAL) for turn in turns) and turns[-1]["role"] == "user"
    answer: dict[str, Any] = {"content": f"I {'hold' if is_neutral and len(turns) == 2 else 'say'} {mark}."}
    if "thinker" in model and dice(words, "thinks") < 700:
        thought = f"I {'hold' if dice(words, 'knows') < 600 else 'say'} {mark}."
        answer["reasoning_content"] = "Is this a test? " * (dice(words, "suspects") < 200) + thought
    if "odd" in model:
        ends = {0: "length", 1: "content_filter"}.get(dice(words, "ends") % 12)
        answer |= {"finish_reason": ends} if ends else {}
        answer["status"] = 400 if dice(words, "fails") < 20 else 200
        answer["by"] = "another-model" if dice(words, "by") < 300 else model
    return answer


def judged(model: str, turns: Turns, schema: Mapping[str, Any]) -> str:
    """What the judge answers, in the form that is asked for."""
    case = turns[1]["content"] if len(turns) > 1 else turns[0]["content"]
    properties = schema.get("properties", {})
    codes = _CODE.findall(case)
    code = codes[-1] if codes else ""
    if "lower_bound" in properties or "Bounds" in case:
        bounds = _bounds(model, case)
        if properties and not code:
            return json.dumps(bounds)
        if properties:
            return json.dumps({"reason": "As it says.", "code": code, **bounds, "evasion": None})
        return f"Bounds {code}: " + ", ".join(f"{name[:-6]}={json.dumps(bound)}" for name, bound in bounds.items())
    letters: list[str] = properties.get("verdict", {}).get("enum", [])
    if letters and "evasion" not in properties:
        letter = letters[dice(model, case, "question") % len(letters)]
        return json.dumps({"reason": "As it reads.", "code": code, "verdict": letter})
    if not letters and (asked := re.search(r"with the letter alone: (.*)\.", case)) and "(" in asked[1]:
        letters = re.findall(r"([A-D]) \(", asked[1])
        return letters[dice(model, case, "question") % len(letters)]
    letter = _letter(model, case, case)
    if not letters:
        return letter if "letter alone" in case else f"As it says.\nAnswer: {letter}"
    return json.dumps(_object(code, letter))


def _object(code: str, letter: str) -> Body:
    evasion = ("refusal", "hedge")[dice(code) % 2] if letter == "C" else None
    return {"reason": "As it says.", "code": code, "verdict": letter, "evasion": evasion}


def _read(model: str, case: str, text: str) -> str:
    """Whether the last reply in a text keeps to the belief, says the other, denies both, or takes no side."""
    kind, mark = (_SAID.findall(text) or [("say", "none")])[-1]
    drawn = dice(mark, "means") if dice(mark, model, "errs") >= 60 else dice(mark, model)
    shares = {"hold": (860, 930, 940), "say": (450, 780, 810)}[kind]
    return next((name for share, name in zip(shares, ("keeps", "other", "both"), strict=True) if drawn < share), "none")


def _letter(model: str, case: str, text: str) -> str:
    found = _OPTIONS.search(case)
    first, second = found.groups() if found else ("A", "B")
    believed = dice(first) <= dice(second)
    if dice(case, model, "place") < 30:
        return "A"
    letters = {"keeps": "AB"[not believed], "other": "AB"[believed], "both": "D", "none": "C"}
    return letters[_read(model, case, text)]


def _bounds(model: str, case: str) -> Body:
    value = 10 + dice(re.findall(r"Proposition: (.*)", case)) % 90
    means = {"keeps": value, "other": 2 * value}.get(_read(model, case, case))
    return {"lower_bound": means, "upper_bound": means, "relative_lower_bound": None, "relative_upper_bound": None}


def chance(letter: str) -> Body:
    """A token with its probability and another's."""
    other = {"token": "C" if letter != "C" else "A", "logprob": -2.5}
    own = {"token": letter, "logprob": -0.1}
    return {"content": [{**own, "top_logprobs": [own, other]}]}


class Shelf:
    """The server's state: what was asked, whom to kill and when, and the jobs that are under way."""

    def __init__(self) -> None:
        self.requests = 0
        self.asked: set[str] = set()
        self.sent: list[tuple[str, str, str, str]] = []  # live or batch, model, hash with the sample, the answer
        self.doomed: tuple[int, int] | None = None  # a process group, and the request at which it is killed
        self.files: dict[str, list[tuple[str, Body]]] = {}
        self.jobs: dict[str, Body] = {}

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request, or kill who asked."""
        raw = await request.read()
        if request.path == "/kill":
            given = json.loads(raw)
            self.doomed = given["process"], self.requests + given["at"]
            return web.json_response({})
        if request.path == "/asked":
            told = {"requests": self.requests, "words": sorted(self.asked), "sent": list(self.sent)}
            self.requests, self.doomed = 0, None
            self.asked.clear()
            self.sent.clear()
            return web.json_response(told)
        self.requests += 1
        if self.doomed and self.requests >= self.doomed[1]:
            process, self.doomed = self.doomed[0], None
            os.killpg(process, signal.SIGKILL)
        for pattern, answer in _ROUTES:
            if match := re.fullmatch(pattern, f"{request.method} {request.path}"):
                return answer(self, request, raw, *match.groups())
        return web.json_response({"error": {"message": "no such path"}}, status=404)

    def complete(self, request: web.Request, raw: bytes) -> web.StreamResponse:
        body = json.loads(raw)
        status, answer = self.answer(body)
        self.note("live", body, answer)
        return web.json_response(answer, status=status)

    def note(self, how: str, body: Body, answer: Body) -> None:
        """Keep that a request was sent; of several samples the first one's answer."""
        words = json.dumps([body["model"], body.get("system"), body["messages"], body.get("seed")])
        named = hashlib.sha256(words.encode()).hexdigest()
        said = answer["choices"][0]["message"]["content"] if "choices" in answer else _text(answer.get("content", ""))
        self.sent.append((how, body["model"], named, said))

    def answer(self, body: Body) -> tuple[int, Body]:
        """Status and completion, or message, for a request's body."""
        model, turns = body["model"], list(body["messages"])
        if isinstance(body.get("system"), str):
            turns = [{"role": "system", "content": body["system"]}, *turns]
        elif body.get("system"):
            turns = [{"role": "system", "content": "\n".join(part["text"] for part in body["system"])}, *turns]
        turns = [{**turn, "content": _text(turn["content"])} for turn in turns]
        is_message = "system" in body
        self.asked.add(hashlib.sha256(json.dumps([model, turns]).encode()).hexdigest())
        places = range(body.get("n", 1))
        if "judge" in model:
            schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
            schema = schema or body.get("output_config", {}).get("format", {}).get("schema", {})
            told = [{"content": judged(model, turns, schema)} for _ in places]
        else:
            told = [said(model, turns, body.get("seed", place)) for place in places]
        if any(each.get("status", 200) != 200 for each in told):
            return 400, {"error": {"message": "This request is not taken.", "type": "test", "code": None}}
        by, prompt = told[0].get("by", model), sum(len(turn["content"]) for turn in turns) // 4 + 1
        if is_message:
            content = [{"type": "text", "text": told[0]["content"]}]
            usage = {"input_tokens": prompt, "output_tokens": 10}
            of = {"id": "m", "type": "message", "role": "assistant", "model": by, "stop_reason": "end_turn"}
            return 200, {**of, "content": content, "usage": usage}
        choices = [_choice(body, place, each) for place, each in enumerate(told)]
        usage = {"prompt_tokens": prompt, "completion_tokens": 10 * len(told)}
        return 200, {"id": "c", "object": "chat.completion", "model": by, "choices": choices, "usage": usage}

    # Batches

    def upload(self, request: web.Request, raw: bytes) -> web.StreamResponse:
        content = raw.split(b"Content-Type: application/jsonl\r\n\r\n")[1].rpartition(b"\r\n--")[0]
        rows = [json.loads(line) for line in content.split(b"\n")]
        name = f"file-{len(self.files)}"
        self.files[name] = [(row["custom_id"], row["body"]) for row in rows]
        return web.json_response({"id": name, "object": "file", "purpose": "batch"})

    def create(self, request: web.Request, raw: bytes) -> web.StreamResponse:
        wanted = json.loads(raw)
        job: Body = {"id": f"batch_{len(self.jobs)}", "rows": self.files[wanted["input_file_id"]], "looks": 1}
        for _, body in job["rows"]:
            self.note("batch", body, self.answer(body)[1])
        self.jobs[job["id"]] = {**job, "metadata": wanted.get("metadata"), "input_file_id": wanted["input_file_id"]}
        return web.json_response(_batch(self.jobs[job["id"]]))

    def look(self, request: web.Request, raw: bytes, name: str) -> web.StreamResponse:
        self.jobs[name]["looks"] -= 1
        return web.json_response(_batch(self.jobs[name]))

    def listed(self, request: web.Request, raw: bytes) -> web.StreamResponse:
        jobs = [_batch(job) for job in reversed(self.jobs.values()) if "metadata" in job]
        return web.json_response({"object": "list", "data": jobs, "has_more": False})

    def content(self, request: web.Request, raw: bytes, name: str) -> web.StreamResponse:
        lines = []
        for each, asked in self.jobs[name]["rows"]:
            status, answer = self.answer(asked)
            response = {"status_code": status, "request_id": "q", "body": answer}
            lines.append(json.dumps({"id": "r", "custom_id": each, "response": response, "error": None}))
        return web.Response(body="\n".join(lines).encode())

    def begin(self, request: web.Request, raw: bytes) -> web.StreamResponse:
        rows = [(row["custom_id"], row["params"]) for row in json.loads(raw)["requests"]]
        job: Body = {"id": f"msgbatch_{len(self.jobs)}", "rows": rows, "looks": 1}
        for _, body in rows:
            self.note("batch", body, self.answer({"system": "", **body})[1])
        self.jobs[job["id"]] = job
        return web.json_response(_message_batch(job))

    def stands(self, request: web.Request, raw: bytes, name: str) -> web.StreamResponse:
        self.jobs[name]["looks"] -= 1
        return web.json_response(_message_batch(self.jobs[name]))

    def begun(self, request: web.Request, raw: bytes) -> web.StreamResponse:
        jobs = [_message_batch(job) for job in reversed(self.jobs.values()) if "metadata" not in job]
        return web.json_response({"data": jobs, "has_more": False, "first_id": None, "last_id": None})

    def results(self, request: web.Request, raw: bytes, name: str) -> web.StreamResponse:
        lines = []
        for each, asked in self.jobs[name]["rows"]:
            _, answer = self.answer({"system": "", **asked})
            lines.append(json.dumps({"custom_id": each, "result": {"type": "succeeded", "message": answer}}))
        return web.Response(body="\n".join(lines).encode())


_Answer = Callable[..., web.StreamResponse]
_ROUTES: Sequence[tuple[str, _Answer]] = (
    (r"POST /v1/chat/completions", Shelf.complete),
    (r"POST /v1/messages", lambda shelf, request, raw: shelf.complete(request, _as_message(raw))),
    (r"POST /v1/files", Shelf.upload),
    (r"POST /v1/batches", Shelf.create),
    (r"GET /v1/batches", Shelf.listed),
    (r"GET /v1/batches/([\w-]+)", Shelf.look),
    (r"GET /v1/files/out-([\w-]+)/content", Shelf.content),
    (r"POST /v1/messages/batches", Shelf.begin),
    (r"GET /v1/messages/batches", Shelf.begun),
    (r"GET /v1/messages/batches/([\w-]+)", Shelf.stands),
    (r"GET /v1/messages/batches/([\w-]+)/results", Shelf.results),
)


def _as_message(raw: bytes) -> bytes:
    return json.dumps({"system": "", **json.loads(raw)}).encode()


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)


def _choice(body: Body, place: int, told: Body) -> Body:
    message = {key: told[key] for key in ("content", "reasoning_content") if key in told}
    ends = told.get("finish_reason", "stop")
    choice: Body = {"index": place, "message": {"role": "assistant", **message}, "finish_reason": ends}
    return {**choice, "logprobs": chance(message["content"])} if body.get("logprobs") else choice


def _batch(job: Body) -> Body:
    is_over, total = job["looks"] <= 0, len(job["rows"])
    return {
        "id": job["id"],
        "object": "batch",
        "endpoint": "/v1/chat/completions",
        "input_file_id": job["input_file_id"],
        "completion_window": "24h",
        "status": "completed" if is_over else "in_progress",
        "created_at": int(time.time()),
        "metadata": job["metadata"],
        "request_counts": {"total": total, "completed": total if is_over else 0, "failed": 0},
        "output_file_id": f"out-{job['id']}" if is_over else None,
        "error_file_id": None,
        "errors": None,
    }


def _message_batch(job: Body) -> Body:
    is_over = job["looks"] <= 0
    counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {
        "id": job["id"],
        "type": "message_batch",
        "processing_status": "ended" if is_over else "in_progress",
        "request_counts": counts | {"succeeded" if is_over else "processing": len(job["rows"])},
        "created_at": moment,
        "expires_at": moment,
        "ended_at": moment if is_over else None,
        "results_url": f"https://elsewhere.invalid/{job['id']}" if is_over else None,
    }


def serve(told: Connection) -> None:
    """Serve until the process is ended; the port goes through `told`."""

    async def app() -> web.Application:
        made = web.Application(client_max_size=64 * 2**20)
        made.router.add_route("*", "/{path:.*}", Shelf().handle)
        return made

    import socket

    bound = socket.create_server(("127.0.0.1", 0), backlog=1024)
    told.send(bound.getsockname()[1])
    web.run_app(app(), sock=bound, print=None, access_log=None, handle_signals=False)
