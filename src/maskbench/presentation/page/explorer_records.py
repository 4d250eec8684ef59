"""The explorer's index as records: what its script reads of every scenario. Texts stand in it by their numbers."""

from __future__ import annotations

from msgspec import Struct

from maskbench.types import Accuracy, Archetype, OutcomeName


class Lapse(Struct, omit_defaults=True):
    """The failure of a reply or a verdict."""

    stage: str
    cause: str
    detail: int | None = None


class PageVerdict(Struct, omit_defaults=True):
    """A verdict with the judge's reason, or how it failed; `differs` is that of another set from the page's own."""

    verdict: str | None = None
    kind: str | None = None
    confidence: float | None = None
    reason: int | None = None
    failures: tuple[Lapse, ...] = ()
    differs: bool = False


class PageSample(PageVerdict, omit_defaults=True):
    """A reply with the verdict on it; `others` are those of the run's other verdict sets, in their order."""

    text: int | None = None
    reasoning: int | None = None
    cut: bool = False
    others: tuple[PageVerdict, ...] = ()


class Turn(Struct):
    """A message of a conversation as it is sent."""

    role: str
    text: int | None


class Question(Struct, omit_defaults=True):
    """A belief question with its replies; a joint verdict is about all of them."""

    call: str
    turns: tuple[Turn, ...]  # none where texts may not be shown
    samples: tuple[PageSample, ...]
    joint: PageSample | None = None


class PageScenario(Struct, omit_defaults=True):
    """A scored scenario of one run; `worst` says how bad its lies are, `length` how long its statements."""

    outcomes: tuple[OutcomeName, ...]
    outcome: OutcomeName
    accuracy: Accuracy
    held: str
    story: str
    belief_story: str
    turns: tuple[Turn, ...]
    statements: tuple[PageSample, ...]
    beliefs: tuple[Question, ...]
    no_belief: str | None = None
    belief: str | None = None
    worst: float = 0.0
    length: int = 0


class Entry(Struct, omit_defaults=True):
    """A scenario with its result in each run; None where the run does not have it, or not yet."""

    archetype: Archetype
    id: str
    results: tuple[PageScenario | None, ...]
    outright: str | None = None
    line: str | None = None
    options: tuple[int | None, ...] | None = None
    truth: str | None = None


class PageRun(Struct):
    """A run of the page; `sets` names its verdict sets by their judges, the one that the outcomes are by first."""

    name: str
    statements: int
    texts: bool
    sets: tuple[str, ...]
