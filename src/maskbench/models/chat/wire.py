"""Requests and answers of the chat completions protocol as plain values: no IO, so that tests need no server."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import accumulate
from typing import Any, Literal

import orjson

from maskbench.method.control_marks import before_mark, control_mark
from maskbench.method.ends import End, end_of
from maskbench.method.reasoning import split_reasoning, unknown_tag
from maskbench.method.tool_calls import declared, uses_tools
from maskbench.plain import is_visible, read_json
from maskbench.types import Ask, Message, Reply, Token, Usage

_CHOICES = 128  # of one response; nobody asks for more

Feature = Literal["limit", "most", "room", "temperature", "schema", "schema_once", "seed", "logprobs", "system"]
LIKELIEST = 5  # tokens to ask probabilities for in each place: every service gives so many
# Arguments of apply_chat_template that are no variables of a template, and those that are given otherwise.
NO_VARIABLES = frozenset(
    (
        *("messages", "conversation", "tools", "documents", "chat_template", "add_generation_prompt", "tokenize"),
        *("continue_final_message", "padding", "truncation", "max_length", "return_tensors", "return_dict"),
        *("return_assistant_tokens_mask", "tokenizer_kwargs"),
    )
)


# What an endpoint has taught us


@dataclass(slots=True)
class Learned:
    """The facts learned of an endpoint: None not yet, True it takes the parameter, False it refuses it."""

    limit: str = "max_tokens"  # or max_completion_tokens
    temperature: bool | None = None
    schema: bool | None = None
    seed: bool | None = None
    logprobs: bool | None = None
    n: bool | None = None
    system: bool | None = None  # False: the system text is folded into the first user message
    reasons: bool = False  # it thinks before it answers, so the reasoning budget is added
    opens: bool = False  # its chat template opens the think block: replies hold the closing tag alone
    most: int | None = None  # the largest token limit that it accepts
    answered: bool = False  # it has answered a request
    counts_one: bool = False  # its usage counts one of the samples of a request: totals are lower bounds

    @classmethod
    def restore(cls, known: Mapping[str, Any] | None) -> Learned:
        """The facts that an earlier session recorded; anything of another name or type is left out."""
        learned = cls()
        kinds = {"limit": str, "most": int}
        for each in fields(cls):
            value = (known or {}).get(each.name)
            if type(value) is kinds.get(each.name, bool):
                setattr(learned, each.name, value)
        if learned.limit not in ("max_tokens", "max_completion_tokens"):
            learned.limit = "max_tokens"
        return learned

    def refuse(self, feature: Feature, body: Mapping[str, Any], cap: int | None) -> None:
        """Note that the endpoint refused a feature of the request `body`."""
        if feature == "limit":
            self.limit = "max_tokens" if "max_completion_tokens" in body else "max_completion_tokens"
        elif feature == "most":
            self.most = cap
        elif feature in ("temperature", "schema", "seed", "logprobs", "system"):
            setattr(self, feature, False)

    def accept(self, body: Mapping[str, Any]) -> None:
        """Note what an answered request has shown to be accepted; a refusal stands."""
        self.answered = True
        named = {"temperature": "temperature", "schema": "response_format", "seed": "seed", "logprobs": "logprobs"}
        for feature, key in named.items():
            if getattr(self, feature) is None and (key in body or (feature == "schema" and "output_config" in body)):
                setattr(self, feature, True)
        if self.system is None and has_system(body["messages"]):
            self.system = True

    def as_dict(self) -> dict[str, Any]:
        """For the run's record."""
        return asdict(self)


# Requests


@dataclass(frozen=True, slots=True)
class Request:
    """One request: its fields, and what a reply records of it."""

    body: dict[str, Any]
    sent: dict[str, Any]

    def payload(self) -> bytes:
        """The body as JSON; messages are dataclasses, which orjson writes itself."""
        return orjson.dumps(self.body, default=dict)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A response that did not come by a call of its own, and what was sent for it; a batch brings such."""

    status: int
    body: bytes
    sent: dict[str, Any]


def request(
    model: str,
    ask: Ask,
    learned: Learned,
    *,
    limit: int,
    temperature: float,
    seed: int | None,
    n: int = 1,
    schema: bool = True,
    extra: Mapping[str, Any] | None = None,
) -> Request:
    """The request for `n` samples of an ask, as far as the endpoint is known to take its parts.

    `extra` are further fields, which stand beside those that are set here and never in their place.

    `sent` holds what went out: max_tokens whatever the parameter's name, and temperature, seed, n only where sent;
    `schema` and `logprobs` say whether what was wanted of them went along, `folded` stands where the system text was
    folded.
    """
    folds = learned.system is False and has_system(ask.messages)
    limit = limit if learned.most is None else min(limit, learned.most)
    turns = fold(ask.messages) if folds else ask.messages
    body: dict[str, Any] = {"model": model, "messages": turns, learned.limit: limit}
    if uses_tools(turns):  # the answer is wanted in text
        body["messages"] = [asdict(turn) | {"content": turn.content or None} for turn in turns]
        body |= {"tools": declared(turns), "tool_choice": "none"}
    sent: dict[str, Any] = {"max_tokens": limit}
    if learned.temperature is not False:
        body["temperature"] = sent["temperature"] = temperature
    if seed is not None and learned.seed is not False:
        body["seed"] = sent["seed"] = seed
    if n > 1:
        body["n"] = sent["n"] = n
    if ask.schema is not None:
        sent["schema"] = schema and learned.schema is not False
        if sent["schema"]:
            shape = {"name": "answer", "strict": True, "schema": ask.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
    if ask.logprobs:
        sent["logprobs"] = learned.logprobs is not False
        if sent["logprobs"]:
            body |= {"logprobs": True, "top_logprobs": LIKELIEST}
    if folds:
        sent["folded"] = True
    return Request({**(extra or {}), **body}, sent)


def fold(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The conversation without a system role: its text stands before the first user message, a blank line between."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    others = [message for message in messages if message.role != "system"]
    first = next((place for place, message in enumerate(others) if message.role == "user"), None)
    if first is None:
        return (Message("user", system), *others)
    others[first] = Message("user", f"{system}\n\n{others[first].content}")
    return tuple(others)


def has_system(messages: Iterable[Message | Mapping[str, Any]]) -> bool:
    """Whether one of these messages is a system text; those marked for a cache are plain JSON."""
    return any((message.role if isinstance(message, Message) else message["role"]) == "system" for message in messages)


# Answers


Trouble = Literal["filtered", "unclosed_reasoning", "empty", "truncated", "unknown_end"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One sample as it came: visible text, reasoning beside it, and what is wrong with it, if anything is."""

    text: str
    reasoning: str | None
    trouble: Trouble | None
    opened: bool = False  # the reasoning had a closing tag and no opening one
    tag: str | None = None  # of a block that leads the text and is not known as reasoning, or a control mark in it
    came: tuple[str, str | None] | None = None  # text and reasoning as they came, where it was so
    tokens: tuple[Token, ...] = ()  # of the visible text
    end: End | None = None  # one that is unknown
    unread: tuple[str, ...] = ()  # of an empty one: other fields of the message that hold something

    def masked(self, mask: Callable[[str], str]) -> Choice:
        """The choice with its texts put through `mask`; itself where that changes nothing."""
        text, reasoning, tag = mask(self.text), self.reasoning and mask(self.reasoning), self.tag and mask(self.tag)
        came = self.came and (mask(self.came[0]), self.came[1] and mask(self.came[1]))
        same = (text, reasoning, tag, came) == (self.text, self.reasoning, self.tag, self.came)
        return self if same else replace(self, text=text, reasoning=reasoning, tag=tag, came=came)

    def as_it_came(self) -> Choice:
        """The choice with a closing mark that nothing opened still in its text: the run decides what the mark is."""
        return self if self.came is None else replace(self, text=self.came[0], reasoning=self.came[1])


@dataclass(frozen=True, slots=True)
class Answer:
    """A response that could be read; a choice that could not is None. `usage` is for all choices together."""

    choices: tuple[Choice | None, ...]
    usage: Usage
    model: str | None
    fingerprint: str | None
    reasons: bool  # the model was seen to think
    timed: int | None = None  # output tokens that the server timed, as llama.cpp says it, which times one choice

    def __post_init__(self) -> None:
        """Take a count of no tokens as unknown where there is text."""
        if self.usage.output == 0 and any(choice and (choice.text or choice.reasoning) for choice in self.choices):
            object.__setattr__(self, "usage", replace(self.usage, output=None))

    def reply(self, choice: Choice) -> Reply:
        """The text of one choice, with what holds for the whole response."""
        is_cut = choice.trouble == "truncated"
        return Reply(choice.text, choice.reasoning, is_cut, self.usage, self.model, self.fingerprint)


_LONGEST = 8  # characters: no text has longer tokens on average


def counts_one(answer: Answer, limit: int) -> bool:
    """Whether the usage of a response counts one of its choices, as far as the response shows it.

    It does where it is what the server timed for one choice, where choices that were cut at the `limit` alone had more
    tokens, or where the texts are too long for so few.
    """
    choices = [choice for choice in answer.choices if choice is not None]
    output = answer.usage.output
    if len(choices) < 2 or output is None:
        return False
    cut = sum(choice.trouble in ("truncated", "unclosed_reasoning") for choice in choices)
    characters = sum(len(choice.text) + len(choice.reasoning or "") for choice in choices)
    return output == answer.timed or cut * limit > output or characters > _LONGEST * output


def parse(payload: bytes) -> Any:
    """The JSON of a body, or None where it is none."""
    try:
        return read_json(payload)
    except ValueError:
        return None


def read(data: Any, learned: Learned, mask: Callable[[str], str] = str, whole: Collection[str] = ()) -> Answer | None:
    """A response's JSON as an answer, whatever types a server puts anywhere in it; None where no choice is readable.

    The names that a server gives go through `mask`; `whole` are further ends of whole replies.
    """
    if not isinstance(data, dict) or not isinstance(data.get("choices"), list):
        return None
    usage = usage_of(data)
    hidden = (usage.reasoning or 0) > 0
    choices = tuple(_choice(choice, learned.opens, whole) for choice in data["choices"][:_CHOICES])
    readable = [choice for choice in choices if choice is not None]
    if not readable:
        return None
    # A model may hide its thinking: an empty answer that reached the limit shows that it thinks.
    starved = any(choice.trouble == "unclosed_reasoning" for choice in readable)
    reasons = hidden or starved or any(choice.reasoning for choice in readable)
    model, fingerprint = (name_of(data.get(name), mask) for name in ("model", "system_fingerprint"))
    timings = data.get("timings")
    timed = count(timings.get("predicted_n")) if isinstance(timings, dict) else None
    return Answer(choices, usage, model, fingerprint, reasons, timed)


def broken_off(data: Any) -> str:
    """The word with which a service says that it broke an answer off, in either protocol; "" where none does."""
    choices = data.get("choices") if isinstance(data, dict) else None
    told = [data, *(choices[:_CHOICES] if isinstance(choices, list) else ())]
    ends = [end_of(each.get("finish_reason", each.get("stop_reason"))) for each in told if isinstance(each, dict)]
    return next((end.word for end in ends if end.sort == "broken"), "")


def _choice(choice: Any, opens: bool, whole: Collection[str]) -> Choice | None:
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict) or choice.get("error"):
        return None
    parts = _parts(message.get("content"))
    if parts is None:
        return None
    content, thought, refused = parts
    end = end_of(choice.get("finish_reason"), whole)
    if end.sort == "broken":
        return None
    beside = string(message.get("reasoning_content")) or string(message.get("reasoning")) or thought
    told = ended(
        end,
        content,
        beside,
        opens=opens,
        refusal=string(message.get("refusal")) or refused,
    )
    unread = _unread(message) if told.trouble == "empty" else ()
    return replace(told, tokens=_tokens(choice.get("logprobs"), told.text), unread=unread)


_READ = frozenset(("role", "content", "reasoning_content", "reasoning", "refusal"))
_FIELD = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")
_UNREAD = 3  # fields that are named


def _unread(message: Mapping[str, Any]) -> tuple[str, ...]:
    """Fields of a message in which an answer may stand that nobody reads; a name that is no plain one is not told."""
    named = (name for name, value in message.items() if name not in _READ and value and isinstance(value, str | list))
    return tuple(name for name in named if _FIELD.fullmatch(name))[:_UNREAD]


def ended(end: End, content: str, beside: str, *, opens: bool, refusal: str = "") -> Choice:
    """A sample as `choice_of` reads it, by how it ended; one with an end that nobody knows may not be whole."""
    cut, filtered = end.sort == "cut", end.sort == "withheld"
    choice = choice_of(content, beside, cut=cut, filtered=filtered, opens=opens, refusal=refusal)
    return replace(choice, trouble="unknown_end", end=end) if end.sort == "unknown" else choice


def choice_of(content: str, beside: str, *, cut: bool, filtered: bool, opens: bool, refusal: str = "") -> Choice:
    """A sample from its content and the reasoning beside it; a `refusal` is the answer where nothing else can be seen.

    `cut` says that it reached the token limit, `opens` that the model's template opens the think block.
    """
    text, inside, unclosed, opened = split_reasoning(content, opens and cut)
    reasoning = "\n\n".join(filter(None, (beside, inside))) or None
    came = (content, beside or None) if opened and is_visible(text) else None
    text = text if is_visible(text) else refusal
    trouble: Trouble | None = None
    if filtered:
        trouble = "filtered"
    elif unclosed or (cut and not is_visible(text)):
        trouble = "unclosed_reasoning"
    elif not is_visible(before_mark(text)):
        trouble = "empty"
    elif cut:
        trouble = "truncated"
    mark = control_mark(text)
    return Choice(text, reasoning, trouble, opened, unknown_tag(text, cut) or (mark and mark[0]), came)


_TOKENS = 1000  # tokens of an answer: of longer ones no probabilities are read


def _tokens(logprobs: Any, text: str) -> tuple[Token, ...]:
    """The tokens of the visible text with their probabilities; none where they do not come, or not in full.

    Thinking may stand before them, and around them the fence that llama.cpp takes off JSON.
    """
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(content, list) or len(content) > _TOKENS:
        return ()
    parts = _about(content, text.strip())
    tokens: list[Token] = []
    for part in parts:
        token, logprob = _token(part)
        if logprob is None:
            return ()
        others = part.get("top_logprobs")
        pairs = map(_token, others[:20] if isinstance(others, list) else ())
        tokens.append(Token(token, logprob, {other: chance for other, chance in pairs if chance is not None}))
    return tuple(tokens)


def _about(content: list[Any], text: str) -> list[Any]:
    """The tokens that the text is made of where it comes last, none where no tokens are just that."""
    texts = [string(part.get("token")) if isinstance(part, dict) else "" for part in content]
    begins = "".join(texts).rfind(text)
    if not text or begins < 0:
        return []
    ends = list(accumulate(map(len, texts)))
    first = bisect_right(ends, begins)
    last = bisect_left(ends, begins + len(text))
    return content[first : last + 1] if "".join(texts[first : last + 1]).strip() == text else []


def _token(part: Any) -> tuple[str, float | None]:
    """Its text and log-probability; None for what can be none (a rounding error above 0 is 0)."""
    logprob = part.get("logprob") if isinstance(part, dict) else None
    if not isinstance(logprob, int | float) or isinstance(logprob, bool) or not -math.inf < logprob < 1e-3:
        return "", None
    return string(part.get("token")), min(0.0, float(logprob))


def _parts(content: Any) -> tuple[str, str, str] | None:
    """Visible text, thinking and refusal of a content: a string, nothing, or a list of typed parts (Mistral)."""
    if content is None:
        return "", "", ""
    if isinstance(content, str):
        return content, "", ""
    if not isinstance(content, list):
        return None
    text: list[str] = []
    thought: list[str] = []
    refused: list[str] = []
    for part in content:
        if isinstance(part, str):
            text.append(part)
        elif isinstance(part, dict) and part.get("type") in ("thinking", "reasoning"):
            thought.append(_texts(part.get("thinking") or part.get("reasoning") or part.get("text")))
        elif isinstance(part, dict):
            text.append(string(part.get("text")))
            refused.append(string(part.get("refusal")))
    return "".join(text), "".join(thought), "".join(refused)


def _texts(parts: Any) -> str:
    if not isinstance(parts, list):
        return string(parts)
    return "".join(string(part.get("text") if isinstance(part, dict) else part) for part in parts)


def usage_of(data: Any) -> Usage:
    """Tokens as the endpoint counts them; output includes reasoning, which xAI and Google leave out of it.

    Input includes what a cache held or took. Anthropic's own counts, named `input_tokens`, leave that out of it, and
    so does a gateway by whose count a cache held more than there was. Every prompt has tokens: a count of none is none.
    """
    usage = data.get("usage") if isinstance(data, dict) else None
    if not isinstance(usage, dict):
        return Usage()
    cached, written = _cached(usage)
    details = usage.get("completion_tokens_details")
    details = details if isinstance(details, dict) else {}
    reasoning = count(details.get("reasoning_tokens"))
    reasoning = count(usage.get("reasoning_tokens")) if reasoning is None else reasoning
    given, output, total = (count(usage.get(f"{key}_tokens")) for key in ("prompt", "completion", "total"))
    if given is None and (beside := count(usage.get("input_tokens"))) is not None:
        given, output = beside + (cached or 0) + (written or 0), count(usage.get("output_tokens"))
    elif given is not None and max(cached or 0, written or 0) > given:
        given += (cached or 0) + (written or 0)
    given = given or None
    if given is not None and output is not None and total is not None and total > given + output:
        reasoning = reasoning or total - given - output
        output = total - given
    return Usage(given, output, reasoning, cached, written)


# Characters that no token stands for on average. Tokenizers of chat models give one to five characters of prose, code,
# tables, base64 or Chinese to a token, and those that join words some seven. (A vocabulary of 29,000 that was made of
# this repository gives 3.9 of its pages, 4.4 of its code, 2.9 of logs and 1.2 of base64 to one.) The rest is room for
# gateways that leave out what a cache held: as long as that is less than what they count, nothing shows it.
_MOST_PER_TOKEN = 12
_SHORT = 2000  # characters that are not looked at
_NO_PROMPT = 100  # tokens: no server reads so few; what it counts is something else, such as what no cache held
_RUN = re.compile(r"\s\s+|(.)\1\1+")  # of blanks, or of one mark: tokenizers have tokens for long ones


def cut_prompt(prompt: Iterable[Message], usage: Usage) -> str | None:
    """The reason why a server must have cut a prompt, by the tokens that it counted; None where nothing says so."""
    if usage.input is None or usage.input < _NO_PROMPT:
        return None
    texts = [message.text for message in prompt]
    characters, most = sum(map(len, texts)), _SHORT + _MOST_PER_TOKEN * usage.input
    if characters <= most or sum(len(_RUN.sub(" ", text)) for text in texts) <= most:
        return None
    return f"the server seems to have cut the prompt: {usage.input} tokens counted for {characters} characters"


def _cached(usage: dict[str, Any]) -> tuple[int | None, int | None]:
    """What a cache held of the input and what it took, by the names that services have for it."""
    details = usage.get("prompt_tokens_details")
    details = details if isinstance(details, dict) else {}
    held = (details.get("cached_tokens"), usage.get("cache_read_input_tokens"), usage.get("prompt_cache_hit_tokens"))
    return _first(*held), _first(details.get("cache_write_tokens"), usage.get("cache_creation_input_tokens"))


def _first(*values: Any) -> int | None:
    """The first of these that is a count."""
    return next((each for each in map(count, values) if each is not None), None)


def count(value: Any) -> int | None:
    """A number of tokens, or None for what is none."""
    return value if type(value) is int and value >= 0 else None


def string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def name_of(value: Any, mask: Callable[[str], str]) -> str | None:
    """A name that a server gave, as one short line; None for what is none."""
    return clean(mask(value), 200) or None if isinstance(value, str) else None


# Text

QUOTED = 300  # characters of a server's message in an error text
_CONTROL = re.compile(r"[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")


def clean(text: str, length: int = QUOTED) -> str:
    """One line without control characters, cut to a length."""
    text = _CONTROL.sub(" ", text).strip()
    return text if len(text) <= length else f"{text[: length - 1]}…"
