"""A simulated subject whose true rates are known, and a simulated judge whose confusion is known.

They answer through the same calls as real models, so a run over them tests everything but a model's mind.
`sim/lie=0.4,evade=0.2,unsure=0.1` lies in 40 % of the statements for which it has a belief; every latent outcome
is drawn anew for another seed. `sim-judge/accuracy=0.86` gives the right verdict with probability 0.86, else one of
the other two of A, B and C (or of the right number, a wrong number and none), each with the same probability; equal
requests get equal verdicts. `sim-judge/flip=0.02,miss=0.1,seed=3` errs in chosen directions, and independently of a
judge with another seed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from random import Random
from typing import Any, Literal, TypeAlias, cast

from maskbench.errors import UsageError
from maskbench.method import archetypes
from maskbench.method.forms import written
from maskbench.method.forms.case import replies_in
from maskbench.method.proposition import options
from maskbench.method.said_and_did import judged_as
from maskbench.scenarios.pinocchio.grammar import NO_COMMENT
from maskbench.types import (
    Ask,
    BinaryVerdict,
    Failure,
    Judgement,
    Letter,
    NoBelief,
    NumericalVerdict,
    Option,
    Range,
    Reply,
    Scenario,
    Token,
    Usage,
)

Choice: TypeAlias = Literal["lie", "evade", "honest"]
Answer: TypeAlias = Option | float | Literal["C"]


@dataclass(frozen=True, slots=True)
class Planted:
    """The probabilities that are planted in a simulated subject.

    `lie` and `evade` are given a belief; `unsure` is the chance of no belief where beliefs are elicited; `accuracy`
    the chance that a belief is right. `spread` says how much scenarios differ in their own chances of a lie and an
    evasion: it is the correlation of two statements of one scenario (0: every scenario has the planted chances; 1
    would be always the same). `correlation` is that of the statements of two scenarios with one proposition. `fail`
    is the chance that a call fails, `fail_lie`, `fail_evade`, `fail_honest` those of a statement by what it would
    have been, where they differ.

    `drift` is the chance that the placebo, one more neutral reply, says the other option. A statement comes with
    reasoning with the chance `thinks`, which states the belief.
    """

    lie: float = 0.4
    evade: float = 0.2
    unsure: float = 0.1
    accuracy: float = 0.8
    spread: float = 0.0
    correlation: float = 0.0
    fail: float = 0.0
    fail_lie: float | None = None
    fail_evade: float | None = None
    fail_honest: float | None = None
    drift: float = 0.0
    thinks: float = 0.0


@dataclass(frozen=True, slots=True)
class _Mind:
    """What one scenario finds in a simulated subject."""

    belief: Option | float  # what it believes, even where its answers show no belief
    other: Option | float
    no_belief: NoBelief | None
    lie: float
    evade: float
    source: str  # seeds what it states: by scenario, or by proposition and so alike in all scenarios of it


class SimSubject:
    """A subject that believes, lies and evades at planted rates."""

    together = True

    def __init__(self, name: str, seed: int, beliefs: int = 3) -> None:
        """`name` is `sim` or `sim/option=value,...`; raises UsageError for options that cannot be meant."""
        self.name = name
        self.planted = Planted(**_options(name, Planted))
        if self.planted.lie + self.planted.evade > 1:
            raise UsageError(f"{name}: lie and evade add up to more than 1. Lower one of them.")
        if self.planted.spread == 1:
            raise UsageError(f"{name}: spread has to be less than 1. Try spread=0.9.")
        self._seed = seed
        self._beliefs = beliefs  # times that the direct question is asked: a single answer cannot contradict itself

    async def ask(self, ask: Ask) -> Sequence[Reply | Failure]:
        """One answer a run, in order."""
        ask = replace(ask, scenario=judged_as(ask.scenario, ask.elicitation))
        mind = self._mind(ask.scenario)
        return [self._answer(ask, run, mind) for run in ask.runs]

    def describe(self) -> dict[str, Any]:
        """Its planted rates."""
        return {"name": self.name, "service": "sim", "seed": self._seed, "planted": asdict(self.planted)}

    async def close(self) -> None:
        """Nothing to let go of."""

    def _mind(self, scenario: Scenario) -> _Mind:
        planted = self.planted
        own = Random(f"{self._seed} mind {scenario.archetype} {scenario.task_id}")
        right, wrong = _answers(scenario)
        provided = archetypes.of(scenario).given
        accurate = own.random() < planted.accuracy or provided
        unsure = own.random() < planted.unsure and not provided
        ways: list[NoBelief] = ["unsure"]
        if scenario.kind == "binary":
            ways += ["mixed"] if self._beliefs > 1 else []
            ways += ["contradicted"] if any(scenario.questions[1:]) else []
        # Two scenarios both follow their proposition with the planted chance, and then state the same.
        follows = own.random() < math.sqrt(planted.correlation)
        source = f"proposition {scenario.proposition}" if follows else f"scenario {scenario.key}"
        lie, evade = _propensities(planted, Random(f"{self._seed} propensities {source}"))
        return _Mind(
            belief=right if accurate else wrong,
            other=wrong if accurate else right,
            no_belief=own.choice(ways) if unsure else None,
            lie=lie,
            evade=evade,
            source=source,
        )

    def _answer(self, ask: Ask, run: int, mind: _Mind) -> Reply | Failure:
        rng = Random(f"{self._seed} {ask.call} {ask.elicitation} {run} {ask.scenario.key}")
        reasoning = None
        if ask.call == "statement":
            choice = _choice(mind, Random(f"{self._seed} statement {run} {mind.source}"))
            chance = getattr(self.planted, f"fail_{choice}")
            stated = {"lie": mind.other, "evade": None, "honest": mind.belief}[choice]
            reasoning = self._reasoning(ask.scenario, mind, run)
        else:
            chance, stated = None, self._drifted(ask, _believed(ask, run, mind), mind, rng)
        if rng.random() < (self.planted.fail if chance is None else chance):
            return Failure("subject", "server_error", "The simulated endpoint failed, as planted.")
        text = NO_COMMENT if stated is None else _sentence(ask.scenario, stated)
        return _reply(ask, text, reasoning)

    def _drifted(self, ask: Ask, answer: Option | float | None, mind: _Mind, rng: Random) -> Option | float | None:
        """What a neutral question hears, with the drift that is planted in the placebo."""
        chance = self.planted.drift if ask.call == "placebo" else 0.0
        return mind.other if chance and answer is not None and rng.random() < chance else answer

    def _reasoning(self, scenario: Scenario, mind: _Mind, run: int) -> str | None:
        """What it writes to itself before a statement, where it does."""
        rng = Random(f"{self._seed} reasoning {run} {scenario.key}")
        return _sentence(scenario, mind.belief) if rng.random() < self.planted.thinks else None


def _reply(ask: Ask, text: str, reasoning: str | None = None) -> Reply:
    return Reply(text, reasoning, usage=_usage(ask, text), model="sim", sent={"temperature": 1.0})


def _usage(ask: Ask, text: str) -> Usage:
    return Usage(sum(len(message.text) for message in ask.messages) // 4, len(text) // 4)


@dataclass(frozen=True, slots=True)
class Skill:
    """The probabilities that are planted in a simulated judge, and its seed.

    `accuracy` is the chance of the right verdict. Errors have directions: `flip` is the chance that an asserted
    option is read as the other one (a number as the wrong one), `miss` that it is read as C, `invent` that a C is
    read as an option; where not given they share what `accuracy` leaves. `first` is the chance that whatever is
    asserted is read as the option that stands first, `noise` that of another verdict for another seed of the request,
    `unreadable` that of an answer without a verdict. Asked for probabilities it gives 0.99, and 0.6 for a wrong
    verdict with the chance `aware`. Judges with another `seed` (default: the run's) err independently.
    """

    accuracy: float = 1.0
    flip: float | None = None
    miss: float | None = None
    invent: float | None = None
    first: float = 0.0
    noise: float = 0.0
    unreadable: float = 0.0
    aware: float = 0.0
    seed: int | None = None

    def errors(self, true: Answer, right: Answer, wrong: Answer) -> list[tuple[Answer, float]]:
        """The wrong verdicts on a reply that says this, with their chances."""
        missing = 1 - self.accuracy
        if true == "C":
            each = (missing if self.invent is None else self.invent) / 2
            return [(right, each), (wrong, each)]
        flip, miss = (missing / 2 if chance is None else chance for chance in (self.flip, self.miss))
        return [(wrong if true == right else right, flip), ("C", miss)]


class SimJudge:
    """A judge that reads simulated replies without fault, then errs with known probabilities."""

    together = True

    def __init__(self, name: str, seed: int) -> None:
        """`name` is `sim-judge` or `sim-judge/option=value,...`; raises UsageError for options it does not have."""
        self.name = name
        self.skill = Skill(**_options(name, Skill))
        if max(sum(chance for _, chance in self.skill.errors(true, "A", "B")) for true in ("A", "C")) > 1:
            raise UsageError(f"{name}: flip and miss add up to more than 1. Lower one of them.")
        self._seed = seed if self.skill.seed is None else self.skill.seed

    async def ask(self, ask: Ask) -> Sequence[Reply | Failure]:
        """One verdict a run, in the text form that judges are asked for."""
        return [self._answer(ask, seed) for seed in ask.seeds]

    def describe(self) -> dict[str, Any]:
        """Its planted confusion."""
        return {"name": self.name, "service": "sim", "seed": self._seed, "planted": asdict(self.skill)}

    async def close(self) -> None:
        """Nothing to let go of."""

    def _answer(self, ask: Ask, seed: int) -> Reply:
        replies = replies_in(ask)
        read = [answer for reply in replies if (answer := _read(ask.scenario, reply)) is not None]
        if len(read) < len(replies):
            return Reply("The simulated judge reads only what the simulated subject says.")
        true: Answer = next((answer for answer in read if answer != "C"), "C")
        source = f"{ask.scenario.key} {ask.call} {ask.elicitation} {replies}"
        rng = Random(f"{self._seed} {source}")
        verdict = self._verdict(ask.scenario, true, rng)
        again = Random(f"{self._seed} noise {seed} {source}")
        if again.random() < self.skill.noise:
            verdict = again.choice([other for other in (*_answers(ask.scenario), "C") if other != verdict])
        unreadable = rng.random() < self.skill.unreadable
        text = "I cannot tell." if unreadable else written(ask, _judgement(ask, verdict))
        usage = _usage(ask, text)
        doubts = verdict != true and rng.random() < self.skill.aware
        tokens = (_letter_or_bounds(text, 0.6 if doubts else 0.99),) if ask.logprobs and not unreadable else ()
        return Reply(text, usage=usage, model="sim-judge", sent={"temperature": 0}, tokens=tokens)

    def _verdict(self, scenario: Scenario, true: Answer, rng: Random) -> Answer:
        """The verdict on a reply that says `true`."""
        right, wrong = _answers(scenario)
        errors = self.skill.errors(true, right, wrong)
        verdict = true
        if rng.random() >= 1 - sum(chance for _, chance in errors):
            (verdict,) = rng.choices(*zip(*errors, strict=True))
        if rng.random() < self.skill.first and scenario.kind == "binary" and verdict != "C":
            return "A"
        return verdict


def _options(name: str, planted: type[Planted] | type[Skill]) -> dict[str, Any]:
    """`kind/a=0.1,b=0.2,seed=3` as numbers, each known, and between 0 and 1 but for a seed."""
    known = [field.name for field in fields(planted)]
    kind, _, text = name.partition("/")
    chosen: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        option, _, value = part.partition("=")
        if option == "seed" and option in known and value.isdecimal():
            chosen[option] = int(value)
            continue
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if option not in known or option == "seed" or not 0 <= number <= 1:
            raise UsageError(
                f"{name}: {part!r} is no option of {kind}. Write {kind}/OPTION=PROBABILITY,..., "
                f"with OPTION one of {', '.join(known)} and PROBABILITY from 0 to 1"
                f"{' (a whole number for seed)' if 'seed' in known else ''}."
            )
        chosen[option] = number
    return chosen


def _propensities(planted: Planted, rng: Random) -> tuple[float, float]:
    """The chances of a lie and of an evasion in one scenario: the planted ones on average, Dirichlet-spread."""
    means = (planted.lie, planted.evade, 1 - planted.lie - planted.evade)
    if planted.spread == 0:
        return means[0], means[1]
    concentration = (1 - planted.spread) / planted.spread
    gammas = [rng.gammavariate(mean * concentration, 1) if mean > 0 else 0.0 for mean in means]
    total = sum(gammas)
    if total == 0:  # shapes near 0 underflow: then a single outcome is certain
        at = rng.choices((0, 1, 2), means)[0]
        return float(at == 0), float(at == 1)
    return gammas[0] / total, gammas[1] / total


def _choice(mind: _Mind, rng: Random) -> Choice:
    drawn = rng.random()
    return "lie" if drawn < mind.lie else "evade" if drawn < mind.lie + mind.evade else "honest"


def _believed(ask: Ask, run: int, mind: _Mind) -> Option | float | None:
    """What a neutral question hears: the belief, or answers that show that there is none."""
    match mind.no_belief, ask.call:
        case "unsure", _:
            return None
        case "mixed", "direct" if run % 2 == 0:
            return mind.other
        case "contradicted", "consistency":
            return mind.other
    return mind.belief


def _answers(scenario: Scenario) -> tuple[Option | float, Option | float]:
    """The right answer and a wrong one."""
    match scenario.truth:
        case "A":
            return "A", "B"
        case "B":
            return "B", "A"
        case Range() as truth:
            return _numbers(truth)
    raise ValueError(f"{scenario.key}: no truth to simulate from in {scenario.truth!r}")


def _numbers(truth: Range) -> tuple[float, float]:
    """A number inside the range, and one that does not agree with it, beyond the bound that an open range has."""
    low, high = truth.bounds
    if low is None:
        edge = high or 0.0
        return edge, 2 * abs(edge) + 10
    if high is None:
        return low, -2 * abs(low) - 10
    return (low + high) / 2, 2 * max(abs(low), abs(high)) + 10


def _sentence(scenario: Scenario, answer: Option | float) -> str:
    if isinstance(answer, str):
        return options(scenario.proposition)[0 if answer == "A" else 1]
    return _PIVOT.sub(lambda _: f"{answer:.12g}", scenario.proposition, count=1)


_PIVOT = re.compile(r"<pivotal>.*?</pivotal>", re.DOTALL)


def _read(scenario: Scenario, reply: str) -> Answer | None:
    """What a simulated reply says; None for any other text."""
    known: dict[str, Answer] = {NO_COMMENT: "C"}
    if reply in known:
        return known[reply]
    return next((answer for answer in _answers(scenario) if reply == _sentence(scenario, answer)), None)


def _letter_or_bounds(text: str, chance: float) -> Token:
    """The whole answer as one token, which is what it is asked to be; a letter leaves the rest to another one."""
    other = {"C": math.log1p(-chance)} if text in "AB" else {"A": math.log1p(-chance)}
    return Token(text, math.log(chance), other)


def _judgement(ask: Ask, answer: Answer) -> Judgement:
    reason = None if ask.logprobs else "As simulated."
    if ask.scenario.kind == "binary":
        return Judgement(BinaryVerdict(cast(Letter, answer), "refusal" if answer == "C" else None), reason)
    if answer == "C":
        return Judgement(NumericalVerdict(evasion="refusal"), reason)
    return Judgement(NumericalVerdict(float(answer), float(answer)), reason)
