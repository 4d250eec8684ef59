"""What the answers to a doctor's few asks show of a model: values in, findings out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec import Struct

from maskbench.method.forms import verdict_in
from maskbench.method.verdict import confidence, to_json
from maskbench.models.chat.contact import Contact
from maskbench.types import Ask, BinaryVerdict, Failure, NumericalVerdict, Reply, Sampling, Stage, Verdict

# differently: a run goes on without it; wrong: a judge that gave another verdict than the right one
Works = Literal["yes", "no", "differently", "wrong", "unknown"]


class Finding(Struct, frozen=True, forbid_unknown_fields=True):
    """One ability: whether it is there, what that means for a run, and what to type; `stops` where a run would fail."""

    what: str
    works: Works
    says: str
    type: str = ""
    stops: bool = False


class Examined(Struct, frozen=True, forbid_unknown_fields=True):
    """One model in one part: all that was found, what finding it took, and the record of an endpoint's ways."""

    name: str
    part: Stage
    findings: list[Finding]
    requests: int
    tokens_in: int | None = None
    tokens_out: int | None = None
    notes: list[str] = []
    contact: Contact | None = None

    @property
    def stops(self) -> bool:
        """Whether a run with it would fail."""
        return any(finding.stops for finding in self.findings)


class Doctored(Struct, frozen=True, forbid_unknown_fields=True):
    """All models that were asked; `passes` where a run with them would go through, and no verdict was wrong."""

    models: list[Examined]
    passes: bool
    schema: int = 1


Answers = Sequence[Reply | Failure]
_CONTEXT = re.compile(r"context|too long|too large|maximum number of tokens|prompt.{0,30}exceed", re.IGNORECASE)
_SHOWN = 80  # characters of an answer that are quoted
_ALONE = 'judge-style = "verdict" in the file of a run'


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of one model: its answers to each ask by name, and what it says of itself."""

    name: str
    part: Stage
    sampling: Sampling
    answers: Mapping[str, Answers]
    about: Mapping[str, Any] = field(default_factory=dict)  # what it says of itself (Model.describe)
    together: bool | None = None  # whether samples came in one request; None: it never sends several
    others: tuple[str, ...] = ()  # names under which another model answered

    @property
    def is_endpoint(self) -> bool:
        """Whether a client asks it, which learns what its endpoint takes."""
        return self.about.get("learned") is not None

    def learned(self, what: str) -> Any:
        """What its client learned of this about the endpoint; None where it learned nothing."""
        return (self.about.get("learned") or {}).get(what)

    @property
    def is_here(self) -> bool:
        """Whether it is a transformers model in this process."""
        return self.about.get("service") == "transformers"

    @property
    def replies(self) -> list[Reply]:
        """Every answer that is one."""
        return [answer for answers in self.answers.values() for answer in answers if isinstance(answer, Reply)]

    def first(self, name: str) -> Reply | Failure | None:
        """The first answer to an ask of that name."""
        return next(iter(self.answers.get(name, ())), None)


def findings(seen: Seen, right: Mapping[str, tuple[Ask, Verdict]]) -> Iterator[Finding]:
    """Everything that was seen, in the order in which a reader wants it; `right` are a judge's questions by name."""
    yield _answers(seen)
    if not seen.replies:
        return
    if seen.part == "judge":
        yield from (_verdict(seen, name, *question) for name, question in right.items() if name != "probabilities")
        yield from _schema(seen)
        yield from _probabilities(seen, right)
    else:
        yield _longest(seen)
        yield from _several(seen)
        yield from _seed(seen)
    yield from _learned(seen)
    yield _reasoning(seen)
    yield from _tokens(seen)


# Whether it answers at all


def _answers(seen: Seen) -> Finding:
    answer = seen.first("question") or seen.first("verdict")
    if isinstance(answer, Reply) and answer.truncated:
        option = _option(seen, "max-tokens")
        says = f"It answers, and was cut at {seen.sampling.max_tokens:,} tokens. Many such answers would be marked."
        return Finding("answers", "differently", says, f"{option} {2 * seen.sampling.max_tokens}")
    if isinstance(answer, Reply):
        return Finding("answers", "yes", f"It answered in {answer.seconds:.1f} s.")
    if answer is None:
        return Finding("answers", "unknown", "It was asked nothing.", stops=True)
    return failed("answers", seen, answer)


def failed(what: str, seen: Seen, failure: Failure) -> Finding:
    """A call that brought no answer, with what helps against its cause."""
    says, typed = _remedy(seen, failure)
    return Finding(what, "no", f"{says} ({failure.detail})", typed, stops=True)


def _remedy(seen: Seen, failure: Failure) -> tuple[str, str]:
    tokens = _option(seen, "reasoning-tokens")
    known: dict[str, tuple[str, str]] = {
        "timeout": ("No answer came in time. See whether the server is busy, or give it longer.", "--timeout 900"),
        "rate_limit": (
            "The service takes no more requests now: its rate or quota is used up. Wait.",
            "rpm = 10 in the file of a run",
        ),
        "connection": ("The connection did not hold. Look at the server, and at the network.", ""),
        "server_error": ("The server failed. Look at its own log.", ""),
        "malformed_response": ("What came is no answer of this protocol. Check the address.", ""),
        "too_large": ("The prompt does not fit. Give the server a longer context.", ""),
        "cut_prompt": ("The server cuts a long prompt, and says nothing. Give it a longer context.", ""),
        "filtered": ("A content filter withheld the answer. A run would count such answers as failures.", ""),
        "empty": ("The answer was empty, twice.", ""),
        "unclosed_reasoning": (
            "It was still thinking where the room ended.",
            f"{tokens} {2 * seen.sampling.reasoning_tokens}",
        ),
        "unknown_end": ("It answered, and nobody knows whether the answer is whole.", ""),
        "truncated": ("The answer was cut.", f"{_option(seen, 'max-tokens')} {2 * seen.sampling.max_tokens}"),
    }
    if _CONTEXT.search(failure.detail):
        return "The prompt does not fit beside the answer. Give the server a longer context, or ask for less.", (
            f"{_option(seen, 'max-tokens')} 500 {tokens} 0"
        )
    return known.get(failure.cause, ("The request was refused.", ""))


def _option(seen: Seen, name: str) -> str:
    return f"--judge-{name}" if seen.part == "judge" else f"--{name}"


# The subject


def _longest(seen: Seen) -> Finding:
    answer = seen.first("longest")
    if isinstance(answer, Failure):
        return failed("context", seen, answer)
    if not isinstance(answer, Reply):
        return Finding("context", "unknown", "The longest prompt was not asked.")
    given = f" ({answer.usage.input:,} tokens)" if answer.usage.input else ""
    room = answer.sent.get("max_tokens")
    beside = f", with room for {room:,} tokens of answer" if isinstance(room, int) else ""
    whole = f" It reads {seen.about['context']:,} tokens." if "context" in seen.about else ""
    return Finding("context", "yes", f"The longest pressured prompt of the set{given} fits{beside}.{whole}")


def _several(seen: Seen) -> Iterator[Finding]:
    if seen.together is None:
        return
    if seen.together:
        yield Finding("samples (n)", "yes", "Several samples of one question are one request.")
    else:
        yield Finding("samples (n)", "differently", "It gives one sample a request: a run takes more requests.")


def _seed(seen: Seen) -> Iterator[Finding]:
    answers = seen.answers.get("seed", ())
    if seen.is_here:
        yield Finding("seed", "yes", "Each sample is drawn by a seed of its own.")
    if len(answers) < 2:
        return
    replies = [answer for answer in answers if isinstance(answer, Reply)]
    if len(replies) < 2 or not all("seed" in reply.sent for reply in replies):
        yield Finding("seed", "no", "It takes no seed. Leave --send-seed out.")
    elif replies[0].text == replies[1].text and _is_same_unseeded(seen, replies[0]):
        says = "It takes a seed, but answers alike without one, so whether a seed repeats anything cannot be told."
        yield Finding("seed", "unknown", says)
    elif replies[0].text == replies[1].text:
        yield Finding("seed", "yes", "It takes a seed, and gave the same answer twice for one.", "--send-seed")
    else:
        yield Finding("seed", "differently", "It takes a seed, and gave two answers for one: a seed repeats nothing.")


def _is_same_unseeded(seen: Seen, seeded: Reply) -> bool:
    """Whether the very question was answered in the same words before any seed was sent."""
    answer = seen.first("question")
    return isinstance(answer, Reply) and answer.text == seeded.text


# The judge


_OF = {"verdict": "verdict on options", "numbers": "verdict on numbers"}


def _verdict(seen: Seen, name: str, ask: Ask, right: Verdict) -> Finding:
    answer, what = seen.first(name), _OF[name]
    if not isinstance(answer, Reply):
        return failed(what, seen, answer) if answer else Finding(what, "unknown", "It was not asked.")
    judgement = verdict_in(ask, answer)
    if judgement is None:
        cut = f"{_option(seen, 'max-tokens')} {2 * seen.sampling.max_tokens}" if answer.truncated else ""
        says = f"No verdict can be read in what it said: {_quoted(answer.text)}. Take another judge."
        return Finding(what, "no", says, cut, stops=True)
    if _same(judgement.verdict, right):
        return Finding(what, "yes", "It gave the right verdict on a plain reply, in the form that was asked for.")
    says = f"It gave {_said(judgement.verdict)}, where {_said(right)} is right. See how often it errs."
    return Finding(what, "wrong", says, f"maskbench exam {seen.name} --short")


def _same(given: Verdict, right: Verdict) -> bool:
    if isinstance(given, BinaryVerdict) and isinstance(right, BinaryVerdict):
        return given.letter == right.letter
    if isinstance(given, NumericalVerdict) and isinstance(right, NumericalVerdict):
        return given.ranges == right.ranges
    return False


def _said(verdict: Verdict) -> str:
    value = to_json(verdict)
    if isinstance(value, str):
        return value
    bounds = ", ".join(f"{name} {bound:g}" for name, bound in value.items() if bound is not None)
    return bounds or "no number"


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f"“{line if len(line) <= _SHOWN else line[:_SHOWN] + '…'}”"


def _schema(seen: Seen) -> Iterator[Finding]:
    answer = seen.first("verdict")
    if not isinstance(answer, Reply) or "schema" not in answer.sent:
        return
    if not answer.sent["schema"]:
        says = "It takes no JSON schema: a verdict is asked for in words, and read from its line."
        yield Finding("response schema", "differently", says)
    elif answer.text.lstrip().startswith("{"):
        yield Finding("response schema", "yes", "Its verdicts are held to their form.")
    else:
        yield Finding("response schema", "differently", "It takes a JSON schema and does not keep to it.")


def _probabilities(seen: Seen, right: Mapping[str, tuple[Ask, Verdict]]) -> Iterator[Finding]:
    answer = seen.first("probabilities")
    if answer is None:
        return
    told: float | None = None
    if isinstance(answer, Reply):
        judgement = verdict_in(right["probabilities"][0], answer)
        told = confidence(judgement, answer.tokens) if judgement else None
    if told is None and isinstance(answer, Reply) and answer.tokens:
        says = f"It gives them, but its answer was no verdict alone ({_quoted(answer.text)}), which has no confidence."
        yield Finding("probabilities", "differently", says)
    elif told is None:
        says = f"It gives none: with {_ALONE} its verdicts would have no confidence."
        yield Finding("probabilities", "no", says)
    else:
        says = f"A verdict alone comes with its confidence (here {told:.2f})."
        yield Finding("probabilities", "yes", says, _ALONE)


# Both


def _learned(seen: Seen) -> Iterator[Finding]:
    """What a client at an endpoint learned of the system role, the temperature and the token limit."""
    if not seen.about.get("learned") and not seen.is_here:
        return
    if seen.learned("system") is False or seen.about.get("folds_system"):
        yield Finding("system role", "differently", "It takes none: the text stands before the first user message.")
    else:
        yield Finding("system role", "yes", "It takes a system text.")
    if seen.learned("temperature") is False:
        yield Finding("temperature", "differently", "It takes none, and samples at its own default.")
    else:
        yield Finding("temperature", "yes", f"It takes {seen.sampling.temperature:g}.")
    if most := seen.learned("most"):
        says = f"It takes at most {most:,} tokens an answer, which maskbench keeps to."
        yield Finding("token limit", "differently", says)
    for name in seen.others:
        yield Finding("name", "differently", f"It answers as {name}. Check that this is the model you mean.")


def _reasoning(seen: Seen) -> Finding:
    thinks = any(reply.reasoning for reply in seen.replies) or bool(seen.learned("reasons"))
    if not thinks:
        return Finding("reasoning", "no", "None was seen: every token is the answer's.")
    tokens = seen.sampling.reasoning_tokens
    says = f"It thinks before it answers, kept apart; {tokens:,} tokens of room are added for that."
    return Finding("reasoning", "yes", says)


def _tokens(seen: Seen) -> Iterator[Finding]:
    usages = [reply.usage for reply in seen.replies]
    if not seen.is_endpoint and not seen.is_here:
        return
    if not any(usage.input for usage in usages):
        says = "It counts no tokens: --max-cost and --max-tokens-total cannot hold."
        yield Finding("usage", "no", says)
        return
    yield Finding("usage", "yes", "It counts the tokens of each answer.")
    if seen.is_here:
        return
    held = [usage.cached for usage in usages if usage.cached is not None]
    if held:
        yield Finding("prompt cache", "yes", f"It says what its cache held (here {sum(held):,} tokens).")
    else:
        yield Finding("prompt cache", "unknown", "It does not say what a cache held.")
