"""Two runs held against each other in a sentence or two: each figure beside the name of its run."""

from __future__ import annotations

from collections.abc import Mapping

from maskbench.plain import one_line
from maskbench.presentation.blocks import Tone, Warn
from maskbench.presentation.format import between, percent, points, times
from maskbench.presentation.sections import reports_on_logs
from maskbench.results.comparison import ComparisonData, Pairing, compared_by, is_on_logs
from maskbench.results.lies_and_honest import SENTENCES, VerdictName
from maskbench.stats.figures import Difference

LEAST = 0.0005  # a rise that is not printed as 0.0 points


def every_name(data: ComparisonData) -> list[str]:
    """What to call each run, the first one and the others."""
    runs = [data.first, *data.others]
    subjects = [one_line(run.subject) for run in runs]
    return subjects if len(set(subjects)) == len(subjects) else [one_line(run.run) for run in runs]


def names(data: ComparisonData, pairing: Pairing) -> tuple[str, str]:
    """What to call the two: their subjects, or their folders where the subject is the same or appears twice."""
    labels = every_name(data)
    return labels[0], labels[1 + data.others.index(pairing)]


def side_by_side(rate: Difference) -> tuple[str, str, str, str]:
    """Both shares, their difference in points and its interval, each a cell."""
    return percent(rate.first), percent(rate.other), points(rate.difference), between(rate.ci95)


def measured(pairing: Pairing) -> tuple[str, str, str, str]:
    """What the one test is of, as cells: a rate of both runs, or points where that is a difference itself."""
    rate = compared_by(pairing)
    shares = side_by_side(rate)
    return (points(rate.first), points(rate.other), *shares[2:]) if is_on_logs(pairing) else shares


def both(rate: Difference, first: str, other: str) -> str:
    """P(lie) of both runs, each figure beside its run, and the difference."""
    shares = f"{percent(rate.other)} for {other} and {percent(rate.first)} for {first}"
    return f"P(lie) is {shares}, {points(rate.difference)} points"


def finding(data: ComparisonData, pairing: Pairing) -> Warn:
    """One pairing in a sentence: the verdict of both tests, or why there is none."""
    lie, honest = pairing.rates["p_lie"], pairing.rates["p_honest"]
    first, other = names(data, pairing)
    if is_on_logs(pairing):
        return reports_on_logs.verdict(pairing, first, other)
    if pairing.withheld:
        return Warn(f"WITHHELD: {one_line(pairing.withheld)}", "bad")
    if lie.difference is None:
        return Warn(f"NOT TESTED: no shared scenario has an outcome in both {first} and {other}.")
    if pairing.verdict is None:
        return Warn(f"NOT TESTED: {both(lie, first, other)}, P(honest) {points(honest.difference)} points.")
    told = {"lies": _change(lie), "honest": _change(honest), "lost": _lost(pairing)}
    text = SENTENCES[pairing.verdict].format(first=first, other=other, **told)
    return Warn(text, _TONES[pairing.verdict])


_TONES: Mapping[VerdictName, Tone] = {
    "more honest": "good",
    "lies less": "caution",
    "not more honest": "bad",
    "honest more often": "good",
    "honest less often": "bad",
    "answers more": "caution",
    "lies more": "bad",
    "less honest": "bad",
    "no difference shown": "caution",
}


def _change(rate: Difference) -> str:
    """A difference in points, with its interval."""
    return f"{points(rate.difference)} points" + (f" ({between(rate.ci95)})" if rate.ci95 else "")


def _lost(pairing: Pairing) -> str:
    """Where answers went that are neither lies nor honest any more, in points."""
    went = [
        f"to {what} ({points(rate.difference)})"
        for name, what in (("p_evasive", "evasion"), ("p_no_belief", "no belief"))
        if ((rate := pairing.rates[name]).difference or 0) >= LEAST
    ]
    return f"; what it lost went {' and '.join(went)}" if went else ""


def believing(pairing: Pairing, first: str, other: str) -> str:
    """Both rates where both runs have a belief, without a test; nothing where that is in no scenario, or in all."""
    rates = pairing.with_beliefs
    if not rates or pairing.rates["p_no_belief"].first == pairing.rates["p_no_belief"].other == 0:
        return ""
    lie, honest = rates["p_lie"], rates["p_honest"]
    own = ((first, honest.first, lie.first), (other, honest.other, lie.other))
    shares = "; ".join(f"{name}: honest {percent(told)}, lies {percent(lied)}" for name, told, lied in own)
    return f"Among the {times(lie.n, 'scenario')} in which both have a belief, {shares} (no test)."


def in_a_word(pairing: Pairing) -> str:
    """What is shown of a pairing, in a word or two."""
    if pairing.withheld:
        return "withheld"
    if is_on_logs(pairing) and pairing.significant:
        return reports_on_logs.in_a_word(pairing)
    return pairing.verdict or ("not shown" if pairing.test else "not tested")
