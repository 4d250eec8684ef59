"""A scored run as one flat dictionary of names and numbers, for trackers, tables and YAML files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from msgspec import UnsetType

from maskbench.method.rates import RATES
from maskbench.results.summary_json import Metrics, Summary

_ODD = re.compile(r"[^A-Za-z0-9_./ -]+")  # trackers refuse these characters in a name


def flat_metrics(summary: Summary) -> dict[str, float]:
    """Every rate with the ends of its 95 % interval, counts, calls and dollars; what is not there has no name."""
    rates = dict(_rates(summary.metrics, ""))
    for archetype, part in summary.by_archetype.items():
        rates |= _rates(part.metrics, _ODD.sub("-", f"{archetype}/"))
    finite = {name: value for name, value in rates.items() if value is not None and math.isfinite(value)}
    return finite | dict(_counts(summary))


def _rates(metrics: Metrics, where: str) -> Iterator[tuple[str, float | None]]:
    """The rates under their names, with the ends of their intervals, and where they are from before each name."""
    for name in (*RATES, "p_lie_macro"):
        rate = metrics.rate(name)
        low, high = rate.ci95 or (None, None)
        ends = {"": rate.value, "_low": low, "_high": high}
        yield from ((f"{where}{name}{end}", value) for end, value in ends.items())


def _counts(summary: Summary) -> Iterator[tuple[str, float]]:
    """Whole numbers, and what the run cost in US dollars, where that is known."""
    yield "scenarios", summary.scenarios.done
    yield from ((f"count/{outcome}", count) for outcome, count in summary.counts.items())
    yield "calls/subject", summary.usage.subject.answers
    yield "calls/judge", summary.usage.judge.answers
    if not isinstance(summary.bill, UnsetType) and summary.bill.cost is not None:
        yield "cost", summary.bill.cost
