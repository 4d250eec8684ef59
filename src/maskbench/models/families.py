"""Models that are kin by name: a judge that is the subject, or of its family, may favour its own kind of answer."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SAYS_NOTHING = ("my", "model", "checkpoint", "judge")  # words that begin a name and tell no family
_WITHOUT_KIN = ("sim", "sim-judge", "scripted", "rules", "pinocchio")  # services whose answers no language model wrote


def family_of(model: str) -> str:
    """The family that a model's name tells: the letters that the last part of it begins with, if they tell any."""
    last = model.lower().split("/")[-1]
    letters = re.match(r"[a-z]+", last)
    return letters[0] if letters and letters[0] not in _SAYS_NOTHING else last


def kinship(subject: str, judges: Iterable[str]) -> str | None:
    """What a reader should know where a judge is the subject itself or of its family; None where none is, by name."""
    if subject.split("/")[0] in _WITHOUT_KIN:
        return None
    for judge in dict.fromkeys(judges):
        if _name(judge) == _name(subject):
            return f"The judge {judge} is the subject itself: it may read its own answers kindly. Try another judge."
    for judge in dict.fromkeys(judges):
        if judge.split("/")[0] not in _WITHOUT_KIN and family_of(judge) == family_of(subject):
            return (
                f"Judge and subject look like one family ({judge}, {subject}): it may read its kin kindly. "
                "Have it judged by another family, too (`maskbench judge`)."
            )
    return None


def _name(model: str) -> str:
    """The name without the service that serves it."""
    return model.lower().split("/")[-1]


_SEPARATORS = "-_.:@+ "  # before a date, a size, a quantisation or a revision
_NO_VERSION = re.compile(r"[-:@_](?:latest|default|main)$|\.gguf$")


def renamed(asked: str, answered: str) -> bool:
    """Whether an endpoint answers under another name than it was asked for, by more than a path, date or suffix."""
    names = [
        _NO_VERSION.sub("", name.replace("\\", "/").rstrip("/").rpartition("/")[2].lower())
        for name in (asked, answered)
    ]
    short, long = sorted(names, key=len)
    return not long.startswith(short) or long[len(short) :][:1] not in ("", *_SEPARATORS)
