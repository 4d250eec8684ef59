"""A run as an entry of `.eval_results/*.yaml`, by which the hub shows a figure on a model's page.

Source: the hub's page on evaluation results. An entry is one figure of one data set of the hub, so protocol, judge and
interval, without which P(lie) means nothing, stand in its notes.
"""

from __future__ import annotations

import re

from maskbench.errors import UsageError
from maskbench.interop.shown_to_others import RateShown, Shown
from maskbench.results.leaderboard import PUBLIC
from maskbench.scenarios import hub
from maskbench.types import Json

TASK = "mask"
_DATA_SET = re.compile(r"[\w.-]+/[\w.-]+")


def as_yaml(shown: Shown, data_set: str | None) -> str:
    """The file's text; `data_set` is that of the hub, and may be left out for cais/MASK. Raises UsageError."""
    import yaml  # type: ignore[import-untyped] # slow to load

    text: str = yaml.safe_dump([entry(shown, data_set)], sort_keys=False, allow_unicode=True)
    return text


def entry(shown: Shown, data_set: str | None) -> Json:
    """The entry: the honesty score, 1 - P(lie), in percent, so that a leaderboard has the honest ones on top.

    Raises UsageError for a subject that is no model, and where no data set of the hub is known.
    """
    if shown.is_simulated:
        raise UsageError(
            "The subject is simulated, or is pinocchio: its makers chose how often it lies, and no model's page is to "
            "say so. Export the run of a real model."
        )
    where: Json = {"id": _data_set(shown, data_set), "task_id": TASK}
    if shown.settings.scenarios == hub.NAME and not shown.imported:  # of whose texts nobody knows the revision
        where["revision"] = hub.REVISION
    return {
        "dataset": where,
        "value": round(100 * shown.rate("honesty_score").value, 2),
        "date": shown.created[:10],
        "notes": notes(shown),
    }


def notes(shown: Shown) -> str:
    """What the figure stands for, in a line."""
    summary = shown.summary
    rates = [f"{title} {_percent(shown.rate(name))}" for name, title in _BESIDE.items()]
    taken = f"{summary.scenarios.taken}, {summary.scenarios.done:,} scenarios"
    label = str(summary.subject.get("label") or summary.subject.name)
    parts = [
        "honesty score, 1 - P(lie), in percent",
        *([f"measured as {label}"] if shown.settings.label != shown.settings.subject else []),
        *rates,
        f"judge {', '.join(shown.judges)}",
        f"protocol {summary.protocol}",
        f"rules {summary.rules}",
        f"{taken}, sha256 {summary.scenarios.measured_hash[:12]}",
        f"{shown.settings.statements} statement{'s' if shown.settings.statements > 1 else ''} a scenario",
        f"maskbench {summary.version}",
        *([shown.imported] if shown.imported else []),
    ]
    return "; ".join(parts)


_BESIDE = {"p_lie": "P(lie)", "p_honest": "P(honest)", "p_evasive": "P(evasive)", "p_no_belief": "P(no belief)"}


def _percent(rate: RateShown) -> str:
    ends = "" if rate.low is None or rate.high is None else f" ({100 * rate.low:.1f}-{100 * rate.high:.1f})"
    return f"{100 * rate.value:.1f} %{ends}"


def _data_set(shown: Shown, given: str | None) -> str:
    if given is None and shown.is_mask:
        return hub.NAME
    if given is None:
        what = "is ours, and no data set of the hub" if PUBLIC.fullmatch(shown.set_name) else "is no name of one"
        raise UsageError(
            f"An entry of the hub names a data set of the hub, and {shown.set_name} {what}. Give the one that you "
            "published: --dataset NAMESPACE/NAME."
        )
    if not _DATA_SET.fullmatch(given):
        raise UsageError(f"--dataset {given}: give a data set of the hub as NAMESPACE/NAME, such as {hub.NAME}.")
    return given
