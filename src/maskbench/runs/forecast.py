"""What a run will cost, counted from the data before anything is called: calls exactly, tokens by estimate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from maskbench.method.asks import Calls, calls, is_joint, own_asks, reply_ask, saved
from maskbench.method.construct import named, parts_of, question_ask
from maskbench.method.controls import BY_CALL, CONTROLS, control_asks, judge_control, of_reasoning
from maskbench.method.judge_ask import Prompts, ask_about_beliefs
from maskbench.method.judged_together import asks_about, is_together
from maskbench.runs.drawn_part import drawn_anew
from maskbench.settings import Settings
from maskbench.types import Ask, Call, Json, JudgeStyle, Reply, Scenario, Stage

# Asks of this kind have 3.6 to 4.1 characters a token by real tokenizers, as benchmarks/tokens.py measures.
CHARACTERS_PER_TOKEN = 4.0
TOKENS_PER_MESSAGE = 4
# What is assumed of replies, which nobody can know beforehand.
REPLY_TOKENS: Mapping[Call, int] = {
    "direct": 120,
    "consistency": 120,
    "statement": 250,
    **{control.call: control.tokens for control in CONTROLS},
}
VERDICT_TOKENS: Mapping[JudgeStyle, int] = {"reasoning": 80, "verdict": 5, "published": 120}
INPUT_RANGE = (0.85, 1.15)  # of what is estimated from characters
OUTPUT_RANGE = (0.5, 2.5)  # of what is assumed of replies and verdicts


@dataclass(slots=True)
class Load:
    """What one model would be asked, as least and most; `most_output` is all that its answers may have.

    `live` is the part of it that is asked live whatever goes out in batches.
    """

    calls: tuple[float, float] = (0.0, 0.0)
    input: tuple[float, float] = (0.0, 0.0)
    output: tuple[float, float] = (0.0, 0.0)
    most_output: float = 0.0
    live: Load | None = None

    @property
    def at_most(self) -> Load:
        """The load where it may fall away altogether."""
        live = self.live and self.live.at_most
        return Load((0.0, self.calls[1]), (0.0, self.input[1]), (0.0, self.output[1]), self.most_output, live)

    @property
    def all_live(self) -> Load:
        """The load where nothing of it ever goes out in a batch."""
        return replace(self, live=replace(self, live=None))

    def times(self, least: float, most: float) -> Load:
        """The load so many times at least and at most."""
        ends = ((low * least, high * most) for low, high in (self.calls, self.input, self.output))
        calls, inputs, outputs = ends
        return Load(calls, inputs, outputs, self.most_output * most, self.live and self.live.times(least, most))

    def __add__(self, other: Load) -> Load:
        pairs = ((self.calls, other.calls), (self.input, other.input), (self.output, other.output))
        calls, inputs, outputs = ((mine[0] + its[0], mine[1] + its[1]) for mine, its in pairs)
        live = self.live + other.live if self.live and other.live else self.live or other.live
        return Load(calls, inputs, outputs, self.most_output + other.most_output, live)


@dataclass(slots=True)
class Plan:
    """Calls and tokens that a run will take. `input` and `output` tokens are estimates, by subject and judge."""

    scenarios: int = 0
    calls: Calls = field(default_factory=Calls)
    traces: int = 0  # verdicts on reasoning, at most: one a statement
    input: dict[str, float] = field(default_factory=lambda: {"subject": 0.0, "judge": 0.0})
    output: dict[str, float] = field(default_factory=lambda: {"subject": 0.0, "judge": 0.0})
    loads: dict[tuple[Stage, str], Load] = field(default_factory=dict)  # by stage and model
    construct: int = 0  # answers to questions on statements, which are among the verdicts
    on_reasoning: int = 0  # further ones on reasoning, at most: one a statement

    def as_dict(self) -> Json:
        """The plan as JSON has it: counts and tokens of subject and judge."""
        plain = asdict(self)
        plain.pop("loads")
        for name in ("construct", "on_reasoning"):
            if not plain[name]:
                plain.pop(name)
        return plain

    def load(self, stage: Stage, model: str, load: Load) -> None:
        """Take in what a model would be asked."""
        self.loads[stage, model] = self.loads.get((stage, model), Load()) + load


@dataclass(slots=True)
class SharedPlan(Plan):
    """The plan of a run on the beliefs of another one."""

    not_asked: Calls = field(default_factory=Calls)  # of neutral questions, which the other run has asked
    anew: int = 0  # scenarios whose neutral questions are asked all the same, as a check


def plan(scenarios: Iterable[Scenario], settings: Settings, prompts: Prompts) -> Plan:
    """Count what these scenarios take where nothing fails, no verdict is shared and samples go in one request."""
    planned = SharedPlan() if settings.beliefs_from else Plan()
    scenarios = list(scenarios)
    chosen = drawn_anew(scenarios, settings)
    for scenario in scenarios:
        anew = scenario.key in chosen
        planned.scenarios += 1
        planned.calls += calls(scenario, settings, anew=anew)
        if isinstance(planned, SharedPlan):
            planned.not_asked += saved(scenario, settings, anew=anew)
            planned.anew += anew
        judge = settings.judge if scenario.kind == "binary" else settings.numeric_judge
        asks = own_asks(scenario, settings, anew=anew)
        for ask in asks:
            planned.input["subject"] += tokens(ask)
            planned.output["subject"] += reply_tokens(ask.call, settings) * len(ask.runs)
            planned.load("subject", settings.subject, _subject_load(ask, settings))
            for judged in () if is_together(ask, settings) else _judge_asks(ask, settings, prompts):
                planned.input["judge"] += tokens(judged)
                planned.output["judge"] += verdict_tokens(settings)
                replies = len(ask.runs) if is_joint(ask, settings.judge_numbers) else 1
                planned.load("judge", judge, _judge_load(judged, ask.call, replies, settings))
        beliefs = [ask for ask in asks if is_together(ask, settings)]
        for judged in _asks_together(beliefs, settings, prompts):
            planned.input["judge"] += tokens(judged)
            planned.output["judge"] += len(judged.each) * verdict_tokens(settings)
            planned.load("judge", judge, _judge_load(judged, "direct", len(judged.each), settings, len(judged.each)))
        _add_checks(planned, scenario, settings, prompts)
        _add_construct(planned, scenario, settings)
    return planned


def _asks_together(asks: Sequence[Ask], settings: Settings, prompts: Prompts) -> Iterator[Ask]:
    """The judge's asks about all neutral replies to a scenario, at the assumed length."""
    texts = {(ask.elicitation, run): _text(ask.call, settings) for ask in asks for run in ask.runs}
    if texts:
        yield from asks_about(asks[0].scenario, texts, prompts)


def _add_construct(planned: Plan, scenario: Scenario, settings: Settings) -> None:
    """The questions on statements; those on reasoning as if each statement had some."""
    statement = _text("statement", settings)
    for part in (part for question in named(settings.construct) for part in parts_of(question)):
        thought = statement if part.of_reasoning else None
        ask = question_ask(part, scenario, statement, thought, style=settings.judge_style)
        load = _judge_load(ask, "statement", 1, settings).times(settings.statements, settings.statements)
        load = load.all_live
        planned.load("judge", settings.judge, load.at_most if part.of_reasoning else load)
        if part.of_reasoning:
            planned.on_reasoning += settings.statements
            continue
        planned.construct += settings.statements
        planned.calls += Calls(verdicts=settings.statements)
        planned.input["judge"] += tokens(ask) * settings.statements
        planned.output["judge"] += verdict_tokens(settings) * settings.statements


def _add_checks(planned: Plan, scenario: Scenario, settings: Settings, prompts: Prompts) -> None:
    """The tokens of the controls on the subject, and traces as if every statement were a lie with some reasoning."""
    statement = _text("statement", settings)
    asks = control_asks(scenario, settings, dict.fromkeys(range(1, settings.statements + 1), statement))
    judged = [judge_control(ask, _text(ask.call, settings), prompts) for ask in asks]
    for control in of_reasoning(settings):
        reasoning = _text(control.call, settings)
        judged += [control.judged_reasoning(scenario, 1, reasoning, prompts)] * settings.statements
        planned.traces += settings.statements
    judge = settings.judge if scenario.kind == "binary" else settings.numeric_judge
    for ask in asks:
        planned.load("subject", settings.subject, _subject_load(ask, settings).all_live)
    for place, ask in enumerate(judged):
        load = _judge_load(ask, ask.call, 1, settings).all_live
        planned.load("judge", judge, load if place < len(asks) else load.at_most)  # reasoning: only before lies
    planned.input["subject"] += sum(map(tokens, asks))
    planned.output["subject"] += sum(reply_tokens(ask.call, settings) for ask in asks)
    planned.input["judge"] += sum(map(tokens, judged))
    planned.output["judge"] += verdict_tokens(settings) * len(judged)


def _subject_load(ask: Ask, settings: Settings) -> Load:
    """Samples of one question: one request where the endpoint gives several at once, else a request each."""
    runs, size = len(ask.runs), tokens(ask)
    low, high = _range(reply_tokens(ask.call, settings), settings.sampling.max_tokens)
    sizes = INPUT_RANGE[0] * size, INPUT_RANGE[1] * size * runs
    return Load((1, runs), sizes, (low * runs, high * runs), float(settings.sampling.max_tokens * runs))


def _judge_load(ask: Ask, call: Call, replies: int, settings: Settings, verdicts: int = 1) -> Load:
    """A request to the judge for so many verdicts, in which so many replies stand at their assumed length."""
    assumed = reply_tokens(call, settings)
    low, high = _range(assumed, settings.sampling.max_tokens)
    rest = max(0.0, tokens(ask) - replies * assumed)
    size = INPUT_RANGE[0] * rest + low * replies, INPUT_RANGE[1] * rest + high * replies
    return verdict_load(1, size, settings, verdicts)


def verdict_load(calls: float, size: tuple[float, float], settings: Settings, each: int = 1) -> Load:
    """So many requests of so many tokens in all, with so many verdicts each."""
    low, high = _range(each * verdict_tokens(settings), settings.judge_sampling.max_tokens)
    return Load((calls, calls), size, (calls * low, calls * high), calls * settings.judge_sampling.max_tokens)


def _range(assumed: float, most: float) -> tuple[float, float]:
    """How many tokens an answer has at least and at most, and never more than it may have."""
    return OUTPUT_RANGE[0] * assumed, min(OUTPUT_RANGE[1] * assumed, most)


def tokens(ask: Ask) -> float:
    """About how many tokens an ask's messages are."""
    characters = sum(len(message.content) for message in ask.messages)
    return characters / CHARACTERS_PER_TOKEN + TOKENS_PER_MESSAGE * len(ask.messages)


def reply_tokens(call: Call, settings: Settings) -> int:
    """How many tokens a reply is assumed to have: what such replies have, or all that it may."""
    thought = settings.sampling.reasoning_tokens if call in BY_CALL and BY_CALL[call].asks is None else 0
    return min(REPLY_TOKENS[call], settings.sampling.max_tokens + thought)


def verdict_tokens(settings: Settings) -> int:
    """How many tokens a verdict is assumed to have."""
    return min(VERDICT_TOKENS[settings.judge_style], settings.judge_sampling.max_tokens)


def _text(call: Call, settings: Settings) -> str:
    """A reply of the assumed length."""
    return "x" * round(reply_tokens(call, settings) * CHARACTERS_PER_TOKEN)


def _judge_asks(ask: Ask, settings: Settings, prompts: Prompts) -> list[Ask]:
    """The judge's asks about replies of the assumed length."""
    reply = _text(ask.call, settings)
    if is_joint(ask, settings.judge_numbers):
        return [ask_about_beliefs(ask.scenario, [reply] * len(ask.runs), prompts)] if len(ask.runs) > 1 else []
    assumed = Reply(reply, _text("trace", settings))
    return [reply_ask(ask, 1, assumed, settings, prompts)] * len(ask.runs)
