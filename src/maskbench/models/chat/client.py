"""The chat client: asks any endpoint of the protocols in dialects.py, many calls at once, and learns its ways.

A reply's usage is the endpoint's count for the whole request. Where one request brought several samples, the first
reply carries all of it and the others carry zeros, so that sums over replies are right.
"""

from __future__ import annotations

import asyncio
import random
import re
import socket
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

import aiohttp
import orjson
import yarl
from aiohttp.abc import AbstractResolver, ResolveResult

from maskbench.errors import AccessError, ModelError, UnknownModel, Unreachable, UsageError
from maskbench.method.reasoning import tag_warning
from maskbench.models.chat import refusals, wire
from maskbench.models.chat.dialects import Dialect, dialect_of
from maskbench.models.chat.pacing import Pace
from maskbench.models.chat.services import Endpoint, base_variable, is_public, key_variables, public_address
from maskbench.store.families import alike
from maskbench.store.masking import LEAST_IN_REPLIES, Mask
from maskbench.types import Ask, Failure, Reply, Sampling, Stage, Usage

OnTruncation = Literal["judge", "retry", "error"]
Posted = tuple[int, Mapping[str, str], bytes | None]  # status, headers, and a body that is not too large

CAP = 20 * 1024 * 1024  # bytes of a response
CONNECT = 30.0  # seconds to open a connection, within the time-out of the whole call
LONGEST = 60.0  # seconds: where exponential back-off ends
ALIKE = 200  # characters: identical samples that are as long are no coincidence
KEPT = 20  # distinct model names and fingerprints kept
LOADING = 1800.0  # seconds: how long a server may load its model
LOOK = 5.0  # seconds between two requests to a server that loads its model
REFUSED = 10  # requests refused in equal words before any is answered: then the run stops
_QUESTIONS = 2000  # questions whose samples are remembered, to notice identical ones

_ECHO = "sent the key back"  # how the line on that begins, of which there is one
_SAID = {"truncated": "was cut off", "empty": "was empty", "unclosed_reasoning": "was still only reasoning"}


@dataclass(frozen=True, slots=True)
class _Budget:
    """How many tokens a request may use: the answer's, the reasoning's with it, or twice that; with `most` no more."""

    reasoning: bool
    doubled: bool = False
    most: int | None = None


@dataclass(frozen=True, slots=True)
class _Delivery:
    """An answer, with the request that brought it."""

    answer: wire.Answer
    sent: Mapping[str, Any]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """A client's patience: how long it waits, and how often it tries.

    `timeout` is for one request, in seconds. `retries` counts tries after the first; a rate limit that lets other calls
    through meanwhile uses none up, nor does a server that is loading its model. `backoff` is the longest first pause.
    `pace` is what the service stands, which all models of one service share; without one it gets all at once.
    """

    timeout: float = 600.0
    retries: int = 5
    backoff: float = 1.0
    rng: random.Random = field(default_factory=random.Random)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    pace: Pace | None = None


class ChatModel:
    """A model behind an endpoint; subject and judge alike.

    `gate` bounds the requests in flight, and is shared by all models of a run; it is held only while a request is
    under way, not during back-off. `learned` is what `describe` gave out in an earlier session under that name;
    `extra` are further fields of every request; `dialect` is the protocol, where it is not the service's; `whole_ends`
    are further words with which the service ends whole answers.
    `requests` and `retried` count requests sent, and those sent again after a failure; `warnings` holds lines that
    a user should see once. What may be set: `billed`, which is told of the tokens of every response to a call that
    has any; `recorded`, which gives the response to an ask where it came otherwise than by a call; `cache_from`, the
    tokens from which the service's cache takes the beginning of a judge's request that is marked for it.
    """

    def __init__(
        self,
        *,
        name: str,
        endpoint: Endpoint,
        sampling: Sampling,
        stage: Stage,
        gate: asyncio.Semaphore,
        patience: Patience | None = None,
        on_truncation: OnTruncation = "judge",
        send_seed: bool = False,
        learned: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
        dialect: Dialect | None = None,
        whole_ends: Collection[str] = (),
    ) -> None:
        self.name = name
        self.endpoint = endpoint
        self.sampling = sampling
        self.stage = stage
        self.requests = 0
        self.retried = 0
        self.identical = 0
        self.warnings: list[str] = []
        self.billed: Callable[[Ask, Usage], None] | None = None
        self.recorded: Callable[[Ask], wire.Recorded | None] | None = None
        self.cache_from: int | None = None
        self._dialect = dialect or dialect_of(endpoint.service)
        if sampling.temperature > self._dialect.hottest:
            option = "--temperature" if stage == "subject" else "--judge-temperature"
            raise UsageError(
                f"{option} {sampling.temperature:g}: {endpoint.service} takes 0 to {self._dialect.hottest:g}."
            )
        self.learned = self._restored(learned)
        self._gate = gate
        self._patience = patience or Patience()
        self._pace = self._patience.pace
        seconds = self._patience.timeout
        self._timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=min(seconds, CONNECT))
        self._on_truncation = on_truncation
        self._send_seed = send_seed
        self._extra = extra
        self._whole_ends = whole_ends
        self._url = _chat_url(endpoint.base_url, self._dialect.path)
        self._mask: Callable[[str], str] = Mask(endpoint.key)
        self._mask_reply: Callable[[str], str] = Mask(endpoint.key, LEAST_IN_REPLIES)
        self._echoes = 0  # samples in which the server sent the key back
        self._session: aiohttp.ClientSession | None = None
        self._closed = False
        self._heard = 0  # responses of any kind
        self._answered = 0  # responses that held an answer
        self._refused: Counter[str] = Counter()  # requests by how they were refused
        self._samples: dict[int, set[int]] = {}  # long samples by question, as hashes
        self._tag: str | None = None  # the first unknown tag: one warning is enough
        self._resolved: dict[str, None] = {}
        self._fingerprints: dict[str, None] = {}

    def _restored(self, learned: Mapping[str, Any] | None) -> wire.Learned:
        """What an earlier session learned, as far as the protocol has it."""
        restored = wire.Learned.restore(learned)
        return replace(restored, limit="max_tokens", n=False) if self._dialect.alone else restored

    @property
    def keys(self) -> tuple[str, ...]:
        """The variables that may hold its key."""
        return key_variables(self.endpoint.service)

    @property
    def together(self) -> bool:
        """Whether several samples of one ask are one request; believed until the endpoint shows otherwise.

        A request has one seed, so where seeds are sent every sample is a request of its own.
        """
        return self.learned.n is not False and not self._send_seed

    async def ask(self, ask: Ask) -> Sequence[Reply | Failure | None]:
        """One reply or failure for each run, in order; see `Model.ask`."""
        if len(ask.runs) == 1:
            return (await self._single(ask, 0),)
        if self.together:
            return await self._several(ask)
        return [None] * len(ask.runs)

    def describe(self) -> dict[str, Any]:
        """Parameters and address, what was learned, which models and fingerprints answered; never a key."""
        return {
            "name": self.name,
            "service": self.endpoint.service,
            **({"interface": "messages"} if self._dialect.alone else {}),
            "model": self.endpoint.model,
            "base_url": self.endpoint.address,
            "sampling": asdict(self.sampling),
            "on_truncation": self._on_truncation,
            "send_seed": self._send_seed,
            "learned": self.learned.as_dict(),
            "resolved": sorted(self._resolved),
            "fingerprints": sorted(self._fingerprints),
            "identical": self.identical,
        }

    async def close(self) -> None:
        """Close the connections for good; calls in flight end as broken connections."""
        session, self._session, self._closed = self._session, None, True
        if session is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(2):
                    await session.close()

    def first_request(self, ask: Ask) -> wire.Request:
        """The request with which `ask` of all these runs begins, for those who have it sent otherwise."""
        return self._request(ask, 0, self._limit(self._budget(ask)), len(ask.runs))

    def url(self, path: str) -> yarl.URL:
        """The address of a path beside the one that takes requests."""
        return _chat_url(self.endpoint.base_url, path, self._dialect.path)

    def session(self) -> aiohttp.ClientSession:
        """The session with the key in it, for those who ask the service for something else than an answer."""
        return self._session or self._open()

    # Samples

    async def _several(self, ask: Ask) -> Sequence[Reply | Failure | None]:
        """The samples of one request; None for those that did not come, or are worth another try."""
        budget, n = self._budget(ask), len(ask.runs)
        delivery = await self._deliver(ask, 0, budget, n)
        if isinstance(delivery, Failure):
            return await self._blame(ask, delivery)
        choices = delivery.answer.choices[:n]
        if len(choices) < n:
            self._refuse_n("gives fewer samples than asked for in one request")
            for choice in filter(None, choices[:1]):
                self._compare_with_earlier(ask, choice, delivery)
        elif self.learned.n is None:
            self.learned.n = True
        self._compare(choices, delivery.sent)
        if not self.learned.counts_one and wire.counts_one(delivery.answer, delivery.sent["max_tokens"]):
            self.learned.counts_one = True
            self._warn("counts the tokens of one sample where it gives several: totals are lower bounds")
        settled = [None if choice is None else self._settle(choice, delivery, budget) for choice in choices]
        return [*_share_usage(settled), *[None] * (n - len(choices))]

    async def _blame(self, ask: Ask, failure: Failure) -> Sequence[Reply | Failure | None]:
        """Find out whether it was `n` that failed: services word that too differently to tell by the message."""
        if failure.cause == "unclosed_reasoning":
            return [None] * len(ask.runs)
        alone = await self._single(ask, 0) if failure.cause == "bad_request" else failure
        if isinstance(alone, Failure):
            return [alone] * len(ask.runs)
        self._refuse_n("refuses several samples in one request")
        return [alone, *[None] * (len(ask.runs) - 1)]

    async def _single(self, ask: Ask, place: int, budget: _Budget | None = None) -> Reply | Failure:
        """One sample, asked again with a larger budget as long as `_settle` says so (at most twice)."""
        budget = budget or self._budget(ask)
        while True:
            delivery = await self._deliver(ask, place, budget)
            result: Reply | Failure | _Budget
            if isinstance(delivery, Failure):
                larger = self._larger(budget) if delivery.cause == "unclosed_reasoning" else None
                result = larger or delivery
            else:
                choice = next(choice for choice in delivery.answer.choices if choice is not None)
                self._compare_with_earlier(ask, choice, delivery)
                result = self._settle(choice, delivery, budget)
            if not isinstance(result, _Budget):
                return result
            budget = result

    def _settle(self, choice: wire.Choice, delivery: _Delivery, budget: _Budget) -> Reply | Failure | _Budget:
        """A choice as a reply, a failure, or the budget with which to ask once more."""
        trouble = choice.trouble
        if trouble == "filtered":
            return self._failure(refusals.Trouble("filtered", "the endpoint's content filter withheld the answer"))
        if choice.end is not None:
            return self._failure(refusals.Trouble("unknown_end", choice.end.failure))
        if trouble is None or (trouble == "truncated" and self._stands(budget)):
            return self._reply(choice, delivery)
        larger = self._larger(budget)
        if larger is not None and not (larger.doubled and trouble == "truncated" and self._on_truncation == "error"):
            return larger
        tokens, fields = delivery.sent["max_tokens"], ", ".join(choice.unread)
        elsewhere = f"; text may stand in a field that is not read ({fields})" if fields else ""
        return self._failure(refusals.Trouble(trouble, f"the answer {_SAID[trouble]} at {tokens} tokens{elsewhere}"))

    def _larger(self, budget: _Budget) -> _Budget | None:
        """The budget to try next: with the reasoning's, if it lacks that, then doubled once."""
        if budget.most:
            return None
        if self.learned.reasons and not budget.reasoning and self.sampling.reasoning_tokens:
            return replace(budget, reasoning=True)
        return None if budget.doubled else replace(budget, doubled=True)

    def _stands(self, budget: _Budget) -> bool:
        """Whether cut text stands: it was held to so much, or the run judges it so and no reasoning ate its room."""
        if budget.most:
            return True
        roomy = budget.reasoning or not self.learned.reasons or not self.sampling.reasoning_tokens
        return self._on_truncation == "judge" and roomy

    def _reply(self, choice: wire.Choice, delivery: _Delivery) -> Reply:
        answer = delivery.answer
        if delivery.sent.get("logprobs") and not choice.tokens:
            self._warn("sent an answer without probabilities of its tokens: such verdicts have no confidence")
        if choice.tag and not self._tag:
            self._tag = choice.tag
            self._warn(tag_warning(choice.tag))
        reply = answer.reply(choice.as_it_came() if self.stage == "subject" else choice)
        return replace(reply, sent=delivery.sent, seconds=delivery.seconds, tokens=choice.tokens)

    def _compare(self, choices: Sequence[wire.Choice | None], sent: Mapping[str, Any]) -> None:
        """Count long identical samples of one request, which sampling at a temperature does not give."""
        texts = [choice.text for choice in choices if choice is not None and len(choice.text) >= ALIKE]
        twins = len(texts) - len(set(texts))
        if twins and sent.get("temperature") != 0:
            self.identical += twins
            self._warn("gave long identical samples in one request: they may not be independent samples")

    def _compare_with_earlier(self, ask: Ask, choice: wire.Choice, delivery: _Delivery) -> None:
        """Count long samples of one question that are identical although each was a request of its own.

        Long is a text of many letters or, as figures and other scripts are written, of many tokens.
        """
        long = len(choice.text) >= ALIKE or (delivery.answer.usage.output or 0) >= ALIKE // 4
        if not long or delivery.sent.get("temperature") == 0:
            return
        seen = self._samples.setdefault(hash(ask.messages), set())
        if len(self._samples) > _QUESTIONS:
            self._samples.pop(next(iter(self._samples)))
        if hash(choice.text) in seen:
            self.identical += 1
            self._warn(
                "gave long identical samples of one question: the server may not sample at the temperature that it is "
                "asked for (see docs/models.md)"
            )
        seen.add(hash(choice.text))

    # Requests

    def _budget(self, ask: Ask) -> _Budget:
        return _Budget(self.learned.reasons, most=ask.most)

    def _limit(self, budget: _Budget) -> int:
        if budget.most:
            return budget.most
        limit = self.sampling.max_tokens + (self.sampling.reasoning_tokens if budget.reasoning else 0)
        return 2 * limit if budget.doubled else limit

    async def _deliver(self, ask: Ask, place: int, budget: _Budget, n: int = 1) -> _Delivery | Failure:
        """One request until it is answered: adjusted to what the endpoint refuses, retried where that may help.

        Each adjustment is made at most once, so that no server can keep a call going for ever.
        """
        refused: set[wire.Feature] = set()
        cap, tries, strikes, answered, waited = self._limit(budget), 0, 0, self._answered, 0.0
        while True:
            request = self._request(ask, place, cap, n, schema="schema_once" not in refused)
            result = self._recall(request, ask) or await self._send(request, ask)
            if isinstance(result, _Delivery):
                return result
            if result.feature is not None and result.feature not in refused:
                refused.add(result.feature)
                cap = self._adjust(result, request, cap)
                continue
            if result.cause == "unclosed_reasoning":
                self.learned.reasons = True
            if result.loading and waited < LOADING:
                waited += await self._wait_for_loading(result.wait)
                continue
            # A rate limit that lets other calls through does not count against this one: it only waits.
            if result.cause != "rate_limit" or self._answered == answered:
                strikes += 1
            if not result.retry or strikes > self._patience.retries:
                return self._give_up(result)
            tries, answered = tries + 1, self._answered
            await self._wait(tries, result.wait)
            self.retried += 1

    def _request(self, ask: Ask, place: int, limit: int, n: int, *, schema: bool = True) -> wire.Request:
        return self._dialect.request(
            self.endpoint.model,
            ask,
            self.learned,
            limit=limit,
            temperature=self.sampling.temperature,
            seed=ask.seeds[place] if self._send_seed else None,
            n=n,
            schema=schema,
            extra=self._extra,
            cache_from=self.cache_from if self.stage == "judge" else None,
        )

    def _recall(self, request: wire.Request, ask: Ask) -> _Delivery | refusals.Trouble | None:
        """What came of an ask otherwise than by a call; None where nothing did, or it is used up."""
        recorded = self.recorded(ask) if self.recorded else None
        if recorded is None:
            return None
        self._heard += 1
        sent = replace(request, sent=recorded.sent)
        return self._response(sent, ask, recorded.status, {}, recorded.body, 0.0, batched=True)

    def _adjust(self, trouble: refusals.Trouble, request: wire.Request, cap: int) -> int:
        """Remember what the endpoint refuses; returns the token limit to go on with."""
        feature = trouble.feature
        if feature == "room":
            return trouble.cap or cap
        if feature is not None:
            self.learned.refuse(feature, request.body, trouble.cap)
        if feature == "temperature":
            self._warn(f"refuses temperature {self.sampling.temperature:g}; its own default is used")
        elif feature == "system":
            self._warn("refuses the system role; the system text goes before the first user message")
        elif feature == "logprobs":
            self._warn("gives no probabilities of its tokens, so that its verdicts have no confidence")
        elif feature == "most":
            self._warn(f"takes at most {trouble.cap} tokens a reply")
        return cap

    def _refuse_n(self, line: str) -> None:
        self.learned.n = False
        self._warn(f"{line}; they are asked one by one")

    async def _wait(self, tries: int, asked: float | None) -> None:
        await self._patience.sleep(back_off(tries, asked, self._patience.backoff, self._patience.rng))

    async def _wait_for_loading(self, asked: float | None) -> float:
        """Wait a while for a server that is loading its model, and say so once; returns the seconds waited."""
        self._warn("was still loading its model and was waited for")
        seconds = max(LOOK, asked or 0.0)
        await self._patience.sleep(seconds)
        self.retried += 1
        return seconds

    async def _send(self, request: wire.Request, ask: Ask) -> _Delivery | refusals.Trouble:
        """One request, once, at the pace of its service."""
        if self._pace is None:
            return await self._exchange(request, ask)
        await self._pace.enter()
        try:
            return await self._exchange(request, ask)
        finally:
            self._pace.leave()

    async def _exchange(self, request: wire.Request, ask: Ask) -> _Delivery | refusals.Trouble:
        """One request and what comes of it."""
        if self._closed:
            return refusals.Trouble("connection", "the client was closed")
        try:
            payload = request.payload()
        except orjson.JSONEncodeError:
            return refusals.Trouble("bad_request", "the messages hold characters that JSON cannot carry")
        try:
            async with self._gate:
                started = time.perf_counter()
                began = time.monotonic()
                status, headers, body = await self._post(payload)
                seconds = time.perf_counter() - started
                if self._pace:
                    self._pace.heard(status, headers, began)
        except aiohttp.ConnectionTimeoutError as error:
            return self._broken(error)
        except TimeoutError:
            return refusals.Trouble("timeout", f"no answer within {self._timeout.total:g} s", retry=True)
        except aiohttp.ClientResponseError as error:
            return self._broken_proxy(error)
        except (aiohttp.ClientError, OSError) as error:
            return self._broken(error)
        return self._response(request, ask, status, headers, body, seconds)

    def _response(
        self,
        request: wire.Request,
        ask: Ask,
        status: int,
        headers: Mapping[str, str],
        body: bytes | None,
        seconds: float,
        *,
        batched: bool = False,
    ) -> _Delivery | refusals.Trouble:
        """What a response means, whichever way it came."""
        if body is None:
            return refusals.Trouble("too_large", f"the response is larger than {CAP // 2**20} MB")
        if 300 <= status < 400:
            where = headers.get("Location", "nowhere").partition("?")[0]
            return refusals.Trouble("bad_request", f"{status} to {where}", fatal=ModelError)
        if not 200 <= status < 300:
            wait = refusals.retry_after(headers, time.time())
            return refusals.trouble_of(refusals.error_of(status, body), request.body, wait)
        return self._read(request, body, seconds, ask, batched=batched)

    async def _post(self, payload: bytes) -> Posted:
        self.requests += 1
        posted = await self.send(payload)
        self._heard += 1
        return posted

    async def send(self, payload: bytes) -> Posted:
        """Send a request at once, whatever its service's pace; raises what aiohttp does."""
        async with self.session().post(
            self._url, data=payload, allow_redirects=False, proxy=self.endpoint.proxy
        ) as response:
            self._heard += 1  # even where the body is cut off
            return response.status, response.headers, await body_of(response)

    def _open(self) -> aiohttp.ClientSession:
        """The session: no cookies, no .netrc, no compression (a bomb would pass under the cap), no redirects."""
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": f"maskbench/{version('maskbench')}",
        }
        headers |= self._dialect.headers(self.endpoint.key)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300, resolver=self._resolver()),
            headers=headers,
            timeout=self._timeout,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
        )
        return self._session

    def _resolver(self) -> AbstractResolver | None:
        """Who looks up the server's name; where the key goes out unencrypted, one that gives no public address."""
        if not self.endpoint.private_only:
            return None
        return PrivateResolver(self.endpoint.service, aiohttp.DefaultResolver())

    def _read(
        self, request: wire.Request, body: bytes, seconds: float, ask: Ask, *, batched: bool
    ) -> _Delivery | refusals.Trouble:
        data = wire.parse(body)
        answer = self._dialect.read(data, self.learned, self._mask, self._whole_ends)
        usage = answer.usage if answer else wire.usage_of(data)
        if self._pace and usage.input is not None and not batched:
            self._pace.counted(usage.input + (usage.output or 0))
        if (
            self.billed and not batched and (answer or usage.input or usage.output)
        ):  # whatever becomes of it, it was paid
            self.billed(ask, usage)
        if answer is None:
            if (error := refusals.error_within(data)) is not None:
                return refusals.trouble_of(error, request.body)
            word = wire.broken_off(data)
            why = f'the answer was broken off ("{word}")' if word else "the response is not a chat completion"
            return refusals.Trouble("malformed_response", why, retry=True)
        self._answered += 1
        answer = self._without_key(answer)
        self._learn(answer, request.body)
        if cut := wire.cut_prompt(ask.messages, usage):
            return refusals.Trouble("cut_prompt", cut)
        return _Delivery(answer, request.sent, seconds)

    def _without_key(self, answer: wire.Answer) -> wire.Answer:
        """An answer without the key, should the server have sent it back: that is told, with the number of samples."""
        choices = tuple(choice and choice.masked(self._mask_reply) for choice in answer.choices)
        if found := sum(before is not after for before, after in zip(answer.choices, choices, strict=True)):
            self.warnings = [line for line in self.warnings if _ECHO not in line]
            self._echoes += found
            self._warn(
                f"{_ECHO} in {self._echoes:,} of its samples: *** stands for it there, and all else of them is as it "
                "came. Who can read that server's answers can read your key: have another one made"
            )
        return replace(answer, choices=choices) if found else answer

    def _learn(self, answer: wire.Answer, body: Mapping[str, Any]) -> None:
        learned = self.learned
        learned.accept(body)
        learned.reasons = learned.reasons or answer.reasons
        if any(choice is not None and choice.opened for choice in answer.choices):
            learned.opens = True
            self._warn(
                "sent text before a closing mark such as `</think>` that nothing opens: where nine of ten replies have "
                "one, it is reasoning, and no judge sees it"
            )
        if answer.model and len(self._resolved) < KEPT and not alike(self.endpoint.model, answer.model):
            self._warn(f"answers as {answer.model}, another name than it was asked for")
        for name, seen in ((answer.model, self._resolved), (answer.fingerprint, self._fingerprints)):
            if name is not None and name not in seen and len(seen) < KEPT:
                seen[name] = None

    # What goes wrong

    def _broken(self, error: Exception) -> refusals.Trouble:
        """A connection that could not be made or did not hold; only a refused certificate is beyond retrying."""
        hopeless = isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError)
        return refusals.Trouble("connection", f"{type(error).__name__}: {error}", retry=not hopeless)

    def _broken_proxy(self, error: aiohttp.ClientResponseError) -> refusals.Trouble:
        """What aiohttp raises for a response that is not HTTP, and for a proxy that does not let us through."""
        if isinstance(error, aiohttp.ClientHttpProxyError):
            return refusals.Trouble("connection", f"the proxy answers {error.status}: {error.message}", retry=True)
        self._heard += 1
        return refusals.Trouble("malformed_response", f"the response is not HTTP: {error.message}", retry=True)

    def _give_up(self, trouble: refusals.Trouble) -> Failure:
        """The failure of a call, or the error that ends the run because no further call can succeed."""
        where, words = self.endpoint.address, self._told(trouble)
        base = base_variable(self.endpoint.service)
        if trouble.cause == "connection" and not self._heard:
            check = f"{base}, and that the server runs" if self.endpoint.local else f"your own network, and {base}"
            raise Unreachable(f"{self.name}: nothing answers at {where} ({words}). Check {check}.")
        if trouble.fatal is AccessError:
            keys = " or ".join(self.keys)
            raise AccessError(f"{self.name}: {where} refuses access ({words}). Check {keys} and its account.")
        if trouble.fatal is UnknownModel:
            told = "" if urlsplit(where).path else f" The address has no path: most servers answer at {where}/v1."
            raise UnknownModel(f"{self.name}: {where} knows no such model ({words}). Check the name, and {base}.{told}")
        if trouble.fatal is not None:
            raise ModelError(
                f"{self.name}: {where} redirects ({words}), which is never followed. Set {base} to the right address."
            )
        if trouble.cause == "bad_request":
            self._check_hope(trouble.detail, words)
        return self._failure(trouble)

    def _check_hope(self, detail: str, words: str) -> None:
        """Raise ModelError once so many requests were refused in the same words, numbers apart, and none was answered.

        Servers word what is wrong in too many ways to know them all; what they do to every request is one way.
        """
        if self._answered or self.learned.answered:
            return
        pattern = re.sub(r"\d+", "0", detail)
        self._refused[pattern] += 1
        if self._refused[pattern] >= REFUSED:
            raise ModelError(
                f"{self.name}: {self.endpoint.address} refused {REFUSED} requests in the same words and answered none "
                f"({words}). Mend what it says, or check the name and the server's options."
            )

    def _failure(self, trouble: refusals.Trouble) -> Failure:
        return Failure(self.stage, trouble.cause, self._told(trouble))

    def _told(self, trouble: refusals.Trouble) -> str:
        """What the server said, without the key."""
        return refusals.mask(self._mask(trouble.detail))

    def _warn(self, line: str) -> None:
        line = f"{self.name} {line}."
        if line not in self.warnings:
            self.warnings.append(line)


class PrivateResolver(AbstractResolver):
    """Looks names up as another resolver does, and raises AccessError for a name with a public address."""

    def __init__(self, service: str, resolver: AbstractResolver) -> None:
        self._service = service
        self._resolver = resolver

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a name; raises AccessError where one of them is public."""
        results = await self._resolver.resolve(host, port, family)
        if any(is_public(result["host"]) for result in results):
            raise AccessError(public_address(self._service, host))
        return results

    async def close(self) -> None:
        """Let go of the other resolver."""
        await self._resolver.close()


def back_off(tries: int, asked: float | None, longest_first: float, rng: random.Random) -> float:
    """Seconds to wait before one more try: exponentially with full jitter, and no less than the server asks."""
    return (asked or 0.0) + rng.uniform(0, min(LONGEST, longest_first * 2 ** min(tries - 1, 16)))


async def body_of(response: aiohttp.ClientResponse) -> bytes | None:
    """The body, or None once it is larger than the cap."""
    length = response.content_length
    if length is not None and length > CAP:
        response.close()
        return None
    if length is not None:
        return await response.read()
    size, chunks = 0, []
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > CAP:
            response.close()
            return None
        chunks.append(chunk)
    return b"".join(chunks)


def _share_usage(results: Sequence[Reply | Failure | _Budget | None]) -> list[Reply | Failure | None]:
    """The usage of a request of several samples on its first reply alone; None for what is to be asked again."""
    shared: list[Reply | Failure | None] = []
    carried = False
    for result in results:
        if isinstance(result, Reply):
            shared.append(replace(result, usage=Usage(0, 0, 0)) if carried else result)
            carried = True
        else:
            shared.append(result if isinstance(result, Failure) else None)
    return shared


def _chat_url(base_url: str, below: str, usual: str = "") -> yarl.URL:
    """The address of a path below a base URL, which may itself end with the `usual` one that takes requests."""
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/").removesuffix(usual or below) + below
    return yarl.URL(urlunsplit(parts._replace(path=path)), encoded=True)
