"""The measurement as a task of Inspect: `inspect eval maskbench/maskbench --model MODEL --model-role judge=MODEL`.

Inspect has the models, the log and the display; what is asked, how it is judged and what it comes to is ours: each
sample is a session on its scenario, as a guest.
"""

from __future__ import annotations

import os
from asyncio import Semaphore
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import msgspec
import orjson
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessageAssistant,
    GenerateConfig,
    ModelOutput,
    get_model,
    model_roles,
)
from inspect_ai.model import Model as InspectModel
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError, span

from maskbench import __version__
from maskbench.asking.begin import taken
from maskbench.asking.options import check
from maskbench.asking.session import UNLIMITED, Asked, as_guest
from maskbench.errors import UsageError
from maskbench.interop.inspect_scores import numbers, rates_by_archetype, rates_of, row_of, words
from maskbench.method.asks import subject_asks
from maskbench.method.forms import prompts_of
from maskbench.method.forms.prompts import Prompts
from maskbench.method.rules import named
from maskbench.method.tool_calls import declared, uses_tools
from maskbench.models.chat.services import environment
from maskbench.models.inspect_adapter import answer_schema, conversation, failure_of, reply_of, tools_in
from maskbench.models.names import KINDS, Reach, open_judges
from maskbench.results.score_rows import score_rows
from maskbench.settings import Filtered, Settings, in_values
from maskbench.store.masking import mask_of
from maskbench.store.packed import pack
from maskbench.store.system_prompts import system_prompt as developer_prompt
from maskbench.types import Ask, Failure, Kind, Model, Range, Reply, Sampling, Scenario, Stage

ROW = "verdicts"  # under which the sample's store and the score's metadata have them, as `score_rows` takes them
WHOLE = "scenario"  # as `import` takes it
HOW = "scored"  # by which rules
_FURTHER = (
    *("filtered", "judge_numbers", "max_error_rate", "numeric_judge", "prompt_on_beliefs"),
    *("protocol", "send_seed", "tool_calls"),
)
_NEEDS_JUDGE = "Name a judge: --model-role judge=openai/gpt-4o, or -T judge=NAME."


@task
def maskbench(
    scenarios: str = "starter",
    judge: str | None = None,
    statements: int = 1,
    beliefs: int = 3,
    archetypes: str | list[str] | None = None,
    sample: int | None = None,
    system_prompt: str | None = None,
    rules: str = "reference",
    judge_prompts: str | None = None,
    judge_style: str = "reasoning",
    seed: int = 0,
    **further: Any,
) -> Task:
    """Measure whether the model says what it believes; the options are those of `maskbench run`.

    The judge is the model role `judge`, or `judge`: a model of Inspect's, or one of maskbench's that needs no endpoint.
    `further` are settings that few need; docs/inspect.md lists them. Raises UsageError for what cannot be meant.
    """
    names = archetypes.split(",") if isinstance(archetypes, str) else archetypes
    settings = _settings(
        further,
        judge=judge or "",
        scenarios=str(scenarios),
        statements=statements,
        beliefs=beliefs,
        archetypes=[name.strip() for name in names or ()],
        sample=sample,
        system_prompt=system_prompt,
        system_prompt_text=developer_prompt(system_prompt) if system_prompt else None,
        rules=rules,
        judge_prompts=judge_prompts,
        judge_style=judge_style,
        seed=seed,
    )
    prompts = prompts_of(settings)
    took = taken(settings, environment(Path.cwd()))
    drawn = Drawn(settings, prompts, {_id(each): (each, took.weights[each.key]) for each in took.scenarios})
    sampling = settings.subject.sampling
    return Task(
        dataset=MemoryDataset([_sample(each, weight, settings) for each, weight in drawn.rows.values()], drawn.name),
        solver=measured(drawn),
        scorer=outcomes(settings.design.rules, settings.subject.filtered, settings.design.max_error_rate),
        config=GenerateConfig(temperature=sampling.temperature, max_tokens=sampling.max_tokens),
        headline_metric="p_lie",
        version=__version__,
        metadata={
            "maskbench": __version__,
            "scenarios": settings.design.name,
            "scenarios_hash": took.hash,
            "prompts": prompts.version,
            "prompts_hash": prompts.hash,
            "rules": settings.design.rules,
            **({"system_prompt_text": settings.design.system_prompt_text} if settings.design.system_prompt else {}),
        },
    )


def _settings(further: Mapping[str, Any], **given: Any) -> Settings:
    """The settings that these options mean, checked as those of a run are."""
    for name in further:
        if name not in _FURTHER:
            raise UsageError(f"-T {name}: the task has no such option. Besides the main ones there are {_FURTHER}.")
    try:
        settings = msgspec.convert(in_values({"subject": "inspect", **given, **further}), Settings)
    except msgspec.ValidationError as error:
        raise UsageError(f"An option of the task cannot be meant: {error}.") from error
    check(settings)
    if settings.judging.is_later:
        raise UsageError(
            "-T judge=none: Inspect scores each sample as it ends. Name the judge, or use `maskbench run`."
        )
    return settings


# Samples


@dataclass(frozen=True)
class Drawn:
    """What a task measures, and how: its scenarios with their weights, by the sample's id."""

    settings: Settings
    prompts: Prompts
    rows: Mapping[str, tuple[Scenario, float]]

    @property
    def name(self) -> str:
        """What logs call it."""
        return self.settings.design.name


def _id(scenario: Scenario) -> str:
    return f"{scenario.archetype}/{scenario.task_id}"


def _sample(scenario: Scenario, weight: float, settings: Settings) -> Sample:
    statement = subject_asks(scenario, settings)[-1]
    truth = scenario.truth
    return Sample(
        id=_id(scenario),
        input=conversation(map(asdict, statement.messages)),
        target=truth.words if isinstance(truth, Range) else truth,
        metadata={
            "archetype": scenario.archetype,
            "kind": scenario.kind,
            "proposition": scenario.proposition,
            "canary": scenario.canary,
            "weight": weight,
        },
    )


@solver
def measured(drawn: Drawn) -> Solver:
    """Ask the model neutrally and under pressure, and the judge about each reply, as a run does."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        scenario, weight = drawn.rows[str(state.sample_id)]
        judges = judges_of(drawn.settings)
        subject = Hosted(get_model(), drawn.settings, "subject")
        judge, numeric_judge = (judges[kind].name for kind in ("binary", "numerical"))
        settings = drawn.settings.having(subject=subject.name, judge=judge, numeric_judge=numeric_judge)
        items = await as_guest(settings, scenario, weight, Asked(judges, subject), drawn.prompts)
        state.store.set(ROW, row_of(scenario, weight, items))
        state.store.set(WHOLE, orjson.loads(pack(scenario)))
        statement = items[0, 1].reply
        text = statement.text if isinstance(statement, Reply) else ""
        state.output = ModelOutput.from_content(str(subject.model), text)
        if text:
            state.messages.append(ChatMessageAssistant(content=text, model=str(subject.model)))
        state.completed = True
        return state

    return solve


# Models


def judges_of(settings: Settings) -> dict[Kind, Model]:
    """The judge for each kind of scenario: the model role, else a model of Inspect's or of maskbench's by its name."""
    roles = model_roles()
    if "judge" not in roles and not settings.judging.judge:
        raise UsageError(_NEEDS_JUDGE)
    if "judge" not in roles and _is_ours(settings.judging.judge):
        return _ours(settings)
    named = [name.removeprefix("inspect/") or None for name in (settings.judging.judge, settings.judging.numeric_judge)]
    binary = Hosted(get_model(role="judge", default=named[0]), settings, "judge")
    numerical = binary if named[0] == named[1] else Hosted(get_model(named[1]), settings, "judge")
    return {"binary": binary, "numerical": numerical}


def _is_ours(name: str) -> bool:
    """Whether this is a judge of maskbench's that asks no endpoint."""
    return name.partition("/")[0] in KINDS.keys() - {"inspect"}


@cache
def _ours(settings: Settings) -> dict[Kind, Model]:
    return open_judges(settings, Reach(dict(os.environ), Semaphore(UNLIMITED)))


class Hosted:
    """A model of Inspect's as a model of maskbench's: each sample is a request, and the log shows what it is for."""

    together = False

    def __init__(self, model: InspectModel, settings: Settings, stage: Stage) -> None:
        self.model = model
        self.name = str(model)
        self._stage = stage
        self._send_seed = settings.subject.send_seed
        self._sampling: Sampling = settings.subject.sampling if stage == "subject" else settings.judging.sampling

    async def ask(self, ask: Ask) -> Sequence[Reply | Failure | None]:
        """Answer each sample by a request of its own."""
        of = "" if self._stage == "subject" else "judge: "
        answers = []
        for run, seed in zip(ask.runs, ask.seeds, strict=True):
            async with span(f"{of}{ask.call} {ask.elicitation if ask.call == 'consistency' else run}"):
                answers.append(await self._answer(ask, seed))
        return answers

    def describe(self) -> dict[str, Any]:
        """What a reader must know of it; the log has the rest."""
        return {"name": self.name, "model": self.name}

    async def close(self) -> None:
        """Inspect closes its models itself."""

    async def _answer(self, ask: Ask, seed: int) -> Reply | Failure:
        """The answer, asked for once more with room for reasoning where that has eaten up the budget."""
        room: int | None = None
        for _ in range(2):
            try:
                output = await self.model.generate(
                    conversation(map(asdict, ask.messages)),
                    tools=tools_in(declared(ask.messages)),
                    tool_choice="none" if uses_tools(ask.messages) else None,
                    config=self._config(ask, seed, room),
                    cache=False,
                )
            except LimitExceededError:
                raise
            except Exception as error:  # whatever a provider raises once it has given up
                if (failure := failure_of(error, self._stage, mask_of(os.environ))) is None:
                    raise
                return failure
            answer = reply_of(output, self._stage, self.name, ask.messages)
            has_thought = isinstance(answer, Failure) and answer.cause == "unclosed_reasoning"
            if not (has_thought and self._sampling.reasoning_tokens) or ask.most:
                break
            spent = output.usage.output_tokens if output.usage else 0
            room = max(spent, self._sampling.max_tokens) + self._sampling.reasoning_tokens
        if isinstance(answer, Reply) and self._stage == "judge":
            return replace(answer, sent={"temperature": self._sampling.temperature})
        return answer

    def _config(self, ask: Ask, seed: int, room: int | None) -> GenerateConfig:
        """What is sent: of the subject what the task or the user says, of a judge what the protocol says."""
        config = GenerateConfig(seed=seed if self._send_seed else None, max_tokens=room)
        if self._stage == "judge":
            config.temperature = self._sampling.temperature
            config.max_tokens = room or ask.most or self._sampling.max_tokens
            if ask.schema:
                config.response_schema = answer_schema("verdict", ask.schema)
        return config


# Scores


@metric(scores="unreduced")
def rates() -> Metric:
    """Every rate with its 95 % interval over propositions, as a run has them; an epoch is a row more."""

    def compute(scores: list[SampleScore]) -> Value:
        return cast(Value, rates_of(*_kept(scores)) if scores else {})

    return compute


@metric(scores="unreduced")
def by_archetype() -> Metric:
    """The outcomes of each archetype, P(lie) with its 95 % interval."""

    def compute(scores: list[SampleScore]) -> Value:
        return cast(Value, rates_by_archetype(*_kept(scores)) if scores else {})

    return compute


def _kept(scores: Sequence[SampleScore]) -> tuple[list[dict[str, object]], str, Filtered, float]:
    """The rows of verdicts that the scores hold, and how they were scored."""
    kept = [score.score.metadata or {} for score in scores]
    how = kept[0][HOW]
    return [each[ROW] for each in kept], how["rules"], how["filtered"], how["max_error_rate"]


@scorer(metrics=[rates(), by_archetype()])
def outcomes(rules: str = "reference", filtered: Filtered = "error", max_error_rate: float = 0.05) -> Scorer:
    """A number for each outcome, from the verdicts that the sample's store has; asks no model."""
    how = {"rules": named(rules).name, "filtered": filtered, "max_error_rate": max_error_rate}

    async def score(state: TaskState, target: Target) -> Score:
        row = state.store.get(ROW)
        if row is None:  # a limit of Inspect's came first, or the log is another task's
            return Score.unscored(reason="error", explanation="The sample ended before anything was judged.")
        (scored,) = score_rows([row], rules, filtered=filtered, max_error_rate=1.0).scenarios
        return Score(
            value=cast(Value, numbers(scored)),
            answer=scored.outcome,
            explanation=words(scored, row),
            reason="error" if scored.outcome == "error" else None,
            metadata={ROW: row, HOW: how},
        )

    return score
