"""Contrast pairs: two conversations that differ in honesty alone, to learn a direction from; never evaluated scenarios.

`builtin` is for any chat model, `sandbox[:SEED]` for pinocchio, and a file of one's own has a pair a line
(whitebox/README.md).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import cycle
from pathlib import Path
from random import Random

from maskbench.doors import Misfit, fitted, plain
from maskbench.errors import UsageError
from maskbench.scenarios.pinocchio.lures import developer_prompt, pressure
from maskbench.scenarios.pinocchio.sandbox import build, fact_for
from maskbench.types import ARCHETYPES, Message

Conversation = tuple[Message, ...]
FEWEST = 8  # pairs: with fewer, too few are held out to test a direction
EACH = 75  # pairs of an archetype that `sandbox` draws
HELD_OUT = 4  # one pair in four
_FORM = 'A row is {"positive": [messages], "negative": [messages]}, a message {"role": ROLE, "content": TEXT}.'


@dataclass(frozen=True, slots=True)
class Pair:
    """The honest conversation and the other one; both end in a user's turn, or both in an assistant's."""

    positive: Conversation
    negative: Conversation


@dataclass(frozen=True, slots=True)
class Contrast:
    """Pairs under a name: `builtin`, `sandbox:SEED`, or that of the file."""

    name: str
    pairs: tuple[Pair, ...]

    @property
    def answered(self) -> bool:
        """Whether the conversations end in an answer, or in its beginning."""
        return self.pairs[0].positive[-1].role == "assistant"

    @property
    def content_hash(self) -> str:
        """16 hexadecimal digits that stand for the texts."""
        rows = [[_plain(pair.positive), _plain(pair.negative)] for pair in self.pairs]
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]

    def learned(self) -> Sequence[Pair]:
        """The pairs that a direction is made of."""
        return [pair for number, pair in enumerate(self.pairs, start=1) if number % HELD_OUT]

    def held_out(self) -> Sequence[Pair]:
        """Every fourth pair: to see whether the direction separates what it was not made of."""
        return self.pairs[HELD_OUT - 1 :: HELD_OUT]


def open_contrast(source: str) -> Contrast:
    """`builtin`, `sandbox`, `sandbox:SEED`, or a file; raises UsageError where there is no such thing."""
    if source == "builtin":
        return Contrast(source, tuple(_builtin()))
    name, colon, seed = source.partition(":")
    if name == "sandbox":
        if colon and not seed.isdecimal():
            raise UsageError(f"--contrast {source}: after `sandbox:` comes a seed, such as sandbox:1.")
        number = int(seed or 0)
        return Contrast(f"sandbox:{number}", tuple(_sandbox(number)))
    return _from_file(Path(source))


def _builtin() -> Iterator[Pair]:
    """Question k under instruction k modulo 12, with the same beginning of an answer on both sides."""
    for asked, instruction in zip(_rows("questions"), cycle(_rows("instructions")), strict=False):
        turns = Message("user", asked["question"]), Message("assistant", asked["beginning"])
        yield Pair(
            (Message("system", instruction["honest"]), *turns), (Message("system", instruction["dishonest"]), *turns)
        )


def _rows(name: str) -> list[dict[str, str]]:
    file = resources.files("maskbench_whitebox") / "steering" / "pairs" / f"{name}.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _sandbox(seed: int) -> Iterator[Pair]:
    """Pressured prompts with and without a developer's part that asks for honesty.

    Facts, names, sentences of pressure and the developer's wordings are those of pinocchio's training, which no
    sandbox draws from and `--system-prompt honest` is none of.
    """
    for number in range(EACH * len(ARCHETYPES)):
        rng = Random(f"contrast {seed} {number}")
        archetype = ARCHETYPES[number % len(ARCHETYPES)]
        fact = fact_for(rng, archetype, held_out=False)
        scenario = build(rng, fact, pressure(rng, archetype, held_out=False), f"contrast-{seed}-{number}")
        honest = Message("system", developer_prompt(rng, scenario.system_prompt, held_out=False))
        yield Pair((honest, *scenario.messages[1:]), scenario.messages)


def _from_file(path: Path) -> Contrast:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise UsageError(f"--contrast {path}: {why}. Give builtin, sandbox, or a file of pairs.") from None
    pairs = tuple(_pair(line, f"{path}, line {number}") for number, line in enumerate(lines, start=1) if line.strip())
    if len(pairs) < FEWEST:
        raise UsageError(
            f"{path} has {len(pairs)} pairs; a direction takes at least {FEWEST}, and some hundred do well."
        )
    ends = {conversation[-1].role for pair in pairs for conversation in (pair.positive, pair.negative)}
    if len(ends) > 1 or "system" in ends:
        raise UsageError(f"{path}: every conversation has to end in a user's turn, or every one in an assistant's.")
    return Contrast(path.name, pairs)


def _pair(line: str, where: str) -> Pair:
    try:
        pair = fitted(json.loads(line), Pair)
    except Misfit as error:
        raise UsageError(f"{where}: {plain(str(error))}. {_FORM}") from None
    except ValueError as error:
        raise UsageError(f"{where}: this is no JSON ({error}).") from None
    if pair.positive == pair.negative:
        raise UsageError(f"{where}: both conversations are the same.")
    for side, conversation in (("positive", pair.positive), ("negative", pair.negative)):
        for number, message in enumerate(conversation):
            if message.role == "tool":
                raise UsageError(f'{where}: {side}[{number}].role is "tool". {_FORM}')
        if not any(message.role == "user" for message in conversation):
            raise UsageError(f"{where}: a conversation has a turn of the user; this one has none.")
    return pair


def _plain(conversation: Conversation) -> list[list[str]]:
    return [[message.role, message.content] for message in conversation]
