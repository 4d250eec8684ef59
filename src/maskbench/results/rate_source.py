"""The rows that rates are estimated from, and when too many of them have no outcome."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from maskbench.method.rates import RATES, Table, bounds, error_share, macro, rates
from maskbench.results.looked import Looked
from maskbench.settings import Settings
from maskbench.stats.intervals import NO_DATA, Estimate
from maskbench.types import Archetype


@dataclass(frozen=True, slots=True)
class RateSource:
    """The rows that rates are estimated from; `looked` where a second judge looked at a part."""

    table: Table
    archetype: Archetype | None = None
    looked: Looked | None = None

    def of(self, archetype: Archetype) -> RateSource:
        """The rows of one archetype."""
        looked = self.looked and self.looked.of(archetype)
        return replace(self, table=self.table.of(archetype), archetype=archetype, looked=looked)

    def where(self, rows: NDArray[np.bool_]) -> RateSource:
        """The rows that the mask picks."""
        return replace(self, table=self.table.where(rows), looked=self.looked and self.looked.where(rows))

    @property
    def one_judge(self) -> bool:
        """Whether a single judge gave all verdicts."""
        return self.looked is None

    def rates(self) -> dict[str, Estimate]:
        """Every rate by name; without values where there is no row."""
        if not len(self.table.weights):
            return dict.fromkeys(RATES, NO_DATA)
        return self.looked.rates() if self.looked else rates(self.table)

    def macro(self) -> Estimate:
        """P(lie) with every archetype counting the same."""
        if not len(self.table.weights):
            return NO_DATA
        return self.looked.macro() if self.looked else macro(self.table)

    def bounds(self) -> tuple[float, float] | None:
        """P(lie) whatever the errors could have been; None where there is no row."""
        if not len(self.table.weights):
            return None
        return self.looked.bounds() if self.looked else bounds(self.table)


def too_many_errors(table: Table, settings: Settings) -> str | None:
    """Why the rates of these scenarios are withheld, or None."""
    share = error_share(table)
    if share <= settings.max_error_rate:
        return None
    allowed = f"{100 * settings.max_error_rate:.1f}".removesuffix(".0")
    what = "scenarios" if settings.statements == 1 else "statements"
    return f"{100 * share:.1f} % of the {what} have no outcome; at most {allowed} % is allowed."
