"""The sections on what a run would cost, and how long it would take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from maskbench.asking.estimate import REASONING, SECONDS, Estimate, ModelEstimate, Range
from maskbench.asking.forecast import Plan
from maskbench.plain import one_line
from maskbench.presentation.blocks import Block, Warn
from maskbench.presentation.blocks import Table as Rows
from maskbench.presentation.sections.cost import list_prices, unpriced
from maskbench.settings import Settings
from maskbench.store.bill import dollars
from maskbench.store.prices import FREE, Price


def estimated(estimate: Estimate, settings: Settings) -> Iterator[Block]:
    """What a run would cost and how long it would take; nothing where nobody bills any of the models."""
    if all(each.price == FREE for each in estimate.models):
        return
    rows = [
        (f"{each.stage} {one_line(each.model)}", *counts((each,)), _money(each.cost, each.price))
        for each in estimate.models
    ]
    yield Rows(("money, from least to most", "calls", "tokens in", "tokens out", "US dollars"), tuple(rows))
    if estimate.cost is not None and estimate.usual is not None and estimate.at_most is not None:
        reasoning = [each for each in estimate.models if each.price and each.price.reasons]
        yield (
            f"In all about {dollars(estimate.usual)}: {_between(*map(dollars, estimate.cost))}, and "
            f"{dollars(estimate.at_most)} if every answer used all of its --max-tokens. {_thought(reasoning)} Calls "
            "that have to be repeated cost more; --max-cost ends a run in time."
        )
    most = settings.budget.max_cost
    if most is not None and estimate.cost is not None and most < estimate.cost[0]:
        yield Warn(
            f"--max-cost {dollars(most)} is below the least of that: it stops after about "
            f"{most / estimate.cost[0]:.0%} of the calls.".replace("% ", " % ")
        )
    yield from unpriced([each.model for each in estimate.models if each.price is None])
    if estimate.by_counts:
        yield (
            f"{settings.design.scenarios} was not read: its scenarios are counted, and the starter set's texts stand "
            "for theirs, which may be half as long or twice."
        )
    if batched := [each for each in estimate.models if each.batched]:
        yield from _in_batches(batched)
    if estimate.seconds:
        yield (
            f"Time: {_between(*map(_time, estimate.seconds))} at {settings.pace.connections:,} connections, if a "
            f"request takes {SECONDS[0]:g} to {SECONDS[1]:g} seconds."
        )
    yield from list_prices({each.model: each.price for each in estimate.models})


def _thought(models: Sequence[ModelEstimate]) -> str:
    """What reasoning is counted as, in words."""
    if not models:
        return "A model that reasons costs more."
    low, usual, high = REASONING
    names = " and ".join(dict.fromkeys(one_line(each.model) for each in models))
    return (
        f"{names} {'reason' if ' and ' in names else 'reasons'}: each answer is assumed to take {usual:,.0f} tokens of "
        f"that, {low:,.0f} to {high:,.0f}."
    )


def of_lengths(parts: Mapping[str, tuple[Plan, Estimate]]) -> Iterator[Block]:
    """What each length of a set's rows takes: least where samples of a question are one request, most where not."""
    rows = [
        (
            one_line(length),
            f"{plan.scenarios:,}",
            f"{plan.calls.requests:,}–{plan.calls.replies:,}",
            f"{plan.calls.verdicts:,}",
            between_money(costs.cost),
        )
        for length, (plan, costs) in parts.items()
    ]
    if rows:
        yield Rows(("length", "scenarios", "requests to the subject", "to the judge", "US dollars"), tuple(rows))


def _in_batches(models: Sequence[ModelEstimate]) -> Iterator[str]:
    """What batches cost and how long they may take, in words."""
    for each in models:
        share = each.price.batch if each.price else None
        known = "is not in the price list, so that the full one is counted" if share is None else f"is {share:g} of it"
        yield (
            f"The {each.stage} {one_line(each.model)} is asked in batches: their price {known}, and a batch may take "
            "up to 24 hours. The first scenario of each kind, and what a batch does not answer, is asked live at the "
            "full price."
        )


def counts(models: Iterable[ModelEstimate]) -> tuple[str, ...]:
    """Calls, tokens in and tokens out of these models together, from least to most."""
    columns = zip(*((each.calls, each.input_tokens, each.output_tokens) for each in models), strict=True)
    return tuple(_between(*(f"{sum(ends):,.0f}" for ends in zip(*ranges, strict=True))) for ranges in columns)


def _money(cost: Range | None, price: Price | None) -> str:
    if price == FREE:
        return "nobody bills it"
    return between_money(cost)


def between_money(cost: Range | None) -> str:
    """An amount from least to most, or that no price is known."""
    return "no price known" if cost is None else _between(*map(dollars, cost))


def _between(low: str, high: str) -> str:
    return low if low == high else f"{low}–{high}"


def _time(seconds: float) -> str:
    minutes = seconds / 60
    return f"{seconds:,.0f} s" if minutes < 2 else f"{minutes:,.0f} min" if minutes < 120 else f"{minutes / 60:,.1f} h"
