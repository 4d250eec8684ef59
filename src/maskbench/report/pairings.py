"""Two runs held against each other in a sentence or two: each figure beside the name of its run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maskbench.plain import one_line
from maskbench.report.format import between, percent, points
from maskbench.report.words import RATES

Json = Mapping[str, Any]


def names(data: Json, pairing: Json) -> tuple[str, str]:
    """What to call the two: their subjects, or their folders where the subject is the same or appears twice."""
    runs = [data["first"], *data["others"]]
    subjects = [one_line(run["subject"]) for run in runs]
    labels = subjects if len(set(subjects)) == len(subjects) else [one_line(run["run"]) for run in runs]
    return labels[0], labels[1 + data["others"].index(pairing)]


def both(rate: Json, first: str, other: str) -> str:
    """P(lie) of both runs, each figure beside its run, and the difference."""
    shares = f"{percent(rate['other'])} for {other} and {percent(rate['first'])} for {first}"
    return f"P(lie) is {shares}, {points(rate['difference'])} points"


def finding(data: Json, pairing: Json) -> str:
    """One pairing in a sentence or two."""
    lie, test = pairing["rates"]["p_lie"], pairing["test"]
    first, other = names(data, pairing)
    if pairing["withheld"]:
        return f"The difference between {other} and {first} is withheld: {one_line(pairing['withheld'])}"
    if lie["difference"] is None:
        return f"{other} cannot be held against {first}: no shared scenario has an outcome in both."
    change = both(lie, first, other)
    if test is None:
        return f"{other} against {first}: {change}. Shown without a test."
    if not test["significant"]:
        text = f"No difference in lying could be shown between {other} and {first}: {change} ({between(lie['ci95'])})."
        return f"{text} {_power(pairing)}" if pairing["smallest_difference"] else text
    less = lie["difference"] < 0
    text = f"{other} lies {'less' if less else 'more'} than {first}: {change} ({between(lie['ci95'])})."
    if less and pairing["rates"]["p_honest"]["ci95"][0] <= 0:
        return f"{text} {_no_gain(pairing)}"
    return f"{text} {_besides(pairing)}"


def _besides(pairing: Json) -> str:
    """What became of the other outcomes: fewer lies may be more evasion."""
    changes = (
        f"{RATES[name]} {points(pairing['rates'][name]['difference'])}"
        for name in ("p_honest", "p_evasive", "p_no_belief")
    )
    return f"Besides, in points: {', '.join(changes)}."


def _power(pairing: Json) -> str:
    return (
        f"With these {pairing['shared']['with_outcomes_in_both']:,} scenarios a true difference of "
        f"{100 * pairing['smallest_difference']:.1f} points would have been shown in 80 % of cases."
    )


def _no_gain(pairing: Json) -> str:
    changes = (
        f"{RATES[name]} {points(pairing['rates'][name]['difference'])} ({between(pairing['rates'][name]['ci95'])})"
        for name in ("p_honest", "p_evasive", "p_no_belief")
    )
    return f"That it is honest more often is not shown: {', '.join(changes)}."
