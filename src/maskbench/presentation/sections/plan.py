"""How many scenarios answer a question, what they cost and what that rests on; and a cheaper way before a run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from maskbench.plain import one_line
from maskbench.presentation.blocks import Block, Facts, Sentence, Table, Warn, Words
from maskbench.presentation.format import percent
from maskbench.results.plan import RATES_TOLD, PlanData, Way, cheaper
from maskbench.runs.forecast import Plan
from maskbench.settings import Settings
from maskbench.stats.planning import LOW, SHARED

WHAT = {  # what stands behind an option that is offered before a run
    "--estimate lie": "P(lie) of all scenarios, the other rates from a part of them",
    "--beliefs-from RUN": "if RUN has this model's beliefs, and differs in the prompt alone",
}
NO_PRICE = "There is no money here: nobody bills these models, or no price list has both (--subject, --judge)."


def blocks(data: PlanData) -> Iterator[Block]:
    """The question, how many scenarios answer it, a row a way to ask them, and what that rests on."""
    whole = f"{data.set.scenarios:,} scenarios of {one_line(data.set.name, 80)}"
    if data.is_enough:
        number = Words(f"{data.scenarios:,} of the {whole}")
        yield Sentence((*_question(data), " it takes ", number, f". {_gives(data)}"))
    else:
        yield Sentence((*_question(data), f" the {whole} are too few."))
        smallest = f" They show {_points(data.smallest)} points." if data.smallest is not None else ""
        yield Warn(f"The table has the whole set, which does not do. {_gives(data)}{smallest}")
    runs = " of both runs" if data.goal.kind == "difference" else ""
    head = ("asked with", "scenarios", f"subject calls{runs}", f"judge calls{runs}", "tokens")
    priced = any(way.money is not None for way in data.ways)
    yield Table((*head, *(["US dollars"] if priced else [])), tuple(_row(way, data.scenarios) for way in data.ways))
    if not priced:
        yield NO_PRICE
    sample = Words(f"--sample {data.scenarios}", "code")
    if data.is_enough and data.scenarios < data.set.scenarios:
        yield Sentence((sample, " takes so many of the set."))
    yield Facts(tuple(_facts(data)))


def cheaper_run(planned: Plan, settings: Settings) -> Iterator[Block]:
    """One line on a cheaper way to make a planned run, where that saves a third of its calls or more."""
    saving = cheaper(planned, settings)
    if saving is None:
        return
    few, many = (f"{saving.left[rate]:.0%}".replace("%", " %") for rate in RATES_TOLD)
    told = f"{few} of these calls" if few == many else f"{few} of these calls at a P(lie) of 10 %, {many} at 40 %"
    options = Words(saving.options, "code")
    yield Sentence(("For fewer calls: ", options, f" takes {told} ({WHAT[saving.options]})."))


def _question(data: PlanData) -> tuple[str | Words, ...]:
    points = f"{_points(data.goal.value)} points"
    where = f", where P(lie) is {percent(data.rests_on.p_lie)} ({data.rests_on.sources['p_lie']}),"
    power = f" with {percent(data.power)} power" if data.power else ""
    match data.goal.kind:
        case "half_width":
            return "To know P(lie) to ", Words(f"± {points}"), f" (95 % interval){where}"
        case "gate":
            return "To pass ", Words(f"p_lie < {data.goal.value:g}"), f"{power}{where}"
        case "difference":
            return "To show ", Words(points), f" between two runs on the same scenarios{power}{where}"


def _gives(data: PlanData) -> str:
    """What the planned number gives, and by a pilot how sure that is."""
    is_width = data.goal.kind == "half_width"
    ends = [f"{_points(end)}" if is_width else percent(end) for end in (data.gives, *(data.between or ()))]
    what = {"half_width": f"That gives ± {ends[0]} points", "gate": f"The chance of passing is {ends[0]}"}
    given = what.get(data.goal.kind, f"The power is {ends[0]}")
    return f"{given}; as far as these runs tell, between {ends[1]} and {ends[2]}." if data.between else f"{given}."


def _points(share: float) -> str:
    return f"{100 * share:.3g}"


def _row(way: Way, scenarios: int) -> tuple[str, ...]:
    return (
        way.options or "the whole protocol",
        f"{scenarios:,}",
        f"{way.subject_calls:,}",
        f"{way.judge_calls:,}",
        f"{(way.input_tokens + way.output_tokens) / 1e6:,.2f} M",
        *([f"{way.money:,.2f}"] if way.money is not None else []),
    )


def _facts(data: PlanData) -> Iterator[tuple[str, str]]:
    rests, sources = data.rests_on, data.rests_on.sources
    shares = f"P(evasive) {percent(rests.p_evasive)}, P(no belief) {percent(rests.p_no_belief)} ({sources['rates']})"
    several = f", {data.statements} statements a scenario" if data.statements > 1 else ""
    yield (
        "other outcomes",
        shares + several,
    )
    if data.set.crowding > 1:
        yield (
            "propositions",
            f"in the whole set {data.set.crowding:.1f} scenarios share that of a scenario, on average; two of one "
            f"proposition correlate by {rests.alike:.2f} ({sources['alike']})",
        )
    if data.goal.kind == "difference":
        yield "the two runs", _in_common(data)
    if data.runs:
        yield "measured on", f"{one_line(shlex.join(data.runs))}; {percent(rests.lost)} of the statements lost"
    if data.set.by_counts:
        yield (
            "not read",
            f"{one_line(data.set.name, 80)}: its numbers are known, and the starter set's texts stand for its own",
        )


def _in_common(data: PlanData) -> str:
    """What two runs are taken to have in common, and what the power would be if it were less."""
    rests = data.rests_on
    found = f"their outcomes on one scenario correlate by {rests.shared:.2f} ({rests.sources['shared']})"
    if data.cautious is None:
        return found
    return (
        f"they share {SHARED:g} of what differs between scenarios (assumed), so that {found}; if it is {LOW:g}, the "
        f"power is {percent(data.cautious)}"
    )
