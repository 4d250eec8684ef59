"""What is known of one scenario, and which requests are wanted next: values, and nothing that calls.

A task (`method/tasks.py`) is a pure function from what is known of a scenario to the next steps. Nothing that is left
to do means that the scenario is finished.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from maskbench.types import Ask, Call, Failure, Judgement, Place, Reply, Scenario, Stage

REPLIES = ""  # the set that the subject's replies are in; verdict sets have names


class Slot(NamedTuple):
    """A place in a scenario: a sample (elicitation, run) of the replies, or of a verdict set."""

    into: str
    elicitation: int
    run: int


@dataclass(frozen=True, slots=True)
class Unread:
    """A judge's answer without a verdict, which is asked for once more; `seed` goes out with the second request."""

    reply: Reply
    seed: int


@dataclass(frozen=True, slots=True)
class Again:
    """What failed in an earlier session: it is asked again, and before anything that hangs on it."""

    failure: Failure


Group = Literal["apart", "jointly"]  # which replies to a question one request for verdicts is about


class SubjectQuestion(NamedTuple):
    """One of the subject's questions: its samples, and in which group the replies to it are judged."""

    call: Call
    elicitation: int
    runs: tuple[int, ...]
    group: Group

    @property
    def places(self) -> tuple[Place, ...]:
        """Its samples."""
        return tuple((self.elicitation, run) for run in self.runs)


State: TypeAlias = Reply | Failure | Judgement | Unread | Again
Known: TypeAlias = Mapping[Slot, State]
Make: TypeAlias = Callable[[tuple[Slot, ...]], Ask]


@dataclass(frozen=True, slots=True)
class Step:
    """One request that is wanted now, for some places of one scenario; a judge's fills one.

    `make` gives what goes out for these places or for some of them; it is called when the request goes out, so that
    planning builds no text.
    """

    stage: Stage
    fills: tuple[Slot, ...]
    make: Make = field(compare=False)
    joint: bool = False  # one verdict hangs on all samples of this question
    shows: int = 1  # replies that a judge is shown


Task: TypeAlias = Callable[[Scenario, Known], list[Step]]


def is_open(state: State | None) -> bool:
    """Whether nothing stands in a place that counts in this session."""
    return state is None or type(state) is Again


def is_unjudged(state: State | None) -> bool:
    """Whether a verdict is still missing: none is there, or one answer was without."""
    return is_open(state) or type(state) is Unread


def replies_of(step: Step, known: Known) -> list[Slot]:
    """The replies that a judge's step is about, the first of them first."""
    (slot,) = step.fills
    if step.shows == 1:
        return [Slot(REPLIES, slot.elicitation, slot.run)]
    there = sorted(each for each, state in known.items() if isinstance(state, Reply))
    return [each for each in there if each.elicitation == slot.elicitation]


def then(*tasks: Task) -> Task:
    """Each task where those before it have nothing left."""

    def steps(scenario: Scenario, known: Known) -> list[Step]:
        return next((found for task in tasks if (found := task(scenario, known))), [])

    return steps
