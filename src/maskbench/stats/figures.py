"""The figures of the package: a share with its interval. Whatever is printed, compared, ranked or exported is one."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Ends = Annotated[tuple[float, float], Meta(description="both ends of an interval, or the least and the most")]


class _Figure:
    """Both ends of the interval that every figure has."""

    __slots__ = ()
    ci95: Ends | None

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return self.ci95[0] if self.ci95 else None

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return self.ci95[1] if self.ci95 else None


class Share(_Figure, Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A share of scenarios, statements, replies or verdicts, in [0, 1].

    `value` is None where there is no data or it is withheld. `ci95` is its 95 % interval over propositions (at another
    level where the function that made it was asked for one), None where the data carry none. `n` is the number in the
    denominator. `bounds` are the least and the most that it could be, whatever is missing.
    """

    value: float | None
    ci95: Ends | None
    n: int
    bounds: Ends | None = None

    @property
    def complement(self) -> Share:
        """The share of all the others, 1 less this one."""
        rest = [None if pair is None else (1 - pair[1], 1 - pair[0]) for pair in (self.ci95, self.bounds)]
        return Share(None if self.value is None else 1 - self.value, rest[0], self.n, rest[1])

    def unless(self, withheld: object) -> Share:
        """The share itself, or its number alone where it is withheld."""
        return Share(None, None, self.n) if withheld else self


NO_DATA = Share(None, None, 0)


def ends(low: float | None, high: float | None) -> Ends | None:
    """Both ends of an interval; None where one of them is not known."""
    return None if low is None or high is None else (low, high)


class Difference(_Figure, Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Two shares and their difference, other minus first, with its 95 % interval; None where withheld or not tested.

    `one_sided95` has the bounds that hold with 95 % each. `p` is the mid-p of "no difference", `p_exact` counts ties
    in full, and is None where sign patterns were drawn. `bounds` are the least and the greatest difference, whatever
    failed, `bounds_ci95` an interval around both. `widened` is how far both ends of `ci95` were moved outwards since
    only few changes show the difference.
    """

    first: float | None
    other: float | None
    difference: float | None
    ci95: Ends | None
    n: int
    one_sided95: Ends | None = None
    p: float | None = None
    p_exact: float | None = None
    bounds: Ends | None = None
    bounds_ci95: Ends | None = None
    widened: float | None = None

    @property
    def estimate(self) -> Share:
        """The difference as charts take it."""
        return Share(self.difference, self.ci95, self.n)

    @property
    def up(self) -> bool:
        """Shown to be above 0."""
        return self.low is not None and self.low > 0

    @property
    def down(self) -> bool:
        """Shown to be below 0."""
        return self.high is not None and self.high < 0
