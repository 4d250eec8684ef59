"""The desk: which requests of a scenario go out now, and what an answer puts where.

It asks nobody and waits for nothing; an executor drives it. It knows of two scenarios at a time: an equal request that
is under way, or whose verdict is stored, serves both. (In a batch equal requests have one id, and go out once.)
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from maskbench.asking.passes import as_seen
from maskbench.asking.watching import Watcher
from maskbench.errors import ModelError
from maskbench.method.forms import ask_again, verdict_in
from maskbench.method.forms.hearing import Hearing
from maskbench.method.steps import REPLIES, Again, Known, Slot, State, Step, Task, Unread, is_open
from maskbench.scenarios import Key
from maskbench.settings import Settings, reply_key, seed_of
from maskbench.store.families import alike
from maskbench.store.heard import heard
from maskbench.store.store import Store
from maskbench.types import Ask, Failure, Judgement, Kind, Model, Reply, Scenario, Stage

UNFIT = 30  # unreadable answers without one readable: a judge that never gives a verdict is not paid to the end


class Keyed(NamedTuple):
    """One place of a request as if it were asked for alone: the request, and the keys of what it brings.

    A reply has one key, which is noted with it, a verdict those of its hearing.
    """

    ask: Ask
    keys: tuple[bytes, ...]

    @property
    def own(self) -> bytes:
        """The key that nothing else has."""
        return self.keys[-1]

    @property
    def shared(self) -> bytes:
        """The key that equal requests have, where the verdict on one will do for all."""
        return self.keys[0]


@dataclass(slots=True, eq=False)
class Outgoing:
    """A request that goes out, for some places of a scenario, and by what each place is known.

    `unread` is what the first answer left where this is the second request.
    """

    scenario: Scenario
    step: Step
    places: Mapping[Slot, Keyed]
    ask: Ask
    model: Model
    unread: Unread | None = None

    @property
    def stage(self) -> Stage:
        """Who is asked."""
        return self.step.stage


@dataclass(slots=True)
class InProgress:
    """A scenario that is being asked about: what is known of it, and what is under way."""

    scenario: Scenario
    known: dict[Slot, State]
    under_way: set[Slot] = field(default_factory=set)
    alone: set[Slot] = field(default_factory=set)  # samples that did not come with the others
    keyed: dict[Slot, Keyed] = field(default_factory=dict)  # of verdicts that are still to be had


class Desk:
    """The desk: turns wanted steps of open scenarios into requests, and answers into states."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        judges: Mapping[Kind, Model],
        watcher: Watcher,
        subject: Model | None = None,
    ) -> None:
        """`judges` are by kind of scenario.

        Without a `subject` replies stand as they are stored, those that failed among them.
        """
        self._settings, self._store, self._watcher = settings, store, watcher
        self._subject, self._judges = subject, judges
        self._task: Task = _no_task
        self._hearing: Hearing | None = None
        self._waiting: dict[bytes, set[Key]] = {}  # for the verdict on a shared key that is under way: the scenarios
        self._warm: set[str] = set()  # judges that do not take temperature 0: no answer serves another request
        self._failed: dict[Key, dict[Slot, Failure]] = {}  # in this session: not tried again in it
        self._readable: set[str] = set()  # judges that gave a verdict
        self._unread: Counter[str] = Counter()  # answers without a verdict, of judges that gave none yet

    def begin_pass(self, task: Task, hearing: Hearing) -> None:
        """Go on with this task, whose verdicts are read from the set of this hearing and written there."""
        self._task, self._hearing = task, hearing
        self._waiting.clear()
        if self._store.verdict_counts().get(hearing.into, (0, 0))[0]:
            self._readable |= {judge.name for judge in self._judges.values()}

    @property
    def hearing(self) -> Hearing:
        """How replies are judged now; raises ValueError before a task is taken up."""
        if self._hearing is None:
            raise ValueError("No task is taken up.")
        return self._hearing

    def open(self, scenario: Scenario) -> InProgress:
        """A scenario as this session sees it: what failed in an earlier one is to be asked again."""
        samples = self._store.samples(scenario, self.hearing.into)
        known = as_seen(samples, self.hearing, self._settings, asks_subject=self._subject is not None)
        for slot, failure in self._failed.get(scenario.key, {}).items():
            if isinstance(known.get(slot), Again):
                known[slot] = failure
        return InProgress(scenario, known)

    def is_over(self, opened: InProgress) -> bool:
        """Whether nothing of a scenario is left to ask, or to wait for."""
        return not opened.under_way and not self._task(opened.scenario, opened.known)

    def ready(self, opened: InProgress, *, once: bool = True) -> list[Outgoing]:
        """The requests that can go out for a scenario now: none that is under way, or that an equal one serves.

        Stored verdicts on equal requests are taken in first. `once`: of equal requests that are still to be asked the
        first goes out, and the others wait for it.
        """
        out: list[Outgoing] = []
        here: set[bytes] = set()  # shared keys of this one scenario: the first request of each goes out
        for step in self._wanted(opened):
            fills = tuple(slot for slot in step.fills if slot not in opened.under_way)
            if step.stage == "subject":
                out += self._of_subject(opened, step, fills) if fills else ()
            elif fills and not self._waits(opened, step, fills[0], here if once else None):
                out.append(self._of_judge(opened, step, fills[0]))
        return out

    def _wanted(self, opened: InProgress) -> list[Step]:
        """The steps of the task, once every stored verdict that serves one of them is taken in."""
        while True:
            steps = self._task(opened.scenario, opened.known)
            if not sum(self._serve(opened, step) for step in steps if step.stage == "judge"):
                return steps

    def _serve(self, opened: InProgress, step: Step) -> bool:
        """Take in the stored verdicts on the requests of a step; returns whether there was any."""
        served = False
        for slot in step.fills:
            if slot in opened.under_way or isinstance(opened.known.get(slot), Unread):
                continue
            keyed = self._keyed(opened, step, slot)
            for key in keyed.keys:
                if (judgement := self._store.verdict(slot.into, key)) is not None:
                    self._store.link(slot.into, keyed.ask, key)
                    opened.known[slot] = judgement
                    served = True
                    break
        return served

    def _waits(self, opened: InProgress, step: Step, slot: Slot, here: set[bytes] | None) -> bool:
        """True, and noted, where the verdict on an equal request that is under way, or goes out now, will serve."""
        if here is None or not self.hearing.shares or isinstance(opened.known.get(slot), Unread):
            return False
        keyed = self._keyed(opened, step, slot)
        if self._judges[keyed.ask.scenario.kind].name in self._warm:
            return False
        if keyed.shared in self._waiting:
            self._waiting[keyed.shared].add(opened.scenario.key)
            return True
        if keyed.shared in here:
            return True
        here.add(keyed.shared)
        return False

    def _of_subject(self, opened: InProgress, step: Step, fills: tuple[Slot, ...]) -> Iterator[Outgoing]:
        subject = self._subject
        if subject is None:
            raise ValueError("There is no subject to ask.")
        alone = [slot for slot in fills if slot in opened.alone or not subject.together]
        rest = tuple(slot for slot in fills if slot not in alone)
        for some in (*([rest] if rest else ()), *((slot,) for slot in alone)):
            ask = step.make(some)
            places = {slot: Keyed(ask, (reply_key(self._settings, ask, slot.run),)) for slot in some}
            seeds = tuple(seed_of(keyed.own) for keyed in places.values())
            yield Outgoing(opened.scenario, step, places, replace(ask, seeds=seeds), subject)

    def _keyed(self, opened: InProgress, step: Step, slot: Slot) -> Keyed:
        """By what a verdict is known."""
        if (keyed := opened.keyed.get(slot)) is None:
            ask = step.make((slot,))
            opened.keyed[slot] = keyed = Keyed(ask, self.hearing.keys(ask))
        return keyed

    def _of_judge(self, opened: InProgress, step: Step, slot: Slot) -> Outgoing:
        keyed = self._keyed(opened, step, slot)
        judge, before = self._judges[keyed.ask.scenario.kind], opened.known.get(slot)
        ask, seed, unread = keyed.ask, seed_of(self._seeded(keyed.own)), None
        if isinstance(before, Unread):
            ask, seed, unread = ask_again(ask, before.reply.text), before.seed, before
        return Outgoing(opened.scenario, step, {slot: keyed}, replace(ask, seeds=(seed,)), judge, unread)

    def _seeded(self, own: bytes) -> bytes:
        """The bytes that a verdict's two seeds are made of: in a session no seed goes out twice."""
        salt = self.hearing.salt
        return hashlib.sha256(salt.encode() + own).digest()[:16] if salt else own

    def begin(self, opened: InProgress, out: Outgoing) -> None:
        """Note that a request goes out."""
        opened.under_way.update(out.places)
        if out.stage == "judge" and self.hearing.shares:
            for keyed in out.places.values():
                self._waiting.setdefault(keyed.shared, set())

    def drop(self, opened: InProgress, out: Outgoing) -> None:
        """Note that a request did not go out after all."""
        opened.under_way.difference_update(out.places)

    def take(self, opened: InProgress, out: Outgoing, answers: Sequence[Reply | Failure | None]) -> set[Key]:
        """Keep what came of a request; returns the scenarios that are to be looked at again.

        Raises ModelError once a judge gave so many answers without a verdict that it is no fit one.
        """
        opened.under_way.difference_update(out.places)
        if out.stage == "subject":
            self._take_replies(opened, out, answers)
            return {opened.scenario.key}
        (answer,) = answers
        if answer is None:
            raise ValueError("A judge answers every request.")
        return self._take_verdict(opened, out, answer) | {opened.scenario.key}

    def _take_replies(self, opened: InProgress, out: Outgoing, answers: Sequence[Reply | Failure | None]) -> None:
        has_reply = False
        for (slot, keyed), given in zip(out.places.items(), answers, strict=True):
            if given is None:
                opened.alone.add(slot)
                continue
            answer = self._of_the_subject(given)
            self._store.put_reply(keyed.own, seed_of(keyed.own), out.ask, slot.run, answer)
            shown = heard(answer, self._store.marks.opens) if isinstance(answer, Reply) else answer
            self._know(opened, slot, shown, replace(out.ask, runs=(slot.run,)))
            has_reply |= isinstance(shown, Reply)
        if not out.step.joint:
            return
        same = [slot for slot in opened.known if slot.elicitation == out.ask.elicitation]
        if has_reply:
            self._store.unjudge(out.ask)
            for slot in (slot for slot in same if slot.into != REPLIES):
                del opened.known[slot]  # the one verdict was on fewer replies
        replies = [slot for slot in same if isinstance(opened.known.get(slot), Reply)]
        if len(replies) < 2 and not any(is_open(opened.known.get(slot)) for slot in out.step.fills):
            failure = Failure("judge", "too_few_replies", "A joint verdict needs two belief replies.")
            self._watcher.failed(out.ask, failure)

    def _of_the_subject(self, answer: Reply | Failure) -> Reply | Failure:
        """The answer, or the failure that it is where another model gave it and the run does not want that."""
        subject = self._settings.subject.name
        if self._settings.subject.on_substitution != "error" or isinstance(answer, Failure) or not answer.model:
            return answer
        if alike(subject, answer.model):
            return answer
        return Failure("subject", "substituted", f"{answer.model} answered in place of {subject}.")

    def _take_verdict(self, opened: InProgress, out: Outgoing, answer: Reply | Failure) -> set[Key]:
        """Keep the verdict of an answer; where it has none it is asked for once more, and then it has failed."""
        ((slot, keyed),) = out.places.items()
        replies: list[Reply | Failure] = [*([out.unread.reply] if out.unread else ()), answer]
        shared = self.hearing.shares and self._is_cold(out.model, replies)
        state: Judgement | Failure
        if isinstance(answer, Failure):
            state = answer
        elif found := self._verdict(out, answer):
            state = found
        else:
            opened.known[slot] = Unread(answer, seed_of(self._seeded(keyed.own)[8:]))
            return set()
        key = keyed.shared if shared and isinstance(state, Judgement) else keyed.own
        self._store.put_verdict(slot.into, key, state, replies)
        self._store.link(slot.into, keyed.ask, key)
        self._know(opened, slot, state, keyed.ask)
        if isinstance(answer, Reply) and isinstance(state, Failure):
            self._count_unread(out.model, answer.text)
        return self._waiting.pop(keyed.shared, set())

    def _verdict(self, out: Outgoing, answer: Reply) -> Judgement | Failure | None:
        """The verdict in an answer, or the failure that a second answer without one is."""
        if found := verdict_in(out.ask, answer):
            self._readable.add(out.model.name)
        if found or out.unread is None:
            return found
        return Failure("judge", "unreadable", f"No verdict in {answer.text[:300]!r}.")

    def _is_cold(self, judge: Model, replies: Iterable[Reply | Failure]) -> bool:
        """Whether temperature 0 was accepted: only then has an equal request an equal answer."""
        cold = all(isinstance(each, Failure) or each.sent.get("temperature") == 0 for each in replies)
        if not cold:
            self._warm.add(judge.name)
        return cold

    def _know(self, opened: InProgress, slot: Slot, state: Reply | Failure | Judgement, about: Ask) -> None:
        opened.known[slot] = state
        opened.keyed.pop(slot, None)
        if isinstance(state, Failure):
            self._failed.setdefault(opened.scenario.key, {})[slot] = state
            self._watcher.failed(about, state)

    def _count_unread(self, judge: Model, text: str) -> None:
        """Count an answer without a verdict; raises ModelError once there are many, and not one that could be read."""
        self._unread[judge.name] += 1
        if judge.name in self._readable or self._unread[judge.name] < UNFIT:
            return
        raise ModelError(
            f"{judge.name} gave no verdict that carries the code of its request in {UNFIT} cases, each asked twice, so "
            "it is no fit judge. "
            f"One of its answers: {text[:300]!r}. What was answered is kept: `maskbench judge RUN --judge OTHER` has "
            "another judge read the replies of a run, and the command of before asks this one again."
        )


def _no_task(_: Scenario, __: Known) -> list[Step]:
    return []
