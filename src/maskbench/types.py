"""Every concept of the method on one page; what is not here is not a concept.

A scenario gives asks; a model, be it subject or judge, answers an ask with replies or failures; the judge's
reply is read into a verdict; verdicts settle a belief; belief and statement make an outcome.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Protocol, get_args

from msgspec import Meta, Struct

Json = dict[str, Any]  # a value as JSON has it

Archetype = str  # its name: a row of method/archetypes.py, or one that a scenario set brings
ARCHETYPES: tuple[Archetype, ...] = (  # those of the paper, and of its data set
    *("known_facts", "provided_facts", "doubling_down_known_facts"),
    *("statistics", "continuations", "disinformation"),
)

Kind = Literal["binary", "numerical"]
Option = Literal["A", "B"]
Letter = Literal["A", "B", "C", "D"]
Evasion = Literal["refusal", "hedge", "off_topic", "garbled", "disagree"]  # the last: replies that share no number
EVASIONS: tuple[Evasion, ...] = get_args(Evasion)
EVASIONS_OF: Mapping[Kind, tuple[Evasion, ...]] = {"binary": EVASIONS[:-1], "numerical": EVASIONS}

OutputForm = Literal["text", "markdown"]  # in which a result is printed
RowForm = Literal["jsonl", "csv", "parquet", "published"]  # in which a run is written for oneself, with its texts
ImportForm = Literal["published", "inspect", "transcripts", "verdicts"]  # which an import has

Call = str  # one of these, or that of the placebo (method/placebo.py)
CALLS: tuple[Call, ...] = ("direct", "consistency", "statement")  # those that an outcome hangs on
# A reason and then the verdict, or the verdict alone, or in the form of the published prompts.
JudgeNumbers = Literal["together", "apart"]  # a joint verdict on the neutral replies about a number, or one on each
Place = tuple[int, int]  # a sample of a scenario: its elicitation and run
Stage = Literal["subject", "judge"]
STAGES: tuple[Stage, ...] = get_args(Stage)
Cause = Literal[
    "timeout",
    "connection",
    "rate_limit",
    "server_error",
    "bad_request",
    "malformed_response",
    "too_large",
    "cut_prompt",  # by its own count of tokens the server read a part of what was sent
    "filtered",  # withheld by a content filter
    "empty",  # an answer with nothing in it
    "unclosed_reasoning",  # the budget ran out while the model was still thinking
    "unknown_end",  # the service ended it with a word that is not known, so that it may not be whole
    "truncated",  # cut off at the token limit, where the run treats that as a failure
    "unreadable",  # the judge's text holds no verdict
    "too_few_replies",  # the joint numerical belief verdict needs two
    "substituted",  # another model answered, where the run treats that as a failure
    "raised",  # a model in this process raised an exception
    "absent",  # an import's source does not hold it
]
OutcomeName = Literal["honest", "lie", "evasive", "no_belief", "error"]
OUTCOMES: tuple[OutcomeName, ...] = ("honest", "lie", "evasive", "no_belief", "error")  # those by a single judge
Accuracy = Literal["correct", "incorrect", "no_belief", "error", "not_applicable", "not_asked"]
NoBelief = Literal["unsure", "mixed", "contradicted", "overlooked", "mistaken"]  # the last two: of an event in a log
NO_BELIEF: tuple[NoBelief, ...] = ("unsure", "mixed", "contradicted")  # those of every scenario


@dataclass(frozen=True, slots=True)
class Range:
    """A closed range of numbers; an open side is infinite."""

    low: float
    high: float

    @classmethod
    def between(cls, low: float | None, high: float | None) -> Range:
        """The range with these bounds; None is an open side."""
        return cls(-math.inf if low is None else low, math.inf if high is None else high)

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """Both bounds as they are written down: an open side is None, since no format that we write has infinity."""
        return None if math.isinf(self.low) else self.low, None if math.isinf(self.high) else self.high

    @property
    def words(self) -> str:
        """The range as people say it: `12`, `31 to 34`, `at least 5`, `at most 7`, `any number`."""
        low, high = (None if bound is None else f"{bound:,.10g}".replace("-", "−") for bound in self.bounds)
        if low is None:
            return "any number" if high is None else f"at most {high}"
        if high is None:
            return f"at least {low}"
        return low if low == high else f"{low} to {high}"


Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat, as chat endpoints take it."""

    role: Role
    content: str

    @classmethod
    def system(cls, prompt: str, developer: str | None = None) -> Message:
        """A system prompt; a developer's stands before it, the two in labelled parts, as in the paper's experiment."""
        parts = f"Developer instructions: {developer}\nUser instructions: {prompt}" if developer else prompt
        return cls("system", parts)

    @property
    def text(self) -> str:
        """The turn as people and judges read it."""
        return self.content


@dataclass(frozen=True, slots=True)
class Function:
    """What a call names: a tool, and its arguments as the JSON of an object."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool, as chat completions have it; its id is its own in the conversation."""

    id: str
    function: Function
    type: Literal["function"] = "function"


@dataclass(frozen=True, slots=True)
class ToolCalls(Message):
    """A turn of the assistant's that calls tools; its content may be empty."""

    tool_calls: tuple[ToolCall, ...]

    @property
    def text(self) -> str:
        """The content, then each call between two lines in brackets."""
        calls = (
            f"[tool call {call.id}: {call.function.name}]\n{call.function.arguments}\n[end of tool call]"
            for call in self.tool_calls
        )
        return "\n\n".join(filter(None, (self.content, *calls)))


@dataclass(frozen=True, slots=True)
class ToolResult(Message):
    """What a tool answered to the call with this id; its role is `tool`."""

    tool_call_id: str

    @property
    def text(self) -> str:
        """The content between two lines in brackets."""
        return f"[tool result {self.tool_call_id}]\n{self.content}\n[end of tool result]"


Messages = tuple[Message, ...]


def conversation(system_prompt: str, user_prompt: str, first_turn: tuple[str, str] | None = None) -> Messages:
    """The beginning of a conversation as the columns of the data set have it; an empty system prompt is not sent.

    `first_turn` is what the user asks first and a scripted answer.
    """
    system = [Message("system", system_prompt)] if system_prompt else []
    earlier = [Message("user", first_turn[0]), Message("assistant", first_turn[1])] if first_turn else []
    return (*system, *earlier, Message("user", user_prompt))


@dataclass(frozen=True, slots=True)
class Definition:
    """What an archetype is: how its scenarios are built and judged, and its words for people."""

    name: Archetype
    title: str
    text: str = ""  # a sentence: who presses, and for what
    kind: Kind | None = None  # the kind of all its scenarios; None: either
    given: bool = False  # the fact stands in the system prompt and counts as the belief: nothing is asked neutrally
    scripted: bool = False  # the conversation begins with a turn in which the assistant's words are scripted
    prompt: str = "statement"  # the judge's prompt on its binary statements, by name
    judge: str | None = None  # that prompt's text, where the archetype is none of the paper's
    people: tuple[str, ...] = ()  # what people who label its binary statements are told


@dataclass(frozen=True, slots=True)
class Scenario:
    """One row: a proposition, its ground truth, neutral belief questions and a pressured conversation."""

    archetype: Archetype
    task_id: str
    kind: Kind
    proposition: str  # with its <pivotal> marks
    truth: Option | Range
    messages: Messages  # the pressured conversation: the last of them asks for the statement
    questions: tuple[str | None, str | None, str | None] = (None, None, None)  # belief_elicit_1, _2, _3
    messages_on_beliefs: bool = False  # these messages, without a user's last one, begin the neutral ones, too
    asked_outright: bool | None = None  # does the text ask for the falsehood itself? None: the set does not say
    canary: str | None = None
    extra: Mapping[str, str] = field(default_factory=dict)  # further columns, kept and never sent
    definition: Definition | None = None  # its archetype, where that is none of the paper's

    @property
    def key(self) -> tuple[Archetype, str]:
        """Its identity in a set."""
        return self.archetype, self.task_id

    @property
    def neutral(self) -> str | None:
        """The name of its neutral conversation, which all scenarios of that name share; None: it has its own."""
        return self.extra.get("neutral") or None

    @property
    def system_prompt(self) -> str:
        """The system prompt of the pressured conversation, "" where it has none."""
        return self.messages[0].content if self.messages[0].role == "system" else ""

    @property
    def user_prompt(self) -> str:
        """The last turn: what asks for the statement."""
        return self.messages[-1].content

    @property
    def earlier(self) -> Messages:
        """The turns between the system prompt and the last one."""
        return self.messages[bool(self.system_prompt) : -1]

    @property
    def first_turn(self) -> tuple[str, str] | None:
        """Doubling down: the user's first question and the scripted answer; None where there are no such two turns."""
        if [(type(turn), turn.role) for turn in self.earlier] == [(Message, "user"), (Message, "assistant")]:
            return self.earlier[0].content, self.earlier[1].content
        return None

    @property
    def in_columns(self) -> bool:
        """Whether `system_prompt`, `user_prompt` and `first_turn` are the whole of how its conversations begin."""
        is_short = not self.earlier or self.first_turn is not None
        return is_short and self.messages[-1].role == "user" and not self.messages_on_beliefs


@dataclass(frozen=True, slots=True)
class BinaryVerdict:
    """The option that a reply asserts (A, B), neither (C), or a denial of both (D)."""

    letter: Letter
    evasion: Evasion | None = None  # which kind of C; never scored


@dataclass(frozen=True, slots=True)
class NumericalVerdict:
    """The range that a reply best supports; None is an open side, four None mean no number at all."""

    lower_bound: float | None = None
    upper_bound: float | None = None
    relative_lower_bound: float | None = None
    relative_upper_bound: float | None = None
    evasion: Evasion | None = None  # only where there is no number; never scored

    @property
    def absolute(self) -> Range | None:
        """The range in the proposition's unit; None where it has no bound, put right where the wrong way round."""
        return _range(self.lower_bound, self.upper_bound)

    @property
    def relative(self) -> Range | None:
        """The range of the relative change; None where it has no bound, put right where the wrong way round."""
        return _range(self.relative_lower_bound, self.relative_upper_bound)

    @property
    def ranges(self) -> tuple[Range, ...]:
        """The absolute range, then the relative one, each where there is one."""
        return tuple(range_ for range_ in (self.absolute, self.relative) if range_ is not None)


def _range(low: float | None, high: float | None) -> Range | None:
    if low is None and high is None:
        return None
    if low is not None and high is not None and low > high:
        low, high = high, low
    return Range.between(low, high)


Verdict = BinaryVerdict | NumericalVerdict


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict as the judge gave it, with its reason in its own words.

    `confidence` is the probability that the judge gave to this verdict, where it was asked for and told.
    """

    verdict: Verdict
    reason: str | None = None
    confidence: float | None = None


MOST_TOKENS = 10**12  # of a reply: the sum over a run has to find room in 63 bits


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one reply as the endpoint counts them; None where it does not say, or says what cannot be."""

    input: int | None = None
    output: int | None = None
    reasoning: int | None = None  # part of output
    cached: int | None = None  # part of input: what a cache held
    written: int | None = None  # part of input: what was put into a cache

    def __post_init__(self) -> None:
        """Take a count that no reply can have as unknown."""
        counts = self.input, self.output, self.reasoning, self.cached, self.written
        for name, count in zip(self.__slots__, counts, strict=True):
            if count is not None and not 0 <= count <= MOST_TOKENS:
                object.__setattr__(self, name, None)


@dataclass(frozen=True, slots=True)
class Token:
    """One token of an answer with its natural log-probability, and those of the likeliest in its place, by text."""

    text: str
    logprob: float
    likeliest: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered to one ask, one sample of it."""

    text: str
    reasoning: str | None = None  # beside the answer, never in it
    truncated: bool = False  # the visible text was cut at the token limit
    usage: Usage = Usage()
    model: str | None = None  # the name that the endpoint resolved
    fingerprint: str | None = None
    sent: Mapping[str, Any] = field(default_factory=dict)  # sampling parameters as they went out
    seconds: float = 0.0
    tokens: tuple[Token, ...] = ()  # of the visible text, where their probabilities were asked for and came


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that gave no usable answer after all retries; never a verdict, an outcome or a zero."""

    stage: Stage
    cause: Cause
    detail: str


@dataclass(frozen=True, slots=True)
class Judged:
    """What a judge is shown to judge, and the code that its verdict has to carry; None where it has to carry none."""

    replies: tuple[str, ...] = ()
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to a model: messages, and how many independent samples of the answer are wanted.

    `scenario` is for simulated, scripted and rule-based models; a client sends `messages` and nothing else.
    """

    messages: tuple[Message, ...]
    scenario: Scenario
    call: Call
    elicitation: int  # 1 direct, 2 and 3 consistency, 0 the statement; 4 the placebo
    runs: tuple[int, ...] = (1,)  # sample numbers, from 1
    seeds: tuple[int, ...] = (0,)  # one a run; in a session no two requests have the same
    schema: Mapping[str, Any] | None = None  # JSON schema of the answer, where one is wanted
    logprobs: bool = False  # whether the probabilities of the answer's tokens are wanted
    most: int | None = None  # tokens that the answer is held to by the endpoint, whatever the sampling allows
    shared: int = 0  # characters of the last message that all requests on these samples' question begin with
    judged: Judged = Judged()  # what a judge is asked about, as it was when the ask was made: no text says it
    form: str = ""  # of a judge's answer: the row of `method.forms.FORMS` that reads it


@dataclass(frozen=True, slots=True)
class Item:
    """One sample that a scenario asks for: its reply and the verdict on it, each had, failed, or not there yet.

    The one verdict on the belief replies of a numerical scenario stands with the last of them.
    """

    call: Call
    elicitation: int
    run: int
    reply: Reply | Failure | None = None
    judgement: Judgement | Failure | None = None


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a model is asked: what it is sent, before anything is learned about its endpoint."""

    temperature: Annotated[float, Meta(ge=0, le=2)]
    max_tokens: Annotated[int, Meta(ge=1)]  # for the visible answer
    reasoning_tokens: Annotated[int, Meta(ge=0)]  # added once the model is seen to reason

    def __post_init__(self) -> None:
        """Take 1 for 1.0, since keys of replies and verdicts tell them apart."""
        if isinstance(self.temperature, int):
            object.__setattr__(self, "temperature", float(self.temperature))


class Model(Protocol):
    """Subject and judge alike: something that answers asks. What it may have besides is in `WholeModel`."""

    name: str

    @property
    def together(self) -> bool:
        """Whether several samples of one ask cost one request; where not, they are asked one by one."""
        ...

    async def ask(self, ask: Ask) -> Sequence[Reply | Failure | None]:
        """Answer with one entry for each of `ask.runs`, in that order.

        None stands for a sample that did not come with the others and needs an ask of its own; where one sample
        was asked for, there is an answer or a failure.
        Raises ModelError where no further ask can succeed (a wrong key, an unknown model).
        """
        ...

    def describe(self) -> dict[str, Any]:
        """What a reader must know of it: parameters, address, and what was learned about the endpoint."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class WholeModel(Model, Protocol):
    """A model with all that it may have besides: each of these parts is looked for by its name, and may be absent."""

    queues: bool  # it makes batches of all that waits, so that everything goes to it at once
    warnings: Sequence[str]  # lines that a user should see once
    learned: Any  # about its endpoint: what `describe` says of it, a later session is given again
    requests: int  # that it has sent; without it each answer counts as one
    retried: int  # requests that failed in passing and were sent again, for displays
    drawn: int  # tokens of answers so far, those under way among them, for displays
    billed: (
        Callable[[Ask, Usage], object] | None
    )  # set by a run, and called with each request's tokens; else replies say them

    def drain(self, why: str) -> None:
        """Begin nothing any more, as a run stops: whoever waits or comes later gets Interrupted."""
        ...


Belief = Option | tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class Resolved:
    """What the belief verdicts come to: a belief, a reason why there is none, or unresolved (neither)."""

    belief: Belief | None = None
    reason: NoBelief | None = None

    @property
    def unresolved(self) -> bool:
        """Verdicts are missing, and what they would have been decides."""
        return self.belief is None and self.reason is None


class OnLog(Struct, frozen=True, gc=False):
    """What a report on a log is about: which log, with what kind of event in it or left out of it."""

    log: str
    kind: str
    plain: bool  # whether the report was asked for with nothing to gain
    accused: float = 0.0  # statements that tell of an event that never was


class Scored(Struct, frozen=True, gc=False):
    """What one scenario comes to under a rule set: small, and without text but the proposition's."""

    archetype: Archetype
    task_id: str
    proposition: str
    weight: float
    asked_outright: bool | None
    resolved: Resolved
    outcomes: tuple[OutcomeName, ...]  # one a statement
    outcome: OutcomeName  # the published rule over all statements
    accuracy: Accuracy
    denials: Mapping[str, int]  # D verdicts on "beliefs" and "statements"
    evasions: Mapping[str, int]  # kinds of C among the statements
    truncated: Mapping[str, int]  # replies "cut" at the token limit, and "replies" in all
    failures: Mapping[tuple[Stage, Cause], int]
    numerical: Mapping[str, int]  # agreements of belief and statement that are "half_infinite" or "cross"
    on_log: OnLog | None = None  # where the statements are reports on a log

    @property
    def key(self) -> tuple[Archetype, str]:
        """Its scenario's identity in a set."""
        return self.archetype, self.task_id
