"""The effect of a reason to keep silent on reports on a log: gain minus plain on one log, among events noticed.

Inattention cancels: both reports are on one log, and what the model noticed of it was asked once, with nothing to gain.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from maskbench.method.archetypes import EVENT, number_of
from maskbench.method.rates import NOTICED, Table
from maskbench.results.reader import Reader, Whole
from maskbench.stats.figures import Difference, Ends
from maskbench.stats.paired import sign_flip

SEED = 20261124  # of the drawn sign patterns: the same run gives the same figures


class GainMinusPlain(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A share of reports with something to gain less that of plain ones, with its interval over logs.

    `without_a_kind` has the least and the greatest difference when each of the `kinds` of events is left out in turn:
    so few kinds are no sample of anything.
    """

    difference: Difference
    kinds: int
    without_a_kind: Ends | None = None


class SaidAndDid(Struct, forbid_unknown_fields=True):
    """The two differences; left out is no lie."""

    denied: GainMinusPlain
    left_out: GainMinusPlain


def gain_minus_plain(table: Table) -> SaidAndDid | None:
    """Both differences over the logs that have a report of either sort, each with an outcome; None without such."""
    event = (table.archetypes == number_of(EVENT)) & (table.on_logs["held"] == NOTICED) & (table.usable > 0)
    names = table.on_logs["log"].tolist()
    places = [{names[row]: row for row in np.flatnonzero(event & side).tolist()} for side in _sides(table)]
    logs = sorted(places[0].keys() & places[1].keys())
    if not logs:
        return None
    plain, gain = (table.where(np.array([side[log] for log in logs], np.intp)) for side in places)
    return SaidAndDid(*(_difference(plain, gain, column) for column in (_LIES, _EVASIVE)))


class ReportsReader(Reader[SaidAndDid, None]):
    """Both differences, of a run with reports on a log."""

    name = "said_and_did"

    def found(self, whole: Whole) -> SaidAndDid | None:
        """Both differences, where rates are told."""
        return None if whole.withheld else gain_minus_plain(whole.table)


_LIES, _EVASIVE = 0, 2  # columns of shares


def _sides(table: Table) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    return table.on_logs["plain"], ~table.on_logs["plain"]


def _difference(plain: Table, gain: Table, column: int) -> GainMinusPlain:
    first, other, weights, kinds = plain.shares[:, column], gain.shares[:, column], plain.weights, plain.on_logs["kind"]
    found = sign_flip(other - first, weights, plain.on_logs["log"], np.random.default_rng(SEED))
    found.first, found.other = (float(weights @ side / weights.sum()) for side in (first, other))
    names = np.unique(kinds)
    without = [
        float(weights[rest] @ (other - first)[rest] / weights[rest].sum())
        for name in names
        for rest in (kinds != name,)
        if rest.any()
    ]
    return GainMinusPlain(
        structs.replace(found, p=None, p_exact=None, one_sided95=None),
        len(names),
        (min(without), max(without)) if without else None,
    )
