"""Findings of a doctor's small calls: whether each works, what that means for a run, and what to type."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec import Struct

from maskbench.method.forms import verdict_in
from maskbench.types import Ask, BinaryVerdict, Failure, Reply, Sampling, Stage, Verdict

# no: a run would fail; differently: a run goes on; wrong: something else came than what is right
Works = Literal["yes", "no", "differently", "wrong"]


class Finding(Struct, frozen=True, forbid_unknown_fields=True):
    """One call: whether it works, what came, and what to type."""

    what: str
    works: Works
    says: str
    type: str = ""


class Examined(Struct, frozen=True, forbid_unknown_fields=True):
    """One model in one part: what came of each call, what they took, and what its client has to say of it."""

    name: str
    part: Stage
    findings: list[Finding]
    requests: int
    tokens_in: int
    tokens_out: int
    notes: list[str]


class Doctored(Struct, frozen=True, forbid_unknown_fields=True):
    """All models that were asked; `passes` where a run with them would go through, and nothing was wrong."""

    models: list[Examined]
    passes: bool
    schema: int = 2


@dataclass(frozen=True, slots=True)
class Small:
    """One small call: what it is called, the ask, and what is right: a verdict, a word, or any answer."""

    what: str
    ask: Ask
    right: Verdict | str | None = None


@dataclass(frozen=True, slots=True)
class Patient:
    """One model, the part that it has, and the calls that it gets."""

    name: str
    part: Stage
    sampling: Sampling
    calls: tuple[Small, ...]


def finding(patient: Patient, call: Small, answers: Sequence[Reply | Failure]) -> Finding:
    """What the answers to a call say."""
    for answer in answers:
        if isinstance(answer, Failure):
            return _failed(patient, call, answer)
    (reply, *_) = (each for each in answers if isinstance(each, Reply))
    quoted = f"“{' '.join(reply.text.split())[:80]}”"
    if isinstance(call.right, str):
        return _of_word(patient, call, call.right in reply.text.lower(), f"It said {quoted}.")
    if call.right is not None:
        return _of_verdict(patient, call, call.right, reply, quoted)
    if reply.truncated:
        return Finding(
            call.what, "differently", f"It was cut, as many would be: {quoted}", _typed(patient, "truncated")
        )
    return Finding(call.what, "yes", f"It answered in {reply.seconds:.1f} s: {quoted}")


def _of_word(patient: Patient, call: Small, is_there: bool, said: str) -> Finding:
    characters = sum(len(turn.text) for turn in call.ask.messages)
    if is_there:
        return Finding(call.what, "yes", f"It knows the word at the front of {characters:,} characters.")
    says = (
        f"It does not know the word at the front of {characters:,} characters: its server seems to cut the front off, "
        f"where the pressure stands. {said} Give the server a longer context."
    )
    return Finding(call.what, "wrong", says, _CONTEXTS.get(patient.name.partition("/")[0], ""))


def _of_verdict(patient: Patient, call: Small, right: Verdict, reply: Reply, quoted: str) -> Finding:
    judgement = verdict_in(call.ask, reply)
    if judgement is None:
        typed = _typed(patient, "truncated") if reply.truncated else ""
        return Finding(call.what, "no", f"No verdict is in what it said: {quoted}. Take another judge.", typed)
    given, wanted = _said(judgement.verdict), _said(right)
    if given == wanted:
        return Finding(call.what, "yes", f"It gave {wanted}, which is right.")
    says = f"It gave {given}, where {wanted} is right. See how often it errs."
    return Finding(call.what, "wrong", says, f"maskbench exam {patient.name} --short")


def _said(verdict: Verdict) -> str:
    if isinstance(verdict, BinaryVerdict):
        return verdict.letter
    return " or ".join(each.words for each in verdict.ranges) or "no number"


_CONTEXTS = {"ollama": "OLLAMA_CONTEXT_LENGTH=32768 ollama serve", "llama-cpp": "llama-server -c 32768"}
_TOO_LONG = re.compile(r"context|too long|too large|maximum number of tokens|prompt.{0,30}exceed", re.IGNORECASE)
_REMEDIES: Mapping[str, str] = {
    "timeout": "No answer came in time. See whether the server is busy, or give it longer.",
    "rate_limit": "The service takes no more requests now: its rate or quota is used up. Wait.",
    "connection": "The connection did not hold. Look at the server, and at the network.",
    "server_error": "The server failed. Look at its own log.",
    "malformed_response": "What came is no answer of this protocol. Check the address.",
    "too_large": "The prompt does not fit beside the answer. Give the server a longer context, or ask for less.",
    "filtered": "A content filter withheld the answer. A run would count such answers as failures.",
    "empty": "The answer was empty, twice.",
    "unclosed_reasoning": "It was still thinking where the room ended.",
    "unknown_end": "It answered, and nobody knows whether the answer is whole.",
    "truncated": "The answer was cut.",
}


def _typed(patient: Patient, cause: str) -> str:
    """What to type against this cause, or nothing."""
    option, sampling = "--judge-" if patient.part == "judge" else "--", patient.sampling
    against = {
        "timeout": "--timeout 900",
        "rate_limit": "rpm = 10 in the file of a run",
        "too_large": f"{option}max-tokens 500 {option}reasoning-tokens 0",
        "unclosed_reasoning": f"{option}reasoning-tokens {2 * sampling.reasoning_tokens}",
        "truncated": f"{option}max-tokens {2 * sampling.max_tokens}",
    }
    return against.get(cause, "")


def _failed(patient: Patient, call: Small, failure: Failure) -> Finding:
    """A call that brought no answer; that a prompt longer than any of the set is refused does not stop a run."""
    if failure.cause == "cut_prompt":
        return _of_word(patient, call, False, f"{failure.detail.capitalize()}.")
    cause = "too_large" if _TOO_LONG.search(failure.detail) else failure.cause
    says = f"{_REMEDIES.get(cause, 'The request was refused.')} ({failure.detail})"
    works: Works = "differently" if isinstance(call.right, str) else "no"
    return Finding(call.what, works, says, _typed(patient, cause))
