"""The desk: which requests of a scenario go out now, and what an answer puts where.

It asks nobody and waits for nothing; an executor drives it. It is the one place that knows of two scenarios at a time:
an equal request that is under way, or whose verdict is stored, serves all of them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from maskbench.errors import ModelError
from maskbench.method.asks import ANEW
from maskbench.method.forms import ask_again, verdicts_in
from maskbench.method.forms.hearing import Hearing
from maskbench.method.steps import REPLIES, Again, Known, Slot, State, Step, Task, Unread, is_open
from maskbench.models.families import alike
from maskbench.runs.passes import as_seen
from maskbench.runs.store import Store
from maskbench.runs.watching import Watcher
from maskbench.scenarios import Key
from maskbench.settings import Settings, reply_key, seed_of, verdict_key
from maskbench.types import Ask, Failure, Judgement, Kind, Model, Reply, Scenario, Stage

UNFIT = 30  # unreadable answers without one readable: a judge that never gives a verdict is not paid to the end


class Part(NamedTuple):
    """One place of a request as if it were asked for alone: the request, and the keys of what it brings.

    A reply has one key, under which it is stored. A verdict has the one that equal requests share, and its own.
    """

    ask: Ask
    own: bytes
    shared: bytes = b""


@dataclass(slots=True, eq=False)
class Outgoing:
    """A request that goes out, for some places of a scenario, and by what each place is known.

    `unread` is what the first answer left where this is the second request.
    """

    scenario: Scenario
    step: Step
    parts: Mapping[Slot, Part]
    ask: Ask
    model: Model
    unread: Unread | None = None

    @property
    def stage(self) -> Stage:
        """Who is asked."""
        return self.step.stage


@dataclass(slots=True)
class Open:
    """A scenario that is under way: what is known of it, and what is being asked."""

    scenario: Scenario
    known: dict[Slot, State]
    under_way: set[Slot] = field(default_factory=set)
    alone: set[Slot] = field(default_factory=set)  # samples that did not come with the others
    parts: dict[Slot, Part] = field(default_factory=dict)  # of verdicts that are still to be had


class Desk:
    """What goes out next of the scenarios that are open, and what becomes of answers."""

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
        self._hearings: dict[str, Hearing] = {}
        self._under_way: dict[tuple[str, bytes], set[Key]] = {}  # equal requests under way, and who waits for them
        self._warm: set[str] = set()  # judges that do not take temperature 0: no answer serves another request
        self._failed: dict[Key, dict[Slot, Failure]] = {}  # in this session: not tried again in it
        self._readable: set[str] = set()  # judges that gave a verdict
        self._unread: Counter[str] = Counter()  # answers without a verdict, of judges that gave none yet

    def take_up(self, task: Task, hearings: Iterable[Hearing]) -> None:
        """Go on with this task, whose verdicts are read from the sets of these hearings and written there."""
        self._task, self._hearings = task, {hearing.into: hearing for hearing in hearings}
        counts = self._store.verdict_counts()
        if any(counts.get(into, (0, 0))[0] for into in self._hearings):
            self._readable |= {judge.name for judge in self._judges.values()}

    def open(self, scenario: Scenario) -> Open:
        """A scenario as this session sees it: what failed in an earlier one is to be asked again."""
        hearings = self._hearings.values()
        known = as_seen(self._store, scenario, hearings, self._settings, asks_subject=self._subject is not None)
        for slot, failure in self._failed.get(scenario.key, {}).items():
            by_key = slot.into in self._hearings and self._hearings[slot.into].by_key  # which `as_seen` leaves out
            if by_key or isinstance(known.get(slot), Again):
                known[slot] = failure
        return Open(scenario, known)

    def is_over(self, opened: Open) -> bool:
        """Whether nothing of a scenario is left to ask, or to wait for."""
        return not opened.under_way and not self._task(opened.scenario, opened.known)

    def ready(self, opened: Open, *, once: bool = True) -> list[Outgoing]:
        """What can go out for a scenario now: neither what is under way, nor what an equal request serves.

        `once`: of equal requests the first goes out, and the others wait for it.
        """
        while True:
            out: list[Outgoing] = []
            is_served = False
            here: set[tuple[str, bytes]] = set()  # equal requests of this one scenario: the first goes out
            for step in self._task(opened.scenario, opened.known):
                fills = tuple(slot for slot in step.fills if slot not in opened.under_way)
                if not fills:
                    continue
                if step.stage == "subject":
                    out += self._of_subject(opened, step, fills)
                    continue
                left = self._left_of(opened, step, fills, here if once else None)
                is_served |= any(
                    slot in opened.known and not isinstance(opened.known[slot], Again | Unread) for slot in fills
                )
                if left:
                    out.append(self._of_judge(opened, step, left))
            if not is_served:
                return out

    def _of_subject(self, opened: Open, step: Step, fills: tuple[Slot, ...]) -> Iterator[Outgoing]:
        subject = self._subject
        if subject is None:
            raise ValueError("There is no subject to ask.")
        if subject.together:
            fills += tuple(slot for slot in step.along if slot not in opened.under_way)
        alone = [slot for slot in fills if slot in opened.alone or not subject.together]
        rest = tuple(slot for slot in fills if slot not in alone)
        for some in (*([rest] if rest else ()), *((slot,) for slot in alone)):
            ask = step.make(some)
            parts = {slot: Part(ask, reply_key(self._settings, ask, slot.run)) for slot in some}
            seeds = tuple(seed_of(part.own) for part in parts.values())
            yield Outgoing(opened.scenario, step, parts, replace(ask, seeds=seeds), subject)

    def _left_of(
        self, opened: Open, step: Step, fills: tuple[Slot, ...], here: set[tuple[str, bytes]] | None
    ) -> tuple[Slot, ...]:
        """The places that no stored verdict serves and no equal request is about to; takes in what is stored."""
        left = []
        for slot in fills:
            if isinstance(opened.known.get(slot), Unread):
                left.append(slot)  # its first request was this one's, too
                continue
            part = self._part(opened, step, slot)
            hearing, equal = self._hearings[slot.into], (slot.into, part.shared)
            for key in (part.shared, part.own) if hearing.shares else (part.own,):
                if (judgement := self._store.verdict(slot.into, key)) is not None:
                    self._store.link(slot.into, part.ask, key)
                    opened.known[slot] = judgement
                    break
            else:
                if not hearing.shares or here is None or self._judges[part.ask.scenario.kind].name in self._warm:
                    left.append(slot)
                elif equal in self._under_way:
                    self._under_way[equal].add(opened.scenario.key)
                elif equal not in here:
                    here.add(equal)
                    left.append(slot)
        return tuple(left)

    def _part(self, opened: Open, step: Step, slot: Slot) -> Part:
        """What a verdict is known by: it hangs on its own reply alone, whatever else stands in the request."""
        if (known := opened.parts.get(slot)) is None:
            hearing, ask = self._hearings[slot.into], step.make((slot,))
            how = self._judges[ask.scenario.kind].name, hearing.settings.judging.sampling, hearing.prompts.hash, ask
            known = Part(ask, verdict_key(*how, shared=False), verdict_key(*how, shared=True))
            opened.parts[slot] = known
        return known

    def _of_judge(self, opened: Open, step: Step, fills: tuple[Slot, ...]) -> Outgoing:
        parts = {slot: self._part(opened, step, slot) for slot in fills}
        first = parts[fills[0]]
        ask = step.make(fills) if len(fills) > 1 else first.ask
        judge = self._judges[ask.scenario.kind]
        before = opened.known.get(fills[0])
        if isinstance(before, Unread):
            if len(fills) == len(before.beside):
                ask = ask_again(ask, before.text)
            return Outgoing(opened.scenario, step, parts, replace(ask, seeds=(before.seed,)), judge, before)
        seed = seed_of(self._seeded(fills[0], first.own))
        return Outgoing(opened.scenario, step, parts, replace(ask, seeds=(seed,)), judge)

    def _seeded(self, slot: Slot, own: bytes) -> bytes:
        """What seeds are made of: no seed goes out twice."""
        anew = self._hearings[slot.into].anew
        return hashlib.sha256(anew.encode() + own).digest()[:16] if anew else own

    def begin(self, opened: Open, out: Outgoing) -> None:
        """Note that a request goes out."""
        opened.under_way.update(out.parts)
        if out.stage == "judge":
            for slot, part in out.parts.items():
                if self._hearings[slot.into].shares:
                    self._under_way.setdefault((slot.into, part.shared), set())

    def drop(self, opened: Open, out: Outgoing) -> None:
        """Note that a request did not go out after all."""
        opened.under_way.difference_update(out.parts)

    def take(self, opened: Open, out: Outgoing, answers: Sequence[Reply | Failure | None]) -> set[Key]:
        """Keep what came of a request; returns the scenarios that are to be looked at again.

        Raises ModelError once a judge gave so many answers without a verdict that it is no fit one.
        """
        opened.under_way.difference_update(out.parts)
        if out.stage == "subject":
            self._take_replies(opened, out, answers)
            return {opened.scenario.key}
        (answer,) = answers
        if answer is None:
            raise ValueError("A judge answers every request.")
        return self._take_verdicts(opened, out, answer) | {opened.scenario.key}

    def _take_replies(self, opened: Open, out: Outgoing, answers: Sequence[Reply | Failure | None]) -> None:
        has_reply = False
        for (slot, part), given in zip(out.parts.items(), answers, strict=True):
            if given is None:
                opened.alone.add(slot)
                continue
            answer = self._of_the_subject(given)
            self._store.put_reply(part.own, seed_of(part.own), out.ask, slot.run, answer)
            self._know(opened, slot, answer, replace(out.ask, runs=(slot.run,)))
            has_reply |= isinstance(answer, Reply)
        if not out.step.joint:
            return
        at, is_anew = out.ask.elicitation, out.ask.runs[0] > ANEW
        same = [slot for slot in opened.known if slot.elicitation == at and (slot.run > ANEW) == is_anew]
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

    def _take_verdicts(self, opened: Open, out: Outgoing, answer: Reply | Failure) -> set[Key]:
        before = out.unread.replies if out.unread else ()
        replies: list[Reply | Failure] = [*before, answer]
        found: Mapping[Slot, Judgement] = {}
        if isinstance(answer, Reply):
            verdicts = zip(out.parts, verdicts_in(out.ask, answer), strict=True)
            found = {slot: self._hearings[slot.into].keeps(verdict) for slot, verdict in verdicts if verdict}
        if found:
            self._readable.add(out.model.name)
        # Only where temperature 0 was accepted does an equal request have an equal answer.
        cold = all(isinstance(each, Failure) or each.sent.get("temperature") == 0 for each in replies)
        if not cold:
            self._warm.add(out.model.name)
        again: set[Key] = set()
        missing = {slot: part for slot, part in out.parts.items() if slot not in found}
        is_last = isinstance(answer, Failure) or out.unread is not None
        left = {} if is_last else missing
        is_counted = False
        for slot, part in out.parts.items():
            if slot in left:
                continue
            hearing, equal = self._hearings[slot.into], (slot.into, part.shared)
            judgement = found.get(slot) or self._no_verdict(out, answer)
            key = part.shared if hearing.shares and cold and isinstance(judgement, Judgement) else part.own
            self._store.put_verdict(slot.into, key, judgement, replies, beside=is_counted)
            self._store.link(slot.into, part.ask, key)
            is_counted = True
            self._know(opened, slot, judgement, part.ask)
            again |= self._under_way.pop(equal, set())
        if isinstance(answer, Reply):
            if left:
                slot, part = next(iter(out.parts.items()))
                seed = seed_of(self._seeded(slot, part.own)[8:])
                kept = () if is_counted else (answer,)
                opened.known |= dict.fromkeys(left, Unread(answer.text, tuple(out.parts), kept, seed))
            elif missing and not found:
                self._count_unread(out.model, answer.text)
        return again

    def _no_verdict(self, out: Outgoing, answer: Reply | Failure) -> Failure:
        if isinstance(answer, Failure):
            return answer
        on = "No verdict on this reply in" if out.ask.each else "No verdict in"
        return Failure("judge", "unreadable", f"{on} {answer.text[:300]!r}.")

    def _know(self, opened: Open, slot: Slot, state: Reply | Failure | Judgement, about: Ask) -> None:
        opened.known[slot] = state
        opened.parts.pop(slot, None)
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
            f"One of its answers: {text[:300]!r}. What was answered is kept: start again with another --judge, or as "
            "before to ask this one again."
        )


def _no_task(_: Scenario, __: Known) -> list[Step]:
    return []
