"""Families of models by their names: a judge that is kin to the subject, an answer from another model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

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
            return f"The judge {judge} is the subject itself: it may favour its own answers. Try another judge."
    for judge in dict.fromkeys(judges):
        if judge.split("/")[0] not in _WITHOUT_KIN and family_of(judge) == family_of(subject):
            return (
                f"Judge and subject look like one family ({judge}, {subject}): it may favour its kin. "
                "Have it judged by another family, too (`maskbench judge`)."
            )
    return None


def _name(model: str) -> str:
    """The name without the service that serves it."""
    return model.lower().split("/")[-1]


_REVISION = re.compile(r"([-@_](\d{4}-?\d\d-?\d\d|\d{4}|0\d\d|latest|preview|default|main))+$")


def alike(asked: str, answered: str) -> bool:
    """Whether a resolved name is that of the model that was asked for, but for path, tag, date and revision.

    It is the one reading of names: who answered under another one, who is counted as a fallback, and which published
    row is of the same model, all follow from it.
    """
    return _core(asked) == _core(answered)


def others(asked: str, replies: Mapping[str, int]) -> dict[str, int]:
    """Replies by the resolved name of another model than the one asked for, the most frequent first.

    None where all replies are of one model: an address, a deployment or an alias may have a name of its own.
    """
    if len({_core(name) for name in replies}) < 2:
        return {}
    strange = {name: count for name, count in replies.items() if not alike(asked, name)}
    return dict(sorted(strange.items(), key=lambda pair: (-pair[1], pair[0])))


def _core(name: str) -> str:
    last = name.lower().replace("\\", "/").rstrip("/").rpartition("/")[2]
    return _REVISION.sub("", last.partition(":")[0].removesuffix(".gguf"))
