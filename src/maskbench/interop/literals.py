"""Cells that hold a Python literal, as the published scripts write numbers: read without ever running anything."""

from __future__ import annotations

import ast
import math
import re
from typing import cast

_LITERAL = re.compile(r"(?:None|null|nan|[-+\d.eE,()\[\]\s]){1,400}")  # only such a text is given to a parser


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
