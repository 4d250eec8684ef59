"""Holding an answer to a JSON schema: of the tokens that may come next, only those that keep to it are drawn.

llguidance knows which these are. What a model thinks before it answers is free, and an answer that nears its limit is
made to close, so that what was asked for comes out whole.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLTokenizer
    from numpy.typing import NDArray

    from maskbench.models.install import install
from maskbench.models.hf.loading import Loaded


class Unheld(Exception):
    """A model's answers cannot be held to a form; the text says why."""


class Forms:
    """The forms that one model's answers are held to; its vocabulary is read when the first is asked for."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._known: dict[str, Grammar] = {}
        self._words: _Words | None = None

    def grammar(self, schema: Mapping[str, Any]) -> Grammar:
        """The grammar of a schema; raises Unheld where the library, the tokenizer or the schema does not allow one."""
        text = json.dumps(schema)
        if text not in self._known:
            self._words = self._words or _words(self._loaded)
            self._known[text] = _grammar(self._words, text, schema)
        return self._known[text]


@dataclass(frozen=True, slots=True)
class _Words:
    """A vocabulary: which tokens begin with what ends a JSON text or number, and which are one letter or digit."""

    tokenizer: LLTokenizer
    closing: tuple[NDArray[np.bool_], NDArray[np.bool_]]
    single: NDArray[np.bool_]
    opens: bool  # the template opens the model's thoughts
    thought: tuple[int | None, int | None]  # the tokens that begin and end them


@dataclass(frozen=True, slots=True)
class Grammar:
    """A schema as llguidance reads it; `tail` is how many tokens the end of an answer may take at most."""

    words: _Words
    matcher: LLMatcher
    tail: int

    def begin(self, limit: int) -> Form:
        """The form of an answer that begins now and should have no more tokens than `limit`."""
        free = max(limit - self.tail, limit // 2)
        return Form(self.words, self.matcher.deep_copy(), free, thinking=self.words.opens)


@dataclass(slots=True)
class Form:
    """What one answer may go on with; `free` is how many tokens it may have before it has to close."""

    words: _Words
    matcher: LLMatcher
    free: int
    thinking: bool
    length: int = field(default=0)  # tokens of the answer itself
    begun: bool = field(default=False)

    def allowed(self) -> NDArray[np.bool_] | None:
        """Which tokens may come next, by number; None where any may."""
        if self.thinking:
            return None
        tokens = np.unpackbits(np.frombuffer(self.matcher.compute_bitmask(), np.uint8), bitorder="little").view(bool)
        opening = self.words.thought[0]
        if not self.begun and opening is not None:
            tokens[opening] = True  # a model that reasons may do so first
        return self._closed(tokens) if self.length >= self.free else tokens

    def accept(self, token: int) -> None:
        """Take note of the token that came."""
        opening, closing = self.words.thought
        if self.thinking:
            self.thinking = token != closing
        elif not self.begun and token == opening:
            self.thinking = True
        else:
            self.length += 1
            self.matcher.consume_token(token)
        self.begun = True

    def _closed(self, tokens: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Of these tokens those that end the value, where it is a text or a number that could go on for ever."""
        size = len(self.words.single)
        if (tokens[:size] & self.words.single).sum() < 2:  # the value cannot go on for ever here
            return tokens
        for closing in self.words.closing:
            ending = np.zeros_like(tokens)
            ending[:size] = tokens[:size] & closing
            if ending.any():
                return ending
        return tokens


def _words(loaded: Loaded) -> _Words:
    if find_spec("llguidance") is None:
        raise Unheld(f"llguidance is not installed. Type: {install('llguidance')}")
    from llguidance.hf import from_tokenizer

    known = loaded.tokenizer.get_vocab()
    thought = known.get("<think>"), known.get("</think>")
    if loaded.chat.opens and thought[1] is None:
        raise Unheld("its template opens its thoughts, and no token ends them")
    try:
        tokenizer = from_tokenizer(loaded.tokenizer, eos_token=sorted(loaded.ends))
    except (ValueError, RuntimeError) as error:
        raise Unheld(f"its tokenizer cannot be read for it: {_short(error)}") from None
    texts = [tokenizer.decode_bytes([token]) for token in range(tokenizer.vocab_size)]
    return _Words(
        tokenizer,
        closing=(
            np.array([text[:1] == b'"' for text in texts]),
            np.array([text[:1] in (b",", b"}") for text in texts]),
        ),
        single=np.array([len(text) == 1 and text.isalnum() for text in texts]),
        opens=loaded.chat.opens,
        thought=thought,
    )


def _grammar(words: _Words, text: str, schema: Mapping[str, Any]) -> Grammar:
    from llguidance import LLMatcher

    compact: dict[str, Any] = {"whitespace_flexible": False}  # white space could go on for ever
    matcher = LLMatcher(words.tokenizer, LLMatcher.grammar_from_json_schema(text, overrides=compact))  # type: ignore[arg-type]
    if matcher.is_error():
        raise Unheld(f"its form cannot be followed: {_short(matcher.get_error())}")
    return Grammar(words, matcher, _tail(schema))


def _tail(schema: Mapping[str, Any]) -> int:
    """The longest that a small value of each property can make an answer, in bytes: no token is shorter."""
    shortest: dict[str, Any] = {}
    for name, value in schema.get("properties", {}).items():
        shortest[name] = max(value.get("enum", ["0000"]), key=lambda each: len(str(each)))
    return len(json.dumps(shortest).encode())


def _short(error: object) -> str:
    return " ".join(str(error).split())[:200]
