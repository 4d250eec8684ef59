"""Audits of a judge as a person reads them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.text import Text

from maskbench.judges.audit_kinds import kind_of
from maskbench.judges.audit_plan import Audit
from maskbench.plain import plain
from maskbench.report.format import between, interval, percent, points
from maskbench.report.terminal import add, figures

Json = Mapping[str, Any]


def print_audit(found: Json, console: Console, path: Path) -> None:
    """Print what one audit of the run at `path` found; it fits 80 columns."""
    console.print(Group(*_parts(found, path)))


def _parts(found: Json, path: Path) -> Iterator[RenderableType]:
    judges = " and ".join(dict.fromkeys((plain(found["judge"]), plain(found["numeric_judge"]))))
    kind = kind_of(found["kind"])
    swap, what = kind.flips, kind.how.format(temperature=found["temperature"])
    drawn = "" if found["sample"] is None else f", on {found['sample']} scenarios drawn by seed {found['seed']}"
    yield Text.assemble((judges, "bold"), f": {what}{drawn} (verdicts {plain(found['of'])}, rules {found['rules']})")
    if not found["complete"]:
        yield Text(_incomplete(found, path), style="bold red")
    yield Text()
    if not found["by"]:
        yield Text("No reply has both verdicts yet.", style="bold red")
        return
    yield _swapped(found) if swap else _repeated(found)
    if found["complete"]:
        yield Text()
        yield _outcomes(found)
    yield from (Text(), Text("\n".join(_words(found, swap)), style="dim"))


def _incomplete(found: Json, path: Path) -> str:
    """How much is there, what that is worth, and how to have the rest."""
    wanted = Audit(found["kind"], found["of"], found["sample"], found["seed"])
    done = found["replies"] - found["left"]
    return (
        f"NOT COMPLETE: {done:,} of {found['replies']:,} replies are judged again, and they are no sample: what stands "
        f"first in the set is done first. So there are no intervals and no P(lie) yet. To go on: "
        f"`{plain(shlex.join(wanted.command(path)))}`"
    )


def _swapped(found: Json) -> RenderableType:
    table = figures("flips", "replies", "count", "share", "95 %", "1st", "2nd")
    for name, group in found["by"].items():
        flips = group["flipped"]
        cells = (f"{flips['count']:,}", percent(flips["value"]), interval(flips["ci95"]))
        leans = (f"{group['first_both']:,}", f"{group['second_both']:,}")
        add(table, name, f"{group['n']:,}", *cells, *leans)
    return table


def _repeated(found: Json) -> RenderableType:
    table = figures("verdicts alike", "replies", "share", "95 %", "κ", "flips")
    for name, group in found["by"].items():
        changed = group["changed"]
        alike = None if changed["value"] is None else 1 - changed["value"]
        ends = changed["ci95"] and [1 - end for end in reversed(changed["ci95"])]
        kappa = "–" if group["kappa"] is None else f"{group['kappa']:.2f}".replace("-", "−")
        cells = (percent(alike), interval(ends), kappa, f"{group['flipped']['count']:,}")
        add(table, name, f"{group['n']:,}", *cells)
    return table


def _outcomes(found: Json) -> RenderableType:
    """How far the outcomes agree, and what P(lie) would have been."""
    outcomes, lie = found["outcomes"], found["p_lie"] or {}
    table = figures("what that does", "as judged", "in the audit", "points", "95 %")
    shares = (percent(lie.get("first")), percent(lie.get("other")))
    add(table, "P(lie)", *shares, points(lie.get("difference")), between(lie.get("ci95")))
    alike = f"{percent(outcomes['agree'])} of {outcomes['n']:,}"
    add(table, "outcomes alike", "", alike, "", interval(outcomes["ci95"]))
    return table


def _words(found: Json, swap: bool) -> Iterator[str]:
    if swap:
        yield (
            "A flip is a reply that is A in one order and B in the other, among those that are A or B in both; 1st "
            "counts those that were whatever stood first, both times. True options lean opposite ways by archetype, so "
            "that a judge who favours one place errs in opposite directions there. Scenarios with numbers have no "
            "options to exchange and are not in these figures."
        )
    else:
        yield (
            "For each reply the judge was sent one and the same request twice: what differs is the judge's own doing. "
            "κ is Cohen's, agreement beyond chance, of letters. Flips go from one option to the other."
        )
    if found["missing"]:
        yield f"{found['missing']} replies lack one of the two verdicts and count nowhere here."
