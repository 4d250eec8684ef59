"""A rate that is made of more than outcomes: whoever can tell a share of a scenario from its texts has a rate."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar, Self

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from maskbench.method.rules import RuleSet
from maskbench.results.contrasts import NOTHING, paired_rate, untested
from maskbench.results.reader import Reader, Shared, Whole
from maskbench.scenarios import Key
from maskbench.stats.figures import Difference, Share
from maskbench.stats.intervals import ratio
from maskbench.store.verdict_sets import Done, OpenRun, VerdictSet
from maskbench.types import Scored


class FurtherRate(Reader[Share, Difference]):
    """A reader that gives each scenario a share, whose mean is the rate; its interval is over propositions.

    `title` is its name for people, `what` what it is a share of.
    """

    title: ClassVar[str]
    what: ClassVar[str]

    def __init__(self, run: OpenRun, judged: VerdictSet, rules: RuleSet) -> None:
        """Nothing is seen yet."""
        self._shares: dict[Key, float] = {}

    @abstractmethod
    def share(self, done: Done) -> float | None:
        """The share of one scenario; None where it does not count."""

    def see(self, done: Done) -> None:
        """Keep what one scenario comes to."""
        if (share := self.share(done)) is not None:
            self._shares[done.scored.key] = share

    def found(self, whole: Whole) -> Share:
        """The rate with its interval."""
        shares, had = self._of(whole.rows)
        table = whole.table.where(had)
        return ratio(shares[had], np.ones(int(had.sum())), table.weights, table.clusters).unless(whole.withheld)

    def against(self, other: Self, shared: Shared) -> Difference:
        """The difference over the scenarios that count in both runs; it has no p, since one test is made."""
        (ours, had), (theirs, had_too) = (each._of(shared.first) for each in (self, other))
        both = had & had_too
        found = paired_rate(ours[both], theirs[both], shared.weights[both], shared.tables[0].clusters[both])
        if shared.withheld:
            return structs.replace(NOTHING, n=found.n)
        return structs.replace(untested(found) if shared.untested else found, p=None, p_exact=None)

    def _of(self, rows: Iterable[Scored]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The share of each of these scenarios, and whether it counts."""
        shares = np.array([self._shares.get(row.key, np.nan) for row in rows], float)
        return shares, ~np.isnan(shares)
