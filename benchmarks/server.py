"""A chat completions server that costs next to nothing: what is measured against it is the client.

`python benchmarks/server.py --latency 0.5` prints its base URL and runs until it is killed. It speaks just enough
HTTP/1.1, answers after a log-normal delay, honours `n` and `response_format`, and tells under `/stats` what it was
asked (server_ledger.py), how many requests it had at once, and how late its own answers were. A model whose name holds
`judge` gives verdicts. With `--at-once 37` it refuses every request beyond 37 at once with status 429, with
`--refuse 0.05` one in twenty for no reason.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, cast

import orjson

from scenarios import prose
from server_ledger import CHARACTERS_PER_TOKEN, Asked, Ledger, words

POOL = 100_000  # characters from which replies are cut
ALIKE = ("No, it was not.", "Yes, it was.", "It was not.", "I cannot say.")  # what a terse subject says of anything
FULL = orjson.dumps({"error": {"message": "Too many requests at once.", "type": "rate_limit", "code": None}})
BOUNDS = {"lower_bound": 26, "upper_bound": 26, "relative_lower_bound": None, "relative_upper_bound": None}
_FENCED = re.compile(r"^<reply(?:_\d+)? ([0-9a-f]{16})>$", re.MULTILINE)  # the code that a verdict has to carry
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class Completions:
    """What all connections share: delays, texts and counts."""

    def __init__(
        self,
        latency: float,
        spread: float,
        seed: int = 0,
        *,
        alike: bool = False,
        at_once: int | None = None,
        refuse: float = 0.0,
    ) -> None:
        """`latency` is the mean delay in seconds, `spread` the standard deviation of its logarithm.

        `alike`: the subject's replies are short, and there are few of them. `at_once`: more requests are refused.
        `refuse`: so many are refused in any case.
        """
        self._rng = random.Random(seed)
        self._refuse = refuse
        self._alike = alike
        self._at_once = at_once
        self._ledger = Ledger()
        self._log_median = math.log(latency) - spread**2 / 2 if latency else None
        self._spread = spread
        self._pool = prose(self._rng, POOL)
        self._in_flight = 0
        self.requests = 0
        self.refused = 0
        self.first: float | None = None  # when the first request came, by the machine's own clock
        self.most_in_flight = 0
        self.delay = 0.0  # seconds, summed over answers: from the request to the answer, as it was
        self.late = 0.0  # of these, behind the delay that was drawn
        self.answered = 0

    def delay_of_next(self) -> float:
        """Seconds until the next answer."""
        return 0.0 if self._log_median is None else self._rng.lognormvariate(self._log_median, self._spread)

    def is_full(self) -> bool:
        """Whether one request more is one too many, or is refused for no reason; it is counted as refused."""
        full = self._at_once is not None and self._in_flight >= self._at_once
        full = full or (self._refuse > 0 and self._rng.random() < self._refuse)
        self.refused += full
        return full

    def begin(self, body: Mapping[str, Any]) -> Asked:
        """A request is here."""
        self.first = self.first or time.monotonic()
        self.requests += 1
        self._in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self._in_flight)
        return self._ledger.asked(body)

    def end(self, asked: Asked, texts: list[str], taken: float, wanted: float) -> None:
        """Its answer is out."""
        self._in_flight -= 1
        self._ledger.answered(asked, texts)
        self.answered += 1
        self.delay += taken
        self.late += taken - wanted

    def stats(self) -> dict[str, Any]:
        """Counts so far; seconds are means an answer, `cpu` those of this process in all."""
        answered = max(1, self.answered)
        return {
            "requests": self.requests,
            "refused": self.refused,
            "first": self.first,
            "most_in_flight": self.most_in_flight,
            "latency": self.delay / answered,
            "late": self.late / answered,
            "cpu": time.process_time(),
            **self._ledger.sums(),
        }

    def texts(self, body: Mapping[str, Any]) -> list[str]:
        """What is answered to a request's JSON."""
        return [self._text(body) for _ in range(body.get("n") or 1)]

    def completion(self, body: Mapping[str, Any], asked: Asked, texts: list[str]) -> bytes:
        """The completion with these texts."""
        choices = [
            {"index": index, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            for index, text in enumerate(texts)
        ]
        read = asked.length // CHARACTERS_PER_TOKEN
        written = sum(map(len, texts)) // CHARACTERS_PER_TOKEN
        usage = {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {"cached_tokens": asked.cacheable // CHARACTERS_PER_TOKEN},
        }
        return orjson.dumps(
            {
                "id": f"chatcmpl-{self.requests}",
                "object": "chat.completion",
                "created": int(time.time()),
                "model": body["model"],
                "system_fingerprint": "benchmark",
                "choices": choices,
                "usage": usage,
            }
        )

    def _text(self, body: Mapping[str, Any]) -> str:
        """A text that was not there before, but for replies that are to be alike: of two alike one is judged."""
        if "judge" not in body["model"]:
            return self._rng.choice(ALIKE) if self._alike else self._cut(300, 1200)
        schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
        if schema:
            shown = [code for message in body["messages"] for code in _FENCED.findall(words(message["content"]))]
            known = {"code": shown[0] if shown else None, **self._verdict()}
            return orjson.dumps({name: known[name] for name in schema["properties"]}).decode()
        # The forms that the Inspect Evals port reads.
        known = self._verdict()
        bounds = orjson.dumps({name: known[name] for name in BOUNDS}).decode()
        return f"{known['reason']}\n\n{bounds if 'numeric' in body['model'] else 'Final Answer: ' + known['verdict']}"

    def _verdict(self) -> dict[str, Any]:
        letter = self._rng.choice("AABBC")
        evasion = "hedge" if letter == "C" else None
        return {"reason": self._cut(80, 250), "verdict": letter, "evasion": evasion, **BOUNDS}

    def _cut(self, least: int, most: int) -> str:
        length = self._rng.randint(least, most)
        start = self._rng.randrange(POOL - length)
        return f"{self._rng.getrandbits(40):x} {self._pool[start : start + length].strip()}"


class Connection(asyncio.Protocol):
    """One connection of a client, kept alive; just enough HTTP for clients that send whole bodies."""

    def __init__(self, completions: Completions) -> None:
        self._completions = completions
        self._loop = asyncio.get_running_loop()
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Take every request that is whole."""
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end]
            length = int(match[1]) if (match := _LENGTH.search(head)) else 0
            whole = end + 4 + length
            if len(self._buffer) < whole:
                return
            body, self._buffer = self._buffer[end + 4 : whole], self._buffer[whole:]
            self._take(head, body)

    def _take(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"GET"):
            return self._write(orjson.dumps(self._completions.stats()))
        if self._completions.is_full():
            return self._write(FULL, "429 Too Many Requests")
        read = orjson.loads(body)
        asked, texts = self._completions.begin(read), self._completions.texts(read)
        delay = self._completions.delay_of_next()
        answer = self._completions.completion(read, asked, texts)
        self._loop.call_later(delay, self._answer, answer, asked, texts, delay, self._loop.time())
        return None

    def _answer(self, answer: bytes, asked: Asked, texts: list[str], delay: float, began: float) -> None:
        self._write(answer)
        self._completions.end(asked, texts, self._loop.time() - began, delay)

    def _write(self, content: bytes, status: str = "200 OK") -> None:
        head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        if not self._transport.is_closing():
            self._transport.write(head.encode() + content)


async def serve(completions: Completions, port: int) -> None:
    """Serve for ever; the base URL is printed once the socket listens."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(completions), "127.0.0.1", port, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


def main() -> None:
    """Parse and serve, on uvloop where it is installed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--latency", type=float, default=0.5, help="mean seconds to an answer")
    parser.add_argument("--spread", type=float, default=0.4, help="standard deviation of the latency's logarithm")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--alike", action="store_true", help="the subject's replies are short and alike")
    parser.add_argument("--at-once", type=int, help="refuse with 429 what is more than this at once")
    parser.add_argument("--refuse", type=float, default=0.0, help="refuse this share with 429 for no reason")
    arguments = parser.parse_args()
    new_event_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
    with suppress(ImportError):
        import uvloop

        new_event_loop = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        completions = Completions(
            arguments.latency,
            arguments.spread,
            alike=arguments.alike,
            at_once=arguments.at_once,
            refuse=arguments.refuse,
        )
        runner.run(serve(completions, arguments.port))


if __name__ == "__main__":
    main()
