"""A scenario as the bytes of its row in a store, and back."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import orjson

from maskbench.scenarios.messages import message_of
from maskbench.store.fitting import fitted
from maskbench.types import Definition, Json, Range, Scenario


def pack(scenario: Scenario) -> bytes:
    """A scenario as JSON, whole: `unpack` gives back an equal one. Its texts must be valid Unicode.

    JSON has no infinity: an open side of the truth is null there.
    """
    whole = {field.name: getattr(scenario, field.name) for field in fields(scenario)}
    if scenario.definition is None:
        del whole["definition"]  # as rows have always been packed
    return orjson.dumps(whole, default=dict)  # `dict` turns another kind of mapping into one


def unpack(packed: bytes) -> Scenario:
    """The scenario that `pack` was given; raises ValueError for what is none, with the part that does not fit."""
    row = orjson.loads(packed)
    _check_names(row, Scenario, "questions")
    if isinstance(truth := row["truth"], dict):
        _check_names(truth, Range)
        for side, end in (("low", -math.inf), ("high", math.inf)):
            truth[side] = end if truth.get(side, end) is None else truth[side]
    if definition := row.get("definition"):
        _check_names(definition, Definition, "people")
    scenario = fitted(row, Scenario)
    if any(len(turn) > 2 for turn in row["messages"]):  # more than role and content: calls of tools, and their results
        scenario = replace(scenario, messages=tuple(map(message_of, row["messages"])))
    return scenario


def _check_names(plain: Json, kind: type[Scenario | Range | Definition], *needed: str) -> None:
    """Raise ValueError for a part that the type does not know, and where one of those that are needed is not there."""
    known = kind.__dataclass_fields__.keys()
    for names, what in ((plain.keys() - known, "is not known"), (set(needed) - plain.keys(), "is not there")):
        if names:
            raise ValueError(f"{min(names)} {what}")
