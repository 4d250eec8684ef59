"""The flow of a measurement: every scenario's asks to the subject, every reply to the judge, all of it kept.

No stage waits for another: a reply is judged as soon as it is there, and a few scenarios are under way at a time,
so that memory does not grow with their number.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Container, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeVar

from maskbench.errors import BudgetReached, Interrupted, MaskbenchError, ModelError
from maskbench.method.asks import (
    VERDICTS,
    all_judge_asks,
    is_joint,
    joint_ask,
    own_asks,
    replies_of,
    reply_ask,
    stands,
    subject_asks,
)
from maskbench.method.judge_ask import Prompts, ask_again, verdict_in
from maskbench.method.judged_together import asks_about, is_together, requests_for
from maskbench.method.verdict import confidence
from maskbench.models.families import alike
from maskbench.runs.drawn_part import is_asked_anew
from maskbench.runs.endings import limit_of
from maskbench.runs.first_of_prefix import Firsts
from maskbench.runs.judge_together import JudgedTogether, Verdicts, ask_for_each, is_cold
from maskbench.runs.meter import Meter
from maskbench.runs.store import Store
from maskbench.runs.watching import Watcher
from maskbench.settings import Settings, reply_key, seed_of, verdict_key
from maskbench.types import Ask, Failure, Judgement, Kind, Model, Reply, Scenario, Stage

UNFIT = 30  # unreadable answers without one readable: a judge that never gives a verdict is not paid to the end
_ENDLESS = 1_000_000
GRACE_SECONDS = 10.0  # once a run is stopped, for calls in flight to come home: they are paid for


class Gate(asyncio.Semaphore):
    """How many requests may be in flight; once closed, nobody gets in any more.

    `meter`, where there is one, is asked before each request whether the limits of money and tokens allow it.
    """

    _closed: str | None = None
    meter: Meter | None = None

    def __init__(self, connections: int) -> None:
        super().__init__(connections)
        self._connections = connections

    def in_flight(self) -> int:
        """How many requests are in flight."""
        return self._connections - self._value

    def close(self, why: str) -> None:
        """Let nobody in from now on: whoever waits or comes gets Interrupted."""
        self._closed = why

    async def acquire(self) -> Literal[True]:
        """Get in; raises Interrupted once closed."""
        await super().acquire()
        if self.meter and not self._closed:
            self.meter.check()
        if self._closed:
            self.release()
            raise Interrupted(self._closed)
        return True


class JudgeFlow:
    """The replies in store on their way to verdicts; `run` takes it from wherever the store stands to its end."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        judges: Mapping[Kind, Model],
        prompts: Prompts,
        watcher: Watcher,
        gate: Gate | None = None,
        verdicts: str = VERDICTS,
        only: Container[tuple[str, str]] | None = None,
    ) -> None:
        """`judges` by kind of scenario; `gate` is the one that the models wait at, to be closed by `stop`.

        `verdicts` is the set that verdicts go into; `only` these scenarios are judged, by archetype and task_id.
        """
        self._settings = settings
        self._store = store
        self._verdicts = verdicts
        self._shares = settings.shares_verdicts
        self._only = only
        self._judges = judges
        self._prompts = prompts
        self._watcher = watcher
        self._gate = gate
        self._meter = gate.meter if gate else None
        if self._meter:
            self._meter.on_full = self._spent
        self._over: str | None = None  # the limit of money or tokens that stopped it, as its option is called
        self.stopped: str | None = None  # why no further call is started; None while it runs
        self._task: asyncio.Task[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None  # when calls in flight are given up
        self._lost: Counter[str] = Counter()  # calls in a row that found no connection, by model
        self._firsts = Firsts()
        self._unread: Counter[str] = Counter()  # answers without a verdict, of judges that gave none yet
        had, _ = store.verdict_counts().get(verdicts, (0, 0))
        self._readable = {judge.name for judge in judges.values() if had}
        self._under_way: dict[bytes, asyncio.Future[bool]] = {}  # judge requests, and whether equals should wait
        self._many = JudgedTogether(
            store, verdicts, prompts, watcher, self._under_way, keys=self._keys, ask=self._ask_for_each
        )
        # Twice as many as connections keep every connection busy while some calls wait to be retried; with more a
        # reply would wait for its verdict behind everything that the subject is still to be asked.
        self._turns = asyncio.Semaphore(2 * settings.connections)

    async def run(self) -> None:
        """Do what is not done yet.

        Raises ModelError where a model cannot be asked at all, RunError where the store cannot be written, and
        Interrupted where `stop` was called or the network seems lost. Everything answered until then is in the store.
        """
        self._task = asyncio.current_task()
        try:
            await self._scenarios()
        except asyncio.CancelledError:
            if not self.stopped:
                raise
        finally:
            if self._deadline:
                self._deadline.cancel()
            self._store.flush()
        if self.stopped and self._over:
            now = self._meter.reached(self._over) if self._meter and "is reached" in self.stopped else None
            raise BudgetReached(now or self.stopped, self._over, limit_of(self._settings.budget, self._over))
        if self.stopped:
            raise Interrupted(self.stopped)

    def _spent(self, why: str, option: str) -> None:
        """Stop at a limit of money or tokens: what is under way is paid for, and has its whole time to come home."""
        if not self.stopped:
            self._over = option
            self._watcher.tell(why)
            self.stop(why, grace=self._settings.timeout)

    def stop(self, why: str, grace: float = GRACE_SECONDS) -> None:
        """Start no further call; those in flight have `grace` seconds to come home."""
        if not self.stopped:
            self.stopped = why
            if self._gate:
                self._gate.close(why)
            for model in self._models():
                if (drain := getattr(model, "drain", None)) is not None:  # its queue is its own
                    drain(why)
        if self._deadline:
            self._deadline.cancel()
        if self._task:
            self._deadline = asyncio.get_running_loop().call_later(grace, self._task.cancel)

    def share_nothing(self) -> None:
        """Have every reply judged for itself, though an equal one may have a verdict."""
        self._shares = False

    def _models(self) -> list[Model]:
        """Whom this flow asks."""
        return list(self._judges.values())

    async def _scenarios(self) -> None:
        await self._each(self._scenario)

    def _ahead(self) -> int:
        """How many scenarios may be under way: fewer where each has many calls, whose texts wait in memory."""
        connections, calls = self._settings.connections, 3 + self._settings.statements
        return max(2, connections // 2, 8 * connections // calls)

    async def _each(self, work: Callable[[Scenario], Coroutine[Any, Any, None]]) -> None:
        """Do this for every scenario, a few of them at a time."""
        window = asyncio.Semaphore(self._ahead())
        try:
            async with asyncio.TaskGroup() as group:
                for scenario, _ in self._store.scenarios():
                    if self._only is not None and scenario.key not in self._only:
                        continue
                    await window.acquire()
                    if self.stopped:
                        break
                    task = group.create_task(work(scenario))
                    task.add_done_callback(lambda _: window.release())
        except BaseExceptionGroup as errors:
            raise _first(errors) from None

    async def _scenario(self, scenario: Scenario) -> None:
        known = self._store.replies(scenario)
        await together(partial(self._judge, asked) for asked in self._judge_asks(scenario, known))

    def _judge_asks(self, scenario: Scenario, known: Mapping[bytes, Reply | Failure]) -> Iterator[Ask]:
        """What the judge is asked about what is stored of one scenario."""
        return all_judge_asks(subject_asks(scenario, self._settings), known, self._settings, self._prompts)

    async def _judge(self, ask: Ask) -> None:
        """Have a reply judged, unless its verdict is in store or an identical request is under way."""
        judge = self._judges[ask.scenario.kind]
        if ask.each:
            await self._many.judge(judge, ask, shares=self._shares)
        else:
            shared, own = self._keys(judge, ask)
            key = await self._known_as(shared, own) or await self._ask_and_keep(judge, ask, shared, own)
            self._store.link(self._verdicts, ask, key)
        self._watcher.settled("judge")

    def _keys(self, judge: Model, ask: Ask) -> tuple[bytes, bytes]:
        """The keys of a verdict: the one that equal requests share, and its own."""
        how = judge.name, self._settings.judge_sampling, self._prompts.hash, ask
        return verdict_key(*how, shared=True), verdict_key(*how, shared=False)

    async def _known_as(self, shared: bytes, own: bytes) -> bytes | None:
        """The key under which the verdict is there already, or comes by an identical request under way."""
        waits = self._shares
        while waits:
            if self._store.has_verdict(self._verdicts, shared):
                return shared
            under_way = self._under_way.get(shared)
            waits = under_way is not None and await asyncio.shield(under_way)
        return own if self._store.has_verdict(self._verdicts, own) else None

    async def _ask_and_keep(self, judge: Model, ask: Ask, shared: bytes, own: bytes) -> bytes:
        under_way: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._under_way[shared] = under_way
        cold = True
        try:
            judgement, replies = await self._ask_judge(judge, ask, own)
            # Only where temperature 0 was accepted does an equal request have an equal answer.
            cold = all(map(is_cold, replies))
            share = self._shares and isinstance(judgement, Judgement) and cold
            key = shared if share else own
            self._store.put_verdict(self._verdicts, key, judgement, replies)
            if isinstance(judgement, Failure):
                self._watcher.failed(ask, judgement)
            return key
        finally:
            self._under_way.pop(shared, None)  # an identical request that may not be shared may have taken its place
            under_way.set_result(cold)

    async def _ask_judge(self, judge: Model, ask: Ask, own: bytes) -> tuple[Judgement | Failure, list[Reply | Failure]]:
        """Ask for a verdict; what cannot be read is asked again once, with the bad answer and a reminder."""
        asked = ask
        answers: list[Reply] = []
        for seed in (seed_of(own), seed_of(own[8:])):  # no seed goes out twice
            (reply,) = (await self._call(judge, replace(asked, seeds=(seed,)), "judge")).values()
            if isinstance(reply, Failure):
                return reply, [*answers, reply]
            answers.append(reply)
            judgement = verdict_in(ask, reply)
            if judgement and self._is_an_answer(ask, judgement):
                self._readable.add(judge.name)
                return replace(judgement, confidence=confidence(judgement, reply.tokens)), [*answers]
            asked = self._again(ask, reply.text)
        self._count_unread(judge, answers[-1].text)
        return Failure("judge", "unreadable", f"No verdict in {answers[-1].text[:300]!r}."), [*answers]

    async def _ask_for_each(self, judge: Model, ask: Ask, own: bytes) -> tuple[Verdicts, list[Reply | Failure]]:
        """Ask for a verdict on each of several replies in one request."""
        verdicts, answers, readable = await ask_for_each(judge, ask, own, self._prompts, self._call)
        if readable:
            self._readable.add(judge.name)
        elif isinstance(last := answers[-1], Reply):
            self._count_unread(judge, last.text)
        return verdicts, answers

    def _is_an_answer(self, _ask: Ask, _judgement: Judgement) -> bool:
        """Whether what was read can be the answer to this ask; to a judge's every verdict can."""
        return True

    def _again(self, ask: Ask, bad_text: str) -> Ask:
        """What is asked after an answer that could not be read."""
        return ask_again(ask, bad_text)

    def _count_unread(self, judge: Model, text: str) -> None:
        """Count an answer without a verdict; stop once there are many, and not one that could be read."""
        self._unread[judge.name] += 1
        if judge.name in self._readable or self._unread[judge.name] < UNFIT:
            return
        why = (
            f"{judge.name} gave no verdict that carries the code of its request in {UNFIT} cases, each asked twice, so "
            "it is no fit judge. "
            f"One of its answers: {text[:300]!r}. What was answered is kept: start again with another --judge, or as "
            "before to ask this one again."
        )
        self.stop(why)
        raise ModelError(why)

    async def _call(self, model: Model, ask: Ask, stage: Stage) -> dict[int, Reply | Failure]:
        """The answers by run; a run that is not among them needs a call of its own."""
        if self.stopped:
            raise Interrupted(self.stopped)
        price = self._meter.ledger.prices.get(stage, {}).get(model.name) if self._meter else None
        try:
            async with self._firsts.in_turn(ask, price):
                given = await model.ask(ask)
            answers = {
                run: _cleaned(answer, stage) for run, answer in zip(ask.runs, given, strict=True) if answer is not None
            }
        except ModelError as error:
            self.stop(str(error))  # whatever waits at the gate must not go out as well
            raise
        for answer in answers.values():
            self._watcher.called(stage, answer)
            if self._meter and not hasattr(model, "billed") and isinstance(answer, Reply):
                self._meter.paid(stage, ask.call, model.name, answer.usage)
            lost = isinstance(answer, Failure) and answer.cause == "connection"
            self._lost[model.name] = self._lost[model.name] + 1 if lost else 0
        if self._lost[model.name] >= max(8, self._settings.connections):
            self.stop(f"{model.name}: {self._lost[model.name]} calls in a row found no connection.")
        return answers


class Flow(JudgeFlow):
    """One measurement under way: the subject's replies, and the verdicts on them as they come."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        subject: Model,
        judges: Mapping[Kind, Model],
        prompts: Prompts,
        watcher: Watcher,
        gate: Gate | None = None,
    ) -> None:
        """As for JudgeFlow, and `subject` for the replies that are not in store."""
        super().__init__(settings, store, judges, prompts, watcher, gate)
        self._subject = subject
        if getattr(subject, "queues", False):  # it has no connections to share, and makes batches of all that waits
            self._turns = asyncio.Semaphore(_ENDLESS)

    def _models(self) -> list[Model]:
        return [self._subject, *super()._models()]

    async def _scenario(self, scenario: Scenario) -> None:
        known = self._store.replies(scenario)
        asks = self._own_asks(scenario)
        jobs = [partial(self._answer, ask, known) for ask in asks if not is_together(ask, self._settings)]
        if beliefs := [ask for ask in asks if is_together(ask, self._settings)]:
            jobs.append(partial(self._answer_together, beliefs, known))
        await together(jobs)

    def _own_asks(self, scenario: Scenario) -> list[Ask]:
        return own_asks(scenario, self._settings, anew=is_asked_anew(self._store, scenario, self._settings))

    async def _answer(self, ask: Ask, known: Mapping[bytes, Reply | Failure]) -> None:
        """Get every sample of one ask, those in store first, and a verdict on each, or on all together."""
        replies, obtain = self._had_and_wanted(ask, known)
        if is_joint(ask, self._settings.judge_numbers):
            if (whole := await _whole(replies, obtain)) is not None:
                await self._judge_beliefs(ask, list(whole.values()))
        else:
            stored = [partial(self._judge_all, ask, replies)] if replies else []
            await together([*stored, *(partial(self._judge_each, ask, job) for job in obtain)])

    def _had_and_wanted(
        self, ask: Ask, known: Mapping[bytes, Reply | Failure]
    ) -> tuple[dict[int, Reply], list[Callable[[], Awaitable[dict[int, Reply]]]]]:
        """The replies to one ask that are in store, and what gets the others."""
        keys = {run: reply_key(self._settings, ask, run) for run in ask.runs}
        had = {run: known[key] for run, key in keys.items() if stands(known.get(key), self._settings)}
        missing = tuple(run for run in ask.runs if run not in had)
        for answer in had.values():
            self._settle(ask, answer)
        batches = [missing] if self._subject.together else [(run,) for run in missing]
        return replies_of(had), [partial(self._obtain, ask, runs, keys) for runs in batches if runs]

    async def _answer_together(self, asks: Sequence[Ask], known: Mapping[bytes, Reply | Failure]) -> None:
        """Get every sample of the neutral asks, and a verdict on each by one request."""
        sought = [self._had_and_wanted(ask, known) for ask in asks]
        replies = await together(partial(_whole, had, obtain) for had, obtain in sought)
        if None in replies:
            return  # the run was stopped
        pairs = zip(asks, replies, strict=True)
        texts = {(ask.elicitation, run): reply.text for ask, some in pairs for run, reply in (some or {}).items()}
        for _ in range(requests_for(sum(len(ask.runs) for ask in asks)) - requests_for(len(texts))):
            self._watcher.settled("judge")  # there is nothing to judge
        about = asks_about(asks[0].scenario, texts, self._prompts)
        await together(partial(self._judge, ask) for ask in about)

    async def _obtain(self, ask: Ask, runs: tuple[int, ...], keys: Mapping[int, bytes]) -> dict[int, Reply]:
        """Ask the subject for these samples and keep what comes; returns those that did not fail."""
        seeds = {run: seed_of(keys[run]) for run in runs}
        async with self._turns:
            asked = replace(ask, runs=runs, seeds=tuple(seeds.values()))
            answers = await self._call(self._subject, asked, "subject")
        if self._settings.on_substitution == "error":
            answers = {run: _of_the_subject(answer, self._settings.subject) for run, answer in answers.items()}
        for run, answer in answers.items():
            self._store.put_reply(keys[run], seeds[run], ask, run, answer)
            self._settle(ask, answer)
            if isinstance(answer, Failure):
                self._watcher.failed(replace(ask, runs=(run,)), answer)
        replies = replies_of(answers)
        if replies and is_joint(ask, self._settings.judge_numbers):
            self._store.unjudge(ask)
        for more in await together(partial(self._obtain, ask, (run,), keys) for run in runs if run not in answers):
            if more is None:
                raise Interrupted(self.stopped or "")
            replies |= more
        return replies

    def _settle(self, ask: Ask, answer: Reply | Failure) -> None:
        self._watcher.settled("subject")
        joint = is_joint(ask, self._settings.judge_numbers)
        if isinstance(answer, Failure) and not (joint or is_together(ask, self._settings)):
            self._watcher.settled("judge")  # there is nothing to judge

    async def _judge_each(self, ask: Ask, obtain: Callable[[], Awaitable[dict[int, Reply]]]) -> None:
        await self._judge_all(ask, await obtain())

    async def _judge_all(self, ask: Ask, replies: Mapping[int, Reply]) -> None:
        await together(
            partial(self._judge, reply_ask(ask, run, reply, self._settings, self._prompts))
            for run, reply in replies.items()
        )

    async def _judge_beliefs(self, ask: Ask, replies: Sequence[Reply]) -> None:
        """The one verdict on the belief replies of a numerical scenario, which takes two of them at least."""
        if len(replies) < 2:
            self._watcher.settled("judge")  # scoring finds the replies missing and says so
            self._watcher.failed(ask, Failure("judge", "too_few_replies", "A joint verdict needs two belief replies."))
            return
        await self._judge(joint_ask(ask, replies, self._prompts))


_T = TypeVar("_T")


async def together(jobs: Iterable[Callable[[], Awaitable[_T]]]) -> list[_T | None]:
    """Do these at once; a job that is stopped gives None and does not take the others with it."""

    async def unless_stopped(job: Callable[[], Awaitable[_T]]) -> _T | None:
        try:
            return await job()
        except Interrupted:
            return None

    jobs = list(jobs)
    if len(jobs) < 2:  # a task of its own is a good part of what a call costs here
        return [await unless_stopped(job) for job in jobs]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(unless_stopped(job)) for job in jobs]
    return [task.result() for task in tasks]


async def _whole(
    had: Mapping[int, Reply], obtain: Iterable[Callable[[], Awaitable[dict[int, Reply]]]]
) -> dict[int, Reply] | None:
    """The replies that were there and those that are got now, in their order; None where the run was stopped."""
    obtained = await together(obtain)
    if None in obtained:
        return None
    return dict(sorted(pair for some in [had, *obtained] for pair in (some or {}).items()))


def _cleaned(answer: Reply | Failure, stage: Stage) -> Reply | Failure:
    """The answer with its stage, and in text that every file can hold (half a surrogate pair cannot be stored)."""
    if isinstance(answer, Failure):
        return replace(answer, stage=stage, detail=_storable(answer.detail))
    texts = {name: getattr(answer, name) or "" for name in ("text", "reasoning", "model", "fingerprint")}
    odd: dict[str, Any] = {name: _storable(text) for name, text in texts.items() if not text.isascii()}
    return replace(answer, **odd) if odd else answer


def _of_the_subject(answer: Reply | Failure, subject: str) -> Reply | Failure:
    """The answer, or the failure that it is where another model gave it."""
    if isinstance(answer, Failure) or not answer.model or alike(subject, answer.model):
        return answer
    return Failure("subject", "substituted", f"{answer.model} answered in place of {subject}.")


def _storable(text: str) -> str:
    return text.encode(errors="replace").decode()


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one error that a user should hear of, out of all that a broken run raised at once."""
    flat = [_first(error) if isinstance(error, BaseExceptionGroup) else error for error in errors.exceptions]
    return next((error for error in flat if isinstance(error, MaskbenchError)), flat[0])
