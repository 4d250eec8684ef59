"""What a result says of a run that stopped when its question was decided."""

from __future__ import annotations

import shlex
from pathlib import Path

from maskbench.judges.verdict_sets import OpenRun
from maskbench.method.asks import VERDICTS
from maskbench.method.until import Decided
from maskbench.results.summary_json import Summary
from maskbench.runs.until_flow import decision

BIASED = "A rate at the moment at which one stops is biased, and its ordinary interval does not hold."


def tell_decision(summary: Summary, run: OpenRun) -> None:
    """Put the decision of a run into its summary, and why it has no ordinary rates where it was stopped."""
    of_all = summary.verdicts == VERDICTS and not run.is_part
    decided = decision(run.store) if run.settings.until and of_all else None
    if decided is None:
        return
    summary.until = decided
    if stopped := summary.stopped:
        summary.withheld = f"{why_stopped(stopped)} {BIASED}"


def stopped_early(path: Path, done: int, wanted: int) -> str:
    """That a run asks until it is decided, and has not asked its whole set."""
    line = shlex.join(["maskbench", "run", "--out", str(path), "--until", "none"])
    return (
        f"{path} stops when it is decided (--until), and {done:,} of {wanted:,} scenarios are done. {BIASED} `{line}` "
        "has the rest asked."
    )


def why_stopped(decided: Decided) -> str:
    """That a run stopped, when, and with what decision."""
    return (
        f"It stopped when it was decided, after {decided.scenarios:,} of {decided.of_scenarios:,} scenarios: "
        f"{decided.question}, {decided.decision}."
    )
