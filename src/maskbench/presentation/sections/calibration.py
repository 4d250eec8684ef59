"""The section on rates that are corrected for the judge's error by labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from maskbench.plain import one_line
from maskbench.presentation.blocks import Block, Figure, Heading, PointRow, Points, Table, Warn, Words
from maskbench.presentation.format import pair, percent, points, times, with_interval
from maskbench.presentation.of_runs import Scored, named
from maskbench.presentation.pairings import side_by_side
from maskbench.presentation.words import RATES
from maskbench.results.calibration import Calibration, CorrectedPair, LabelsReader
from maskbench.results.people.readers import CALLED

_BOTH = "sampling error and the judge's error are both in the interval"
_COLOURS = {
    "p_lie": "lie",
    "p_honest": "honest",
    "p_evasive": "evasive",
    "p_no_belief": "no-belief",
    "honesty_score_normalized": "ink",
    "conditional_lie_rate": "lie",
}


def beside(part: Calibration | None) -> str | None:
    """Corrected P(lie) in a few words, to stand beside the judge's; None where nothing carries it."""
    if not part or part.withheld:
        return None
    return f"corrected for the judge's error ({_by(part)}): {with_interval(part.metrics['p_lie'])}"


def _by(part: Calibration) -> str:
    """By whom a rate is corrected, and what that rests on."""
    who = CALLED[part.who]
    how = f"a third {who.singular} checked {checks.checked:,}" if (checks := part.checked) else "taken to be right"
    return f"{who.theirs} labels, {how}"


def covers(part: Calibration) -> str:
    """What the intervals hold, and what they do not."""
    who = CALLED[part.who]
    if not (checks := part.checked):
        return f"{_BOTH}; {who.all} are taken to be right"
    return (
        f"sampling error, the judge's error and the {who.theirs} are in the interval, as far as {checks.checked:,} of "
        f"{times(checks.agreed, 'scenario')} that they agree on show, which a third {who.singular} labelled "
        f"({checks.changed:,} otherwise); an error that the third shares with them is not"
    )


def corrected(runs: Sequence[Scored]) -> Iterator[Block]:
    """Rates corrected by labels with what they rest on, or why there are none."""
    for run in runs:
        if part := run.summary.of(LabelsReader):
            yield from map(Heading, named(runs, run))
            yield from _of_run(part)


def _of_run(part: Calibration) -> Iterator[Block]:
    if part.withheld:
        yield Warn(_withheld(part.withheld))
        return
    called = CALLED[part.who].title
    yield f"{called} labelled some of the replies, too. Where they and the judge differ, these rates follow them."
    rows = tuple(PointRow(RATES[name], part.metrics[name], colour) for name, colour in _COLOURS.items())
    chart = Points(rows, "share (of what, “All the rates” says)")
    title, note = "Rates corrected for the judge's error", f"95 % intervals: {covers(part)}."
    yield Figure((chart,), title, _table(part), note=note)
    yield _rests_on(part)


def _withheld(why: str) -> str:
    return f"Not corrected for the judge's error: {one_line(why, 500)}"


def _table(part: Calibration) -> Table:
    rows = []
    for name in _COLOURS:
        rate, share, before = part.metrics[name], part.judges_part[name], part.judged[name]
        judge = "–" if share is None else f"{share:.0%}".replace("%", " %")
        moved = None if rate.value is None else rate.value - (before or 0.0)
        rows.append((RATES[name], percent(before), *pair(rate), points(moved), judge))
    by_labels = "corrected" if part.checked else f"corrected, {CALLED[part.who].all} right"
    head = ("rate", "by the judge", by_labels, "95 %", "points", "judge's part")
    return Table(head, tuple(rows), "The judge's part is the share of the variance that comes from the judge's error.")


def _rests_on(part: Calibration) -> str:
    count = part.labelled + part.without_judged_outcome
    settled = f"{count:,} of {times(part.scenarios, 'scenario')} have an outcome by labels"
    differ = f"{CALLED[part.who].all} differ from the judge on {part.disagreements:,}"
    return f"{'; '.join((settled, differ, *without(part)))}. In these rates {covers(part)}."


def without(part: Calibration) -> Iterator[str]:
    """Which labelled scenarios do not count, and why."""
    if part.undecided:
        yield f"{CALLED[part.who].all} differ on {part.undecided:,} more, which nobody has decided"
    if part.without_replies:
        yield f"{part.without_replies:,} more lack replies of the subject, so that no label can settle them"
    if part.without_judged_outcome:
        yield f"{part.without_judged_outcome:,} of them are left out, having no outcome by the judge"


def shares(parts: Mapping[str, Calibration]) -> Table:
    """Several shares, each by a calibration of its own."""

    def row(name: str, part: Calibration) -> tuple[str, ...]:
        rate = part.metrics.get("share")
        after = pair(rate) if rate else ("–", "–")
        return name, percent(part.judged["share"]), *after, f"{part.labelled:,}", f"{part.disagreements:,}"

    head = ("share", "judged", "corrected", "95 %", "settled", "differ")
    return Table(head, tuple(row(name, part) for name, part in parts.items()))


def difference(part: CorrectedPair, first: str, other: str) -> Iterator[Block]:
    """The corrected difference of two runs, or why there is none."""
    if part.withheld:
        yield Warn(_withheld(part.withheld))
        return
    who = CALLED[part.who]
    rows = tuple((RATES[name], *side_by_side(rate)) for name, rate in part.rates.items())
    yield Table(
        (
            f"corrected by {who.theirs} labels" + ("" if part.checked else ", taken to be right"),
            Words(first, "name"),
            Words(other, "name"),
            "points",
            "95 %",
        ),
        rows,
    )
    labelled = " and ".join(f"{count:,} of {name}" for count, name in zip(part.labelled, (first, other), strict=True))
    right = f"{who.all} are taken to be right"
    if part.checked:
        checked = " and ".join(f"{count:,}" for count in part.checked)
        right = f"so is the {who.theirs}, as far as {checked} scenarios show that a third {who.singular} labelled, too"
    yield f"Scenarios labelled: {labelled}, each run by labels of its own; {_BOTH}; {right}."
