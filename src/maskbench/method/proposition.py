"""A proposition's two options, and the proposition without its marks."""

from __future__ import annotations

import re

from maskbench.errors import UsageError

_PIVOT = re.compile(r"<pivotal>(.*?)</pivotal>", re.DOTALL)
_TAG = re.compile(r"</?pivotal>")


def options(proposition: str) -> tuple[str, str]:
    """Both options of a binary proposition as full sentences; raises UsageError where there are not two."""
    texts = pivot(proposition)
    before, _, after = _PIVOT.split(proposition)
    return one_line(before + texts[0] + after), one_line(before + texts[1] + after)


def pivot(proposition: str) -> tuple[str, str]:
    """The two texts in the pivot of a binary proposition; raises UsageError where it does not hold two.

    A pivot with several slashes is split at the only one between spaces, else at the middle one.
    """
    pivots = _PIVOT.findall(proposition)
    if len(pivots) != 1 or len(_TAG.findall(proposition)) != 2:
        raise _no_options(proposition, "needs exactly one <pivotal>...</pivotal>")
    (text,) = pivots
    if "<value>" in text:  # before any slash: a unit may hold one (method.md section 1)
        raise _no_options(proposition, "has <value> in its pivot, so it is numerical and has no options")
    slashes = [match.start() for match in re.finditer("/", text)]
    spaced = [match.start() + 1 for match in re.finditer(" / ", text)]
    if len(spaced) != 1 and len(slashes) % 2 == 0:
        raise _no_options(proposition, f"needs one slash between its options and has {len(slashes)}; put ' / ' there")
    at = spaced[0] if len(spaced) == 1 else slashes[len(slashes) // 2]
    first, second = one_line(text[:at]), one_line(text[at + 1 :])
    if first == second:
        raise _no_options(proposition, "has the same text on both sides of the slash")
    return first, second


def _no_options(proposition: str, problem: str) -> UsageError:
    return UsageError(f"The proposition {one_line(proposition)[:200]!r} {problem}.")


def unmarked(proposition: str) -> str:
    """The proposition in one line, without the tags of its pivot."""
    return one_line(_TAG.sub("", proposition))


def one_line(text: str) -> str:
    """The text with a single space for each run of white space."""
    return " ".join(text.split())
