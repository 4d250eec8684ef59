"""A rate as every JSON file shows it: its value, its 95 % interval and the number it rests on."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Ends = Annotated[list[float], Meta(min_length=2, max_length=2)]  # of an interval, or least and greatest


class Rate(Struct, forbid_unknown_fields=True):
    """A rate with its 95 % interval over propositions and the number of scenarios; None where it is withheld."""

    value: float | None
    ci95: Ends | None
    n: int
