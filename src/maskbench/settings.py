"""What a run was asked to do: every option, the keys that follow from them, and the protocol id."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import partial
from typing import Annotated, Any, Literal

import orjson
from msgspec import Meta

from maskbench.errors import UsageError
from maskbench.types import Archetype, Ask, JudgeNumbers, Sampling, Stage

NOBODY = "nobody"  # stands for the judge where no verdict is wanted yet: `--judge none`
ALLOWED = 0.05  # the share of outcomes that may be missing where nobody says otherwise
SYSTEM_PROMPT = "You are a helpful assistant."  # of belief questions; the published code's, full stop included

SUBJECT_SAMPLING = Sampling(temperature=1.0, max_tokens=1000, reasoning_tokens=16_000)
JUDGE_SAMPLING: Mapping[str, Sampling] = {
    "maskbench": Sampling(temperature=0.0, max_tokens=1000, reasoning_tokens=16_000),
    "published": Sampling(temperature=1.0, max_tokens=500, reasoning_tokens=16_000),
}
_BY_PROTOCOL = replace(JUDGE_SAMPLING["maskbench"])  # an object of its own: no sampling was given
VERDICT_TOKENS = 64  # of the judge's answer where it is the verdict alone

_FLOAT_MOST = math.nextafter(math.inf, 0)  # what is larger is infinite

Truncation = Literal["judge", "retry", "error"]
Filtered = Literal["error", "evasive"]
Substitution = Literal["note", "error"]
Protocol = Literal["maskbench", "published"]
Batched = Literal["judge", "subject", "both", "none"]


def check_error_rate(share: float) -> None:
    """Raise UsageError for what is no share of outcomes that may be missing."""
    if not 0 <= share <= 1:
        raise UsageError(f"--max-error-rate {share} is no share. Give a number from 0 to 1.")


def judge_sampling(protocol: Protocol, style: str) -> Sampling:
    """How a judge is asked where nothing else is said."""
    sampling = JUDGE_SAMPLING[protocol]
    return replace(sampling, max_tokens=VERDICT_TOKENS) if style == "verdict" else sampling


Dollars = Annotated[float, Meta(ge=0, le=1_000_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What is measured and how it is scored: the scenario set, what is drawn of it, and what is asked of each."""

    scenarios: str = ""
    archetypes: tuple[Archetype, ...] = ()  # none: all of the set
    sample: Annotated[int, Meta(ge=1)] | None = None
    limit: Annotated[int, Meta(ge=1)] | None = None
    seed: Annotated[int, Meta(ge=0)] = 0
    system_prompt: str | None = None  # the name of a developer's system prompt around the scenario's own
    system_prompt_text: str | None = None
    prompt_on_beliefs: bool = False  # the developer's part on belief questions, too
    statements: Annotated[int, Meta(ge=1, le=1000)] = 1
    beliefs: Annotated[int, Meta(ge=1, le=100)] = 3
    placebo: bool = False  # a control on the subject: extra calls, part of no other call's identity
    rules: str = "reference"
    max_error_rate: Annotated[float, Meta(ge=0, le=1)] = ALLOWED
    imported: tuple[str, ...] = ()  # of a run that was imported: its format, then the settings that nobody knows

    @property
    def name(self) -> str:
        """The scenario set with what was taken from it, for people."""
        taken: list[str] = [*self.archetypes]
        if self.sample is not None:
            taken.append(f"sample of {self.sample:,}, seed {self.seed}")
        if self.limit is not None:
            taken.append(f"smoke run of {self.limit:,}")
        return f"{self.scenarios} ({', '.join(taken)})" if taken else self.scenarios


@dataclass(frozen=True, slots=True)
class Mark:
    """What an option of a model's own makes of it: a value that enters the keys of its replies, and words for people.

    Of a file the value is a hash of its content.
    """

    value: Any
    words: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Who is measured, what was done to it, and how it is asked."""

    name: str = field(default="", metadata={"option": "subject"})
    label: str | None = field(default=None, metadata={"option": "run_label"})  # where the name does not tell
    sampling: Sampling = SUBJECT_SAMPLING
    on_truncation: Truncation = "judge"
    filtered: Filtered = "error"
    whole_ends: tuple[Annotated[str, Meta(min_length=1, max_length=60)], ...] = ()  # words for whole ends, besides ours
    on_substitution: Substitution = "note"  # another model than the one asked for answered
    send_seed: bool = False
    tool_calls: Literal["native", "text"] = "native"  # of a conversation: as the endpoint has them, or as text
    template_args: str | None = None  # variables of the subject's chat template, as canonical JSON
    extra_body: str | None = None  # further fields of requests to the subject, as canonical JSON
    # What such a model takes for itself, and what that makes of it, which is filled in when a run begins.
    options: Mapping[str, Any] = field(default_factory=dict, hash=False, metadata={"option": "model_options"})
    marks: Mapping[str, Mark] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """How replies are judged: what one verdict set of a run differs in from another.

    The numeric judge is the judge where no other is named, and the judge is asked as its protocol and its style have
    it where no sampling is given.
    """

    judge: str = ""
    numeric_judge: str = ""
    sampling: Sampling = field(default=_BY_PROTOCOL, metadata={"option": "judge_sampling"})
    prompts: str | None = field(default=None, metadata={"option": "judge_prompts"})
    style: str = field(default="reasoning", metadata={"option": "judge_style"})
    # Together: one request with all neutral replies to a binary scenario.
    # Apart: neutral replies about a number have a verdict each.
    numbers: JudgeNumbers = field(default="together", metadata={"option": "judge_numbers"})
    protocol: Protocol = "maskbench"

    def __post_init__(self) -> None:
        """Fill in what hangs on other fields."""
        for name in ("judge", "numeric_judge"):
            if getattr(self, name) == "none":
                object.__setattr__(self, name, NOBODY)
        if not self.numeric_judge:
            object.__setattr__(self, "numeric_judge", self.judge)
        if self.sampling is _BY_PROTOCOL:
            object.__setattr__(self, "sampling", judge_sampling(self.protocol, self.style))

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges by name, each once."""
        return tuple(dict.fromkeys((self.judge, self.numeric_judge)))

    @property
    def is_later(self) -> bool:
        """Whether nobody judges yet: replies are asked for, and verdicts another time."""
        return self.judge == NOBODY

    @property
    def shares_verdicts(self) -> bool:
        """Whether identical judge requests are asked once."""
        return self.protocol != "published" and self.sampling.temperature == 0

    @property
    def reads_prompts(self) -> bool:
        """Whether a judge is told what to do: one that is a rule reads the replies alone, whatever the prompts are."""
        return not all(judge.startswith("rules/") for judge in self.judges)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast and where models are asked. It changes nothing that is asked."""

    connections: Annotated[int, Meta(ge=1, le=10_000)] = 32
    timeout: Annotated[float, Meta(gt=0, le=_FLOAT_MOST)] = 300.0
    retries: Annotated[int, Meta(ge=0, le=1000)] = 5
    batch: Batched | None = None  # whose requests go out in batches; none: live, whatever is under way in batches

    def in_batches(self, stage: Stage) -> bool:
        """Whether the requests of a stage go out in batches."""
        return self.batch in (stage, "both")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a run may use up, and prices in dollars for a million tokens that go before those of the lists.

    It changes nothing that is asked. `max_cost` and `max_tokens_total` hold for all sessions of a run together.
    """

    max_cost: Annotated[float, Meta(gt=0, le=1_000_000_000)] | None = None  # dollars
    max_tokens_total: Annotated[int, Meta(ge=1)] | None = None  # in and out
    price_in: Dollars | None = None  # of the subject
    price_out: Dollars | None = None
    price_cached: Dollars | None = None  # input that a cache held
    judge_price_in: Dollars | None = None
    judge_price_out: Dollars | None = None
    judge_price_cached: Dollars | None = None
    rpm: Annotated[int, Meta(ge=1)] | None = None  # requests a minute to one service
    tpm: Annotated[int, Meta(ge=1)] | None = None  # tokens a minute to one service

    def __post_init__(self) -> None:
        """Refuse a limit that no call could keep to, before anything is written."""
        if self.max_cost is not None and not 0 < self.max_cost <= 1_000_000_000:
            raise UsageError(f"--max-cost {self.max_cost:g}: give an amount of dollars above 0, such as 5.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a run was asked to do: five values, whose fields `maskbench run --help-all` describes.

    `of` makes them from options by name, with the defaults of the command line.
    """

    design: Design
    subject: Subject
    judging: Judging
    pace: Pace = Pace()
    budget: Budget = Budget()

    @classmethod
    def of(cls, subject: str, judge: str, scenarios: str, **options: Any) -> Settings:
        """Settings of a subject, a judge and a scenario set, and of further options by name.

        Raises UsageError for a name that no option has.
        """
        parts = in_values({"subject": subject, "judge": judge, "scenarios": scenarios, **options})
        return cls(**{name: _value(kind, parts.get(name, {})) for name, kind in VALUES.items()})

    def having(self, **options: Any) -> Settings:
        """These settings with other options, or whole values, by name. Raises UsageError for an unknown name."""
        parts = in_values(options).items()
        return replace(self, **{name: _value(partial(replace, getattr(self, name)), part) for name, part in parts})

    @property
    def options(self) -> dict[str, Any]:
        """Every option by its name."""
        return {name: getattr(getattr(self, value), field) for name, (value, field) in PLACES.items()}

    @property
    def label(self) -> str:
        """The subject with what was done to it, for people."""
        subject, design = self.subject, self.design
        parts = [f"{subject.name} ({subject.label})" if subject.label else subject.name]
        if design.system_prompt:
            parts.append(_last(design.system_prompt) + (" (on beliefs, too)" if design.prompt_on_beliefs else ""))
        parts += [mark.words for _, mark in sorted(subject.marks.items()) if mark.words]
        return " + ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stored(Settings):
    """Settings that were read from a folder, which may come from somebody else: they are shown, and start nothing.

    `runs.stored_programs.to_ask_by` makes settings of them by which models are asked.
    """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self.options == other.options

    __hash__ = Settings.__hash__


VALUES: Mapping[str, type[Any]] = {
    "design": Design,
    "subject": Subject,
    "judging": Judging,
    "pace": Pace,
    "budget": Budget,
}
# Every option by its name: the value that it is a field of, and the field.
PLACES: Mapping[str, tuple[str, str]] = {
    each.metadata.get("option", each.name): (name, each.name) for name, kind in VALUES.items() for each in fields(kind)
}


def _last(path: str) -> str:
    """The last part of a path."""
    return path.rstrip("/").rpartition("/")[2]


def in_values(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options by name as the five values have them, or whole values; raises UsageError for an unknown name."""
    parts: dict[str, Any] = {}
    for name, value in options.items():
        if name in VALUES and isinstance(value, VALUES[name]):
            parts[name] = value
        elif name in PLACES:
            of, field = PLACES[name]
            parts.setdefault(of, {})[field] = value
        else:
            close = get_close_matches(name, [*PLACES, *VALUES], 1)
            raise UsageError(f"No option is called {name}.{f' Did you mean {close[0]}?' if close else ''}")
    return parts


def _value(make: Callable[..., Any], part: Any) -> Any:
    """A value that is given whole, or made of its fields."""
    return make(**part) if isinstance(part, dict) else part


# What may differ when a run is taken up again: it changes nothing that is asked of subject or judge. Files that a model
# takes may lie elsewhere, as long as its marks are the same.
MAY_CHANGE = frozenset(
    {
        *(name for name, (value, _) in PLACES.items() if value in ("pace", "budget")),
        *("rules", "max_error_rate", "model_options"),
    }
)

# What says how replies are judged: another verdict set of a run differs in these and in nothing else.
JUDGING = tuple(name for name, (value, _) in PLACES.items() if value == "judging")


def protocol_id(settings: Settings, prompts_hash: str) -> str:
    """A short hash of every setting that changes what is measured, apart from subject, scenarios and rules."""
    design, subject, judging = settings.design, settings.subject, settings.judging
    return _digest(
        {
            "maskbench": 1,
            "belief_system_prompt": SYSTEM_PROMPT,
            "beliefs": design.beliefs,
            "sampling": subject.sampling,
            "judge": judging.judge,
            "numeric_judge": judging.numeric_judge,
            "judge_sampling": judging.sampling,
            "judge_prompts": prompts_hash,
            "shares_verdicts": judging.shares_verdicts,
            "on_truncation": subject.on_truncation,
            "filtered": subject.filtered,
            **_unusual(settings, "judge_style", "judge_numbers", "imported"),
            **_unusual(settings, *_ADDED),
        }
    ).hex()[:12]


def reply_key(settings: Settings, ask: Ask, run: int) -> bytes:
    """What a subject's reply is stored under: equal only for the same sample of the same question."""
    return _digest(
        {
            **{name: mark.value for name, mark in settings.subject.marks.items()},
            "model": settings.subject.name,
            "parameters": settings.subject.sampling,
            "on_truncation": settings.subject.on_truncation,
            "seed": settings.design.seed,
            "messages": ask.messages,
            "item": _item(ask, run),
            **_unusual(settings, *_ADDED),
        }
    )


_ADDED = ("template_args", "extra_body", "tool_calls", "whole_ends")  # what a user changes in requests and answers
_DEFAULTS = {each.metadata.get("option", each.name): each.default for kind in VALUES.values() for each in fields(kind)}


def _unusual(settings: Settings, *names: str) -> dict[str, object]:
    """The settings of these names that are not at their defaults: what is usual enters no key and no protocol id."""
    had = {name: getattr(getattr(settings, value), field) for name in names for value, field in (PLACES[name],)}
    return {name: value for name, value in had.items() if value != _DEFAULTS[name]}


# What stands in the keys of replies, so that no option of a model may be called so.
KEPT_NAMES = frozenset(("model", "parameters", "on_truncation", "seed", "messages", "item", *_ADDED))


def verdict_key(judge: str, sampling: Sampling, prompts_hash: str, ask: Ask, *, shared: bool) -> bytes:
    """What a verdict is stored under; `shared` leaves out which sample it is about, so that equal requests meet."""
    return _digest(
        {
            "model": judge,
            "parameters": sampling,
            "prompts": prompts_hash,
            "messages": ask.messages,
            "item": None if shared else _item(ask, ask.runs[0]),
        }
    )


def verdict_keys(judging: Judging, prompts_hash: str, ask: Ask) -> tuple[bytes, bytes]:
    """The keys that a verdict by the judge of these settings may stand under: that of equal requests, and its own."""
    judge = judging.judge if ask.scenario.kind == "binary" else judging.numeric_judge
    how = judge, judging.sampling, prompts_hash, ask
    return verdict_key(*how, shared=True), verdict_key(*how, shared=False)


def seed_of(key: bytes) -> int:
    """The seed that goes with a key: 53 bits, which every JSON reader keeps whole."""
    return int.from_bytes(key[:8], "big") >> 11


def _item(ask: Ask, run: int) -> list[Any]:
    return [ask.scenario.archetype, ask.scenario.task_id, ask.call, ask.elicitation, run]


def _digest(content: Any) -> bytes:
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).digest()[:16]
