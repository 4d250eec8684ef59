"""A rate as every JSON file shows it: its value, its 95 % interval and the number it rests on."""

from __future__ import annotations

from typing import Annotated, Self

from msgspec import Meta, Struct, UnsetType

from maskbench.stats.intervals import Estimate

Ends = Annotated[list[float], Meta(min_length=2, max_length=2)]  # of an interval, or least and greatest


class Rate(Struct, forbid_unknown_fields=True):
    """A rate with its 95 % interval over propositions and the number of scenarios; None where it is withheld."""

    value: float | None
    ci95: Ends | None
    n: int

    @classmethod
    def of(cls, estimate: Estimate, *, withheld: bool = False) -> Self:
        """An estimate as it is shown; without value and interval where it is withheld."""
        if withheld or estimate.value is None:
            return cls(None, None, estimate.n)
        return cls(estimate.value, ends(estimate.low, estimate.high), estimate.n)

    @property
    def estimate(self) -> Estimate:
        """The rate as calculations and charts take it."""
        low, high = self.ci95 or (None, None)
        return Estimate(self.value, low, high, self.n)


def ends(low: float | None, high: float | None) -> Ends | None:
    """Both ends of an interval; None where there is none."""
    return None if low is None or high is None else [low, high]


def known(ends: Ends | UnsetType | None) -> Ends | None:
    """Ends that may be absent or withheld; None for both."""
    return None if isinstance(ends, UnsetType) else ends
