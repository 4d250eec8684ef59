"""The sections that hold several runs against each other: paired differences, transitions, accuracy and honesty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from maskbench.comparing import compare
from maskbench.errors import UsageError
from maskbench.pages.charts import Figure, Row, Table, cell, differences
from maskbench.pages.parts import Content, Facts, Heading, Json, Panel, Panels, Warn, colour, has_rates
from maskbench.pages.planes import Point, plane
from maskbench.pages.shell import shortened, visible
from maskbench.pages.shown import Run
from maskbench.report.comparison import NAMES, between, finding, p_value, points
from maskbench.report.text import CAVEAT, percent
from maskbench.stats import Estimate
from maskbench.types import OUTCOMES

_CELL = 80  # characters of a setting in which two runs differ


@dataclass(frozen=True, slots=True)
class Compared:
    """Runs held against the first one: what `maskbench compare --json` has, and why some could not be."""

    data: Json | None
    refused: tuple[str, ...]

    @property
    def findings(self) -> list[str]:
        """A sentence or two on each pairing."""
        return [] if self.data is None else [visible(finding(self.data, pairing)) for pairing in self.data["others"]]


def compared(runs: Sequence[Run], rules: str, verdicts: str | None) -> Compared:
    """The first run against every other, one test for all; runs that share no scenario with it are left out."""
    first, *others = runs
    try:
        return Compared(_compare(first, others, rules, verdicts), ())
    except UsageError:
        able, refused = [], []
        for run in others:
            try:
                _compare(first, [run], rules, verdicts)
                able.append(run)
            except UsageError as error:
                refused.append(f"{run.name} is not held against {first.name}: {shortened(str(error), 400)}")
        return Compared(_compare(first, able, rules, verdicts) if able else None, tuple(refused))


def _compare(first: Run, others: Sequence[Run], rules: str, verdicts: str | None) -> Any:
    paths = [run.result.path for run in (first, *others)]
    made = compare(*paths, rules=rules, verdicts=verdicts).data
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
    yield Heading(f"{pairing['subject']} against {data['first']['subject']}")
    yield visible(finding(data, pairing))
    reasons = () if pairing["withheld"] else pairing["untested_because"]
    yield from (Warn(visible(line)) for line in (*pairing["warnings"], *(f"No test: {reason}" for reason in reasons)))
    if pairing["differs"]:
        cells = [
            (one["field"], *(shortened(str(one[side]), _CELL) for side in ("first", "other")))
            for one in pairing["differs"]
        ]
        yield Table(("what differs", "first", "other"), tuple(cells), texts=3)
    if not pairing["withheld"]:
        yield _differences(pairing)
    if pairing["factors"]:
        yield _factors(pairing["factors"])
    yield _transitions(pairing["transitions"])
    yield Facts(tuple(_facts(data, pairing)))


def _differences(pairing: Json) -> Content:
    rates = pairing["rates"]
    table = Table(
        ("rate", "first", "other", "points", "95 %", "n"),
        tuple(
            (NAMES[name], percent(rate["first"]), percent(rate["other"]), *_change(rate), f"{rate['n']:,}")
            for name, rate in rates.items()
        ),
    )
    drawn = [Row(NAMES[name], _difference(rate), _COLOURS[name]) for name, rate in rates.items()]
    note = f"Other minus first; 95 % intervals: {CAVEAT}."
    if all(row.estimate.value is None for row in drawn):
        return table
    return Figure(differences(drawn), "Differences in points", table, (), note)


_COLOURS = {"p_lie": "lie", "p_honest": "honest", "p_evasive": "evasive", "p_no_belief": "no-belief", "accuracy": "ink"}


def _difference(rate: Json) -> Estimate:
    low, high = rate["ci95"] or (None, None)
    return Estimate(rate["difference"], low, high, rate["n"])


def _change(rate: Json) -> tuple[str, str]:
    return points(rate["difference"]), between(rate["ci95"])


def _factors(factors: Json) -> Table:
    rows = tuple(
        (
            NAMES[name],
            *(percent(factor[side]) for side in ("first", "other")),
            *_change(factor),
            f"{points(factor['contribution'])} ({between(factor['contribution_ci95'])})",
        )
        for name, factor in factors.items()
    )
    caption = (
        "P(lie) is the product of three shares: how often there is a belief, how often it then answers, and how often "
        "the answer is a lie. A drop through the first two is no gain in honesty."
    )
    return Table(("P(lie) is", "first", "other", "points", "95 %", "through it, P(lie) changed by"), rows, caption)


def _transitions(counts: Json) -> Table:
    names = tuple(outcome.replace("_", " ") for outcome in OUTCOMES)
    rows = tuple(
        (one.replace("_", " "), *(f"{counts[one][two] or '·'}" for two in OUTCOMES))
        for one in OUTCOMES
        if any(counts[one].values())
    )
    caption = (
        "What became of each outcome: scenarios by their outcome in the first run (rows) and in the other (columns)."
    )
    return Table(("first ↓  other →", *names), rows, caption)


def _facts(data: Json, pairing: Json) -> Iterator[tuple[str, str]]:
    counts, test = pairing["shared"], pairing["test"]
    yield "shared", f"{counts['scenarios']:,} scenarios on {counts['propositions']:,} propositions"
    if lost := counts["scenarios"] - counts["with_outcomes_in_both"]:
        yield "without outcome", f"{lost:,} in one run or both"
    if pairing["bounds"]:
        yield (
            "whatever failed",
            f"the difference in P(lie) lies within {between(pairing['bounds']['difference'])} points",
        )
    if test:
        holm = f", {p_value(test['p_holm'])} after Holm for {data['comparisons']}" if data["comparisons"] > 1 else ""
        yield "test", f"{test['name']} on P(lie): p {p_value(test['p'])}{holm}"
    if pairing["smallest_difference"]:
        yield "could have shown", f"{100 * pairing['smallest_difference']:.1f} points in P(lie), with 80 % power"


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
