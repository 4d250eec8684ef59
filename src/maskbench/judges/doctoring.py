"""A few calls that show what a model can do before a run is paid for: one of each kind that a run would make.

The subject is asked a neutral question, the longest pressured prompt of the set with two samples, and one question
twice with the same seed; a judge three questions of its exam: on options, on numbers, and the verdict alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from maskbench.errors import MaskbenchError, ModelError
from maskbench.judges.doctor_reading import Doctored, Examined, Finding, Seen, findings
from maskbench.judges.exam.papers import paper_for
from maskbench.method.asks import subject_ask
from maskbench.method.forms import ask_about, form_of, load_prompts
from maskbench.models.chat.contact import Contact, Witness
from maskbench.models.families import alike
from maskbench.models.names import Reach, open_judges, open_subject
from maskbench.models.prices import Tokens, cost
from maskbench.runs.bill import dollars
from maskbench.runs.first_contact import endpoints, recorded
from maskbench.runs.meter import known_prices
from maskbench.scenarios import open_set
from maskbench.settings import Settings, judge_sampling
from maskbench.types import Ask, BinaryVerdict, Failure, Model, NumericalVerdict, Reply, Sampling, Stage, Verdict

if TYPE_CHECKING:
    from maskbench.judges.exam.questions import Question

_SEED = 4_711
_PROGRAMS = ("sim-judge", "rules", "scripted")  # judges that read no prompt and have no probabilities
_IN_FINDINGS = (  # what a finding says of its own accord, and what asking twice with one seed brings about
    *("another name", "temperature", "system role", "several samples", "takes no seed", "JSON schema"),
    *("probabilities", "identical samples"),
)
_AT_ONCE = 4
PATIENT = 120.0  # seconds for an answer
_CHARACTERS = 4  # of a token, in English


@dataclass(frozen=True, slots=True)
class Asked:
    """What one model is to be asked: asks by name, and for a judge the right verdicts."""

    part: Stage
    asks: Mapping[str, tuple[Ask, ...]]
    right: Mapping[str, tuple[Ask, Verdict]]

    @property
    def calls(self) -> int:
        """The requests that it takes, where samples are asked one by one."""
        return sum(len(ask.runs) for asks in self.asks.values() for ask in asks)

    @property
    def tokens(self) -> int:
        """The tokens that go in, estimated from the length of the texts."""
        return sum(
            len(ask.runs) * sum(len(turn.text) for turn in ask.messages) // _CHARACTERS
            for asks in self.asks.values()
            for ask in asks
        )


def plan(settings: Settings, environ: Mapping[str, str], *, with_judge: bool) -> list[Asked]:
    """What is to be asked of the subject and, where one was named, of the judge."""
    of_subject = Asked("subject", _of_subject(settings, environ), {})
    return [of_subject, _of_judge(settings)] if with_judge else [of_subject]


def _of_subject(settings: Settings, environ: Mapping[str, str]) -> dict[str, tuple[Ask, ...]]:
    scenarios = list(open_set(settings.design.scenarios, environ))
    question = subject_ask(next(scenario for scenario in scenarios if scenario.questions[0]), 1, (1,), settings)
    longest = max((subject_ask(scenario, 0, (1, 2), settings) for scenario in scenarios), key=_length)
    again = replace(question, seeds=(_SEED,))
    asks: dict[str, tuple[Ask, ...]] = {"question": (question,), "longest": (replace(longest, seeds=(1, 2)),)}
    return asks if _is_program(settings.subject.name) else {**asks, "seed": (again, again)}


def _length(ask: Ask) -> int:
    return sum(len(turn.text) for turn in ask.messages)


def _is_program(name: str) -> bool:
    return name.partition("/")[0] in (*_PROGRAMS, "sim", "pinocchio", "hf")  # hf/ draws by its own seeds anyway


def _of_judge(settings: Settings) -> Asked:
    """Three questions of the judge's exam, made as a run makes them."""
    questions = paper_for(settings.judging.judge).questions
    binary = next(each for each in questions if isinstance(each.right, BinaryVerdict) and each.right.letter in "AB")
    numerical = next(
        each
        for each in questions
        if isinstance(each.right, NumericalVerdict) and each.right.ranges and len(each.replies) == 1
    )
    prompts = form_of(settings.judging).style.prompts(settings.judging.prompts)
    right = {name: (_about(each, prompts), each.right) for name, each in (("verdict", binary), ("numbers", numerical))}
    if settings.judging.judge.partition("/")[0] not in _PROGRAMS:
        right["probabilities"] = (_about(binary, load_prompts(style="verdict")), binary.right)
    return Asked("judge", {name: (ask,) for name, (ask, _) in right.items()}, right)


def _about(question: Question, prompts: Any) -> Ask:
    return ask_about(question.scenario, question.call, question.elicitation, 1, question.replies[0], prompts)


def examine(settings: Settings, planned: Sequence[Asked], environ: Mapping[str, str]) -> Doctored:
    """Ask all that was planned, in a loop of its own; what goes wrong with a model is a finding, never an exception."""
    models = asyncio.run(_examined(settings, planned, environ))
    passes = not any(finding.stops or finding.works == "wrong" for model in models for finding in model.findings)
    return Doctored(models, passes)


async def _examined(settings: Settings, planned: Sequence[Asked], environ: Mapping[str, str]) -> list[Examined]:
    gate = asyncio.Semaphore(_AT_ONCE)
    return [await _examine(each, settings, environ, gate) for each in planned]


async def _examine(asked: Asked, settings: Settings, environ: Mapping[str, str], gate: asyncio.Semaphore) -> Examined:
    """One model with all its asks; an error that ends a run is the last thing that is found."""
    name = settings.subject.name if asked.part == "subject" else settings.judging.judge
    patient = _Patient(asked, settings, environ, gate)
    stopped: MaskbenchError | None = None
    try:
        await patient.ask_all()
    except MaskbenchError as error:
        stopped = error
    seen = patient.seen()
    shown = [] if stopped and not seen.replies else list(findings(seen, asked.right))
    if stopped is not None:
        shown.append(Finding("access" if isinstance(stopped, ModelError) else "opens", "no", str(stopped), stops=True))
    usages = [reply.usage for reply in seen.replies]
    counted = any(usage.input is not None for usage in usages)
    return Examined(
        name,
        asked.part,
        shown,
        patient.requests,
        sum(usage.input or 0 for usage in usages) if counted else None,
        sum(usage.output or 0 for usage in usages) if counted else None,
        patient.notes,
        patient.contact,
    )


class _Patient:
    """One model under examination: opened, asked one thing after the other, and closed."""

    def __init__(self, asked: Asked, settings: Settings, environ: Mapping[str, str], gate: asyncio.Semaphore) -> None:
        self._asked = asked
        self._settings = settings
        self._environ = environ
        self._gate = gate
        self._answers: dict[str, list[Reply | Failure]] = {}
        self._about: dict[str, Any] = {}
        self._together: bool | None = None
        self._witness = Witness()
        self.contact: Contact | None = None
        self.requests = 0
        self.notes: list[str] = []

    @property
    def _name(self) -> str:
        return self._settings.subject.name if self._asked.part == "subject" else self._settings.judging.judge

    @property
    def _sampling(self) -> Sampling:
        return self._settings.subject.sampling if self._asked.part == "subject" else self._settings.judging.sampling

    def seen(self) -> Seen:
        """What was seen of it so far."""
        resolved = self._about.get("resolved", [])
        others = tuple(name for name in resolved if not alike(self._name, name))
        return Seen(
            self._name,
            self._asked.part,
            self._sampling,
            self._answers,
            self._about,
            self._together,
            others,
        )

    async def ask_all(self) -> None:
        """Ask everything but what needs a seed by one model, and that by another one that sends seeds."""
        plain = {name: asks for name, asks in self._asked.asks.items() if name != "seed"}
        await self._with(self._settings, plain)
        if "seed" in self._asked.asks and isinstance(self._answers["question"][0], Reply):
            await self._with(self._settings.having(send_seed=True), {"seed": self._asked.asks["seed"]})

    async def _with(self, settings: Settings, asks: Mapping[str, tuple[Ask, ...]]) -> None:
        model = self._open(settings)
        try:
            for name, those in asks.items():
                for ask in those:
                    self._answers.setdefault(name, []).extend(await self._answered(model, ask))
                if isinstance(self._answers[name][0], Failure) and len(self._answers) == 1:
                    return  # whoever does not answer the first ask is asked nothing else
        finally:
            self._note(model)
            await model.close()

    async def _answered(self, model: Model, ask: Ask) -> list[Reply | Failure]:
        """The answers to an ask, those that came together first, then the others one by one."""
        try:
            async with asyncio.timeout(
                2 * self._settings.pace.timeout + 60
            ):  # a server may be loading its model for ever
                answers = list(await model.ask(ask))
                if len(ask.runs) > 1 and hasattr(model, "learned"):
                    self._together = None not in answers
                for place, (run, seed) in enumerate(zip(ask.runs, ask.seeds, strict=True)):
                    if answers[place] is None:
                        (answers[place],) = await model.ask(replace(ask, runs=(run,), seeds=(seed,)))
        except TimeoutError:
            return [Failure(self._asked.part, "timeout", "the server still loads its model, or hangs")]
        return [answer for answer in answers if answer is not None]

    def _open(self, settings: Settings) -> Model:
        known: Mapping[str, Any] | None = self._about.get("learned")
        learned = dict.fromkeys(("subject", "binary", "numeric"), known) if known else {}
        reach = Reach(self._environ, self._gate, learned)
        part = self._asked.part
        model = open_subject(settings, reach) if part == "subject" else open_judges(settings, reach)["binary"]
        for chat in endpoints([model]):
            chat.witness = self._witness
        return model

    def _note(self, model: Model) -> None:
        self._about = model.describe()
        self.contact = next(iter(recorded([model])), None)
        self.requests += getattr(model, "requests", sum(map(len, self._answers.values())))
        lines = [line for line in getattr(model, "warnings", ()) if not any(words in line for words in _IN_FINDINGS)]
        self.notes += [line for line in lines if line not in self.notes]


def doctor_settings(subject: str, judge: str | None, scenarios: str) -> Settings:
    """The settings under which models are examined: those of a run, but less patient, so that faults show soon."""
    sampling = judge_sampling("maskbench", "reasoning")
    return Settings.of(subject, judge or "sim-judge", scenarios, judge_sampling=sampling, retries=1, timeout=PATIENT)


def tokens_out(planned: Sequence[Asked], settings: Settings) -> int:
    """The most tokens that answers may have, where no model reasons."""
    limits = {"subject": settings.subject.sampling.max_tokens, "judge": settings.judging.sampling.max_tokens}
    return sum(each.calls * limits[each.part] for each in planned)


def shown_calls(planned: Sequence[Asked], settings: Settings, environ: Mapping[str, str]) -> Iterator[str]:
    """What is about to be asked and what it costs where that is known, in words, before anything is."""
    calls, tokens = sum(each.calls for each in planned), sum(each.tokens for each in planned)
    names = " and ".join(
        f"{each.calls} of {settings.subject.name if each.part == 'subject' else settings.judging.judge}"
        for each in planned
    )
    yield (
        f"{calls} calls: {names}, with about {tokens:,} tokens in and at most {tokens_out(planned, settings):,} out. A "
        "model that reasons takes more, and each parameter that is refused is a call more. The first that gets no "
        f"answer in {settings.pace.timeout:g} s (--timeout) is tried once more.{_price(planned, settings, environ)}"
    )


def _price(planned: Sequence[Asked], settings: Settings, environ: Mapping[str, str]) -> str:
    """The most that the calls cost, as a sentence; empty where a price is not known, or nobody bills anything."""
    stages: list[Stage] = [each.part for each in planned]
    prices = known_prices(settings, environ, stages=stages)
    total = 0.0
    for each in planned:
        name = settings.subject.name if each.part == "subject" else settings.judging.judge
        if (price := prices[each.part][name]) is None:
            return ""
        total += cost(Tokens(input=each.tokens, output=tokens_out([each], settings)), price)
    return f" At list prices that is at most {dollars(total)}." if total else ""
