"""Scored runs and comparisons as people meet them in Python: they show themselves, in a terminal and a notebook."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from html import escape
from typing import ParamSpec, TypeVar

from maskbench.plain import plain
from maskbench.report.format import interval, percent, span
from maskbench.report.of_one_run import result
from maskbench.report.of_runs import Alone
from maskbench.report.pairings import finding as comparison_finding
from maskbench.report.sections.comparison_as_text import in_brief
from maskbench.report.sections.headline import finding
from maskbench.report.terminal import text
from maskbench.results import comparison, scored
from maskbench.results.comparison import Comparison
from maskbench.results.scored import Result

P = ParamSpec("P")
T = TypeVar("T")

_SHOWN = ("p_lie", "p_honest", "p_evasive", "p_no_belief", "honesty_score_normalized", "accuracy")


class ShownResult(Result):
    """A scored run whose repr is what `maskbench score` prints."""

    def __repr__(self) -> str:
        return text(result(self.summary), 100).rstrip("\n")

    def _repr_html_(self) -> str:
        """The finding and the main rates; everything that is not ours is escaped."""
        summary = self.summary
        rows = "".join(
            f"<tr><td>{name.replace('_', ' ')}</td><td>{percent(rate.value)}</td>"
            f"<td>{interval(span(rate))}</td><td>{rate.n:,}</td></tr>"
            for name, rate in self.rates.items()
            if name in _SHOWN
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


class ShownComparison(Comparison):
    """A comparison whose `str()` is what `maskbench compare` prints, and whose repr is its findings."""

    def __str__(self) -> str:
        return text(list(in_brief(self.data)), 100)

    def __repr__(self) -> str:
        return "\n".join(plain(comparison_finding(self.data, pairing)) for pairing in self.data.others)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def _showing(kind: Callable[..., T], read: Callable[P, Result | Comparison]) -> Callable[P, T]:
    """The function `read`, whose results are of the kind that shows itself."""

    @wraps(read)
    def shown(*args: P.args, **options: P.kwargs) -> T:
        plainly = read(*args, **options)
        return kind(**{field.name: getattr(plainly, field.name) for field in fields(plainly)})

    return shown


score = _showing(ShownResult, scored.score)
compare = _showing(ShownComparison, comparison.compare)
