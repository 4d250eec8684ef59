"""Requests on their way through batches: sent in jobs, waited for, brought home, and what is done where that fails.

A job is `sending` from before its service is asked to begin it until the service has said what it is called, then
`under way`, then `home`. Whatever ends this process in between, the next one finds the job in its journal, asks the
service for it where its name never came home, and sends nothing twice that may be under way. What a job did not bring
is asked live afterwards, as if there had been no batch.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from maskbench.asking.batch_journal import FOUND, Entry, Journal
from maskbench.asking.meter import Meter
from maskbench.asking.watching import Watcher
from maskbench.errors import ModelError
from maskbench.models.chat import refusals, wire
from maskbench.models.chat.batch_jobs import BatchInterface, Job, Line, Refused, Result, Sent
from maskbench.models.chat.client import ChatModel
from maskbench.store.prices import Tokens
from maskbench.types import Ask, Call, Stage, Usage

FIRST_LOOK, LONGEST_LOOK, LATER = 0.05, 60.0, 2.0  # seconds until a job is looked at, at first and at most; growth
TOLD = 600.0  # seconds between two lines on how the jobs stand, where nothing else is to be said
TRIES = 6  # at once of what costs nothing and may pass
STRIKES, STRIKE = 12, 0.25  # refusals in a row until nothing more is sent, some minutes later; seconds that double
SHORT, BROKEN = 4, 25  # tries to get results whole: where they end early, and where they break off
LOST = 3  # times that a service does not know a job, before it is given up
AT_ONCE = 200  # results that are kept by one write
BYTES_PER_TOKEN = 2.0  # at least, of any text: for the most that a request may cost
_T = TypeVar("_T")


class Wanted(NamedTuple):
    """A request that is wanted: its id, the ask, and the model that is asked."""

    id: str
    ask: Ask
    model: ChatModel


@dataclass(slots=True)
class _Chunk:
    """Requests to one model that go out as one job."""

    model: ChatModel
    lines: list[Line] = field(default_factory=list)
    sent: dict[str, tuple[Call, Mapping[str, Any]]] = field(default_factory=dict)
    size: int = 0
    worst: Tokens = field(default_factory=Tokens)

    def add(self, line: Line, call: Call, sent: Mapping[str, Any], worst: Tokens) -> None:
        self.lines.append(line)
        self.sent[line.id] = call, {**sent, "batch": True}
        self.size += len(line.body)
        self.worst += worst


class Machine:
    """Takes the requests of one stage through batches; `halt` is set where the run is stopped, and ends every wait."""

    def __init__(
        self,
        journal: Journal,
        scope: str,
        stage: Stage,
        interfaces: Mapping[str, BatchInterface],
        watcher: Watcher,
        meter: Meter | None,
        halt: asyncio.Event,
        bill: Callable[[str, list[tuple[Call, Usage]]], None],
    ) -> None:
        """`interfaces` by name of the model; `scope` is the verdict set that the requests are for.

        `bill` is told what responses took, by the model's name, before they are kept.
        """
        self._journal, self._scope, self._stage = journal, scope, stage
        self._interfaces, self._watcher, self._meter, self._halt = interfaces, watcher, meter, halt
        self._bill = bill
        self._most: dict[str, int] = {}  # requests of a job, where a service took no larger one
        self._held: tuple[str, str] | None = None  # the limit that keeps requests back, and its option
        self._words, self._asked = "", 0.0  # of the service that would not take a job, and how long it is to be left
        self._strikes = 0  # refusals in a row that may pass
        self._lost: Counter[int] = Counter()
        self._downloads: Counter[int] = Counter()
        self._barred: dict[int, dict[str, refusals.ApiError]] = {}  # responses that are none, by job and request
        self._told = 0.0
        self._jobs: dict[int, Job] = {}  # as they stood when they were last looked at

    async def carry_out(self, gather: Callable[[], Iterator[Wanted]]) -> None:
        """Have all requests answered that `gather` gives, or their jobs ended; returns early where the run is stopped.

        `gather` is called anew for every round, and gives requests that are under way, too: these are passed over.
        Raises ModelError where a service does not take batches at all.
        """
        for entry in self._open():
            self._watcher.tell(
                f"Joining a batch of {entry.requests:,} requests to {entry.model}, sent {_ago(entry.at)} ago."
            )
        wait = FIRST_LOOK
        while not self._halt.is_set():
            for entry in self._open():
                if entry.state == "sending":
                    await self._find(entry)
            is_all = await self._send(gather)
            if not self._open():
                if is_all or self._halt.is_set():
                    return
                if self._held and self._meter:
                    self._meter.on_full(*self._held)
                    return
                await self._strike()
            if await self._round(wait):
                wait = FIRST_LOOK
            wait = min(LATER * wait, LONGEST_LOOK)

    def _open(self) -> list[Entry]:
        return [entry for entry in self._journal.open_jobs(self._scope) if entry.stage == self._stage]

    # Out

    async def _send(self, gather: Callable[[], Iterator[Wanted]]) -> bool:
        """Send what is not under way, as far as limits and services allow it; returns whether that was everything."""
        chunks: dict[str, _Chunk] = {}
        self._held = None
        for wanted in gather():
            name = wanted.model.name
            chunk = chunks.setdefault(name, _Chunk(wanted.model))
            if self._journal.has(wanted.id) or wanted.id in chunk.sent:
                continue
            request = wanted.model.first_request(wanted.ask)
            line = Line(wanted.id, request.payload())
            worst = _worst(line, request.sent)
            if self._is_full(chunk, line):
                if not await self._submit(chunk):
                    return False
                chunk = chunks[name] = _Chunk(wanted.model)
            if self._is_beyond(chunks.values(), name, worst):
                break
            chunk.add(line, wanted.ask.call, request.sent, worst)
            await asyncio.sleep(0)
        for chunk in chunks.values():
            if chunk.lines and not await self._submit(chunk):
                return False
        return self._held is None

    def _is_full(self, chunk: _Chunk, line: Line) -> bool:
        interface = self._interfaces[chunk.model.name]
        most = min(interface.most_requests, self._most.get(chunk.model.name, interface.most_requests))
        room = interface.most_bytes - chunk.size - len(line.body) - 200 * (len(chunk.lines) + 1)  # 200: what is around
        return bool(chunk.lines) and (len(chunk.lines) >= most or room < 0)

    def _is_beyond(self, chunks: Any, name: str, more: Tokens) -> bool:
        """Whether one request more could pass a limit of money or tokens, all that is under way counted at its most."""
        if self._meter is None:
            return False
        worst: dict[tuple[Stage, str], Tokens] = {}
        under_way = [(entry.model, Tokens(0, entry.input_tokens, 0, 0, entry.output_tokens)) for entry in self._open()]
        for model, tokens in [*under_way, *((chunk.model.name, chunk.worst) for chunk in chunks), (name, more)]:
            worst.setdefault((self._stage, model), Tokens()).__iadd__(tokens)
        self._held = self._meter.refuses(worst)
        return self._held is not None

    async def _submit(self, chunk: _Chunk) -> bool:
        """Have a job begun for these requests; False where the service does not begin it now."""
        interface, model = self._interfaces[chunk.model.name], chunk.model
        tag = secrets.token_hex(16)
        try:
            file = await self._patiently(lambda: interface.upload(chunk.lines, tag))
        except Refused as refused:
            return self._turned_away(model.name, refused)
        if self._halt.is_set():
            return False
        entry = self._journal.sending(self._scope, self._stage, model.name, tag, file, chunk.sent, chunk.worst)
        try:
            job = await interface.create(chunk.lines, tag, file)
        except Refused as refused:
            if refused.sure:
                self._journal.release(entry.number)
                return self._turned_away(model.name, refused)
            self._words = refused.words
            self._watcher.tell(f"{interface.name} did not say whether it began a batch ({refused.words}): looking.")
            return await self._find(entry)
        self._begun(entry, job)
        return True

    def _begun(self, entry: Entry, job: Job) -> None:
        self._journal.begun(entry.number, job.id)
        self._strikes = 0
        name = self._interfaces[entry.model].name
        self._watcher.tell(f"Sent a batch of {entry.requests:,} requests for {entry.model} to {name}: {job.id}.")

    def _turned_away(self, model: str, refused: Refused) -> bool:
        """Note that a service begins no job now; raises ModelError where it never will."""
        if not refused.passing:
            raise ModelError(
                f"{model}: its service does not take a batch ({refused.words}). Nothing of it was begun. To have it "
                "asked live, start again with --batch none."
            )
        self._words, self._asked = refused.words, refused.wait or 0.0
        return False

    async def _strike(self) -> None:
        """Wait where a service begins no job and none is under way; raises ModelError once that was so too often."""
        self._strikes += 1
        self._watcher.tell(f"The service begins no batch now ({self._words}); trying again.")
        await self._pause(max(self._asked, min(STRIKE * 2**self._strikes, LONGEST_LOOK)))
        if self._strikes >= STRIKES:
            raise ModelError(
                f"The service began no batch in {STRIKES} tries ({self._words}). What was answered is kept. Start "
                "again later, or with --batch none to have it asked live."
            )

    async def _find(self, entry: Entry) -> bool:
        """Look whether a job was begun whose name never came home; False where it was not, and may be sent anew."""
        interface = self._interfaces[entry.model]
        sent = Sent(entry.tag, entry.file, entry.requests, entry.at)
        for look in (1, 2):  # a list may be a moment behind
            try:
                job = await self._patiently(lambda: interface.find(sent, self._journal.known_jobs()))
            except Refused as refused:
                if refused.passing:
                    self._watcher.tell(f"{interface.name} does not list its batches now ({refused.words}).")
                    return False  # it stays in the journal as it is, and nothing of it is sent again
                raise ModelError(
                    f"{entry.model}: {entry.requests:,} requests may be under way in a batch, and {interface.name} "
                    f"does not list its batches ({refused.words}). Nothing was sent again."
                ) from None
            if job is not None:
                self._journal.begun(entry.number, job.id, sure=interface.keeps_tags)
                self._watcher.tell(f"Found a batch of {entry.requests:,} requests at {interface.name}: {job.id}.")
                return True
            if look == 1:
                await self._pause(1.0)
        if not self._halt.is_set():
            self._journal.release(entry.number)
        return False

    # Under way

    async def _round(self, wait: float) -> bool:
        """Wait a while, then look at every job; returns whether one came home."""
        await self._pause(wait)
        is_home = False
        for entry in self._open():
            if self._halt.is_set() or entry.job is None:
                continue
            try:
                job = await self._interfaces[entry.model].look(entry.job)
            except Refused as refused:
                is_home |= self._not_seen(entry, refused)
                continue
            self._lost.pop(entry.number, None)
            self._jobs[entry.number] = job
            if job.state == "ended":
                is_home |= await self._bring_home(entry, job)
        self._tell_progress()
        return is_home

    def _not_seen(self, entry: Entry, refused: Refused) -> bool:
        """What to do where a job cannot be looked at; returns whether it is given up."""
        self._lost[entry.number] += refused.status == 404
        if self._lost[entry.number] < LOST:
            return False
        self._journal.home(entry.number, "lost")
        name = self._interfaces[entry.model].name
        self._watcher.tell(
            f"{name} does not know the batch {entry.job} any more: its {entry.requests:,} requests are asked live, at "
            "the full price."
        )
        return True

    def _tell_progress(self) -> None:
        """Say how the jobs stand: always to a display, and now and then in a line."""
        jobs = self._open()
        line = jobs_line(jobs, self._jobs) if jobs else ""
        if hasattr(self._watcher, "waiting"):
            setattr(self._watcher, "waiting", line)  # noqa: B010  # not every Watcher has it
        if line and time.monotonic() - self._told > TOLD:
            self._told = time.monotonic()
            self._watcher.tell(line)

    # Home

    async def _bring_home(self, entry: Entry, job: Job) -> bool:
        """Keep the results of a job that has ended; False where they are not here yet, or are another job's."""
        if job.is_full:
            self._journal.release(entry.number)
            self._most[entry.model] = max(1, entry.requests // 2)
            self._words = job.why
            self._watcher.tell(f"{entry.model}: a batch was not begun ({job.why}). It is sent again in smaller parts.")
            return False
        if not await self._downloaded(entry, job):
            return False
        had = self._journal.home(entry.number, job.how)
        rest = entry.requests - had - len(self._barred.get(entry.number, ()))
        why = f" ({job.why})" if job.why else ""
        live = f" The other {rest:,} are asked live, at the full price." if rest else ""
        self._watcher.tell(
            f"The batch {job.id} is {job.how}{why} after {_ago(entry.at)}: {had:,} of {entry.requests:,} requests are "
            f"answered.{live}"
        )
        if barred := self._barred.pop(entry.number, None):
            self._bar(entry, job, barred)
        return True

    def _bar(self, entry: Entry, job: Job, barred: Mapping[str, refusals.ApiError]) -> None:
        """End the run where the service refused key, account or model in the responses: they are no answers."""
        self._journal.unsent(barred)
        first = next(iter(barred.values()))
        words = self._interfaces[entry.model].door.said(f"{first.status}: {first.message}")
        raise (refusals.barred(first) or ModelError)(
            f"{entry.model}: its service refused {len(barred):,} of {entry.requests:,} requests of the batch {job.id} "
            f"({words}). What was answered is kept. Check the key, its account and the name of the model, and start "
            "again: these requests are sent anew, or asked live with --batch none."
        )

    async def _downloaded(self, entry: Entry, job: Job) -> bool:
        """Get the results of a job; False where they did not come whole and may yet, or are all of another job."""
        ours, seen, most = self._journal.ids(entry.number), Counter[bool](), SHORT
        missing = self._journal.missing(entry.number)
        self._downloads[entry.number] += 1
        try:
            async with aclosing(_in_parts(self._interfaces[entry.model].results(job))) as parts:  # type: ignore[type-var]
                async for part in parts:
                    seen.update(each in ours for each, _ in part)
                    self._keep(entry, part, missing)
        except Refused as refused:
            most = BROKEN if refused.passing else SHORT
        else:
            if seen.total() >= job.done and (seen[True] or not seen[False] or entry.how != FOUND):
                return True
        if entry.how == FOUND and seen[False] and not seen[True]:
            self._journal.mistaken(entry.number, job.id)
            return False
        return self._downloads[entry.number] >= most

    def _keep(self, entry: Entry, part: list[Result], missing: dict[str, Call]) -> None:
        """Bill what is new of these results, then keep it: killed in between, it is billed twice and not never.

        What refuses key, account or model answers nothing, and is not kept.
        """
        took, kept = [], []
        for each, result in part:
            if result is not None and each in missing and result[0] >= 400:
                error = refusals.error_of(*result)
                if refusals.barred(error):
                    self._barred.setdefault(entry.number, {})[each] = error
                    continue
            kept.append((each, result))
            if result is not None and (call := missing.pop(each, None)) is not None:
                took.append((call, wire.usage_of(wire.parse(result[1]))))
        self._bill(entry.model, [(call, usage) for call, usage in took if usage != Usage()])
        self._journal.arrived(entry.number, kept)

    # Waiting

    async def _patiently(self, ask: Callable[[], Awaitable[_T]]) -> _T:
        """Do something that costs nothing, again where it fails in passing; raises Refused in the end."""
        for tried in range(TRIES):
            try:
                return await ask()
            except Refused as refused:
                if not refused.passing or tried == TRIES - 1 or self._halt.is_set():
                    raise
                await self._pause(max(refused.wait or 0.0, FIRST_LOOK * 2**tried))
        raise AssertionError  # the last try returns or raises

    async def _pause(self, seconds: float) -> None:
        """Wait, unless the run is stopped."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._halt.wait()


def jobs_line(jobs: list[Entry], seen: Mapping[int, Job]) -> str:
    """How jobs stand, as a line for people: how many, how many requests in all and done, and since when."""
    requests, since = sum(entry.requests for entry in jobs), min(entry.at for entry in jobs)
    done = sum(seen[entry.number].done for entry in jobs if entry.number in seen)
    many = "1 batch is" if len(jobs) == 1 else f"{len(jobs):,} batches are"
    return f"{many} under way: {done:,} of {requests:,} requests done, {_ago(since)} waited."


def _worst(line: Line, sent: Mapping[str, Any]) -> Tokens:
    """The most tokens that a request may take."""
    samples = sent.get("n", 1)
    return Tokens(samples, len(line.body) / BYTES_PER_TOKEN, 0, 0, samples * sent["max_tokens"])


async def _in_parts(results: AsyncIterator[Result]) -> AsyncIterator[list[Result]]:
    """Results, some at a time; what came before it broke off is given, too."""
    part: list[Result] = []
    try:
        async with aclosing(results) as opened:  # type: ignore[type-var]  # they are generators
            async for result in opened:
                part.append(result)
                if len(part) >= AT_ONCE:
                    yield part
                    part = []
    except Refused:
        yield part
        raise
    yield part


def _ago(at: float) -> str:
    """How long ago a moment was, as 1:23:45 or 12 s."""
    seconds = max(0, round(time.time() - at))
    minutes, rest = divmod(seconds, 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes else f"{rest} s"
