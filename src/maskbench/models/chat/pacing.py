"""The pace of a service: requests at once and a minute, found by trying, and obeyed where it says so.

The number grows by one with every answer until a request is refused. From then on it is looked at after some rounds of
requests. Where more are refused than would be anyway, it is lowered, on trial, to what was answered. If the share that
is refused falls with it, the number was the reason: it stays, and more is tried after a while. If not, refusals have
another reason, and the number goes back. A refused request keeps its place for as long as an answer takes, so that it
costs no more requests than an answer; and below one at once there are pauses, which is how a limit of requests a minute
is met.
"""

from __future__ import annotations

import asyncio
import math
import re
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from heapq import heappop, heappush
from typing import Any

START = 16  # requests at once, before a service has answered
OVERLOADED = frozenset((429, 503, 529))
LONGEST = 60.0  # seconds that a service may have everything wait
GUESS = 1.0  # seconds that an answer takes, before there is one
ROUNDS = 3  # requests a place by which the share that is refused is known, and no fewer than for FEWEST places
FEWEST = 10
TOLERABLE = 0.05  # the share refused that changes nothing, above what is refused anyway
FALL = 0.6  # of the fall in that share which is expected if the number is the reason: with less, it is not
TRIALS = 3  # lower numbers that are tried before it goes back
LEAST = 1 / 8  # of the number, the lowest that is tried next
AGAIN = 64  # looks after which what is refused anyway is found out anew
PATIENT = 5  # looks without trouble before more than was answered is tried
STEP = 0.1  # of the number: by how much at first; twice as much with every look without trouble
_NEAR = 0.1  # of what an answer's time counts for in the mean


@dataclass(slots=True)
class _Trial:
    """The number before it was lowered, the share refused then, and how many lower ones were tried."""

    limit: float
    share: float
    times: int = 0

    def shows(self, limit: float, share: float, anyway: float) -> bool:
        """Whether the share refused fell with the number, as it would if that were the reason."""
        expected = max(anyway, 1 - (1 - self.share) * self.limit / limit)
        return self.share - share >= FALL * (self.share - expected)


@dataclass(slots=True)
class Pace:
    """One service's pace, of at most `most` requests at once, `rpm` requests and `tpm` tokens a minute.

    It may be entered and left in any thread; a free place goes to whoever has waited longest.
    """

    most: int
    start: int = START
    rpm: int | None = None
    tpm: int | None = None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    limit: float = field(init=False)
    in_flight: int = field(init=False, default=0)
    _lock: threading.RLock = field(init=False, default_factory=threading.RLock)
    _waiting: deque[asyncio.Future[None]] = field(init=False, default_factory=deque)
    _resting: list[float] = field(init=False, default_factory=list)  # when places that were left are free again
    _alarm: float = field(init=False, default=0.0)  # when whoever waits is to be woken for the first of them
    _usual: float = field(init=False, default=0.0)  # seconds that an answer takes
    _growing: bool = field(init=False, default=True)  # as long as nothing was refused
    _since: float = field(init=False, default=-math.inf)  # when the number was last looked at
    _seen: int = field(init=False, default=0)  # responses to requests that went out since then
    _refused: int = field(init=False, default=0)  # of them but for the first round
    _row: int = field(init=False, default=0)  # answers since the last refusal
    _anyway: float = field(init=False, default=0.0)  # the share refused whatever the number is
    _trial: _Trial | None = field(init=False, default=None)
    _quiet: int = field(init=False, default=PATIENT)  # looks without trouble
    _step: float = field(init=False, default=STEP)
    _free: float = field(init=False, default=0.0)  # when the next request may go by --rpm, --tpm and the service's word
    _tokens: float = field(init=False, default=0.0)  # of a request, as they were lately

    def __post_init__(self) -> None:
        self.limit = float(min(self.start, self.most))

    async def enter(self) -> None:
        """Wait for a turn. Whoever has one must `leave`."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._waiting.append(turn)
            self._wake()
        try:
            await turn
            while (wait := self._free - self.clock()) > 0:
                await self.sleep(wait)
        except BaseException:
            if turn.done() and not turn.cancelled():
                self.leave()  # it had a turn already
            raise
        with self._lock:
            self._charge()

    def leave(self) -> None:
        """Give the turn back."""
        with self._lock:
            self.in_flight -= 1
            self._wake()

    def heard(self, status: int, headers: Mapping[str, str], began: float) -> None:
        """Learn from a response to a request that went out at `began`."""
        with self._lock:
            now = self.clock()
            if (pause := _exhausted(headers)) > 0:
                self._free = max(self._free, now + pause)
            if status in OVERLOADED or status < 300:
                self._learn(now, now - began, refused=status in OVERLOADED)
                self._count(now, began, refused=status in OVERLOADED)
            self._wake()

    def counted(self, tokens: int) -> None:
        """Learn how many tokens an answered request took, which --tpm goes by."""
        with self._lock:
            self._tokens = tokens if not self._tokens else self._tokens + _NEAR * (tokens - self._tokens)

    def _learn(self, now: float, seconds: float, *, refused: bool) -> None:
        """Grow while nothing is refused; a place rests where it was refused sooner than answered, or for a pause."""
        if not refused:
            self._usual += (_NEAR if self._usual else 1.0) * (seconds - self._usual)
            self.limit = min(self.limit + self._growing, self.most)
        usual = self._usual or GUESS
        rest = usual * math.ceil(self.limit) / self.limit - (seconds if refused else usual)
        if rest > 0:
            heappush(self._resting, now + rest)

    def _count(self, now: float, began: float, *, refused: bool) -> None:
        """Count what was refused of the requests at this number, and look at it once they are enough."""
        if began < self._since:
            return
        places = 0 if self._growing else int(max(FEWEST, self.limit))
        self._seen += 1
        self._row = 0 if refused else self._row + 1
        self._refused += refused and self._seen > places  # in the first round refusals come before answers
        if self._growing:
            self._growing = self._refused <= max(2, TOLERABLE * self._seen)
            done = not self._growing
        elif done := self._seen >= (1 + ROUNDS) * places:
            share = self._refused / (self._seen - places)
            if share <= self._anyway + TOLERABLE or self._row < places:  # otherwise the refusals are over
                self._look(share)
        if done:
            self._since, self._seen, self._refused = now, 0, 0

    def _look(self, share: float) -> None:
        """Lower the number, go back or try more, by the share that was refused."""
        if self._trial is not None and self._trial.shows(self.limit, share, self._anyway):
            self._trial, self._quiet, self._step = None, 0, STEP
        luck = 2 * math.sqrt(self._anyway * (1 - self._anyway) / (ROUNDS * max(FEWEST, self.limit)))
        trial = self._trial
        if share == 1.0 or (trial is not None and trial.times == TRIALS):  # nothing answered says nothing of the number
            if trial is not None:
                self._anyway = self._anyway if share == 1.0 else (share + trial.share) / 2
                self.limit, self._trial, self._quiet = trial.limit, None, PATIENT
        elif trial is not None or share > self._anyway + TOLERABLE + luck:
            self._trial = trial or _Trial(self.limit, share)
            self._trial.times += 1
            self.limit *= max(LEAST, (1 - share) / (1 - self._anyway))
        else:
            if share < self._anyway / 2 or self._quiet >= AGAIN:
                self._anyway, self._quiet = 0.0, PATIENT
            self._quiet += 1
            if self._quiet > PATIENT:
                self.limit = min(self.limit * (1 + self._step), self.most)
                self._step = min(2 * self._step, 1.0)

    def _charge(self) -> None:
        """Have the next request wait as long as --rpm and --tpm want."""
        waits = [60 / self.rpm] if self.rpm else []
        waits += [60 * self._tokens / self.tpm] if self.tpm else []
        if waits:
            self._free = max(self._free, self.clock()) + max(waits)

    def _wake(self) -> None:
        """Give free places to those who wait longest, each in the loop in which it waits."""
        now = self.clock()
        while self._resting and self._resting[0] <= now:
            heappop(self._resting)
        while self._waiting and self.in_flight + len(self._resting) < self.limit:
            turn = self._waiting.popleft()
            if not turn.done() and _soon(turn, self._hand_over, turn):
                self.in_flight += 1
        if self._waiting and self._resting and not now < self._alarm <= self._resting[0]:
            loop, self._alarm = self._waiting[0].get_loop(), self._resting[0]
            _soon(self._waiting[0], loop.call_later, self._alarm - now, self._ring)

    def _ring(self) -> None:
        with self._lock:
            self._alarm = 0.0
            self._wake()

    def _hand_over(self, turn: asyncio.Future[None]) -> None:
        if turn.done():
            self.leave()  # it was cancelled meanwhile: the place is the next one's
        else:
            turn.set_result(None)


def _soon(turn: asyncio.Future[None], act: Callable[..., object], *arguments: Any) -> bool:
    """Have something done in the loop of a turn, at once where that is this one; False where the loop is closed."""
    loop = turn.get_loop()
    try:
        if loop is asyncio.get_running_loop():
            act(*arguments)
        else:
            loop.call_soon_threadsafe(act, *arguments)
    except RuntimeError:
        return False
    return True


_SPAN = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)s)?(?:([\d.]+)ms)?")


def _exhausted(headers: Mapping[str, str]) -> float:
    """Seconds until a limit that the headers call used up is full again; 0 where none is."""
    waits = [0.0]
    for what in ("requests", "tokens"):
        if headers.get(f"x-ratelimit-remaining-{what}") == "0":
            waits.append(_seconds(headers.get(f"x-ratelimit-reset-{what}", "")))
    for what in ("requests", "tokens", "input-tokens", "output-tokens"):  # as Anthropic has them, with the hour
        if headers.get(f"anthropic-ratelimit-{what}-remaining") == "0":
            waits.append(_until(headers.get(f"anthropic-ratelimit-{what}-reset", "")))
    return max(waits)


def _until(text: str) -> float:
    """Seconds until an hour such as 2026-01-01T00:00:00Z; 0 for any other text."""
    try:
        moment = datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return 0.0
    return min(max(moment - time.time(), 0.0), LONGEST)


def _seconds(text: str) -> float:
    """A span of time such as 1s, 6m0s, 20ms or 7.5 in seconds; 0 for any other text."""
    try:
        return min(max(float(text), 0.0), LONGEST)
    except ValueError:
        pass
    parts = _SPAN.fullmatch(text)
    try:
        hours, minutes, seconds, thousandths = (float(part or 0) for part in (parts.groups() if parts else ("",) * 4))
    except ValueError:
        return 0.0
    return min(3600 * hours + 60 * minutes + seconds + thousandths / 1000, LONGEST)
