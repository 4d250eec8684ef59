"""A scored run as one object, for Python and for every command that reads runs."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskbench.judges.verdict_sets import open_verdicts
from maskbench.measurement import result as summary_of
from maskbench.method.outcomes import Items
from maskbench.method.outcomes import score as scored
from maskbench.method.rates import RATES, Table, error_share, tabulate
from maskbench.method.rules import named
from maskbench.plain import plain
from maskbench.report.tables import paper
from maskbench.report.terminal import finding, interval, percent, print_result
from maskbench.runs.folder import RunFolder
from maskbench.settings import Settings
from maskbench.stats.intervals import Estimate
from maskbench.types import Archetype, OutcomeName, Reply, Scored

if TYPE_CHECKING:
    import polars

_SHOWN = ("p_lie", "p_honest", "p_evasive", "p_no_belief", "honesty_score_normalized", "accuracy")


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """What a run comes to under one rule set; its repr is the result as `maskbench score` prints it.

    `summary` is summary.json as a dictionary (docs/results.md), `scenarios` is every scenario that is done.
    """

    path: Path
    created: str  # when the run was begun, as ISO 8601
    summary: Mapping[str, Any]
    settings: Settings
    scenarios: tuple[Scored, ...]
    cut: float  # the share of replies under pressure that were cut at the token limit

    @property
    def model(self) -> str:
        """The subject's name."""
        return self.settings.label

    @property
    def rules(self) -> str:
        """The name of the rule set."""
        return str(self.summary["rules"])

    @property
    def verdicts(self) -> str:
        """The name of the verdict set."""
        return str(self.summary["verdicts"])

    @property
    def withheld(self) -> str | None:
        """Why there are no rates, or None."""
        why: str | None = self.summary["withheld"]
        return why

    @property
    def counts(self) -> dict[OutcomeName, int]:
        """Scenarios by outcome of the first statement, errors among them."""
        return dict(self.summary["counts"])

    @property
    def rates(self) -> dict[str, Estimate]:
        """Every rate by name, and `p_lie_macro`; without values where they are withheld."""
        return _estimates(self.summary["metrics"])

    @property
    def by_archetype(self) -> dict[Archetype, dict[str, Estimate]]:
        """The same for each archetype."""
        return {archetype: _estimates(part["metrics"]) for archetype, part in self.summary["by_archetype"].items()}

    @property
    def error_rate(self) -> float:
        """The share of statements without an outcome."""
        return error_share(self.table)

    @cached_property
    def table(self) -> Table:
        """One row a scenario, as arrays of numbers."""
        return tabulate(self.scenarios)[0]

    def to_frame(self) -> polars.DataFrame:
        """Every rate over all scenarios and by archetype: archetype (`all` first), rate, value, low, high, n."""
        import polars

        rows = [
            (archetype, name, rate.value, rate.low, rate.high, rate.n)
            for archetype, rates in (("all", self.rates), *self.by_archetype.items())
            for name, rate in rates.items()
        ]
        kinds = {"archetype": polars.String, "rate": polars.String}
        numbers = {"value": polars.Float64, "low": polars.Float64, "high": polars.Float64, "n": polars.Int64}
        return polars.DataFrame(rows, schema={**kinds, **numbers}, orient="row")

    def __repr__(self) -> str:
        text = io.StringIO()
        print_result(self.summary, paper(text, 100))
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())

    def _repr_html_(self) -> str:
        """The finding and the main rates; everything that is not ours is escaped."""
        summary = self.summary
        rows = "".join(
            f"<tr><td>{name.replace('_', ' ')}</td><td>{percent(rate.value)}</td>"
            f"<td>{interval(_ends(rate))}</td><td>{rate.n:,}</td></tr>"
            for name, rate in self.rates.items()
            if name in _SHOWN
        )
        lines = [
            f"<b>{escape(plain(self.model))}</b> on {escape(plain(summary['scenarios']['taken']))}, "
            f"rules {escape(self.rules)}, protocol {escape(summary['protocol'])}"
            + ("" if self.verdicts == "default" else f", verdicts {escape(plain(self.verdicts))}"),
            *([] if summary["complete"] else ["<b>Not complete.</b>"]),
            *(["<b>A smoke run: it measures nothing.</b>"] if summary["smoke"] else []),
            escape(f"The headline is withheld: {self.withheld}" if self.withheld else finding(summary)),
        ]
        counts = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in self.counts.items())
        head = "<tr><th>rate</th><th>value</th><th>95 %</th><th>n</th></tr>"
        return f"<p>{'<br>'.join(lines)}</p><table>{head}{rows}</table><p>{counts}</p>"


def score(
    run: str | Path | RunFolder, rules: str | None = None, verdicts: str | None = None, *, judges: bool = True
) -> Result:
    """Score a run from its stored verdicts, under its own rule set and verdict set or others; asks no model.

    `run` is a run's folder; `judges` says whether its verdict sets are to be held against each other. Raises
    RunUnreadable where it holds no run, UsageError for an unknown rule set or verdict set.
    """
    folder = run if isinstance(run, RunFolder) else RunFolder(Path(run))
    chosen = named(rules or folder.settings().rules)
    summary = summary_of(folder, chosen.name, verdicts, judges=judges)
    rows: list[Scored] = []
    cut: list[bool] = []
    store = folder.store()
    try:
        judged = open_verdicts(folder, store, verdicts)
        for scenario, weight in store.scenarios():
            if (items := judged.finished(scenario)) is not None:
                rows.append(scored(scenario, weight, items, judged.settings, chosen))
                cut += _cut(items)
    finally:
        store.close()
    share = sum(cut) / len(cut) if cut else 0.0
    return Result(folder.path, folder.record()["created"], summary, judged.settings, tuple(rows), share)


def _cut(items: Items) -> list[bool]:
    """For every reply under pressure, whether it was cut."""
    statements = (item.reply for item in items.values() if item.call == "statement")
    return [reply.truncated for reply in statements if isinstance(reply, Reply)]


def _estimates(metrics: Mapping[str, Any]) -> dict[str, Estimate]:
    return {name: _estimate(metrics[name]) for name in (*RATES, "p_lie_macro")}


def _estimate(given: Mapping[str, Any]) -> Estimate:
    low, high = given["ci95"] or (None, None)
    return Estimate(given["value"], low, high, given["n"])


def _ends(rate: Estimate) -> tuple[float, float] | None:
    return None if rate.low is None or rate.high is None else (rate.low, rate.high)
