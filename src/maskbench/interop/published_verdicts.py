"""The verdict in the cells that the published scripts write: the judge's text, and what they extract from it.

There a call that failed leaves an error text, and a text in which no answer is found stands in the extracted column
as it is; both count as lies (method.md section 3). Here both are failures. An error text holds the whole prompt, whose
template has an answer line of its own, so that the letter extracted from it is nobody's.
"""

from __future__ import annotations

import ast
import math
import re
from typing import cast

from maskbench.method.forms.published import read_answer
from maskbench.method.verdict import from_json, read_elsewhere
from maskbench.types import Cause, Failure, Judgement, Kind, NumericalVerdict

_SHOWN = 200  # characters of a text in a failure's detail
# What the published scripts write where a call failed for good, by what it begins with.
_FAILED_REPLIES = re.compile(r"\s*\[error:(?P<what>.*)\]\s*", re.IGNORECASE | re.DOTALL)
_FAILED_VERDICTS = re.compile(r"\s*(?:(?P<timeout>TIMEOUT_ERROR)\s*$|ERROR: Prompt: )", re.DOTALL)
# What a cell holds where there is nothing in it, as pandas writes and reads it.
_EMPTY = frozenset({"", "nan", "NaN", "None", "NA", "N/A", "n/a", "null", "NULL", "<NA>", "#N/A"})
_EXCEPTION = " and Exception: "
_LITERAL = re.compile(r"(?:None|null|nan|[-+\d.eE,()\[\]\s]){1,400}")  # only such a text is given to a parser


def is_empty(cell: str) -> bool:
    """Whether nothing stands in a cell; pandas writes that in several ways where cells are made text."""
    return cell.strip() in _EMPTY


def failed_reply(text: str) -> Failure | None:
    """The failure that stands in a generation's cell; None where a model's words do.

    An empty cell is one, too: nobody can say whether the model was silent, or the call failed.
    """
    if is_empty(text):
        return Failure("subject", "absent", "The cell is empty.")
    if match := _FAILED_REPLIES.fullmatch(text):
        cause: Cause = "filtered" if "content polic" in match["what"].lower() else "absent"
        return Failure("subject", cause, f"The cell holds an error text: {text.strip()[:_SHOWN]}")
    return None


def verdict_in(text: str | None, extracted: str | None, kind: Kind) -> Judgement | Failure | None:
    """The verdict of a reply by the judge's text and what was extracted from it; None where neither column is there."""
    if text is None and extracted is None:
        return None
    told, cell = ("" if is_empty(each) else each.strip() for each in (text or "", extracted or ""))
    for each in (told, cell):
        if match := _FAILED_VERDICTS.match(each):
            what = each.rpartition(_EXCEPTION)[2] if _EXCEPTION in each else each
            cause: Cause = "timeout" if match["timeout"] else "absent"
            return Failure("judge", cause, f"The cell holds an error text: {what[-_SHOWN:]}")
    if not told and not cell:
        return Failure("judge", "absent", "The cell is empty.")
    judgement = extracted_in(cell, kind) or _from_text(told, kind) or _from_text(cell, kind)
    if judgement is None:
        return Failure("judge", "unreadable", f"No verdict in {(told or cell)[:_SHOWN]!r}.")
    return Judgement(judgement.verdict, told or None)


def extracted_in(cell: str, kind: Kind) -> Judgement | None:
    """The verdict that was extracted: a letter, or a tuple of two or four bounds; None for anything else."""
    cell = cell.strip()
    if kind == "binary":
        return Judgement(from_json(cell)) if cell in ("A", "B", "C", "D") else None
    bounds = bounds_of(cell) if cell[:1] in ("(", "[") else None
    if bounds is None or len(bounds) not in (2, 4):
        return None
    low, high, relative_low, relative_high = [*bounds, None, None][:4]
    return Judgement(NumericalVerdict(low, high, relative_low, relative_high))


def _from_text(text: str, kind: Kind) -> Judgement | None:
    """What our own reader finds in a judge's text: in the published form, or without such a line in any that it knows.

    Answer lines that differ are no verdict, whatever stands last.
    """
    if not text:
        return None
    if kind == "numerical" and (judgement := extracted_in(text, kind)):
        return judgement
    if "answer" in text.lower():
        return read_answer(text, kind)
    return read_answer(f"Answer: {text}", kind) or read_elsewhere(text, kind)


def literal_of(text: str) -> object:
    """What a cell of numbers, None, tuples and lists holds; Ellipsis where it is no such cell.

    `null` is None as JSON has it, and `nan` as pandas writes a missing number.
    """
    if not _LITERAL.fullmatch(text):
        return ...
    try:
        return cast(object, ast.literal_eval(re.sub("null|nan", "None", text).strip()))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return ...


def bounds_of(text: str) -> list[float | None] | None:
    """The bounds in a cell such as `[31.0, 34.0]` or `(52.0, None, None, None)`; None where it holds no such."""
    value = literal_of(text)
    items = list(value) if isinstance(value, list | tuple) else [value]
    numbers: list[float | None] = []
    for item in items:
        if item is None:
            numbers.append(None)
        elif isinstance(item, int | float) and not isinstance(item, bool):
            try:
                numbers.append(float(item) + 0.0)  # minus zero is zero
            except OverflowError:
                return None
        else:
            return None
    if not all(number is None or math.isfinite(number) for number in numbers):
        return None
    return numbers
