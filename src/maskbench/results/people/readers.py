"""Kinds of raters: people, models, or readers of whom it is not said, and their words in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from maskbench.errors import UsageError

Who = Literal["readers", "people", "models"]  # readers: some are of neither kind, or of both
PERSON, MODEL = "person", "model:"


@dataclass(frozen=True, slots=True)
class Called:
    """The words for raters of one kind in sentences: one of them, all of them, and what is theirs."""

    singular: str
    all: str
    theirs: str

    @property
    def title(self) -> str:
        """All of them at the beginning of a sentence."""
        return self.all.capitalize()


CALLED: Mapping[Who, Called] = {
    "readers": Called("reader", "readers", "readers'"),
    "people": Called("person", "people", "people's"),
    "models": Called("model", "models", "models'"),
}


def of_kinds(kinds: Iterable[str]) -> Who:
    """The kind of these raters: all of them persons, all of them models, or anything else."""
    return alike("people" if kind == PERSON else "models" if kind.startswith(MODEL) else "readers" for kind in kinds)


def alike(those: Iterable[Who]) -> Who:
    """The kind of several groups together."""
    whole = set(those)
    return whole.pop() if len(whole) == 1 else "readers"


def is_kind(text: str) -> bool:
    """Whether a text says what a reader is."""
    return text == PERSON or bool(text.startswith(MODEL) and text.removeprefix(MODEL).strip())


def checked_kind(word: str) -> tuple[str, str]:
    """A reader's name and kind of NAME=person or NAME=model:ID; raises UsageError for anything else."""
    name, sign, kind = (part.strip() for part in word.partition("="))
    if not (sign and is_kind(kind)):
        raise UsageError(f"--readers {word[:80]}: write NAME=person, or NAME=model:ID as in Claude=model:anthropic/x.")
    return name, kind
