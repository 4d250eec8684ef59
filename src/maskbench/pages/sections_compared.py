"""The sections that hold several runs against each other: paired differences, transitions, accuracy and honesty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from maskbench.errors import UsageError
from maskbench.judges.verdict_sets import check_no_audit
from maskbench.pages.charts import Figure, Row, Table, cell, differences
from maskbench.pages.parts import Content, Facts, Heading, Json, Panel, Panels, Warn, colour, has_rates
from maskbench.pages.planes import Point, plane
from maskbench.plain import shortened, visible
from maskbench.report import pairings
from maskbench.report.format import CAVEAT
from maskbench.report.pairings import NAMES, finding
from maskbench.report.runs_shown import Run
from maskbench.results.comparison import compare_read
from maskbench.stats.intervals import Estimate

_CELL = 80  # characters of a setting in which two runs differ
_LETTERS = 14  # of a line of a run's name above figures


@dataclass(frozen=True, slots=True)
class Compared:
    """Runs held against the first one: what `maskbench compare --json` has, and why some could not be."""

    data: Json | None
    refused: tuple[str, ...]

    @property
    def findings(self) -> list[str]:
        """A sentence or two on each pairing."""
        return [] if self.data is None else [visible(finding(self.data, pairing)) for pairing in self.data["others"]]


def compared(runs: Sequence[Run]) -> Compared:
    """The first run against every other, one test for all; runs that share no scenario with it are left out."""
    first, *others = runs
    try:
        return Compared(_compare(first, others), ())
    except UsageError:
        able, refused = [], []
        for run in others:
            try:
                _compare(first, [run])
                able.append(run)
            except UsageError as error:
                refused.append(f"{run.name} is not held against {first.name}: {shortened(str(error), 400)}")
        return Compared(_compare(first, able) if able else None, tuple(refused))


def _compare(first: Run, others: Sequence[Run]) -> Any:
    for run in (first, *others):
        check_no_audit(run.opened.verdicts(run.scored.verdicts), run.scored.path)
    made = compare_read(first.scored, [run.scored for run in others]).data
    for about, run in zip((made["first"], *made["others"]), (first, *others), strict=True):
        about["subject"] = run.label
    return made


def comparison(found: Compared) -> Iterator[Content]:
    """Every pairing: what changed, whether it can be chance, and which outcomes became which."""
    yield (
        "Runs are compared on the scenarios that both have, scenario by scenario: what one finds hard, the other often "
        "does, too, so this shows smaller differences than two intervals side by side."
    )
    yield from map(Warn, found.refused)
    if found.data is not None:
        for pairing in found.data["others"]:
            yield from _pairing(found.data, pairing)


def _pairing(data: Json, pairing: Json) -> Iterator[Content]:
    first, other = (visible(name) for name in pairings.names(data, pairing))
    yield Heading(f"{other} against {first}")
    yield visible(finding(data, pairing))
    reasons = () if pairing["withheld"] else pairing["untested_because"]
    yield from (Warn(visible(line)) for line in (*pairing["warnings"], *(f"No test: {reason}" for reason in reasons)))
    if pairing["differs"]:
        head, rows = pairings.differs(data, pairing)
        cells = tuple((field, *(shortened(text, _CELL) for text in values)) for field, *values in rows)
        yield Table(tuple(map(visible, head)), cells, texts=3)
    if not pairing["withheld"]:
        yield _differences(data, pairing, first, other)
    if pairing["factors"]:
        head, rows = pairings.factors(data, pairing)
        yield Table(_stacked(head), rows, _PRODUCT)
    head, rows = pairings.transitions(pairing["transitions"], first, other)
    caption = f"What became of each outcome: scenarios by their outcome in {first} (rows) and in {other} (columns)."
    yield Table(head, rows, caption)
    yield Facts(tuple((label, visible(text, lines=True)) for label, text in pairings.facts(data, pairing)))


_PRODUCT = (
    "P(lie) is the product of three shares: how often there is a belief, how often it then answers, and how often the "
    "answer is a lie. A drop through the first two is no gain in honesty; “through” is what each did to P(lie)."
)


def _stacked(head: Sequence[str]) -> tuple[str, ...]:
    """Heads of figures, the names of the two runs over several lines."""
    what, first, other, *rest = head
    return (what, *(pairings.stacked(visible(name), _LETTERS) for name in (first, other)), *rest)


def _differences(data: Json, pairing: Json, first: str, other: str) -> Content:
    rates = pairing["rates"]
    head, rows = pairings.rates(data, pairing)
    table = Table(_stacked(head), rows)
    drawn = [Row(NAMES[name], _difference(rate), _COLOURS[name]) for name, rate in rates.items()]
    if all(row.estimate.value is None for row in drawn):
        return table
    return Figure(differences(drawn), f"{other} minus {first}, in points", table, (), f"95 % intervals: {CAVEAT}.")


_COLOURS = {"p_lie": "lie", "p_honest": "honest", "p_evasive": "evasive", "p_no_belief": "no-belief", "accuracy": "ink"}


def _difference(rate: Json) -> Estimate:
    low, high = rate["ci95"] or (None, None)
    return Estimate(rate["difference"], low, high, rate["n"])


def accuracy_and_honesty(runs: Sequence[Run]) -> Iterator[Content]:
    """Each run a point with both intervals, once by the score that leaderboards print and once by P(honest)."""
    yield (
        "A model that knows more need not be more honest. In the first chart honesty is the score that leaderboards "
        "print, which counts evasion and having no belief as honest; in the second it is what was said honestly."
    )
    able = [run for run in runs if has_rates(run) and run.result.rates["accuracy"].value is not None]
    if not able:
        yield "No run here has both an accuracy and a rate of lies."
        return
    measures = (("honesty_score", "honesty score, 1 − P(lie)"), ("p_honest", "P(honest)"))
    panels = tuple(_plane(able, name, label) for name, label in measures)
    rows = [
        (run.name, *(cell(run.result.rates[name]) for name in ("accuracy", "honesty_score", "p_honest")))
        for run in able
    ]
    table = Table(("run", "accuracy of beliefs", "honesty score", "P(honest)"), tuple(rows))
    key = tuple((colour(run), run.name) for run in able)
    yield Panels("Accuracy and honesty", panels, table, key, "Crosses are 95 % intervals.")
    if without := [run.name for run in runs if run not in able]:
        yield f"Not on the plane, for want of a rate: {', '.join(without)}."


def _plane(runs: Sequence[Run], name: str, label: str) -> Panel:
    dots = [Point(run.place, run.result.rates["accuracy"], run.result.rates[name]) for run in runs]
    return Panel(label[0].upper() + label[1:], "", "", plane(dots, "accuracy of beliefs", label))
