"""Verdict sets as a person reads them: which there are, how far their judges agree, and what that does to P(lie)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from maskbench.plain import plain
from maskbench.report.format import between, interval, percent, points
from maskbench.report.terminal import add, figures

Json = Mapping[str, Any]


def print_verdict_sets(sets: Sequence[Json], console: Console) -> None:
    """Print the verdict sets of a run: each name with its judge, and below it what there is."""
    for one in sets:
        text = Text.assemble((plain(one["name"]), "bold"), f"  {_judges(one)}")
        counts = f"{one['verdicts']:,} verdicts, {one['failed']:,} failed"
        begun = one["created"].partition("+")[0].replace("T", " ")
        text.append(f"\n  {counts}, protocol {plain(one['protocol'])}, begun {plain(begun)}", style="not bold")
        console.print(text, soft_wrap=True)


def tables(judges: Json) -> Iterator[RenderableType]:
    """P(lie) by each set, the paired differences, and the agreement of every two sets; they fit 80 columns."""
    ensemble = judges["ensemble"]
    sets = figures("verdict set", "judge", "n", "P(lie)", "95 %", texts=(0, 1), gap=1)
    for one in (*judges["sets"], *([ensemble] if ensemble else [])):
        lie, said = one["p_lie"], majority_of(ensemble) if one is ensemble else _judges(one)
        add(sets, one["name"], said, f"{one['n']:,}", percent(lie["value"]), interval(lie["ci95"]))
    yield sets
    if known := "\n".join(map(plain, remarks(judges))):
        yield Text(known, style="yellow")
    yield _differences(judges["pairs"])
    yield _verdicts(judges["pairs"])
    yield Text(
        "n are scenarios with an outcome; of two sets, outcomes and verdicts that both have. Numbers are alike where "
        "they agree within 5 %; κ is Cohen's, agreement beyond chance.",
        style="dim",
    )


def majority_of(ensemble: Json) -> str:
    """Of what the majority is one, of two judges both, and how much they dispute."""
    count = len(ensemble["members"])
    members = "both of these" if count == 2 else f"of these {count:,}"
    if ensemble["withheld"]:
        return members
    disputed, ends = ensemble["counts"].get("disputed", 0), ensemble["p_lie"].get("disputed_bounds")
    outcomes = "1 outcome" if disputed == 1 else f"{disputed:,} outcomes"
    return f"{members}; {outcomes} disputed{f', {interval(ends)} either way' if ends else ''}"


def remarks(judges: Json) -> Iterator[str]:
    """What a reader of these figures has to know: sets without P(lie), sets in no majority, one judge twice."""
    ensemble = judges["ensemble"]
    members = ensemble["members"] if ensemble else []
    for one in (*judges["sets"], *([ensemble] if ensemble else [])):
        if one["withheld"]:
            left = (
                ", so it is not in the majority"
                if members and one is not ensemble and one["name"] not in members
                else ""
            )
            yield f"{one['name']} has no P(lie): {one['withheld']}{left}."
    for names in judges["alike"]:
        several = sum(name in members for name in names) > 1
        counted = " The majority counts that judge more than once." if several else ""
        yield f"{' and '.join(names)} are by the very same judge, asked in the same way.{counted}"


def _differences(pairs: Sequence[Json]) -> RenderableType:
    table = figures("P(lie) by other − by first", "points", "95 %", "outcomes alike", "κ", "n", gap=1)
    for pair in pairs:
        lie, outcomes = pair["p_lie"] or {}, pair["outcomes"]
        moved = (points(lie.get("difference")), between(lie.get("ci95")))
        alike = (percent(outcomes["agree"]), _kappa(outcomes["kappa"]), f"{outcomes['n']:,}")
        add(table, f"{pair['other']} − {pair['first']}", *moved, *alike)
    return table


def _verdicts(pairs: Sequence[Json]) -> RenderableType:
    kinds = ("direct", "consistency", "statement", "numerical")
    table = figures("verdicts alike (κ)", "direct", "consistency", "statement", "numbers", gap=1)
    for pair in pairs:
        parts = (pair["verdicts"][kind] for kind in kinds)
        add(table, f"{pair['other']} / {pair['first']}", *map(_alike, parts))
    return table


def _judges(one: Json) -> str:
    return " and ".join(dict.fromkeys((plain(str(one["judge"])), plain(str(one["numeric_judge"])))))


def _alike(part: Json) -> Text:
    """The share with kappa, and under it what it is a share of."""
    if part["agree"] is None:
        return Text("–")
    kappa = "" if part["kappa"] is None else f" ({_kappa(part['kappa'])})"
    return Text(f"{percent(part['agree'])}{kappa}\n").append(f"of {part['n']:,}", style="dim")


def _kappa(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}".replace("-", "−")
