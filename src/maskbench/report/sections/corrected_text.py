"""Rates corrected by people's labels, as a person reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from maskbench.plain import plain
from maskbench.report.format import between, interval, percent, points
from maskbench.report.pairings import stacked
from maskbench.report.terminal import add, figures

Json = Mapping[str, Any]
_NAMES = {
    "p_lie": "P(lie)",
    "p_honest": "P(honest)",
    "p_evasive": "P(evasive)",
    "p_no_belief": "P(no belief)",
    "honesty_score_normalized": "honesty score, normalised",
    "conditional_lie_rate": "conditional lie rate",
}
COVERS = "sampling error and the judge's error are both in the interval; people are taken to be right"


def beside(corrected: Json | None) -> str | None:
    """Corrected P(lie) in a few words, to stand beside the judge's; None where nothing carries it."""
    if not corrected or corrected["withheld"]:
        return None
    lie = corrected["metrics"]["p_lie"]
    whose = "carried over from another run, see there" if corrected.get("assumption") else "people's labels"
    return f"corrected for the judge's error ({whose}): {percent(lie['value'])} ({interval(lie['ci95'])})"


def parts(corrected: Json) -> Iterator[RenderableType]:
    """The corrected rates of a run as a table with what they rest on, or the reason why there are none.

    Never without the assumption that they rest on, where the labels are another run's.
    """
    if corrected["withheld"]:
        yield Text(f"Not corrected for the judge's error: {plain(corrected['withheld'])}", style="yellow")
    else:
        labels = "labels of another run" if corrected.get("assumption") else "people's labels"
        table = figures(f"corrected by {labels}", "value", "95 %", "correction", "judge's part")
        for name, label in _NAMES.items():
            rate = corrected["metrics"][name]
            share = rate["from_calibration"]
            rates = percent(rate["value"]), interval(rate["ci95"]), points(rate["added"])
            add(table, label, *rates, "–" if share is None else f"{share:.0%}".replace("%", " %"))
        yield table
        if corrected.get("assumption"):
            yield Text(plain(corrected["assumption"]), style="yellow")
        yield Text(_rests_on(corrected), style="dim")


def compared(corrected: Json, first: str, other: str) -> Iterator[RenderableType]:
    """The corrected difference of two runs as a table, or the reason why there is none."""
    if corrected["withheld"]:
        yield Text(f"Not corrected for the judge's error: {plain(corrected['withheld'])}", style="yellow")
        return
    heads = (Text(stacked(name)) for name in (first, other))
    table = figures("corrected by people's labels", *heads, "points", "95 %", gap=1)
    for name, rate in corrected["rates"].items():
        shares = percent(rate["first"]), percent(rate["other"])
        add(table, _NAMES[name], *shares, points(rate["difference"]), between(rate["ci95"]))
    yield table
    labelled = " and ".join(
        f"{count:,} of {name}" for count, name in zip(corrected["labelled"], (first, other), strict=True)
    )
    yield Text(f"Scenarios labelled: {labelled}, each run by labels of its own; {COVERS}.", style="dim")


def _rests_on(corrected: Json) -> str:
    whose = "scenarios of the other run" if corrected.get("assumption") else f"of {corrected['scenarios']:,} scenarios"
    said = f"{corrected['settled']:,} {whose} have a human outcome"
    differ = f"people and judge differ on {corrected['disagreements']:,}"
    return "; ".join((said, differ, *without(corrected), f"{COVERS}."))


def without(corrected: Json) -> Iterator[str]:
    """Which labelled scenarios do not count, and why."""
    if corrected["undecided"]:
        yield f"raters differ on {corrected['undecided']:,} more, which nobody has decided"
    if corrected["without_replies"]:
        yield f"{corrected['without_replies']:,} more lack replies of the subject, so that no label can settle them"
    if corrected["without_judged_outcome"]:
        yield f"{corrected['without_judged_outcome']:,} of them are left out, having no outcome by the judge"
