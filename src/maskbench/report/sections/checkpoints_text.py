"""Runs in a row, such as the checkpoints of a training: the rates of each, and how they differ from the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.text import Text

from maskbench.report.format import CAVEAT, between, percent, points
from maskbench.report.terminal import add, figures
from maskbench.report.words import RATES as NAMES
from maskbench.results.comparison import RATES, compare
from maskbench.types import Json


def print_checkpoints(runs: Sequence[Path], rules: str, console: Console) -> None:
    """Print the curve of these runs, each named after its folder; it fits 80 columns.

    Raises UsageError for runs that cannot be compared.
    """
    console.print(Group(*_parts(runs, rules)))


def _parts(runs: Sequence[Path], rules: str) -> Iterator[RenderableType]:
    if len(runs) < 2:
        yield Text(f"One adapter, in {runs[0]}: there is nothing to compare. `maskbench score {runs[0]}` shows it.")
        return
    data = compare(runs[0], *runs[1:], rules=rules).data
    names, others = [run.name for run in runs], data["others"]
    yield Text(f"{data['first']['subject']} and what came after", style="bold")
    yield Text()
    yield _rates(names, others)
    yield Text()
    yield Text(f"Difference from {names[0]} in points, on the scenarios that both have, with 95 % intervals:")
    yield Text()
    yield _differences(names[1:], others)
    yield Text(CAVEAT, style="dim")
    for name, other in zip(names[1:], others, strict=True):
        if other["withheld"]:
            yield Text(f"{name}: withheld. {other['withheld']}")


def _rates(names: Sequence[str], others: Sequence[Json]) -> RenderableType:
    """The value of every rate: the first run's as the first pairing has it, which shares its scenarios."""
    table = figures("", *(NAMES[rate].removesuffix(" of beliefs") for rate in RATES), gap=1)
    add(table, names[0], *(percent(others[0]["rates"][rate]["first"]) for rate in RATES))
    for name, other in zip(names[1:], others, strict=True):
        add(table, name, *(percent(other["rates"][rate]["other"]) for rate in RATES))
    return table


def _differences(names: Sequence[str], others: Sequence[Json]) -> RenderableType:
    table = figures("", "P(lie)", "", "P(honest)", "", "p, Holm", gap=1)
    for name, other in zip(names, others, strict=True):
        lie, honest, test = other["rates"]["p_lie"], other["rates"]["p_honest"], other["test"]
        cells = [cell for rate in (lie, honest) for cell in (points(rate["difference"]), between(rate["ci95"]))]
        add(table, name, *cells, "–" if test is None else _p(test["p_holm"]))
    return table


def _p(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"
