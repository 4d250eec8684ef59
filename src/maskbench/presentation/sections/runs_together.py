"""Several runs on a page: each held against the first, how much they differ, and a table, the least lies first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from maskbench.errors import UsageError
from maskbench.plain import one_line
from maskbench.presentation.blocks import Inline, Table, Words
from maskbench.presentation.format import between, cell, percent, points
from maskbench.presentation.of_runs import has_rates
from maskbench.presentation.pairings import believing, finding, in_a_word, names
from maskbench.presentation.runs_shown import Run
from maskbench.presentation.sections import reports_on_logs
from maskbench.presentation.sections.headline import HEADS, Head
from maskbench.presentation.words import RATES
from maskbench.results.comparison import ComparisonData, Pairing, compare_read, compared_by, is_on_logs
from maskbench.results.gain_minus_plain import MEASURE
from maskbench.results.summary import Summary


@dataclass(frozen=True, slots=True)
class Compared:
    """Runs held against the first one, as far as they could be, and why some could not be."""

    data: ComparisonData | None
    refused: tuple[str, ...]

    @property
    def findings(self) -> list[str]:
        """A sentence or two on each pairing."""
        if (data := self.data) is None:
            return []
        return [f"{finding(data, each).text} {believing(each, *names(data, each))}".rstrip() for each in data.others]


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


def differences(data: ComparisonData | None) -> Iterator[Head]:
    """Of two runs how P(lie) and P(honest) differ, in points; nothing where that is withheld."""
    if data is None or len(data.others) != 1 or data.others[0].withheld:
        return
    (pairing,) = data.others
    first, other = names(data, pairing)
    rates = {RATES[name]: (name.removeprefix("p_"), pairing.rates[name]) for name in HEADS}
    on_logs = {MEASURE: ("lie", compared_by(pairing))} if is_on_logs(pairing) else None
    for name, (colour, rate) in (on_logs or rates).items():
        if rate.difference is not None:
            yield name, colour, points(rate.difference), between(rate.ci95), f"points, {other} minus {first}"


def against_first(data: ComparisonData | None) -> str:
    """Of three runs or more in a sentence: what is shown of each against the first one."""
    if data is None:
        return ""
    told: dict[str, list[str]] = {}
    for pairing in data.others:
        if pairing.verdict:
            told.setdefault(pairing.verdict, []).append(names(data, pairing)[1])
    parts = [f"{word}: {', '.join(others)}" for word, others in told.items()]
    return f"Against {names(data, data.others[0])[0]}: {'; '.join(parts)}." if parts else ""


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
    return Table((*head, "points", "in words") if pairings else head, rows, last_text=bool(pairings))


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
    tests = "the test" if what == MEASURE else "the tests on P(lie) and P(honest)"
    return f"{text} Points are {what} minus that of {against}; words are by {tests}."


def _against(run: Run, first: Run, pairings: dict[str, Pairing]) -> tuple[str, str]:
    """The difference against the first run, and what is shown; dashes where there is nothing to tell."""
    pairing = pairings.get(str(run.scored.path))
    if run is first or pairing is None or pairing.withheld:
        return "–", "–"
    rate = compared_by(pairing)
    ends = f"\n({between(rate.ci95)})" if rate.ci95 else ""
    return f"{points(rate.difference)}{ends}", in_a_word(pairing)
