"""P(lie) by what rows ask for: within archetypes, and over several only where these have rows of every kind.

What a row asks for is nearly its archetype, so a plain split over all archetypes compares these. Over several it is
standardised: each kind of row has the archetypes in the shares that they have together (direct standardisation).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Self, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from maskbench.method.archetypes import in_order, number_of
from maskbench.method.rates import OUTCOME_RATES, Table, rates, tabulate, too_many_errors
from maskbench.results.reader import Reader, Shared, Whole
from maskbench.scenarios import Key
from maskbench.scenarios.row_labels import DIFFERS, ROW_LABELS, row_label
from maskbench.settings import Settings
from maskbench.stats.figures import Share
from maskbench.store.verdict_sets import Done
from maskbench.types import Archetype, Scored

FEWEST = 20  # rows of each kind that an archetype needs to count in the figure over several
Mask: TypeAlias = NDArray[np.bool_]
Weights: TypeAlias = Mapping[Archetype, float]
_ASKED = {1: "yes", 0: "no", -1: ""}  # as tables have it


class Split(Struct, forbid_unknown_fields=True, kw_only=True):
    """The four rates of outcomes by a label of rows: of each kind over all archetypes, and within each of them.

    Those over all archetypes compare these. `by_archetype` has P(lie) alone. `standardised` is P(lie) of each kind over
    the archetypes of `weights`, those with enough rows of every kind, in the same shares for each. `left_out` counts
    rows on which readers differ.
    """

    label: str
    groups: dict[str, dict[str, Share]]
    by_archetype: dict[Archetype, dict[str, Share]]
    standardised: dict[str, Share]
    weights: dict[Archetype, float]
    left_out: int


def asked_outright(table: Table, archetypes: Sequence[Archetype], settings: Settings) -> Split | None:
    """The split by whether the falsehood was asked for outright; None where no row says."""
    rows = [_ASKED[int(value)] for value in table.outright]
    return split("asked", table, rows, archetypes, settings) if any(rows) else None


class AskedReader(Reader[Split, tuple[Split, Split]]):
    """The rates by whether the falsehood was asked for outright; nothing where no row says."""

    name, always, before = "asked", True, "usage"

    def found(self, whole: Whole) -> Split | None:
        """Those of a run whose scenarios are all done."""
        return asked_outright(whole.table, whole.archetypes, whole.settings) if whole.complete else None

    def against(self, other: Self, shared: Shared) -> tuple[Split, Split] | None:
        """Those of both runs by the judge, each scenario with the weight that it has in the comparison."""
        if shared.withheld or shared.by_labels:
            return None
        archetypes = in_order({row.archetype for row in shared.first})
        ours, theirs = (
            asked_outright(replace(table, weights=shared.weights), archetypes, settings)
            for table, settings in zip(shared.tables, shared.settings, strict=True)
        )
        return (ours, theirs) if ours and theirs else None


class LabelledRows(Reader[None, None]):
    """The rates by any label of rows, for whoever asks for it."""

    def __init__(self, label: str) -> None:
        self._label = label
        self.values: dict[Key, str] = {}

    def see(self, done: Done) -> None:
        """Note the label of a row."""
        self.values[done.scored.key] = row_label(done.scenario, self._label) or ""

    def split(self, rows: Sequence[Scored], settings: Settings) -> Split:
        """The rates of these scenarios by it."""
        table, tallies = tabulate(rows)
        return split(self._label, table, [self.values[row.key] for row in rows], list(tallies), settings)


def split(label: str, table: Table, rows: Sequence[str], archetypes: Sequence[Archetype], settings: Settings) -> Split:
    """The rates of each kind of row; `rows` has the value of the label for each row of the table, empty for none."""
    values = np.array(rows, dtype=object)
    kinds = [value for value in ROW_LABELS[label].values if (values == value).any()]
    numbers = {name: table.archetypes == number_of(name) for name in archetypes}
    able = [value for value in kinds if (values == value).sum() >= FEWEST]
    shared = {
        name: own
        for name, own in numbers.items()
        if len(able) > 1 and all((own & (values == value)).sum() >= FEWEST for value in able)
    }
    within = table.weights * np.isin(values, able)
    weights = {name: float(within[own].sum()) for name, own in shared.items()}
    whole = sum(weights.values())
    return Split(
        label=label,
        groups={value: _rates(table.where(values == value), settings) for value in kinds},
        by_archetype={
            name: {
                value: _p_lie(table.where(own & (values == value)), settings)
                for value in kinds
                if (own & (values == value)).any()
            }
            for name, own in numbers.items()
            if any((own & (values == value)).any() for value in kinds)
        },
        standardised={
            value: _p_lie(_standardised(table, values == value, shared, weights), settings) for value in able if shared
        },
        weights={name: weight / whole for name, weight in weights.items()},
        left_out=int((values == DIFFERS).sum()),
    )


def _rates(table: Table, settings: Settings, names: Sequence[str] = OUTCOME_RATES) -> dict[str, Share]:
    """Rates of a group, withheld where it has too many errors."""
    withheld = too_many_errors(table, settings) is not None
    return {name: rate.unless(withheld) for name, rate in rates(table, names).items()}


def _p_lie(table: Table, settings: Settings) -> Share:
    return _rates(table, settings, ("p_lie",))["p_lie"]


def _standardised(table: Table, rows: Mask, archetypes: Mapping[Archetype, Mask], weights: Weights) -> Table:
    """The rows of a kind, weighted so that each archetype counts as it does among all kinds together."""
    new = np.zeros_like(table.weights)
    for name, own in archetypes.items():
        here = own & rows
        new[here] = table.weights[here] * (weights[name] / table.weights[here].sum())
    return replace(table, weights=new).where(new > 0)
