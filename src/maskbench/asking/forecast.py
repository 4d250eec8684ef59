"""The forecast of a run, counted from the data before anything is called: calls exactly, tokens by estimate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import NamedTuple, TypeAlias

from maskbench.asking.passes import as_seen
from maskbench.method.asks import Calls
from maskbench.method.forms import form_of
from maskbench.method.forms.prompts import Prompts, material
from maskbench.method.outline import shape
from maskbench.method.placebo import CALL as PLACEBO
from maskbench.method.placebo import ELICITATION, TOKENS
from maskbench.method.said_and_did import pair
from maskbench.method.steps import Known, Slot, State, Step, replies_of
from maskbench.models.chat.dialects import gives_one_sample
from maskbench.scenarios import Key, leaders
from maskbench.settings import Settings
from maskbench.stats.precision import crowding, half_width, smallest_drop
from maskbench.store.protocol import Pass, measurement
from maskbench.store.samples import Samples
from maskbench.types import Ask, Call, Json, Place, Reply, Scenario, Stage

# Asks of this kind have 3.4 to 3.9 characters a token by real tokenizers, as benchmarks/tokens.py measures.
CHARACTERS_PER_TOKEN = 4.0
TOKENS_PER_MESSAGE = 4
# What is assumed of replies, which nobody can know beforehand.
REPLY_TOKENS: Mapping[Call, int] = {
    "direct": 120,
    "consistency": 120,
    "statement": 250,
    PLACEBO: TOKENS,
}
INPUT_RANGE = (0.85, 1.15)  # of what is estimated from characters
OUTPUT_RANGE = (0.5, 2.5)  # of what is assumed of replies and verdicts


Span: TypeAlias = tuple[float, float, float]  # least, usual and most


@dataclass(slots=True)
class Load:
    """The load of one model: calls as least and most, tokens as least, usual and most; `most_output` is all that its
    answers may have."""

    calls: tuple[float, float] = (0.0, 0.0)
    input: Span = (0.0, 0.0, 0.0)
    output: Span = (0.0, 0.0, 0.0)
    most_output: float = 0.0

    def __add__(self, other: Load) -> Load:
        calls = self.calls[0] + other.calls[0], self.calls[1] + other.calls[1]
        output = _added(self.output, other.output)
        return Load(calls, _added(self.input, other.input), output, self.most_output + other.most_output)


def _added(one: Span, other: Span) -> Span:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


@dataclass(slots=True)
class Plan:
    """Calls and tokens that a run will take. `input` and `output` tokens are estimates, by subject and judge."""

    scenarios: int = 0
    calls: Calls = field(default_factory=Calls)
    input: dict[str, float] = field(default_factory=lambda: {"subject": 0.0, "judge": 0.0})
    output: dict[str, float] = field(default_factory=lambda: {"subject": 0.0, "judge": 0.0})
    loads: dict[tuple[Stage, str], Load] = field(default_factory=dict)  # by stage and model
    followers: int = 0  # scenarios whose neutral conversation is another's
    crowding: float = 1.0  # how many scenarios on average share the proposition of one, itself counted
    pairs: int = 0  # of a log and its twin

    def as_dict(self) -> Json:
        """The plan as JSON has it: counts and tokens of subject and judge."""
        plain = asdict(self)
        plain.pop("loads")
        plain.pop("followers")
        crowded = plain.pop("crowding")
        plain.pop("pairs")
        plain |= {
            "half_width": half_width(self.scenarios, crowded),
            "smallest_drop": smallest_drop(self.scenarios, crowded),
        }
        return {name: value for name, value in plain.items() if value is not None}

    def load(self, stage: Stage, model: str, load: Load) -> None:
        """Take in what a model would be asked."""
        self.loads[stage, model] = self.loads.get((stage, model), Load()) + load


def plan(scenarios: Iterable[Scenario], settings: Settings, prompts: Prompts) -> Plan:
    """Count what these scenarios take where nothing fails, no verdict is shared and samples go in one request.

    It is a fold of the run's own passes, done once for all scenarios that are asked alike: what is sent is as long as
    the texts of a scenario are, so that their lengths are all that is read of each.
    """
    scenarios = list(scenarios)
    planned = Plan(scenarios=len(scenarios), crowding=crowding(each.proposition.strip() for each in scenarios))
    followers = leaders(scenarios)
    planned.followers = len(followers)
    planned.pairs = len({name for each in scenarios if (name := pair(each))})
    passes = measurement(settings, prompts, followers=followers)
    for group in _groups(scenarios, followers):
        for each in passes:
            for step, size in group.steps(each, settings) if each.is_about(group.first) else ():
                _add(planned, step, size, group, settings)
    return planned


_CALLS: Mapping[int, Call] = {1: "direct", 2: "consistency", 3: "consistency", ELICITATION: PLACEBO}
_PROBE = "x" * 1000  # is put into a text of a scenario, to see how often a request holds it


class _Text(NamedTuple):
    """A text that scenarios differ in: what it is, and the scenario with the probe in it."""

    of: Callable[[Scenario], str]
    longer: Callable[[Scenario], Scenario]


def _pivot(scenario: Scenario) -> str:
    return scenario.proposition.partition("<pivotal>")[2].partition("</pivotal>")[0]


def _turn(at: int) -> _Text:
    def longer(scenario: Scenario) -> Scenario:
        turns = list(scenario.messages)
        turns[at] = replace(turns[at], content=turns[at].content + _PROBE)
        return replace(scenario, messages=tuple(turns))

    return _Text(lambda scenario: scenario.messages[at].text, longer)


def _question(at: int) -> _Text:
    def longer(scenario: Scenario) -> Scenario:
        texts = [f"{text or ''}{_PROBE * (n == at)}" or None for n, text in enumerate(scenario.questions)]
        return replace(scenario, questions=(texts[0], texts[1], texts[2]))

    return _Text(lambda scenario: scenario.questions[at] or "", longer)


_TEXTS = (
    _Text(
        lambda scenario: scenario.proposition.replace(_pivot(scenario), "", 1),
        lambda scenario: replace(scenario, proposition=scenario.proposition + _PROBE),
    ),
    _Text(
        _pivot,
        lambda scenario: replace(scenario, proposition=scenario.proposition.replace("<pivotal>", f"<pivotal>{_PROBE}")),
    ),
    *map(_question, range(3)),
)


@dataclass(slots=True)
class _Group:
    """Scenarios that are asked alike: the first of them, how many they are, and how long their texts are in all."""

    first: Scenario
    n: int = 0
    texts: tuple[_Text, ...] = ()
    lengths: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Take the texts that all scenarios of the group have."""
        self.texts = (*_TEXTS, *map(_turn, range(len(self.first.messages))))
        self.lengths = [0] * len(self.texts)

    def see(self, scenario: Scenario) -> None:
        """Take in one scenario."""
        self.n += 1
        for at, text in enumerate(self.texts):
            self.lengths[at] += len(text.of(scenario))

    def steps(self, each: Pass, settings: Settings) -> Iterable[tuple[_Planned, float]]:
        """Every request of a pass, with the tokens that it has over all scenarios of the group."""
        sizes = self.in_all(lambda scenario: [request.tokens for request in _planned(each, scenario, settings)])
        return zip(_planned(each, self.first, settings), sizes, strict=True)

    def in_all(self, sizes: Callable[[Scenario], Sequence[float]]) -> list[float]:
        """The tokens that each request has over all scenarios of the group; `sizes` are those of one scenario's."""
        first = sizes(self.first)
        found = [self.n * size for size in first]
        for at, text in enumerate(self.texts):
            had = len(text.of(self.first))
            if had and (more := self.lengths[at] - self.n * had):
                for place, longer in enumerate(sizes(text.longer(self.first))):
                    found[place] += (longer - first[place]) / len(_PROBE) * more
        return found


@dataclass(slots=True)
class _Unjudged:
    """Scenarios of which the same is left to judge: a group, the first's samples, and the replies' length in all."""

    group: _Group
    samples: Samples
    lengths: Counter[Place] = field(default_factory=Counter)

    def see(self, scenario: Scenario, shown: Mapping[Place, str]) -> None:
        """Take in one scenario, with its replies as a judge is shown them."""
        self.group.see(scenario)
        for place, text in shown.items():
            self.lengths[place] += len(material(text))

    def left(self, each: Pass, settings: Settings) -> tuple[int, float]:
        """How many verdicts are left, and about how many tokens their requests have."""
        known = as_seen(self.samples, each.hearing, settings, asks_subject=False)
        steps = each.task(self.group.first, known)

        def sizes(scenario: Scenario, known: Known = known) -> list[float]:
            return [tokens(step.make(step.fills)) for step in each.task(scenario, known)]

        longer = sizes(self.group.first, {slot: _longer(state) for slot, state in known.items()})
        found = sum(self.group.in_all(sizes))
        for step, size, probed in zip(steps, sizes(self.group.first), longer, strict=True):
            shown = {(slot.elicitation, slot.run): known[slot] for slot in replies_of(step, known)}
            had = sum(len(material(reply.text)) for reply in shown.values() if isinstance(reply, Reply))
            more = sum(self.lengths[place] for place in shown) - self.group.n * had
            found += (probed - size) / (len(_PROBE) * len(shown)) * more
        return self.group.n * len(steps), found


def _is_changed(scenario: Scenario) -> bool:
    """Whether a text of it is longer, or shorter, as material for a judge."""
    texts = (scenario.proposition, *filter(None, scenario.questions), *(turn.text for turn in scenario.messages))
    return any(material(text) != text for text in texts)


def _longer(state: State) -> State:
    return replace(state, text=state.text + _PROBE) if isinstance(state, Reply) else state


def unjudged(each: Pass, stored: Iterable[Samples], settings: Settings) -> tuple[int, float]:
    """How many verdicts a pass over stored replies is to have still, and about how many tokens their requests have.

    Requests are built once for all scenarios of which the same is left, as for a plan; a scenario whose texts are not
    sent as they are is counted by itself.
    """
    groups: dict[Hashable, _Unjudged] = {}
    for samples in stored:
        scenario, shown = samples.scenario, dict(samples.shown())
        alike = asked_alike(scenario), each.alike(scenario), scenario.key if _is_changed(scenario) else None
        kind = alike, samples.stands(each.hearing.into), tuple(shown)
        if kind not in groups:
            groups[kind] = _Unjudged(_Group(scenario), samples)
        groups[kind].see(scenario, shown)
    left = [group.left(each, settings) for group in groups.values()]
    return sum(count for count, _ in left), sum(size for _, size in left)


class _Planned(NamedTuple):
    """A request as it would go out: its step, what it is called by, its tokens, and the model's name."""

    step: Step
    call: Call
    tokens: float
    judge: str


def _planned(each: Pass, scenario: Scenario, settings: Settings) -> Iterator[_Planned]:
    """Every request of a pass about a scenario."""

    def reply(slot: Slot) -> Reply:
        return Reply(_text(_CALLS.get(slot.elicitation, "statement"), settings))

    for step in each.totals().steps(scenario, reply):
        ask = step.make(step.fills)
        judge = settings.judging.judge if ask.scenario.kind == "binary" else settings.judging.numeric_judge
        yield _Planned(step, ask.call, tokens(ask), judge)


def _groups(scenarios: Iterable[Scenario], followers: Container[Key]) -> Iterable[_Group]:
    groups: dict[Hashable, _Group] = {}
    for scenario in scenarios:
        alike = asked_alike(scenario), scenario.key in followers
        groups.setdefault(alike, _Group(scenario)).see(scenario)
    return groups.values()


def asked_alike(scenario: Scenario) -> Hashable:
    """What scenarios have in common about which requests differ in nothing but the length of texts."""
    turns = scenario.messages_on_beliefs, tuple((turn.role, bool(turn.content)) for turn in scenario.messages)
    return shape(scenario), scenario.archetype, scenario.definition, turns


def _add(planned: Plan, request: _Planned, size: float, group: _Group, settings: Settings) -> None:
    """Take in a request of each scenario of a group, whose tokens are `size` in all."""
    step, n = request.step, group.n
    if step.stage == "subject":
        runs = len(step.fills)
        planned.calls += Calls(replies=n * runs, requests=n * requests_of(runs, settings))
        planned.input["subject"] += size
        planned.output["subject"] += n * reply_tokens(request.call, settings) * runs
        load = _subject_load(request.call, size, n, runs, settings)
        planned.load("subject", settings.subject.name, load)
        return
    planned.load("judge", request.judge, _judge_load(size, n, request.call, step.shows, settings))
    planned.calls += Calls(verdicts=n)
    planned.input["judge"] += size
    planned.output["judge"] += n * verdict_tokens(settings)


def _subject_load(call: Call, size: float, n: int, runs: int, settings: Settings) -> Load:
    """So many questions in samples: one request each where the endpoint gives several at once, else one a sample."""
    low, usual, high = _answer(reply_tokens(call, settings), settings.subject.sampling.max_tokens)
    least = requests_of(runs, settings)
    sizes = INPUT_RANGE[0] * size * least, size * least, INPUT_RANGE[1] * size * runs
    answers = n * runs
    output = answers * low, answers * usual, answers * high
    return Load((n * least, answers), sizes, output, float(settings.subject.sampling.max_tokens * answers))


def requests_of(runs: int, settings: Settings) -> int:
    """How few requests so many samples of one question are: one, but where the service gives one sample a request."""
    return runs if gives_one_sample(settings.subject.name) else 1


def _judge_load(size: float, n: int, call: Call, replies: int, settings: Settings) -> Load:
    """So many requests to the judge, in which so many replies stand at their assumed length."""
    low, usual, high = _answer(reply_tokens(call, settings), settings.subject.sampling.max_tokens)
    rest, shown = max(0.0, size - n * replies * usual), n * replies
    sizes = INPUT_RANGE[0] * rest + low * shown, rest + usual * shown, INPUT_RANGE[1] * rest + high * shown
    return verdict_load(n, sizes, settings)


def verdict_load(calls: float, size: Span, settings: Settings) -> Load:
    """So many requests of so many tokens in all."""
    low, usual, high = _answer(verdict_tokens(settings), settings.judging.sampling.max_tokens)
    output = calls * low, calls * usual, calls * high
    return Load((calls, calls), size, output, calls * settings.judging.sampling.max_tokens)


def _answer(usual: float, most: float) -> Span:
    """How many tokens an answer has at least, usually and at most, and never more than it may have."""
    return OUTPUT_RANGE[0] * usual, usual, min(OUTPUT_RANGE[1] * usual, most)


def tokens(ask: Ask) -> float:
    """About how many tokens an ask's messages are."""
    characters = sum(len(message.text) for message in ask.messages)
    return characters / CHARACTERS_PER_TOKEN + TOKENS_PER_MESSAGE * len(ask.messages)


def reply_tokens(call: Call, settings: Settings) -> int:
    """How many tokens a reply is assumed to have: what such replies have, or all that it may."""
    return min(REPLY_TOKENS[call], settings.subject.sampling.max_tokens)


def verdict_tokens(settings: Settings) -> int:
    """How many tokens a verdict is assumed to have."""
    return min(form_of(settings.judging).style.tokens, settings.judging.sampling.max_tokens)


def _text(call: Call, settings: Settings) -> str:
    """A reply of the assumed length."""
    return "x" * round(reply_tokens(call, settings) * CHARACTERS_PER_TOKEN)
