"""The designs that answer a question, the cheapest first, and what they rest on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from maskbench.plain import one_line
from maskbench.report.blocks import Block, Facts, Heading, Sentence, Table, Words
from maskbench.report.format import percent
from maskbench.results.designs import RATES_TOLD, cheaper, cost
from maskbench.results.designs_json import DesignsData, DesignShown, Spent
from maskbench.runs.forecast import Plan
from maskbench.settings import Settings

WHAT = {  # what stands behind an option that is offered before a run
    "--estimate lie": "P(lie) of all scenarios, the other rates from a part of them",
    "--beliefs-from RUN": "if RUN has this model's beliefs, and differs in the prompt alone",
}

SAMPLE = Words("--sample N", "code")
NO_PRICE = (
    "No price is known for each of these models, so there is no money here, and designs stand by their calls. Name the "
    "models (--subject, --judge), or give prices (--price-in, --price-out, --judge-price-in, --judge-price-out)."
)


def blocks(data: DesignsData) -> Iterator[Block]:
    """The question, a row a design, the two cheapest as commands, and what was assumed."""
    yield Heading("The cheapest design")
    yield Sentence((*_question(data), ":"))
    priced = data.ordered_by == "money"
    looks = any(design.looks for design in data.designs)
    head = ["design", "scenarios", "statements", *(["looks"] if looks else []), "subject calls", "judge calls"]
    yield Table(
        (*head, "tokens", *(["money"] if priced else [])), tuple(_row(design, looks, priced) for design in data.designs)
    )
    if not priced:
        yield NO_PRICE
    first, *others = data.designs
    yield Sentence(("The cheapest: ", *_offer(first)))
    if others:
        yield Sentence(("The runner-up: ", *_offer(others[0], first)))
    listed = Words("maskbench scenarios list", "code")
    yield Sentence((listed, " prints how many scenarios each set has. Of a larger one, ", SAMPLE, " takes so many."))
    yield Facts(tuple(_facts(data)))


def cheaper_run(planned: Plan, settings: Settings) -> Iterator[Block]:
    """One line on a cheaper way to make a planned run, where that saves a third of its calls or more."""
    saving = cheaper(planned, settings)
    if saving is None:
        return
    few, many = (f"{saving.left[rate]:.0%}".replace("%", " %") for rate in RATES_TOLD)
    told = f"{few} of these calls" if few == many else f"{few} of these calls at a P(lie) of 10 %, {many} at 40 %"
    yield Sentence(
        (
            "For fewer calls: ",
            Words(saving.options, "code"),
            f" takes {told} ({WHAT[saving.options]}). ",
            "Other ways: ",
            Words("maskbench plan", "code"),
            ".",
        )
    )


def _offer(design: DesignShown, than: DesignShown | None = None) -> tuple[str | Words, ...]:
    """What is typed for a design, of two arms for the second one, on how many scenarios, and what that costs."""
    typed = Words(f"maskbench run MODEL {design.options}".strip(), "code")
    more = f", {cost(design) / cost(than) - 1:+.0%}" if than else ""
    return typed, f" on {design.scenarios:,} scenarios ({_cost(design)}{more})."


def _question(data: DesignsData) -> tuple[str | Words, ...]:
    source = data.assumed.sources["p_lie"]
    rate = f"where P(lie) is {percent(data.assumed.p_lie)} ({source})"
    points = f"{100 * data.goal.value:g} points"
    power = f"with {data.power:.0%} power".replace("%", " %") if data.power else ""
    match data.goal.kind:
        case "half_width":
            return "To know P(lie) to ", Words(f"± {points}"), f" (95 % interval), {rate}"
        case "gate":
            return "To pass ", Words(f"p_lie < {data.goal.value:g}"), f" {power}, {rate}"
        case "difference":
            return "To show ", Words(f"{points}"), f" between two arms on the same scenarios {power}, {rate}, both arms"


def _row(design: DesignShown, looks: bool, priced: bool) -> tuple[str, ...]:
    tokens = sum(each.tokens.input + each.tokens.output for each in _models(design))
    judged = f"{design.judge.calls:,}" + (f" + {design.strong_judge.calls:,}" if design.strong_judge else "")
    return (
        design.name,
        f"{design.scenarios:,}",
        f"{design.statements}",
        *([f"{design.looks:,}" if design.looks else "–"] if looks else []),
        f"{design.subject.calls:,}",
        judged,
        f"{tokens / 1e6:,.2f} M",
        *([f"${design.money:,.2f}"] if priced and design.money is not None else []),
    )


def _models(design: DesignShown) -> list[Spent]:
    return [each for each in (design.subject, design.judge, design.strong_judge) if each]


def _cost(design: DesignShown) -> str:
    if design.money is not None:
        return f"${design.money:,.2f}"
    return f"{sum(each.calls for each in _models(design)):,} calls"


def _facts(data: DesignsData) -> Iterator[tuple[str, str]]:
    known = data.assumed
    sources = known.sources
    shares = f"P(evasive) {percent(known.p_evasive)}, P(no belief) {percent(known.p_no_belief)}"
    yield "assumed" if sources["p_evasive"] == "assumed" else "measured", shares
    asked = f"{known.belief_replies:.2f} belief replies and {known.belief_verdicts:.2f} verdicts on them"
    yield "a scenario has", f"{asked} with the whole protocol ({sources['belief_replies']})"
    for design in data.designs:
        if design.rests_on:
            yield design.name, f"rests on: {design.rests_on}"
    for name, why in data.left_out.items():
        yield name, f"left out: {why}"
    if data.runs:
        yield "measured on", one_line(shlex.join(data.runs))
