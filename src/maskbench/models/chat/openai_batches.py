"""OpenAI's Batch API (https://platform.openai.com/docs/api-reference/batch): a file of requests, a job, result files.

A job keeps what is attached to it (`metadata`), and lists show that: a job whose name never came home is found again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
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

PATH = "/v1/chat/completions"  # which every request of a job is for
TAG = "maskbench"  # the name under which a job has its tag
_ENDED = frozenset(("completed", "expired", "cancelled", "failed"))
_FULL = "token_limit_exceeded"  # the code of a job that was not begun, since too many tokens are waiting already
_PAGES, _EARLIER = 20, 3600.0  # how far a list is read: pages, and seconds before a job was sent


class OpenAIBatches:
    """OpenAI's batch interface; a job takes 50,000 requests of one model, in a file of 200 MB."""

    name = "OpenAI"
    keeps_tags = True
    most_requests = min(MOST_REQUESTS, 50_000)
    most_bytes = min(MOST_BYTES, 200 * 10**6)

    def __init__(self, door: Door) -> None:
        self.door = door

    async def upload(self, lines: Sequence[Line], tag: str) -> str | None:
        """Upload the requests as a file."""
        rows = (
            b'{"custom_id":%b,"method":"POST","url":"%b","body":%b}' % (dumped(line.id), PATH.encode(), line.body)
            for line in lines
        )
        kind, payload = _form(b"\n".join(rows), tag)
        return name_in(await self.door.json("POST", "/files", payload, kind))

    async def create(self, lines: Sequence[Line], tag: str, file: str | None) -> Job:  # the requests are in the file
        """Have a job begun on an uploaded file."""
        body = {"input_file_id": file, "endpoint": PATH, "completion_window": "24h", "metadata": {TAG: tag}}
        return self._job(await self.door.json("POST", "/batches", dumped(body)))

    async def find(self, sent: Sent, known: frozenset[str]) -> Job | None:
        """The job with the tag, among the newest ones."""
        after = ""
        for _ in range(_PAGES):
            page = await self.door.json("GET", f"/batches?limit=100{after}")
            jobs = [each for each in page.get("data") or () if isinstance(each, dict)]
            for each in jobs:
                tags = each.get("metadata")
                if isinstance(tags, dict) and tags.get(TAG) == sent.tag and each.get("id") not in known:
                    return self._job(each)
            if not jobs or not page.get("has_more") or number(jobs[-1].get("created_at")) < sent.at - _EARLIER:
                return None
            after = f"&after={string(jobs[-1].get('id'))}"
        return None

    async def look(self, job_id: str) -> Job:
        """The state of a job."""
        return self._job(await self.door.json("GET", f"/batches/{job_id}"))

    async def results(self, job: Job) -> AsyncIterator[Result]:
        """The lines of the output file and of the error file."""
        for file in job.files:
            async with aclosing(read_lines(self.door.lines(f"/files/{file}/content"))) as rows:  # type: ignore[type-var]
                async for row in rows:
                    yield row["custom_id"], _response(row)

    def _job(self, data: Mapping[str, Any]) -> Job:
        how, counts = string(data.get("status")), data.get("request_counts")
        counts = counts if isinstance(counts, dict) else {}
        errors = data.get("errors")
        rows = errors.get("data") if isinstance(errors, dict) else None
        first = next((row for row in rows or () if isinstance(row, dict)), {})
        return Job(
            name_in(data),
            "ended" if how in _ENDED else "under way",
            how,
            number(counts.get("completed")) + number(counts.get("failed")),
            number(counts.get("total")),
            self.door.said(first.get("message")),
            is_full=first.get("code") == _FULL,
            files=tuple(filter(None, (string(data.get(f"{kind}_file_id")) for kind in ("output", "error")))),
        )


def _response(row: Mapping[str, Any]) -> tuple[int, bytes] | None:
    """Status and body of a line; None where the request was not answered, as where the job expired before."""
    response = row.get("response")
    if not isinstance(response, dict) or type(response.get("status_code")) is not int:
        return None
    return response["status_code"], dumped(response.get("body"))


def _form(content: bytes, tag: str) -> tuple[str, bytes]:
    """A form of multipart/form-data with a file for batches; the tag, a hash, cannot stand in the content by chance."""
    edge = f"maskbench-{tag}"
    head = (
        f'--{edge}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--{edge}\r\nContent-Disposition: '
        f'form-data; name="file"; filename="{edge}.jsonl"\r\nContent-Type: application/jsonl\r\n\r\n'
    )
    return f"multipart/form-data; boundary={edge}", b"".join((head.encode(), content, f"\r\n--{edge}--\r\n".encode()))
