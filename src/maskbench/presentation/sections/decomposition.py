"""What `compare --why` and `score --why` say: a difference in lies, part by part, and what nothing can separate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from maskbench.errors import UsageError
from maskbench.plain import one_line
from maskbench.presentation.blocks import Block, Sentence, Table, Words
from maskbench.presentation.format import between, percent, points
from maskbench.presentation.runs_shown import Run
from maskbench.results.decomposition import Contribution, Explained, Side, explain_read

_CAUSES = {
    "scenarios": "scenarios",
    "rules": "rule set",
    "statements": "statements that count",
    "failures": "failures",
    "denominator": "what lies are a share of",
    "play": "open performance",
    "judge": "judge",
    "rest": "all the rest",
}


def blocks(explained: Explained) -> Iterator[Block]:
    """Both figures, their difference, and its parts, which add up to it."""
    first, other = explained.first, explained.other
    by_convention = first.name == other.name and first.convention != other.convention
    names = [f"{side.name} as {side.convention}" if by_convention else side.name for side in (first, other)]
    heads = [one_line(side.convention if by_convention else side.name, 30) for side in (first, other)]
    whole = explained.difference
    ends = f" ({between(whole.ci95)})" if whole.ci95 else ""
    yield Sentence(
        (
            Words(one_line(names[1], 120)),
            f" lies in {percent(other.lies)}{_of(other)}, ",
            Words(one_line(names[0], 120)),
            f" in {percent(first.lies)}{_of(first)}. The difference is {points(whole.difference)} points{ends}.",
        )
    )
    if other.scenarios is None:
        yield _beside_published(explained)
        yield from map(one_line, explained.notes)
        return
    rows = [_row(part) for part in explained.parts]
    total = ("together", points(whole.difference), "", "")
    yield Table(("part", "points", *heads), (*rows, total), "", 1)
    yield _how(explained)
    yield from map(one_line, explained.notes)


def _beside_published(explained: Explained) -> str:
    """What of a difference to a published row its formula makes, and what nobody can tell apart, in one sentence."""
    *parts, rest = explained.parts
    told = [
        f"{points(part.value)} points are by {_CAUSES[part.cause]} "
        f"({one_line(part.first, 60)}; {one_line(part.other, 60)})"
        for part in parts
        if part.value is not None and part.first != part.other
    ]
    if not told:
        return (
            "The publisher does not say enough of its formula for a part of its own: the whole difference is model, "
            "prompt, scenarios, settings and chance together, and nobody can say how much each contributes."
        )
    return (
        f"Of that, over the {explained.shared:,} scenarios of this run that count, {', '.join(told)}; "
        f"{points(rest.value)} points are model, prompt, scenarios, settings and chance together, with what is not "
        "published of the formula, and nobody can say how much each contributes."
    )


def _how(explained: Explained) -> str:
    """How the parts are found, and what nothing can separate."""
    return (
        f"How the parts are found: over the {explained.shared:,} scenarios that count in both figures the changes are "
        "made one after another, in every possible order, and what each one does is averaged (Owen values). “All the "
        "rest” is model, prompt, settings and chance together: nobody can say how much each contributes."
    )


def section(runs: Sequence[Run]) -> Iterator[Block]:
    """What the difference of two runs comes from, where it can be split; nothing for fewer runs or more."""
    if len(runs) != 2:
        return
    try:
        told = explain_read([run.opened for run in runs], [run.scored for run in runs])
    except UsageError:  # the comparison says what keeps the two apart
        return
    named = zip((told.first, told.other), runs, strict=True)
    first, other = (replace(side, name=run.name) for side, run in named)
    yield from blocks(replace(told, first=first, other=other))


def _of(side: Side) -> str:
    count = "" if side.scenarios is None else f"of {side.scenarios:,} scenarios, "
    return f" ({count}by the formula of {one_line(side.convention, 40)})"


def _row(part: Contribution) -> tuple[str, ...]:
    return _CAUSES[part.cause], points(part.value), one_line(part.first, 60), one_line(part.other, 60)
