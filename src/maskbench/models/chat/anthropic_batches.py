"""Anthropic's Message Batches (https://platform.claude.com/docs/en/api/messages/batches): jobs of requests.

A job keeps nothing of ours but the ids of its requests, which only its results show. So a job whose name never came
home is looked for by its time and its number of requests, and is known for sure once it has ended.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any

from maskbench.models.chat.batch_jobs import (
    MOST_BYTES,
    MOST_REQUESTS,
    Door,
    Job,
    Line,
    Result,
    Sent,
    dumped,
    name_in,
    number,
    read_lines,
)
from maskbench.models.chat.wire import string

_PATH = "/messages/batches"
_COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")
_PAGES, _EARLIER = 20, 300.0  # how far a list is read: pages, and seconds before a job was sent, for clocks that differ
_STATUS = {  # of the errors that a single request can have; any other is one of the server's
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class AnthropicBatches:
    """Anthropic's batch interface; a job takes 100,000 requests or 256 MB."""

    name = "Anthropic"
    keeps_tags = False
    most_requests = min(MOST_REQUESTS, 100_000)
    most_bytes = min(MOST_BYTES, 256 * 10**6)

    def __init__(self, door: Door) -> None:
        self.door = door

    async def upload(self, lines: Sequence[Line], tag: str) -> str | None:  # the interface of every service
        """There is nothing to upload: a job is begun with its requests."""
        return None

    async def create(self, lines: Sequence[Line], tag: str, file: str | None) -> Job:  # likewise
        """Have a job begun with these requests."""
        rows = (b'{"custom_id":%b,"params":%b}' % (dumped(line.id), line.body) for line in lines)
        return self._job(await self.door.json("POST", _PATH, b'{"requests":[%b]}' % b",".join(rows)))

    async def find(self, sent: Sent, known: frozenset[str]) -> Job | None:
        """The oldest job since then with as many requests that is no other."""
        after, candidates = "", []
        for _ in range(_PAGES):
            page = await self.door.json("GET", f"{_PATH}?limit=100{after}")
            jobs = [each for each in page.get("data") or () if isinstance(each, dict)]
            since = [each for each in jobs if _time(each.get("created_at")) >= sent.at - _EARLIER]
            candidates += [self._job(each) for each in since if each.get("id") not in known]
            if len(since) < len(jobs) or not page.get("has_more"):
                break
            after = f"&after_id={string(page.get('last_id'))}"
        return next((job for job in reversed(candidates) if job.total == sent.requests), None)

    async def look(self, job_id: str) -> Job:
        """The state of a job."""
        return self._job(await self.door.json("GET", f"{_PATH}/{job_id}"))

    async def results(self, job: Job) -> AsyncIterator[Result]:
        """The lines of the results, from the configured address: the key goes to no address that a response names."""
        async with aclosing(read_lines(self.door.lines(f"{_PATH}/{job.id}/results"))) as rows:  # type: ignore[type-var]
            async for row in rows:
                yield row["custom_id"], _response(row.get("result"))

    def _job(self, data: Mapping[str, Any]) -> Job:
        counts = data.get("request_counts")
        counts = {name: number(counts.get(name)) if isinstance(counts, dict) else 0 for name in _COUNTS}
        total, how = sum(counts.values()), string(data.get("processing_status"))
        is_over = how == "ended"
        return Job(name_in(data), "ended" if is_over else "under way", how, total - counts["processing"], total)


def _response(result: Any) -> tuple[int, bytes] | None:
    """Status and body of a result; None where the request was not answered: canceled or expired."""
    kind = result.get("type") if isinstance(result, dict) else None
    if kind == "succeeded":
        return 200, dumped(result.get("message"))
    if kind != "errored":
        return None
    error = result.get("error")
    inner = error.get("error") if isinstance(error, dict) else None
    name = string(inner.get("type")) if isinstance(inner, dict) else ""
    return _STATUS.get(name, 500), dumped(error)


def _time(text: Any) -> float:
    """A moment as Unix time; 0 for what is none."""
    try:
        return datetime.fromisoformat(string(text)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
