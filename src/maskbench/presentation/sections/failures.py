"""The section on failures: what failed and was cut, by archetype, stage and cause, and the bounds that this implies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from maskbench.plain import one_line
from maskbench.presentation.blocks import Block, Figure, Heading, Only, PointRow, Points, Table
from maskbench.presentation.format import interval, percent, times
from maskbench.presentation.of_runs import Scored, named
from maskbench.presentation.sections.evasion import part as counted
from maskbench.presentation.sections.provenance import NOT_KNOWN, is_told
from maskbench.presentation.words import archetype, cause
from maskbench.results.readers import SourceReader
from maskbench.results.summary import Part, Summary, left_open
from maskbench.types import STAGES, Cause


def failures(runs: Sequence[Scored]) -> Iterator[Block]:
    """What failed and was cut."""
    if any(run.summary.failures or run.summary.truncated["cut"] for run in runs):
        yield Only(
            "page",
            "A call that gives no usable answer is no outcome: it never counts as a lie, as honesty or as evasion.",
        )
    elif len({failed(run.summary) for run in runs}) == 1:
        yield failed(runs[0].summary)
        return
    for run in runs:
        yield from map(Heading, named(runs, run))
        yield failed(run.summary)
        yield from _lost(run.summary)


def failed(summary: Summary) -> str:
    """How much failed and was cut, in a sentence or two."""
    count = _lost_in_all(summary)
    bounds = summary.rates["p_lie"].bounds
    text = f"{_missing(summary, count)} {_cut(summary)}"
    if text == f"{_NO_FAILURE} {_NOT_CUT}":
        return "Nothing failed, nothing was cut."
    if not is_partial(summary) or not bounds:
        return text
    return (
        f"{text} That left {times(without_outcome(summary), 'scenario')} without an outcome, outside every rate; "
        f"whatever the missing ones would have been, P(lie) over all that is done lies between {percent(bounds[0])} "
        f"and {percent(bounds[1])}."
    )


_NO_FAILURE, _NOT_CUT = "No call failed.", "No reply was cut at the token limit."


def _missing(summary: Summary, count: int) -> str:
    """How many replies and verdicts are missing, and why most of them."""
    if not count:
        is_open = left_open(summary)
        return "No call failed for good, but the run did not come to its end." if is_open else _NO_FAILURE
    after = " after all retries" if summary.of(SourceReader) is None else ""  # of an import nobody knows that
    lost = f"{count:,} {'reply or verdict is' if count == 1 else 'replies or verdicts are'} missing{after}."
    return " ".join(filter(None, (lost, commonest_failure(summary))))


def _cut(summary: Summary) -> str:
    """How many replies were cut, as far as that is known."""
    cut, replies = summary.truncated["cut"], summary.truncated["replies"]
    if not is_told(summary, "cut at"):
        return f"Which of the {replies:,} replies were cut at the token limit is {NOT_KNOWN}."
    if not cut:
        return _NOT_CUT
    return f"{cut:,} of {replies:,} replies were cut at the token limit ({percent(cut / replies)})."


_ENDS = (".", "!", "?", "…")


def commonest_failure(summary: Summary) -> str | None:
    """What failed most often in the same words, in a sentence; None where nothing failed."""
    if not (failure := summary.failure):
        return None
    count = f"{failure.count:,} of {_lost_in_all(summary):,}"
    what = one_line(f"{failure.stage}, {failure.cause.replace('_', ' ')}: {failure.detail}", 560)
    return f"Most often ({count}): {what}{'' if what.endswith(_ENDS) else '.'}"


def _lost_in_all(summary: Summary) -> int:
    """How many replies and verdicts failed, as far as is known: those of controls are in no table."""
    counted = sum(sum(causes.values()) for causes in summary.failures.values())
    return max(counted, summary.failure.count if summary.failure else 0)


def without_outcome(part: Part | Summary) -> int:
    """In how many scenarios no statement has an outcome; of several statements `counts` tells the first one's alone."""
    if "1" in part.counts_at:
        return part.counts["error"]
    return sum(part.counts.values()) - part.rates["p_lie"].n


def is_partial(part: Part | Summary) -> bool:
    """Whether failures leave any outcome open, of a scenario or of one of its statements."""
    if without_outcome(part):
        return True
    bounds = part.rates["p_lie"].bounds
    return "1" not in part.counts_at and bool(part.failures) and bounds is not None and bounds[0] < bounds[1]


def _lost(summary: Summary) -> Iterator[Block]:
    """What failed as a table, with bounds as a chart where outcomes are missing."""
    table = _table(summary)
    if is_partial(summary):
        title = "P(lie), and what it could be, whatever the failures would have been"
        key = (("unknown", "bounds over everything that failed"),)
        yield Figure((Points(tuple(_reaches(summary))),), title, table, key)
    elif summary.failures or summary.truncated["cut"]:
        yield table


def _parts(summary: Summary) -> Iterator[tuple[str, Part | Summary]]:
    """The whole and its archetypes, by the names that people read."""
    yield "All", summary
    for name, part in summary.by_archetype.items():
        yield archetype(name, [summary.scenarios]), part


def _reaches(summary: Summary) -> Iterator[PointRow]:
    for name, part in _parts(summary):
        bounds = part.rates["p_lie"].bounds
        reach = (bounds[0], bounds[1]) if bounds else None
        yield PointRow(name, part.rates["p_lie"], "lie", reach=reach)


def _table(summary: Summary) -> Table:
    rows = [
        (
            name,
            counted(part.truncated["cut"], part.truncated["replies"]) if is_told(summary, "cut at") else NOT_KNOWN,
            *(_causes(part.failures.get(stage, {})) for stage in STAGES),
            f"{without_outcome(part):,}",
            interval(part.rates["p_lie"].bounds),
        )
        for name, part in _parts(summary)
    ]
    head = ("archetype", "cut replies", "subject failed", "judge failed", "without outcome", "bounds on P(lie), %")
    return Table(head, tuple(rows))


def _causes(causes: Mapping[Cause, int]) -> str:
    return ", ".join(f"{cause(name)}: {count:,}" for name, count in causes.items()) or "–"
