"""The section on the same replies judged again: each verdict set, and how far they agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.plain import one_line
from maskbench.presentation.blocks import (
    Block,
    Heading,
    Inline,
    PointRow,
    Points,
    Sentence,
    Table,
    Warn,
    Words,
    chart_or_table,
)
from maskbench.presentation.format import between, cell, kappa, pair, percent, points
from maskbench.presentation.of_runs import Scored, named, unit
from maskbench.results.judges_agree import Alike, JudgesShown, PairShown, SetShown
from maskbench.results.readers import JudgesReader
from maskbench.stats.figures import Share
from maskbench.store.verdict_sets import SetListed
from maskbench.types import OUTCOMES


def judges(runs: Sequence[Scored]) -> Iterator[Block]:
    """Every verdict set of a run, and how far they agree."""
    for run in runs:
        held = run.summary.of(JudgesReader)
        if held:
            yield from map(Heading, named(runs, run))
            yield from several(held, f"share of {unit([run])}")


def verdict_sets(sets: Sequence[SetListed]) -> Sentence:
    """The verdict sets of a run: each name with its judge, and below it what there is."""
    parts: list[Inline] = []
    for each in sets:
        counts = f"{each.verdicts:,} verdicts, {each.failed:,} failed"
        begun = each.created.partition("+")[0].replace("T", " ")
        below = f"  {counts}, protocol {one_line(each.protocol)}, begun {one_line(begun)}"
        parts += ["\n"] * bool(parts) + [Words(one_line(each.name)), f"  {_judge(each, None)}\n{below}"]
    return Sentence(tuple(parts))


def several(held: JudgesShown, axis: str) -> Iterator[Block]:
    """P(lie) by each set, what a reader has to know of them, their outcomes, and every two of them side by side."""
    yield (
        "The very same replies were read by several judges. How far apart their figures are shows how much hangs on "
        "the judge; that judges agree does not show that they are right."
    )
    rows = tuple(PointRow(one_line(each.name, 30), each.p_lie, "lie") for each in held.sets)
    cells = tuple(
        (row.label, _judge(each), *pair(row.estimate), f"{each.n:,}") for row, each in zip(rows, held.sets, strict=True)
    )
    lies = Table(("verdict set", "judge", "P(lie)", "95 %", "n"), cells, texts=2)
    yield chart_or_table(Points(rows, axis), "P(lie) by each verdict set", lies)
    if text := " ".join(one_line(each, 300) for each in remarks(held)):
        yield Warn(text)
    yield _counts(held.sets)
    yield from _pairs(held.pairs)


def remarks(held: JudgesShown) -> Iterator[str]:
    """What a reader of these figures has to know: sets without P(lie), one judge twice."""
    for each in held.sets:
        if each.withheld:
            yield f"{each.name} has no P(lie): {each.withheld}."
    for names in held.alike:
        yield f"{' and '.join(names)} are by the very same judge, asked in the same way."


def _judge(about: SetShown | SetListed, most: int | None = 60) -> str:
    """Who judged: one judge, or one for each kind of scenario."""
    return " and ".join(dict.fromkeys(one_line(name, most) for name in (about.judge, about.numeric_judge)))


def _counts(every: Sequence[SetShown]) -> Table:
    rows = tuple((one_line(each.name, 30), *(f"{count:,}" for count in each.counts.values())) for each in every)
    caption = "Scenarios by outcome, of the first statement."
    return Table(("verdict set", *(name.replace("_", " ") for name in OUTCOMES)), rows, caption)


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
