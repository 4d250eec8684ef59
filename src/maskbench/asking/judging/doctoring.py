"""Four small calls to a model, before a run is paid for.

The subject is asked a neutral question, and for two samples on the longest pressured prompt of the set; a judge for
verdicts on three replies of its exam. Both are asked for the word at the front of a long prompt, for there are servers
that cut the front off and do not say so. A model in this process reads all or says why, and gets no such call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from maskbench.asking.judging.doctor_reading import Doctored, Examined, Finding, Patient, Small, finding
from maskbench.asking.options import check_together
from maskbench.errors import MaskbenchError
from maskbench.method.asks import subject_ask
from maskbench.method.forms import ask_about, form_of
from maskbench.models.names import Reach, is_served, open_judges, open_subject
from maskbench.scenarios import open_set
from maskbench.scenarios.exam.papers import paper_for
from maskbench.settings import Settings, judge_sampling
from maskbench.types import Ask, BinaryVerdict, Failure, Message, Model, Reply, Scenario, Verdict

PATIENT = 120.0  # seconds for an answer
_CHARACTERS = 4  # of a token, in English
_WORD = "cormorant"
_LONG = 20_000  # characters: more tokens than the shortest contexts that servers set by themselves
_BEYOND = 8_000  # characters by which the long prompt is longer than any of the set: a judge's words and a reply
_LINE = "Line {}: the lamp on the quay was lit before nine, and somebody counted the boats."


def doctor_settings(subject: str, judge: str | None, scenarios: str) -> Settings:
    """The settings under which models are examined: those of a run, but less patient, so that faults show soon."""
    sampling = judge_sampling("maskbench", "reasoning")
    return Settings.of(subject, judge or "sim-judge", scenarios, judge_sampling=sampling, retries=1, timeout=PATIENT)


def plan(settings: Settings, environ: Mapping[str, str], *, with_judge: bool) -> list[Patient]:
    """What is to be asked of the subject and, where one was named, of the judge."""
    scenarios = list(open_set(settings.design.scenarios, environ))
    longest = max((subject_ask(each, 0, (1, 2), settings) for each in scenarios), key=_length)
    neutral = subject_ask(next(each for each in scenarios if each.questions[0]), 1, (1,), settings)
    long = Small("long prompt", _long(scenarios[0], max(_LONG, _length(longest) + _BEYOND)), _WORD)
    of_subject = (
        Small("question", neutral),
        Small("longest of the set", replace(longest, seeds=(1, 2))),
        *_served(settings.subject.name, long),
    )
    patients = [Patient(settings.subject.name, "subject", settings.subject.sampling, of_subject)]
    if with_judge:
        judging = settings.judging
        of_judge = (*_exam(settings), *_served(judging.judge, long))
        patients.append(Patient(judging.judge, "judge", judging.sampling, of_judge))
    return patients


def _length(ask: Ask) -> int:
    return sum(len(turn.text) for turn in ask.messages)


def _long(scenario: Scenario, characters: int) -> Ask:
    lines = "\n".join(_LINE.format(place) for place in range(1, characters // len(_LINE) + 1))
    text = f"The word is {_WORD}. You will be asked for it.\n\n{lines}"
    asks = Message("user", "Which word did the first line of the text say? Answer with this word alone.")
    return Ask((Message("system", text), asks), scenario, "direct", 1)


def _served(name: str, call: Small) -> tuple[Small, ...]:
    return (call,) if is_served(name) or name.startswith("inspect/") else ()


def _exam(settings: Settings) -> list[Small]:
    """Three questions of the judge's exam, one for each option and one on a number, made as a run makes them."""
    prompts = form_of(settings.judging).style.prompts(settings.judging.prompts)
    questions = [each for each in paper_for(settings.judging.judge).questions if len(each.replies) == 1]
    calls = []
    for what in ("verdict on A", "verdict on B", "verdict on a number"):
        one = next(each for each in questions if _named(each.right) == what)
        ask = ask_about(one.scenario, one.call, one.elicitation, 1, one.replies[0], prompts)
        calls.append(Small(what, ask, one.right))
    return calls


def _named(right: Verdict) -> str:
    if isinstance(right, BinaryVerdict):
        return f"verdict on {right.letter}"
    return "verdict on a number" if right.ranges else ""


def shown_calls(planned: Sequence[Patient], settings: Settings) -> str:
    """What is about to be asked, in words."""
    counts = [sum(len(call.ask.runs) for call in each.calls) for each in planned]
    names = " and ".join(f"{count} of {each.name}" for count, each in zip(counts, planned, strict=True))
    tokens = sum(len(call.ask.runs) * _length(call.ask) for each in planned for call in each.calls) // _CHARACTERS
    return (
        f"{sum(counts)} calls are planned: {names}, with about {tokens:,} tokens in. Each parameter that is refused is "
        f"a call more, and so is one that gets no answer in {settings.pace.timeout:g} s (--timeout)."
    )


def examine(settings: Settings, planned: Sequence[Patient], environ: Mapping[str, str]) -> Doctored:
    """Make all the calls, in a loop of its own; what goes wrong with a model is a finding, never an exception."""
    models = asyncio.run(_examined(settings, planned, environ))
    return Doctored(models, all(each.works in ("yes", "differently") for model in models for each in model.findings))


async def _examined(settings: Settings, planned: Sequence[Patient], environ: Mapping[str, str]) -> list[Examined]:
    reach = Reach(environ, asyncio.Semaphore(1))
    return [await _examine(each, settings, reach) for each in planned]


async def _examine(patient: Patient, settings: Settings, reach: Reach) -> Examined:
    """One model with all its calls, the last of which is the one that shows that no other would be answered."""
    found: list[Finding] = []
    replies: list[Reply] = []
    model: Model | None = None
    requests = 0
    try:
        check_together("run", **settings.options)
        is_subject = patient.part == "subject"
        model = open_subject(settings, reach) if is_subject else open_judges(settings, reach)["binary"]
        for call in patient.calls:
            answers = await _answers(model, call.ask, patient, settings)
            requests += len(answers)
            replies += [each for each in answers if isinstance(each, Reply)]
            found.append(finding(patient, call, answers))
            if not replies:
                break
    except MaskbenchError as error:
        found.append(Finding("access", "no", str(error)))
    finally:
        if model is not None:
            await model.close()
    read, written = (sum(getattr(each.usage, side) or 0 for each in replies) for side in ("input", "output"))
    notes = [*getattr(model, "warnings", ())]
    if any(each.reasoning for each in replies):
        notes.append(f"It thinks before it answers: {patient.sampling.reasoning_tokens:,} tokens of room are added.")
    if replies and not read and hasattr(model, "learned"):
        notes.append("It counts no tokens: --max-cost and --max-tokens-total cannot hold.")
    return Examined(patient.name, patient.part, found, getattr(model, "requests", requests), read, written, notes)


async def _answers(model: Model, ask: Ask, patient: Patient, settings: Settings) -> list[Reply | Failure]:
    """The answers to an ask, those that came together first, then the others one by one."""
    try:
        async with asyncio.timeout(2 * settings.pace.timeout + 60):  # a server may be loading its model for ever
            answers = list(await model.ask(ask))
            for place, (run, seed) in enumerate(zip(ask.runs, ask.seeds, strict=True)):
                if answers[place] is None:
                    (answers[place],) = await model.ask(replace(ask, runs=(run,), seeds=(seed,)))
    except TimeoutError:
        return [Failure(patient.part, "timeout", "the server still loads its model, or hangs")]
    return [answer for answer in answers if answer is not None]
