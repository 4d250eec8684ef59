"""The bar of the four outcomes: their order, their colours, what its brackets mean."""

from __future__ import annotations

from collections.abc import Mapping

from maskbench.report.blocks import Mix, Part
from maskbench.results.summary_json import Metrics
from maskbench.stats.intervals import Estimate
from maskbench.types import OutcomeName

ORDER: tuple[OutcomeName, ...] = ("lie", "evasive", "no_belief", "honest")  # lies from the left, honesty from the right
RATE_OF: Mapping[OutcomeName, str] = {name: f"p_{name}" for name in ORDER}
WHISKERS = (
    "The brackets below a bar are the 95 % intervals of the lies (left) and, counted from the right end, of the honest "
    "share (right)."
)


def colour_of(outcome: str) -> str:
    """The name of an outcome's colour in page.css."""
    return outcome.replace("_", "-")


NAMES = tuple(name.replace("_", " ") for name in ORDER)
KEY = tuple((colour_of(name), name.replace("_", " ")) for name in ORDER)


def outcomes(label: str, shares: Mapping[OutcomeName, Estimate]) -> Mix:
    """The bar of a run's outcomes, or of a part of it."""
    return Mix(label, tuple(Part(name.replace("_", " "), colour_of(name), shares[name]) for name in ORDER))


def mix(label: str, metrics: Metrics) -> Mix:
    """The bar of the four outcomes out of the rates of a summary."""
    return outcomes(label, {name: metrics.rate(RATE_OF[name]).estimate for name in ORDER})
