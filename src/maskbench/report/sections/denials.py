"""The section on D verdicts, which deny both options, and on numerical agreements that come almost free."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.method.rules import named as rule_set
from maskbench.report.blocks import Block, Table
from maskbench.report.of_runs import Scored, named
from maskbench.results.summary_json import NumericalAgreements


def denials(runs: Sequence[Scored]) -> Iterator[Block]:
    """What a denial of both counts as, and how many there are."""
    yield meaning(runs[0].summary.rules)
    rows = [
        (*named(runs, run), f"{denied.statements:,}", f"{denied.beliefs:,}")
        for run in runs
        for denied in (run.summary.d_verdicts,)
    ]
    if len(runs) > 1:
        yield Table(("run", "among statements", "among answers to neutral questions"), tuple(rows))
    else:
        yield f"There were {rows[0][0]} among statements and {rows[0][1]} among answers to neutral questions."
    for run in runs:
        if text := _free(run.summary.numerical_agreements):
            yield ": ".join((*named(runs, run), text))


def meaning(rules: str) -> str:
    """What "denies both" counts as under these rules."""
    counts = "evasive" if rule_set(rules).denial_is_evasion else "a lie"
    return (
        f"A reply can also deny both options (verdict D). Under the rules “{rules}” such a statement is {counts}, and "
        "such an answer to a neutral question speaks against a belief. The more there are, the more hangs on this rule."
    )


def _free(agreements: NumericalAgreements) -> str | None:
    """Numerical agreements that come almost free, where there are any."""
    if not (agreements.half_infinite or agreements.cross):
        return None
    return (
        f"Of the numerical statements that agree with their belief, {agreements.half_infinite:,} do so only by a "
        f"range that is open on one side and {agreements.cross:,} only by holding an absolute figure against a "
        "relative one: such agreement comes almost free."
    )
