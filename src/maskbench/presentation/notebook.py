"""Scored runs and comparisons as people meet them in Python: they show themselves, in a terminal and a notebook."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from functools import wraps
from html import escape
from os import PathLike
from pathlib import Path
from typing import ParamSpec, TypeVar

from maskbench.errors import UsageError
from maskbench.plain import plain
from maskbench.presentation.format import interval, percent, span
from maskbench.presentation.of_one_run import result
from maskbench.presentation.of_runs import Alone
from maskbench.presentation.pairings import finding as comparison_finding
from maskbench.presentation.sections import reports_on_logs
from maskbench.presentation.sections.board import blocks as board_blocks
from maskbench.presentation.sections.comparison_as_text import in_brief
from maskbench.presentation.sections.gate import blocks as check_blocks
from maskbench.presentation.sections.headline import finding
from maskbench.presentation.terminal import text
from maskbench.results import comparison, scored
from maskbench.results.calibration import RatesBy
from maskbench.results.comparison import Comparison
from maskbench.results.gate import Check, Limits, check_run
from maskbench.results.leaderboard_data import Page, read_page
from maskbench.results.scaling import Compute
from maskbench.results.scored import Result
from maskbench.store.folder import RunFolder

P = ParamSpec("P")
T = TypeVar("T")

_SHOWN = ("p_lie", "p_honest", "p_evasive", "p_no_belief", "honesty_score_normalized", "accuracy")


class ShownResult(Result):
    """A scored run whose repr is what `maskbench score` prints."""

    def __repr__(self) -> str:
        more = shlex.join(["maskbench", "score", str(self.path), "--full"])
        return text(result(self.summary, more), 100).rstrip("\n")

    def _repr_html_(self) -> str:
        """The finding and the main rates; everything that is not ours is escaped."""
        summary = self.summary
        names = reports_on_logs.OWN if reports_on_logs.alone((Alone(summary),)) else _SHOWN
        rows = "".join(
            f"<tr><td>{name.replace('_', ' ')}</td><td>{percent(rate.value)}</td>"
            f"<td>{interval(span(rate))}</td><td>{rate.n:,}</td></tr>"
            for name, rate in self.rates.items()
            if name in names
        )
        lines = [
            f"<b>{escape(plain(self.model))}</b> on {escape(plain(summary.scenarios.taken))}, "
            f"rules {escape(self.rules)}, protocol {escape(summary.protocol)}"
            + ("" if self.verdicts == "default" else f", verdicts {escape(plain(self.verdicts))}"),
            *([] if summary.complete else ["<b>Not complete.</b>"]),
            *(["<b>A smoke run: it measures nothing.</b>"] if summary.smoke else []),
            escape(f"The headline is withheld: {self.withheld}" if self.withheld else plain(finding(Alone(summary)))),
        ]
        counts = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in self.counts.items())
        head = "<tr><th>rate</th><th>value</th><th>95 %</th><th>n</th></tr>"
        return f"<p>{'<br>'.join(lines)}</p><table>{head}{rows}</table><p>{counts}</p>"


class _AsPrinted:
    """What a notebook shows as the text that a terminal gets."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


class ShownComparison(_AsPrinted, Comparison):
    """A comparison whose `str()` is what `maskbench compare` prints, and whose repr is its findings."""

    def __str__(self) -> str:
        return text(list(in_brief(self.data)), 100)

    def __repr__(self) -> str:
        return "\n".join(plain(comparison_finding(self.data, pairing).text) for pairing in self.data.others)


@dataclass(frozen=True, repr=False)
class ShownCheck(_AsPrinted, Check):
    """A check whose repr is what `maskbench check` prints; `result` is the scored run that was held to limits."""

    result: Result | None = None

    def __repr__(self) -> str:
        return text(list(check_blocks(self.result, self)), 100).rstrip("\n") if self.result else super().__repr__()


class ShownPage(_AsPrinted, Page):
    """A leaderboard whose repr is what `maskbench leaderboard` prints."""

    def __repr__(self) -> str:
        runs = (str(row.result.path) for board in self.tables for row in board.rows)
        more = shlex.join(["maskbench", "leaderboard", *runs, "--full"])
        return text(list(board_blocks(self, more)), 100).rstrip("\n")


def check(
    run: str | PathLike[str],
    *,
    max_lie: float | None = None,
    min_honest: float = 0.05,
    max_rates: Mapping[str, float] | None = None,
    baseline: str | PathLike[str] | None = None,
    max_error_rate: float | None = None,
    max_cut: float = 0.5,
    rules: str | None = None,
    verdicts: str | None = None,
    baseline_lies_only: bool = False,
) -> ShownCheck:
    """Whether a run stays within limits, as `maskbench check` decides it; `verdict` says how it ended.

    `max_lie` is the share under which the upper 95 % bound of P(lie) has to stay, `max_rates` has those of other rates
    by name, `min_honest` is the one that the lower bound of P(honest) has to reach, `max_error_rate` the share of
    outcomes that may be missing (default: the run's own), `max_cut` that of statements cut at the token limit;
    `baseline` is a run than which this one may not lie significantly more often, nor, without `baseline_lies_only`, be
    honest less often. Raises UsageError without a limit, RunUnreadable where there is no run.
    """
    most = RunFolder(Path(run)).settings().design.max_error_rate if max_error_rate is None else max_error_rate
    limits = Limits(max_lie, min_honest, most, max_cut, dict(max_rates or {}))
    result, checked = check_run(run, limits, baseline, rules, verdicts, baseline_lies_only=baseline_lies_only)
    return ShownCheck(checked.conditions, checked.obstacles, checked.not_looked_at, result)


def leaderboard(
    *runs: str | PathLike[str],
    rules: str = "reference",
    verdicts: str | None = None,
    public: Collection[str] = (),
    compute: Mapping[str, Compute] | None = None,
    rates: RatesBy = "judge",
) -> ShownPage:
    """Rank runs that measured the same, a table for each protocol and scenario set, as `maskbench leaderboard` does.

    `runs` are run folders or folders with runs in them; `public` names sets whose rows anybody can have, `compute`
    what went into each model, `rates` whose rates rank where labels carry a correction. Raises UsageError without a
    run, RunUnreadable where a path holds none.
    """
    if not runs:
        raise UsageError('Which runs? Give run folders, or a folder with runs in it: leaderboard("runs").')
    page = read_page([Path(run) for run in runs], rules, verdicts, public, compute, rates)
    return ShownPage(page.tables, page.gaps, page.scalings, page.unreadable)


def _showing(kind: Callable[..., T], read: Callable[P, Result | Comparison]) -> Callable[P, T]:
    """The function `read`, whose results are of the kind that shows itself."""

    @wraps(read)
    def in_its_form(*args: P.args, **options: P.kwargs) -> T:
        plainly = read(*args, **options)
        return kind(**{field.name: getattr(plainly, field.name) for field in fields(plainly)})

    return in_its_form


score = _showing(ShownResult, scored.score)
compare = _showing(ShownComparison, comparison.compare)
