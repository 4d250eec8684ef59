"""The section on the same replies judged again: each verdict set, their majority, and how far they agree."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from maskbench.judges.judges_agree import Alike, JudgesShown, PairShown, SetShown
from maskbench.judges.verdict_sets import SetListed
from maskbench.plain import one_line
from maskbench.presentation.blocks import (
    Block,
    Heading,
    Inline,
    Points,
    Row,
    Sentence,
    Table,
    Warn,
    Words,
    chart_or_table,
)
from maskbench.presentation.format import between, cell, interval, kappa, pair, percent, points, shown
from maskbench.presentation.of_runs import Scored, named, unit
from maskbench.presentation.runs_shown import Run
from maskbench.stats.figures import Share
from maskbench.types import OUTCOMES


def judges(runs: Sequence[Scored]) -> Iterator[Block]:
    """Every verdict set of a run, their majority, and how far they agree."""
    for run in runs:
        held = run.summary.judges
        if held:
            yield from map(Heading, named(runs, run))
            yield from several(held, f"share of {unit([run])}")
        if held and isinstance(run, Run):
            yield _others(run)


def verdict_sets(sets: Sequence[SetListed]) -> Sentence:
    """The verdict sets of a run: each name with its judge, and below it what there is."""
    parts: list[Inline] = []
    for each in sets:
        counts = f"{each.verdicts:,} verdicts, {each.failed:,} failed"
        begun = each.created.partition("+")[0].replace("T", " ")
        below = f"  {counts}, protocol {one_line(each.protocol)}, begun {one_line(begun)}"
        parts += ["\n"] * bool(parts) + [Words(one_line(each.name)), f"  {_judge(each, None)}\n{below}"]
    return Sentence(tuple(parts))


def _others(run: Run) -> Sentence:
    """Which verdict set the page is by, with the command that shows another."""
    command = shlex.join(["maskbench", "report", str(run.result.path), "--verdicts", "NAME"])
    text = f"This page is by the verdict set {one_line(run.scored.verdicts, 80)}. By another one: "
    return Sentence((text, Words(one_line(command, 1000), "code")))


def several(held: JudgesShown, axis: str) -> Iterator[Block]:
    """P(lie) by each set, what a reader has to know of them, their outcomes, and every two of them side by side."""
    yield (
        "The very same replies were read by several judges. How far apart their figures are shows how much hangs on "
        "the judge; that judges agree does not show that they are right."
    )
    ensemble = held.ensemble
    every = _every(held)
    rows = tuple(Row(one_line(each.name, 30), each.p_lie, "lie", reach=each.p_lie.bounds) for each in every)
    cells = tuple(
        (row.label, _judge(each), *pair(row.estimate), f"{each.n:,}") for row, each in zip(rows, every, strict=True)
    )
    lies = Table(("verdict set", "judge", "P(lie)", "95 %", "n"), cells, texts=2)
    key = (("unknown", "whatever the disputed outcomes are"),) if any(row.reach for row in rows) else ()
    together = "both together" if ensemble and len(_members(ensemble)) == 2 else "their majority"
    yield chart_or_table(Points(rows, axis), f"P(lie) by each verdict set, and by {together}", lies, key)
    if text := " ".join(one_line(each, 300) for each in remarks(held)):
        yield Warn(text)
    yield _counts(every)
    if ensemble and not ensemble.withheld:
        yield _majority(ensemble)
    yield from _pairs(held.pairs)


def _every(held: JudgesShown) -> list[SetShown]:
    return held.sets + ([held.ensemble] if held.ensemble else [])


def _members(ensemble: SetShown | None) -> list[str]:
    return (ensemble and ensemble.members) or []


def remarks(held: JudgesShown) -> Iterator[str]:
    """What a reader of these figures has to know: sets without P(lie), sets in no majority, one judge twice."""
    members = _members(held.ensemble)
    for each in _every(held):
        if each.withheld:
            alone = members and each is not held.ensemble and each.name not in members
            left = ", so it is not in the majority" if alone else ""
            yield f"{each.name} has no P(lie): {each.withheld}{left}."
    for names in held.alike:
        twice = sum(name in members for name in names) > 1
        counted = " The majority counts that judge more than once." if twice else ""
        yield f"{' and '.join(names)} are by the very same judge, asked in the same way.{counted}"


def _judge(about: SetShown | SetListed, most: int | None = 60) -> str:
    """Who judged: one judge, one for each kind of scenario, or of whom the majority is one."""
    if isinstance(about, SetShown) and about.members:
        *names, last = (one_line(name, 30) for name in about.members)
        return f"both {names[0]} and {last}" if len(names) == 1 else f"the majority of {', '.join(names)} and {last}"
    return " and ".join(dict.fromkeys(one_line(name, most) for name in (about.judge, about.numeric_judge)))


def _counts(every: Sequence[SetShown]) -> Table:
    names = [name for name in (*OUTCOMES, "disputed") if any(name in each.counts for each in every)]
    rows = tuple((one_line(each.name, 30), *(f"{each.counts.get(name, 0):,}" for name in names)) for each in every)
    caption = "Scenarios by outcome, of the first statement."
    return Table(("verdict set", *(name.replace("_", " ") for name in names)), rows, caption)


def _majority(ensemble: SetShown) -> str:
    lie, count = shown(ensemble.p_lie), len(_members(ensemble))
    who = "both judges" if count == 2 else f"the majority of {count:,}"
    text = f"By {who}, verdict by verdict, P(lie) is {lie}."
    disputed = ensemble.counts.get("disputed", 0)
    if not disputed:
        return f"{text} No outcome is disputed."
    are = "outcome is" if disputed == 1 else "outcomes are"
    text += f" {disputed:,} {are} disputed, and counted in each share by the part of the judges that find it"
    ends = ensemble.p_lie.bounds
    return f"{text}; whoever is right, P(lie) lies in {interval(ends)} %." if ends else f"{text}."


def _pairs(pairs: Sequence[PairShown]) -> Iterator[Table]:
    """How far every two judges agree on outcomes and on verdicts, and what that does to P(lie)."""
    moved, alike = [], []
    for two in pairs:
        first, other = one_line(two.first, 30), one_line(two.other, 30)
        lie, outcomes = two.p_lie, two.outcomes
        change = (points(lie.difference), between(lie.ci95)) if lie else ("–", "–")
        share = cell(Share(outcomes.agree, outcomes.ci95, outcomes.n))
        moved.append((f"{other} − {first}", *change, share, kappa(outcomes.kappa), f"{outcomes.n:,}"))
        alike.append((f"{other} and {first}", *(_alike(part) for part in two.verdicts.values())))
    caption = "What the choice of judge does to P(lie), in points and paired, and how many outcomes are alike."
    yield Table(("verdict sets", "P(lie), points", "95 %", "outcomes alike", "κ", "n"), tuple(moved), caption)
    caption = (
        "Verdicts alike by kind, with Cohen's κ, the agreement beyond chance. Numbers are alike where they agree "
        "within 5 %."
    )
    yield Table(("verdict sets", "direct", "consistency", "statement", "numbers"), tuple(alike), caption)


def _alike(part: Alike) -> str:
    beyond = "" if part.kappa is None else f"κ {kappa(part.kappa)}, "
    return f"{percent(part.agree)}\n({beyond}n {part.n:,})"
