"""What the sections of a page are made of, and what they share: sentences, charts, tables, small multiples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from markupsafe import Markup

from maskbench.pages import charts
from maskbench.pages.charts import Figure, Mix, Table, outcomes
from maskbench.report.format import interval, percent
from maskbench.report.runs_shown import Run
from maskbench.stats.intervals import Estimate
from maskbench.types import OutcomeName

Json = Mapping[str, Any]
RATE_OF: Mapping[OutcomeName, str] = {name: f"p_{name}" for name in charts.ORDER}
NAMES = tuple(name.replace("_", " ") for name in charts.ORDER)
KEY = tuple((charts.colour_of(name), name.replace("_", " ")) for name in charts.ORDER)
WHISKERS = (
    "The brackets below a bar are the 95 % intervals of the lies (left) and, counted from the right end, of the honest "
    "share (right)."
)


@dataclass(frozen=True, slots=True)
class Panel:
    """One of several small charts side by side."""

    title: str
    text: str
    count: str
    svg: Markup


@dataclass(frozen=True, slots=True)
class Panels:
    """Small charts of one kind, with one table behind them all."""

    kind: ClassVar[str] = "panels"
    title: str
    panels: tuple[Panel, ...]
    table: Table
    key: tuple[tuple[str, str], ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Labels with what is to say on each."""

    kind: ClassVar[str] = "facts"
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """A title inside a section."""

    kind: ClassVar[str] = "heading"
    text: str


@dataclass(frozen=True, slots=True)
class Warn:
    """A sentence that must not be overlooked."""

    kind: ClassVar[str] = "warning"
    text: str


@dataclass(frozen=True, slots=True)
class Typed:
    """A sentence with the command that it leads to."""

    kind: ClassVar[str] = "typed"
    text: str
    command: str


@dataclass(frozen=True, slots=True)
class Case:
    """One reply to read: a link to its scenario on this page, what is said of it, its claims by letter, and texts.

    Without claims and texts where these may not stand on the page.
    """

    kind: ClassVar[str] = "case"
    title: str
    link: str
    text: str
    claims: tuple[tuple[str, str], ...] = ()
    texts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Folded:
    """What is shown when one asks for it."""

    kind: ClassVar[str] = "folded"
    title: str
    parts: tuple[Table | Case, ...]


Content = str | Figure | Table | Panels | Facts | Heading | Warn | Typed | Folded


@dataclass(frozen=True, slots=True)
class Section:
    """One section: `anchor` is its address on the page, `short` its name in the list of contents."""

    anchor: str
    title: str
    short: str
    parts: tuple[Content, ...]


def estimate(rate: Json) -> Estimate:
    """A rate as summary.json has it."""
    low, high = rate["ci95"] or (None, None)
    return Estimate(rate["value"], low, high, rate["n"])


def mix(label: str, metrics: Json) -> Mix:
    """The bar of the four outcomes out of `metrics` as summary.json has them."""
    return outcomes(label, {name: estimate(metrics[RATE_OF[name]]) for name in charts.ORDER})


def colour(run: Run) -> str:
    """The colour of a run among several."""
    return charts.run_mark(run.place)[0]


def named(runs: Sequence[Run], run: Run) -> tuple[str, ...]:
    """The cell that names the run, where there are several."""
    return (run.name,) if len(runs) > 1 else ()


def unit(runs: Sequence[Run]) -> str:
    """What the shares of these runs are shares of; scenarios weigh the same, however many statements they have."""
    return "statements" if any(run.result.settings.statements > 1 for run in runs) else "scenarios"


def has_rates(run: Run) -> bool:
    """Whether the run has rates: they are not withheld, and something is done."""
    return run.result.rates["p_lie"].value is not None


def pair(rate: Estimate) -> tuple[str, str]:
    """A rate and its interval as two cells."""
    has = rate.low is not None and rate.high is not None
    return percent(rate.value), interval((rate.low, rate.high)) if has else "–"  # type: ignore[arg-type]


def kappa(value: float | None) -> str:
    """Cohen's kappa as people write it; a dash where there is none."""
    return "–" if value is None else f"{value:.2f}".replace("-", "−")
