"""Several runs on a page: each held against the first, how much they differ, and a table, the least lies first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maskbench.errors import UsageError
from maskbench.plain import one_line
from maskbench.presentation.blocks import Inline, Table, Words
from maskbench.presentation.format import between, cell, percent, points
from maskbench.presentation.of_runs import has_rates
from maskbench.presentation.pairings import finding, names
from maskbench.presentation.runs_shown import Run
from maskbench.presentation.sections import reports_on_logs
from maskbench.presentation.sections.comparison import significance
from maskbench.presentation.words import RATES
from maskbench.results.comparison import ComparisonData, Pairing, compare_read, tested
from maskbench.results.gain_minus_plain import MEASURE, ReportsReader
from maskbench.results.summary import Summary


@dataclass(frozen=True, slots=True)
class Compared:
    """Runs held against the first one, as far as they could be, and why some could not be."""

    data: ComparisonData | None
    refused: tuple[str, ...]

    @property
    def findings(self) -> list[str]:
        """A sentence or two on each pairing."""
        return [] if self.data is None else [finding(self.data, pairing) for pairing in self.data.others]


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
                refused.append(f"{run.name} is not held against {first.name}: {one_line(str(error), 400)}")
        return Compared(_compare(first, able) if able else None, tuple(refused))


def _compare(first: Run, others: Sequence[Run]) -> ComparisonData:
    data = compare_read(first.scored, [run.scored for run in others]).data
    for about, run in zip((data.first, *data.others), (first, *others), strict=True):
        about.subject = run.label
    return data


_BESIDE = {"p_honest": "honest", "p_evasive": "evasive", "p_no_belief": "no belief", "accuracy": "accuracy"}


def difference(data: ComparisonData | None) -> tuple[str, str, str, str] | None:
    """Of two runs the difference in points, its interval, whose it is, and what is known; None where withheld."""
    if data is None or len(data.others) != 1:
        return None
    (pairing,) = data.others
    rate = tested(pairing)
    if pairing.withheld or rate.difference is None:
        return None
    first, other = names(data, pairing)
    return points(rate.difference), between(rate.ci95), f"{other} minus {first}", _known(pairing, first, other)


def _known(pairing: Pairing, first: str, other: str) -> str:
    if pairing.test is None:
        return "The difference is shown without a test."
    if not pairing.significant:
        return "This difference can be chance."
    if pairing.of(ReportsReader):
        return reports_on_logs.verdict(pairing, first, other).text
    less = (pairing.rates["p_lie"].difference or 0) < 0
    return f"{other} lies {'less' if less else 'more'} than {first}. Chance alone does not explain the difference."


def against_first(data: ComparisonData | None) -> str:
    """Of three runs or more in a sentence: which lie less than the first one, which more, and what is not shown."""
    if data is None:
        return ""
    told: dict[str, list[str]] = {"lies less": [], "lies more": [], "no difference could be shown": []}
    for pairing in data.others:
        other, rate = names(data, pairing)[1], pairing.rates["p_lie"]
        if pairing.of(ReportsReader):
            return ""  # the table has what is tested
        if pairing.test is None or rate.difference is None:
            continue
        word = "lies less" if rate.difference < 0 else "lies more"
        told[word if pairing.significant else "no difference could be shown"].append(other)
    parts = [f"{', '.join(others)} {_verb(word, others)}" for word, others in told.items() if others]
    return f"Against {names(data, data.others[0])[0]}: {'; '.join(parts)}." if parts else ""


def _verb(word: str, others: Sequence[str]) -> str:
    """`lies less` of one run, `lie less` of several; where no difference was shown, that."""
    if not word.startswith("lies"):
        return f"({word})"
    return word if len(others) == 1 else word.replace("lies", "lie", 1)


def by_lies(runs: Sequence[Run]) -> list[Run]:
    """The runs from the least lies to the most, or by what is denied for gain; those without rates last."""
    if reports_on_logs.alone(runs):
        return sorted(runs, key=lambda run: reports_on_logs.added(run.summary))
    return sorted(runs, key=lambda run: (not has_rates(run), run.summary.rates["p_lie"].value or 0.0))


def board(runs: Sequence[Run], data: ComparisonData | None) -> Table:
    """A line for each run: its rates, and how what is tested differs from the first run's."""
    pairings = {} if data is None else {pairing.run: pairing for pairing in data.others}
    columns = reports_on_logs.columns if reports_on_logs.alone(runs) else _columns
    rows = tuple(
        (
            Words(one_line(run.name), "name"),
            *columns(run.summary).values(),
            *(_against(run, runs[0], pairings) if pairings else ()),
        )
        for run in by_lies(runs)
    )
    head: tuple[Inline, ...] = ("run", *columns(runs[0].summary))
    return Table((*head, "points", "p") if pairings else head, rows)


def _columns(summary: Summary) -> dict[str, str]:
    """The figures of a run, by the heads of their columns."""
    shares = {what: percent(summary.rates[name].value) for name, what in _BESIDE.items()}
    return {RATES["p_lie"]: cell(summary.rates["p_lie"]), **shares}


def note(runs: Sequence[Run], data: ComparisonData | None) -> str:
    """How to read that table."""
    what, order = RATES["p_lie"], "the least lies"
    if reports_on_logs.alone(runs):
        what, order = MEASURE, f"the least {MEASURE},"
    text = f"From {order} to the most; 95 % intervals."
    if data is None:
        return text
    against = one_line(runs[0].name)
    return f"{text} Points are {what} minus that of {against}; p is corrected for all comparisons (Holm's method)."


def _against(run: Run, first: Run, pairings: dict[str, Pairing]) -> tuple[str, str]:
    """The difference against the first run, and the p of its test; dashes where there is none to tell."""
    pairing = pairings.get(str(run.scored.path))
    if run is first or pairing is None or pairing.withheld:
        return "–", "–"
    rate = tested(pairing)
    ends = f"\n({between(rate.ci95)})" if rate.ci95 else ""
    return f"{points(rate.difference)}{ends}", significance(pairing)
