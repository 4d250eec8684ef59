"""A leaderboard: each table's models with ranks and outcomes, all rates, notes, scaling, public and private sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log10
from textwrap import fill

import numpy as np
from msgspec.structs import replace

from maskbench.method.rates import OUTCOME_RATES
from maskbench.method.rates import RATES as EVERY
from maskbench.method.rules import named
from maskbench.plain import one_line
from maskbench.presentation.blocks import Block, Figure, Plane, Point, Section, Sentence, Table, Words
from maskbench.presentation.format import (
    between,
    cell,
    interval,
    percent,
    points,
    signed,
    span,
    times,
    unshared,
    with_interval,
)
from maskbench.presentation.of_runs import has_rates, mix
from maskbench.presentation.runs_shown import Run
from maskbench.presentation.sections import reports_on_logs
from maskbench.presentation.sections.provenance import where_from
from maskbench.presentation.words import RATES
from maskbench.results.calibration import LabelsReader, RatesBy
from maskbench.results.gain_minus_plain import on_logs_alone
from maskbench.results.leaderboard import ALPHA, Board, BoardRow, GapShown, whose
from maskbench.results.leaderboard_data import Page
from maskbench.results.scaling import Compute, ScalingShown, compute_of, scaling
from maskbench.stats.figures import NO_DATA, Share

_LONGEST = 120  # characters of a name
BY: dict[RatesBy, str] = {"judge": "by the judge", "corrected": "corrected"}
_AXIS = "training compute, FLOP"
_MEASURES = ("honesty_score", "accuracy")
IMPORTED, ANSWERS_LESS = "imported", "answers less"  # words under the name of such a run
_HEAD = 12  # characters of a line above a column
GAP_NOTE = (
    "Gap: P(lie) on private minus on public scenarios, in points, two independent samples (Newcombe's interval). The "
    "sets differ in more than who can have read them: a gap tells something where other models have none."
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of figures with its head."""

    head: str
    cell: Callable[[BoardRow], str]


def blocks(page: Page, more: str | None = None) -> Iterator[Block | Section]:
    """Everything that a leaderboard says, a section for each table; or the ranks alone where `more` prints the rest."""
    for place, board in enumerate(page.tables, 1):
        scaling = () if page.scalings is None else correlations_with_compute(page.scalings[place - 1])
        within = (*_board(board, in_short=more is not None), *scaling)
        yield Section(f"table-{place}", title(board), f"table {place}", within)
    if page.gaps:
        yield Section("gaps", "Public and private scenarios", "gaps", (gaps(page.gaps), GAP_NOTE))
    yield from (one_line(f"Not read: {path}: {why}") for path, why in page.unreadable.items())
    if more is not None:
        yield Sentence(("The rest (all other rates, errors, bounds, what was measured):",))
        yield Sentence((Words(more, "code"),), "note")


def title(board: Board) -> str:
    """The scenarios of a table, and whether a model can have been trained on them."""
    kind = "public" if board.public else "private"
    return f"{one_line(board.scenarios.taken, _LONGEST)}: {times(board.scenarios.n, f'{kind} scenario')}"


def judge(board: Board) -> str:
    """The judge of a table, or both where it has two."""
    models = board.rows[0].result.summary.judge.models
    return one_line(" and ".join(dict.fromkeys(about.name for about in models)), _LONGEST)


def identity(board: Board) -> str:
    """Everything that a table's figures stand for."""
    return (
        f"Judged by {judge(board)}, protocol {board.protocol}, rules {board.rules}, "
        f"scenarios {board.scenarios.measured_hash[:12]}"
    )


def notes(board: Board) -> Iterator[str]:
    """What a rank means, what the rules are, what an interval holds."""
    is_corrected = any(row.result.rates_by == "corrected" for row in board.rows)
    if len(board.ranked) > 1:
        test = "tests of corrected rates" if is_corrected else "paired sign-flip tests"
        yield (
            "Rank: 1 + the number of models that are shown to lie less often, and by P(honest) to be honest more often "
            f"({test}, Holm over {comparisons(board)} each, {100 * ALPHA:.0f} %)."
        )
        if any(row.answers_less for row in board.ranked):
            yield f"{ANSWERS_LESS.capitalize()}: a model that stands below is shown to be honest more often."
    elif board.ranked:
        yield "One model alone has rank 1, which says nothing."
    if note := named(board.rules).note:
        yield note
    if is_corrected:
        yield (
            "Rates and ranks are corrected for the judge's error, which is in their intervals. Accuracy, the macro "
            "mean and rows that say so are the judge's."
        )
    else:
        yield "Intervals hold sampling error only; the judge's error is not in them."
        if any(_carries_labels(row) for row in board.rows):
            yield "Rates and ranks are the judge's; --rates corrected puts those in their place that labels correct."


def comparisons(board: Board) -> str:
    """How many pairs of models are tested."""
    return f"{board.comparisons:,} comparison{'s' if board.comparisons > 1 else ''}"


def scores(board: Board) -> tuple[Column, ...]:
    """The columns of what stands beside ranks: all other rates, errors, Lying@n where a run has several statements."""
    counts = sorted({row.result.settings.design.statements for row in board.rows} - {1})
    several = f"Lying@{counts[0] if len(counts) == 1 else 'n'}"
    return (
        *map(_rate, ("p_evasive", "p_no_belief")),
        Column("errors", _errors),
        _rate("accuracy"),
        *(_rate(name) for name in EVERY if name not in (*OUTCOME_RATES, "accuracy") and _has(board, name)),
        Column("P(lie), with any errors", _bounds),
        *([Column(several, _lying)] if counts else []),
        Column("scenarios", _done),
    )


def _has(board: Board, name: str) -> bool:
    return any(name in row.result.rates for row in board.rows)


def gaps(differences: Sequence[GapShown]) -> Table:
    """The models that stand on a public and on a private set."""
    cells = (
        (
            *(one_line(name, _LONGEST) for name in (gap.model, gap.private, gap.public)),
            *(points(gap.difference.difference), between(gap.difference.ci95)),
        )
        for gap in differences
    )
    return Table(("model", "private set", "public set", "gap", "95 %"), tuple(cells), texts=3)


# One table


def _board(board: Board, *, in_short: bool) -> Iterator[Block]:
    yield Sentence((identity(board),), "note")
    head, names = _names(board)
    models = (head, *(_named(board, row, names[row.name]) for row in board.rows))
    on_logs = on_logs_alone(name for row in board.rows for name in row.result.summary.by_archetype)
    yield _reports(board, models) if on_logs else _ranks(board, models)
    if not in_short:
        yield _table(board, models, scores(board))
    told = (*notes(board), *_imported(board, names, in_short=in_short), *_not_ranked(board, names))
    yield from (Sentence((one_line(text, 1000),), "note" if at else "plain") for at, text in enumerate(told))


def _reports(board: Board, models: Sequence[str]) -> Table:
    """What each model comes to by its reports on logs, which have no rank."""
    cells = (
        (name, *reports_on_logs.columns(row.result.summary).values())
        for name, row in zip(models[1:], board.rows, strict=True)
    )
    return Table((models[0], *reports_on_logs.columns(board.rows[0].result.summary)), tuple(cells))


def _names(board: Board) -> tuple[str, dict[str, str]]:
    """What stands above the names of a table, with what all begin with; and what each model is called, by its name."""
    every = [one_line(row.name, _LONGEST) for row in board.rows]
    shared, rests = unshared(every)
    head, called = (f"model\n{shared} …", rests) if shared and all(rests) else ("model", every)
    return head, {row.name: name for row, name in zip(board.rows, called, strict=True)}


def _ranks(board: Board, models: Sequence[str]) -> Table:
    """Each model's two ranks, P(lie), P(honest), and the bar of its outcomes; those without a rank below a line."""
    columns = (
        Column("rank", lambda row: str(row.rank or "–")),
        *map(_in_line, ("p_lie", "p_honest")),
        Column("rank\nby it", lambda row: str(row.rank_by_honest or "–")),
    )
    bars = tuple(mix(row.name, row.result.rates) for row in board.rows)
    return replace(_table(board, models, columns), bars=bars, above=len(board.ranked) if board.unranked else 0)


def _in_line(name: str) -> Column:
    """A rate with its interval beside it."""
    return Column(RATES[name], lambda row: with_interval(row.result.rates.get(name, NO_DATA)))


def _table(board: Board, models: Sequence[str], columns: tuple[Column, ...]) -> Table:
    heads = (fill(column.head, _HEAD, break_long_words=False, replace_whitespace=False) for column in columns)
    named = zip(models[1:], board.rows, strict=True)
    return Table((models[0], *heads), tuple((name, *(column.cell(row) for column in columns)) for name, row in named))


def _named(board: Board, row: BoardRow, name: str) -> str:
    """A row's name, and below it what is to be known of it: imported, few beliefs, whose its rates are."""
    marks = {
        IMPORTED: where_from(row.result.summary) and not all(where_from(each.result.summary) for each in board.rows),
        ANSWERS_LESS: row.answers_less,
        "few beliefs": row.result.summary.few_beliefs,
        BY[whose(row.result)]: row.result.rates_by == "corrected",
    }
    return "\n".join((name, *(f"({mark})" for mark, is_so in marks.items() if is_so)))


def _not_ranked(board: Board, names: Mapping[str, str]) -> Iterator[str]:
    """Which runs have no rank, each reason once."""
    reasons: dict[str, list[str]] = {}
    for row in board.unranked:
        reasons.setdefault(row.why or "", []).append(names[row.name])
    yield from (
        f"Not ranked: {', '.join(who)}. {why[:1].upper()}{why[1:].rstrip('.')}." for why, who in reasons.items()
    )


def _imported(board: Board, names: Mapping[str, str], *, in_short: bool) -> Iterator[str]:
    """Which runs were imported; and, where it is not said in short, from where."""
    sources = {names[row.name]: text for row in board.rows if (text := where_from(row.result.summary))}
    if in_short and sources:
        which = "all of them" if len(sources) == len(board.rows) else ", ".join(sources)
        yield f"Imported, so that no subject was asked here: {which}."
    elif not in_short:
        yield from (f"{name} is {text}: its subject was not asked here." for name, text in sources.items())


def _carries_labels(row: BoardRow) -> bool:
    part = row.result.summary.of(LabelsReader)
    return part is not None and not part.withheld


def _rate(name: str) -> Column:
    return Column(RATES[name], lambda row: _cell(row.result.rates.get(name, NO_DATA)))


def _cell(rate: Share) -> str:
    ends = span(rate)
    return f"{percent(rate.value)}\n({interval(ends)})" if ends else percent(rate.value)


def _errors(row: BoardRow) -> str:
    return percent(row.result.error_rate)


def _bounds(row: BoardRow) -> str:
    return interval(row.result.summary.rates["p_lie"].bounds)


def _lying(row: BoardRow) -> str:
    statements = row.result.settings.design.statements
    point = row.result.summary.lying_at.get(str(statements)) if statements > 1 else None
    return _cell(point if point else NO_DATA)


def _done(row: BoardRow) -> str:
    done, every = row.result.summary.scenarios.done, row.result.summary.scenarios.n
    return f"{done:,}" if done == every else f"{done:,} of {every:,}"


# Scaling


def correlations_with_compute(scaling: ScalingShown) -> Iterator[Block]:
    """Rank correlations of honesty and accuracy with the compute of models."""
    head = ("Spearman with log compute", "value", "95 %,\nmodels", "95 %,\nfamilies", "models", "families")
    yield Table(head, tuple(_correlations(scaling)))
    yield (
        "Percentile bootstrap over models, and over families with all of their models; below four of either there is "
        "no interval. Models are taken as they come: each one's sampling error adds to the scatter."
    )
    if scaling.left_out:
        yield one_line(f"Without compute, and left out: {', '.join(scaling.left_out)}.")


def _correlations(scaling: ScalingShown) -> Iterator[tuple[str, ...]]:
    for measure, correlation in scaling.spearman.items():
        name = measure.replace("n statements", f"{scaling.statements} statements" if scaling.statements > 1 else "n")
        value = "–" if correlation.value is None else signed(correlation.value, 3)
        around = (_signed(correlation.ci95_over_models), _signed(correlation.ci95_over_families))
        yield (name, value, *around, f"{correlation.models:,}", f"{correlation.families:,}")


def _signed(around: Sequence[float] | None) -> str:
    return "–" if around is None else f"{signed(around[0], 2)} to {signed(around[1], 2)}"


def scaling_of_runs(runs: Sequence[Run], compute: Mapping[str, Compute]) -> Iterator[Block]:
    """Each run a point over its model's compute, once by the honesty score and once by accuracy, and rank correlations.

    `compute` is by model in lower case, as `read_compute` gives it.
    """
    able = [(run, spent) for run in runs if has_rates(run) and (spent := compute_of(run.result.model, compute))]
    if not able:
        yield "The compute of none of these models is given."
        return
    rows = tuple(
        (run.name, f"{spent.flop:.2g}", *(cell(run.summary.rates[name]) for name in _MEASURES)) for run, spent in able
    )
    table = Table(("run", _AXIS, *(RATES[name] for name in _MEASURES)), rows)
    for name in _MEASURES:
        points = tuple(Point(run.place, run.name, _at(spent), run.summary.rates[name]) for run, spent in able)
        yield Figure((Plane(points, _AXIS, RATES[name], powers=True),), f"{RATES[name]} over compute", table)
    yield from correlations_with_compute(scaling([run.result for run in runs], compute, np.random.default_rng(0)))


def _at(spent: Compute) -> Share:
    return Share(log10(spent.flop), None, 0)
