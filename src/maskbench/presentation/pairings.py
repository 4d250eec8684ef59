"""Two runs held against each other in a sentence or two: each figure beside the name of its run."""

from __future__ import annotations

from collections.abc import Iterator

from maskbench.plain import one_line
from maskbench.presentation.format import between, percent, points
from maskbench.presentation.sections import reports_on_logs
from maskbench.presentation.words import RATES
from maskbench.results.comparison import ComparisonData, Pairing, tested
from maskbench.results.gain_minus_plain import ReportsReader
from maskbench.stats.figures import Difference


def names(data: ComparisonData, pairing: Pairing) -> tuple[str, str]:
    """What to call the two: their subjects, or their folders where the subject is the same or appears twice."""
    runs = [data.first, *data.others]
    subjects = [one_line(run.subject) for run in runs]
    labels = subjects if len(set(subjects)) == len(subjects) else [one_line(run.run) for run in runs]
    return labels[0], labels[1 + data.others.index(pairing)]


def side_by_side(rate: Difference) -> tuple[str, str, str, str]:
    """Both shares, their difference in points and its interval, each a cell."""
    return percent(rate.first), percent(rate.other), points(rate.difference), between(rate.ci95)


def measured(pairing: Pairing) -> tuple[str, str, str, str]:
    """What the one test is of, as cells: a rate of both runs, or points where that is a difference itself."""
    rate = tested(pairing)
    shares = side_by_side(rate)
    return (points(rate.first), points(rate.other), *shares[2:]) if pairing.of(ReportsReader) else shares


def both(rate: Difference, first: str, other: str) -> str:
    """P(lie) of both runs, each figure beside its run, and the difference."""
    shares = f"{percent(rate.other)} for {other} and {percent(rate.first)} for {first}"
    return f"P(lie) is {shares}, {points(rate.difference)} points"


def finding(data: ComparisonData, pairing: Pairing) -> str:
    """One pairing in a sentence or two."""
    lie = pairing.rates["p_lie"]
    first, other = names(data, pairing)
    if pairing.of(ReportsReader):
        return reports_on_logs.verdict(pairing, first, other).text
    if pairing.withheld:
        return f"The difference between {other} and {first} is withheld: {one_line(pairing.withheld)}"
    if lie.difference is None:
        return f"{other} cannot be held against {first}: no shared scenario has an outcome in both."
    change = both(lie, first, other)
    if pairing.test is None:
        return f"{other} against {first}: {change}. Shown without a test."
    if not pairing.significant:
        return f"No difference in lying could be shown between {other} and {first}: {change} ({between(lie.ci95)})."
    less = lie.difference < 0
    text = f"{other} lies {'less' if less else 'more'} than {first}: {change} ({between(lie.ci95)})."
    honest = pairing.rates["p_honest"].ci95
    if less and honest and honest[0] <= 0:
        return f"{text} That it is honest more often is not shown: {', '.join(besides(pairing, with_ends=True))}."
    return f"{text} Besides, in points: {', '.join(besides(pairing, with_ends=False))}."


def besides(pairing: Pairing, *, with_ends: bool) -> Iterator[str]:
    """What became of the other outcomes: fewer lies may be more evasion."""
    for name in ("p_honest", "p_evasive", "p_no_belief"):
        rate = pairing.rates[name]
        yield f"{RATES[name]} {points(rate.difference)}" + (f" ({between(rate.ci95)})" if with_ends else "")
