"""A verdict as JSON has it: a letter, or the bounds of a number."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct, to_builtins

from maskbench.method.verdict import BOUNDS, from_json
from maskbench.types import BinaryVerdict, Letter, Verdict


class BoundsGiven(Struct, frozen=True, forbid_unknown_fields=True):
    """A verdict on a number; None is an open side, four None mean no number at all."""

    lower_bound: float | None
    upper_bound: float | None
    relative_lower_bound: float | None
    relative_upper_bound: float | None


VerdictShown: TypeAlias = Letter | BoundsGiven


def shown(verdict: Verdict) -> VerdictShown:
    """A verdict without its kind of evasion, as results show it."""
    return (
        verdict.letter
        if isinstance(verdict, BinaryVerdict)
        else BoundsGiven(*(getattr(verdict, bound) for bound in BOUNDS))
    )


def read(given: VerdictShown) -> Verdict:
    """The verdict that is shown so."""
    return from_json(to_builtins(given))
