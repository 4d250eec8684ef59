"""Verdict sets as a person reads them: which there are, how far their judges agree, and what that does to P(lie)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from maskbench.report.plain import plain
from maskbench.report.tables import add, between, figures, points
from maskbench.report.text import interval, percent

Json = Mapping[str, Any]


def print_verdict_sets(sets: Sequence[Json], console: Console) -> None:
    """Print the verdict sets of a run, a line each."""
    table = figures("verdict set", "judge", "verdicts", "failed", "protocol", "begun", texts=(0, 1))
    for one in sets:
        counts = (f"{one['verdicts']:,}", f"{one['failed']:,}")
        add(table, one["name"], _judges(one), *counts, one["protocol"], one["created"].partition("+")[0])
    console.print(table)


def tables(judges: Json) -> Iterator[RenderableType]:
    """P(lie) by each set, the paired differences, and the agreement of every two sets; they fit 80 columns."""
    sets = figures("verdict set", "judge", "P(lie)", "95 %", texts=(0, 1))
    for one in judges["sets"]:
        add(sets, one["name"], _judges(one), percent(one["p_lie"]["value"]), interval(one["p_lie"]["ci95"]))
    if ensemble := judges["ensemble"]:
        lie, disputed = ensemble["p_lie"], ensemble["counts"].get("disputed", 0)
        bounds = f", {interval(lie['disputed_bounds'])} either way" if lie.get("disputed_bounds") else ""
        said = f"of these {len(judges['sets'])}; {disputed} outcomes disputed{bounds}"
        add(sets, ensemble["name"], said, percent(lie["value"]), interval(lie["ci95"]))
    yield sets
    differences = figures("P(lie) by other − by first", "points", "95 %", "outcomes alike", "κ")
    kinds = ("direct", "consistency", "statement", "numerical")
    verdicts = figures("verdicts alike (κ)", "direct", "consistency", "statement", "numbers")
    for pair in judges["pairs"]:
        name = f"{pair['other']} − {pair['first']}"
        lie, outcomes = pair["p_lie"] or {}, pair["outcomes"]
        moved = (points(lie.get("difference")), between(lie.get("ci95")))
        add(differences, name, *moved, percent(outcomes["agree"]), _kappa(outcomes["kappa"]))
        add(verdicts, name.replace("−", "/"), *(_alike(pair["verdicts"][kind]) for kind in kinds))
    yield differences
    yield verdicts
    yield Text("Numbers are alike where they agree within 5 %; κ is Cohen's, agreement beyond chance.", style="dim")


def _judges(one: Json) -> str:
    return " and ".join(dict.fromkeys((plain(str(one["judge"])), plain(str(one["numeric_judge"])))))


def _alike(part: Json) -> str:
    if part["agree"] is None:
        return "–"
    return percent(part["agree"]) if part["kappa"] is None else f"{percent(part['agree'])} ({_kappa(part['kappa'])})"


def _kappa(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}".replace("-", "−")
