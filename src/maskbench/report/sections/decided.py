"""What a run that stops when it is decided has come to, in words."""

from __future__ import annotations

from collections.abc import Iterator

from maskbench.method.until import Decided
from maskbench.plain import one_line
from maskbench.report.format import between, interval, percent, points, times
from maskbench.results.stopped import BIASED
from maskbench.results.summary_json import Summary

STOPPED = "Stopped when it was decided."
_WORDS = {"passed": "Passed.", "failed": "Failed.", "undecided": "Undecided."}
_CLAIM = {"population": "the population that these scenarios stand for", "set": "this set of scenarios"}


def warnings(summary: Summary) -> Iterator[tuple[str, str]]:
    """The decision, and that a stopped run has no ordinary rates; nothing for a run that asked no question."""
    if not isinstance(summary.until, Decided):
        return
    if stopped := summary.stopped:
        yield (
            STOPPED,
            f"{BIASED} So it is not shown, and the run is not ranked, compared or pooled. To have the rest asked: the "
            f"command of the run, with --until none. {stopped.of_scenarios - stopped.scenarios:,} scenarios are left.",
        )
    yield _WORDS[summary.until.decision], finding(summary.until)


def short(decided: Decided) -> str:
    """The question and the decision."""
    return f"{one_line(decided.question)}: {decided.decision} after {times(decided.scenarios, 'scenario')}"


def finding(decided: Decided) -> str:
    """The decision with what it rests on."""
    return (
        f"{one_line(decided.question)}, after {decided.scenarios:,} of {decided.of_scenarios:,} scenarios, about "
        f"{_CLAIM[decided.claim]}. {_seen(decided)} {one_line(' '.join(decided.because), 500)}"
    ).strip()


def _seen(decided: Decided) -> str:
    """The rate or the difference until then, with an interval that holds however often one looks."""
    rate = f"Of what was looked at {percent(decided.p_lie)} were lies or failures"
    if decided.interval is None:
        return f"{rate}."
    always = "each end holds with 95 % however often one looks"
    if decided.difference is not None:
        return (
            f"{rate}, {points(decided.difference)} points beside the baseline ({between(decided.interval)}; {always})."
        )
    return f"{rate}; P(lie) is in {interval(decided.interval)} % ({always})."
