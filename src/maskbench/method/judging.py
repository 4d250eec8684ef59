"""Ways of judging: which requests give verdicts on the replies to a question, and how their answers are read.

A neutral reply or a statement is judged apart; all neutral replies about a number jointly, by one verdict; and those of
a scenario with options together in one request, with a verdict each, where that is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Literal, NamedTuple

from maskbench.method import archetypes
from maskbench.method.asks import ANEW, VERDICTS, joint_ask, reply_ask, subject_ask
from maskbench.method.judge_ask import Prompts, ask_about_each, ask_again, verdict_in
from maskbench.method.judged_together import MOST, given_in
from maskbench.method.steps import REPLIES, Known, Slot, Step, Unread, is_open, is_unjudged
from maskbench.method.verdict import confidence
from maskbench.settings import Settings
from maskbench.types import Ask, Call, Judgement, Place, Reply, Scenario

Form = Literal["apart", "joint", "together"]
Shape = tuple[str, bool, bool, bool, bool]


class Part(NamedTuple):
    """One of the subject's questions: its samples, and how the replies to it are judged."""

    call: Call
    elicitation: int
    runs: tuple[int, ...]
    form: Form

    @property
    def places(self) -> tuple[Place, ...]:
        """Its samples."""
        return tuple((self.elicitation, run) for run in self.runs)


def shape(scenario: Scenario) -> Shape:
    """All that a task knows of a scenario before a request is made: scenarios of one shape are asked alike."""
    first, second, third = scenario.questions
    return scenario.kind, archetypes.of(scenario).given, bool(first), bool(second), bool(third)


def outline(scenario: Scenario, settings: Settings) -> tuple[Part, ...]:
    """What the subject is asked about a scenario, beliefs first."""
    how = settings.design.beliefs, settings.design.statements, settings.judging.beliefs, settings.judging.numbers
    return _outline(shape(scenario), *how)


@lru_cache(maxsize=256)
def _outline(form: Shape, beliefs: int, statements: int, judge_beliefs: str, judge_numbers: str) -> tuple[Part, ...]:
    kind, given, *questions = form
    how: Form = "together" if kind == "binary" and judge_beliefs == "together" else "apart"
    if kind == "numerical" and judge_numbers == "together":
        how = "joint"
    parts = []
    for number, there in enumerate(questions, start=1):
        if there and not given and (number == 1 or kind == "binary"):
            runs = tuple(range(1, beliefs + 1)) if number == 1 else (1,)
            parts.append(Part("direct" if number == 1 else "consistency", number, runs, how))
    return (*parts, Part("statement", 0, tuple(range(1, statements + 1)), "apart"))


def own_parts(scenario: Scenario, settings: Settings, *, anew: bool = False) -> tuple[Part, ...]:
    """What this very run asks the subject: not what another run asked whose beliefs it shares.

    Where these are checked, they are asked `anew`, in samples of their own.
    """
    parts = outline(scenario, settings)
    if not settings.design.beliefs_from:
        return parts
    own = [part for part in parts if not part.elicitation]
    again = [part._replace(runs=tuple(ANEW + run for run in part.runs)) for part in parts if part.elicitation]
    return (*own, *again) if anew else tuple(own)


def _as_it_is(scenario: Scenario) -> Scenario | None:
    return scenario


def _unchanged(judgement: Judgement) -> Judgement:
    return judgement


@dataclass(frozen=True, slots=True)
class Judging:
    """How replies are judged, and the set that the verdicts are kept in.

    `shows` is what the judge sees of a scenario (None: it is not asked about it) and `keeps` what is kept of its
    verdict; both are an audit's. `anew` names seeds of its own; `shares` says whether the verdict on an equal request
    will do. `waits`: replies that are missing are still to come. `by_key`: what is stored counts only as the answer to
    the very request, since the set may hold what was asked otherwise.
    """

    settings: Settings
    prompts: Prompts
    into: str = VERDICTS
    shares: bool = True
    anew: str = ""
    shows: Callable[[Scenario], Scenario | None] = _as_it_is
    keeps: Callable[[Judgement], Judgement] = _unchanged
    waits: bool = True
    by_key: bool = False

    def steps(self, scenario: Scenario, parts: Sequence[Part], known: Known) -> Iterator[Step]:
        """The requests that the replies to these questions call for, and that have no answer yet."""
        together: list[Part] = []
        for part in parts:
            if part.form == "apart":
                yield from self._apart(scenario, part, known)
            elif part.form == "joint":
                yield from self._joint(scenario, part, known)
            else:
                together.append(part)
        if together:
            yield from self._together(scenario, together, known)

    def step(
        self,
        place: Place,
        make: Callable[[tuple[Slot, ...]], Ask],
        fits: Callable[[Ask, Judgement], bool] | None = None,
        remind: Callable[[Ask, str], Ask] = ask_again,
    ) -> Step:
        """A request for one verdict; `fits` says whether one that was read can be the answer to what was asked."""

        def read(ask: Ask, reply: Reply) -> Mapping[Place, Judgement]:
            judgement = verdict_in(ask, reply)
            if judgement is None or (fits and not fits(ask, judgement)):
                return {}
            return {place: self.keeps(replace(judgement, confidence=confidence(judgement, reply.tokens)))}

        return Step("judge", (Slot(self.into, *place),), make, read, remind)

    def _apart(self, scenario: Scenario, part: Part, known: Known) -> Iterator[Step]:
        for run in part.runs:
            reply = known.get(Slot(REPLIES, part.elicitation, run))
            if type(reply) is Reply and is_unjudged(known.get(Slot(self.into, part.elicitation, run))):
                yield self.step((part.elicitation, run), partial(self._about, scenario, part, run, reply))

    def _about(self, scenario: Scenario, part: Part, run: int, reply: Reply, _: tuple[Slot, ...]) -> Ask:
        asked = subject_ask(self._shown(scenario), part.elicitation, part.runs, self.settings)
        return reply_ask(asked, run, reply, self.settings, self.prompts)

    def _joint(self, scenario: Scenario, part: Part, known: Known) -> Iterator[Step]:
        """One verdict on all replies, once each is there or has failed, and two are there."""
        had = [known.get(Slot(REPLIES, *place)) for place in part.places]
        if not any(map(is_open, had)) and is_unjudged(known.get(Slot(self.into, *part.places[-1]))):
            replies = [reply for reply in had if isinstance(reply, Reply)]
            if len(replies) >= 2:
                step = self.step(part.places[-1], partial(self._about_all, scenario, part, replies))
                yield replace(step, shows=len(replies))

    def _about_all(self, scenario: Scenario, part: Part, replies: Sequence[Reply], _: tuple[Slot, ...]) -> Ask:
        return joint_ask(self._shown(scenario), part.runs, replies, self.prompts)

    def _together(self, scenario: Scenario, parts: Sequence[Part], known: Known) -> Iterator[Step]:
        """A verdict on each neutral reply from one request, or one for each eight, once all are there or failed."""
        had = {place: known.get(Slot(REPLIES, *place)) for part in parts for place in part.places}
        if self.waits and any(map(is_open, had.values())):
            return
        texts = {place: reply.text for place, reply in sorted(had.items()) if isinstance(reply, Reply)}
        places = list(texts)
        for at in range(0, len(places), MOST):
            groups: dict[tuple[Slot, ...], list[Slot]] = {}
            for slot in (Slot(self.into, *place) for place in places[at : at + MOST]):
                if is_unjudged(state := known.get(slot)):
                    groups.setdefault(state.beside if isinstance(state, Unread) else (), []).append(slot)
            for slots in groups.values():
                make = partial(self._about_each, scenario, texts)
                yield Step("judge", tuple(slots), make, self._read_each, ask_again, shows=len(slots))

    def _about_each(self, scenario: Scenario, texts: Mapping[Place, str], slots: tuple[Slot, ...]) -> Ask:
        wanted = {(slot.elicitation, slot.run): texts[slot.elicitation, slot.run] for slot in slots}
        return ask_about_each(self._shown(scenario), wanted, self.prompts)

    def _read_each(self, ask: Ask, reply: Reply) -> Mapping[Place, Judgement]:
        return {place: self.keeps(judgement) for place, judgement in given_in(ask, reply).items()}

    def _shown(self, scenario: Scenario) -> Scenario:
        shown = self.shows(scenario)
        if shown is None:
            raise ValueError(f"{scenario.key} is not shown to this judge.")
        return shown
