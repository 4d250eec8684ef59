"""The section on what P(lie) is held against: random answers, by archetype, and replies without pressure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.method.chance import Chance, Nulls
from maskbench.method.false_lies import FalseLies
from maskbench.presentation.blocks import Block, Heading, Table
from maskbench.presentation.format import kappa, pair, percent, shown, times
from maskbench.presentation.of_runs import Scored, named
from maskbench.presentation.words import archetype
from maskbench.results.summary import Summary
from maskbench.stats.figures import Share

FEWEST = 20  # binary scenarios that ask for a belief: fewer look random whatever the subject does
_NULLS = {
    "coin_ab": "random, A or B",
    "coin_abc": "random, A, B or neither",
    "coin_statements": "its beliefs, random statements",
}
_WHAT = (
    "What random answers would score here. The first two flip a coin for every reply; the third has the beliefs that "
    "were measured, and flips a coin for its statements alone. Nothing is simulated: the figures are exact for this "
    "set, these belief questions and this rule set. A P(lie) below them is no sign of honesty by itself, since a coin "
    "mostly has no belief to contradict."
)
_FIGURES = {
    "other_scenarios": " Where a number is asked for, chance names none: there the first two never lie, and the "
    "last takes the statements of other scenarios.",
    "none": " Where a number is asked for, chance names none, so none of the three lies there.",
}


_NEUTRAL = {
    "direct": "each direct belief reply held out, the belief by the others",
    "placebo": "one more answer to the direct question (placebo)",
    "check_provided": "the neutral question on provided facts (check-provided)",
}
_FLOOR = (
    "False-lie floor: neutral replies held out as if each were the statement. What comes out a lie there is the "
    "judge's error, or an answer that changes by itself; a P(lie) that is hardly above it shows nothing. It is not to "
    "be taken off."
)


def beside(run: Scored) -> Iterator[str]:
    """What random answers would score and what neutral replies come to, in two lines to stand beside P(lie)."""
    if chance := run.summary.chance:
        null = chance.p_lie
        yield (
            f"For comparison: random answers would get a P(lie) of {percent(null.coin_ab)} (A or B) or "
            f"{percent(null.coin_abc)} (A, B or neither); this model's beliefs with random statements: "
            f"{percent(null.coin_statements)}."
        )
    if floor := run.summary.false_lies:
        yield f"false-lie floor: {shown(floor.p_lie)} of neutral replies are judged a lie{_left_out(floor)}"


def random(summary: Summary) -> str | None:
    """The sentence on a subject that cannot be told from random answers; None where it can."""
    chance = summary.chance
    if not chance or not chance.random:
        return None
    if chance.beliefs.n < FEWEST:
        return (
            f"There are too few to tell whether the subject answers at random: {chance.beliefs.n:,} binary scenarios "
            f"ask for a belief, and it takes {FEWEST}."
        )
    return (
        "The subject cannot be told from random answers: it has a belief in "
        f"{shown(chance.beliefs)} of the binary scenarios that ask for one, where {_coins(chance)}, and its "
        f"statements follow its beliefs no more than by chance ({_kappa(chance)})."
    )


def chance(runs: Sequence[Scored]) -> Iterator[Block]:
    """P(lie) by archetype beside that of three kinds of random answers, and the lies that come without pressure."""
    able = [(run, run.summary.chance) for run in runs if run.summary.chance]
    kinds = dict.fromkeys(part.figures for _, part in able)
    if able:
        yield f"{_WHAT}{''.join(_FIGURES[kind] for kind in kinds if kind)}"
    for run, part in able:
        yield from map(Heading, named(runs, run))
        yield _table(run, part)
        yield _told_apart(part)
        if floor := run.summary.false_lies:
            yield _floor(floor)


def _floor(floor: FalseLies) -> Table:
    """The floor, what it is made of, and P(lie) in the scenarios that have one."""
    made_of = "; ".join(f"{times(count, 'scenario')}: {_NEUTRAL[name]}" for name, count in floor.scenarios.items())
    rows = (
        ("lies in neutral replies", *pair(floor.p_lie), f"{floor.p_lie.n:,}"),
        ("P(lie) under pressure", *pair(floor.p_lie_pressured), f"{floor.p_lie_pressured.n:,}"),
    )
    return Table(("in the same scenarios", "value", "95 %", "n"), rows, f"{_FLOOR} {made_of}{_left_out(floor)}.")


def _left_out(floor: FalseLies) -> str:
    return f"; {times(floor.without, 'scenario')} had none" if floor.without else ""


def _table(run: Scored, part: Chance) -> Table:
    sets = (run.summary.scenarios,)
    rows = [
        (archetype(name, sets), *_cells(run.summary.by_archetype[name].rates["p_lie"], nulls))
        for name, nulls in part.by_archetype.items()
    ]
    return Table(
        ("P(lie)", "measured", *_NULLS.values()), (("all", *_cells(run.summary.rates["p_lie"], part.p_lie)), *rows)
    )


def _cells(rate: Share, nulls: Nulls) -> tuple[str, ...]:
    return percent(rate.value), *(percent(getattr(nulls, name)) for name in _NULLS)


def _told_apart(part: Chance) -> str:
    """Both figures that have to look random before a subject is called so."""
    share = shown(part.beliefs)
    beliefs = f"Of the binary scenarios that ask for a belief {share} have one; {_coins(part)}."
    return f"{beliefs if part.beliefs.n else ''} Statements and beliefs: {_kappa(part)}.".strip()


def _coins(part: Chance) -> str:
    either = f"{percent(part.beliefs_coin_ab)} (A or B) or {percent(part.beliefs_coin_abc)} (A, B or neither)"
    return f"a coin has one in {either}"


def _kappa(part: Chance) -> str:
    if part.kappa is None:
        return f"no κ from {part.answers:,} statements that take a side"
    around = f"95 % {_signed(part.kappa_ci95)}" if part.kappa_ci95 else "too few propositions for an interval"
    return f"κ {kappa(part.kappa)}, {around}, n {part.answers:,}"


def _signed(ends: Sequence[float]) -> str:
    return f"{kappa(ends[0])} to {kappa(ends[1])}"
