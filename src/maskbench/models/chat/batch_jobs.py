"""Batch interfaces in common: requests go out in jobs, jobs are looked at, results come line by line.

Everything here is what a service says; what is done about it is decided in asking/batch_machine.py.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import aiohttp
import orjson

from maskbench.errors import AccessError
from maskbench.models.chat import refusals, wire
from maskbench.models.chat.client import ChatModel, body_of
from maskbench.store.masking import Mask

LONGEST_LINE = 20 * 2**20  # bytes of one result
MOST_REQUESTS = 10_000  # of a job: services take more, and then none of it is home before all of it is
MOST_BYTES = 8 * 2**20  # of a job, which is held in memory while it is sent


class Refused(Exception):  # an answer that was given
    """A service did not do what was asked; `words` are its own, without the key.

    `sure` says that it did nothing, so that to ask again cannot do it twice; `passing` that it may do it later.
    """

    def __init__(self, words: str, *, status: int = 0, sure: bool, passing: bool, wait: float | None = None) -> None:
        super().__init__(words)
        self.words, self.status, self.sure, self.passing, self.wait = words, status, sure, passing, wait


@dataclass(frozen=True, slots=True)
class Line:
    """One request of a job: its id, and its body as JSON."""

    id: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Sent:
    """A job before the service has named it: enough to find it again."""

    tag: str  # goes out with the job, where the service keeps such a thing
    file: str | None  # the uploaded requests, where they are a file
    requests: int
    at: float  # Unix time


@dataclass(frozen=True, slots=True)
class Job:
    """The state of a job. `how` is the service's word for that, `why` what it says of a failure, without the key.

    `is_full` says that it was not begun because too much is waiting already, so that it can be sent once more.
    """

    id: str
    state: Literal["under way", "ended"]
    how: str
    done: int = 0
    total: int = 0
    why: str = ""
    is_full: bool = False
    files: tuple[str, ...] = ()  # where its results lie, where they are files


Result = tuple[str, tuple[int, bytes] | None]  # an id with status and body of its response; None: it has none


class BatchInterface(Protocol):
    """A service's batch interface; each raises Refused where the service does not do it."""

    name: str  # of the service, for people
    door: Door
    keeps_tags: bool  # so that a job which is found again is this one without doubt
    most_requests: int
    most_bytes: int

    async def upload(self, lines: Sequence[Line], tag: str) -> str | None:
        """Put the requests where a job takes them from, which is not billed; None where there is no such place."""
        ...

    async def create(self, lines: Sequence[Line], tag: str, file: str | None) -> Job:
        """Have a job begun, which is billed."""
        ...

    async def find(self, sent: Sent, known: frozenset[str]) -> Job | None:
        """The job that was begun by what was sent, if it was; where nothing tells it apart, one that may be it.

        `known` are jobs that are others for sure.
        """
        ...

    async def look(self, job_id: str) -> Job:
        """The state of a job."""
        ...

    def results(self, job: Job) -> AsyncIterator[Result]:
        """The results of a job that has ended, in any order; what cannot be read is passed over."""
        ...


class Door:
    """The way to a service beside its model: the client's connections and key, and no answer but by Refused or JSON."""

    def __init__(self, model: ChatModel, seconds: float) -> None:
        self._model = model
        self._mask = Mask(model.endpoint.key)
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=seconds)

    async def json(self, method: str, path: str, payload: bytes | None = None, kind: str = "application/json") -> Any:
        """The JSON of a response; raises Refused, and AccessError for a key that the service does not take."""
        try:
            async with self._open(method, path, payload, kind) as response:
                body = await body_of(response)
                if 200 <= response.status < 300:
                    return self._parsed(body)
                raise self._refused(response, body)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Refused(self._said(f"{type(error).__name__} {error}"), sure=False, passing=True) from None

    async def lines(self, path: str) -> AsyncIterator[bytes]:
        """The lines of a response, whole ones alone; raises Refused where it breaks off."""
        try:
            async with self._open("GET", path, None, "application/json") as response:
                if not 200 <= response.status < 300:
                    raise self._refused(response, await body_of(response))
                rest = b""
                async for chunk in response.content.iter_any():
                    *whole, rest = (rest + chunk).split(b"\n")
                    for line in whole:
                        yield line
                    if len(rest) > LONGEST_LINE:
                        raise Refused("a line of its results is too long", sure=True, passing=False)
                yield rest
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Refused(self._said(f"{type(error).__name__} {error}"), sure=True, passing=True) from None

    def said(self, value: Any) -> str:
        """A service's words, without the key, as one short line."""
        return self._said(wire.string(value))

    def _open(self, method: str, path: str, payload: bytes | None, kind: str) -> Any:
        model = self._model
        return model.session().request(
            method,
            model.url(path),
            data=payload,
            headers={"Content-Type": kind},
            allow_redirects=False,
            proxy=model.endpoint.proxy,
            timeout=self._timeout,
        )

    def _parsed(self, body: bytes | None) -> Any:
        data = wire.parse(body or b"")
        if not isinstance(data, dict):
            raise Refused("the response is no JSON object", sure=False, passing=True)
        return data

    def _refused(self, response: aiohttp.ClientResponse, body: bytes | None) -> Refused:
        error = refusals.error_of(response.status, body or b"")
        words, status = self._said(f"{response.status}: {error.message}"), response.status
        if status == 403 or refusals.barred(error) is AccessError:
            raise AccessError(
                f"{self._model.name}: its batch interface refuses access ({words}). Check the key and its account."
            )
        passing = status in (408, 409, 429) or status >= 500
        wait = refusals.retry_after(response.headers, time.time())
        # What is refused by name was not begun; a server or gateway that failed may have begun it.
        return Refused(words, status=status, sure=status < 500 and status != 408, passing=passing, wait=wait)

    def _said(self, text: str) -> str:
        return refusals.mask(self._mask(text))


async def read_lines(lines: AsyncIterator[bytes]) -> AsyncIterator[Mapping[str, Any]]:
    """The JSON objects of lines; a line that is none is passed over."""
    async with aclosing(lines) as opened:  # type: ignore[type-var]  # they are generators
        async for line in opened:
            data = wire.parse(line) if line.strip() else None
            if isinstance(data, dict) and isinstance(data.get("custom_id"), str):
                yield data


def name_in(data: Mapping[str, Any]) -> str:
    """What a service calls a file or a job; raises Refused for what is no name that an address can hold."""
    name = wire.string(data.get("id"))
    if not re.fullmatch(r"[\w.-]{1,200}", name, re.ASCII):
        raise Refused("the response has no id", sure=False, passing=True)
    return name


def number(value: Any) -> int:
    """A count of a service; 0 for what is none."""
    return wire.count(value) or 0


def dumped(value: Any) -> bytes:
    """A value as JSON."""
    return orjson.dumps(value, default=dict)
