"""The sections on money, tokens and time: what a run would cost, the bill of what it did cost, and what it took."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from maskbench.judges.verdict_sets import JudgeUsage, SubjectUsage
from maskbench.models.prices import FREE, Price
from maskbench.plain import one_line
from maskbench.presentation.blocks import Block, Only, Warn
from maskbench.presentation.blocks import Table as Rows
from maskbench.presentation.of_runs import Scored, named, table
from maskbench.presentation.sections.provenance import NOT_KNOWN, is_told
from maskbench.results.readers import BillReader, SourceReader
from maskbench.results.summary import Summary
from maskbench.runs.bill import Bill, Charge, dollars, spent
from maskbench.runs.estimate import SECONDS, Estimate, ModelEstimate, Range
from maskbench.runs.forecast import Plan
from maskbench.settings import Settings


def estimated(estimate: Estimate, settings: Settings) -> Iterator[Block]:
    """What a run would cost and how long it would take; nothing where nobody bills any of the models."""
    if all(each.price == FREE for each in estimate.models):
        return
    rows = [
        (f"{each.stage} {one_line(each.model)}", *counts((each,)), _money(each.cost, each.price))
        for each in estimate.models
    ]
    yield Rows(("money, from least to most", "calls", "tokens in", "tokens out", "US dollars"), tuple(rows))
    if estimate.cost is not None and estimate.at_most is not None:
        yield (
            f"In all {_between(*map(dollars, estimate.cost))}, and {dollars(estimate.at_most)} if every answer used "
            "all of its --max-tokens. A model that reasons, and calls that have to be repeated, cost more; --max-cost "
            "ends a run in time."
        )
    most = settings.budget.max_cost
    if most is not None and estimate.cost is not None and most < estimate.cost[0]:
        yield Warn(
            f"--max-cost {dollars(most)} is below the least of that: it stops after about "
            f"{most / estimate.cost[0]:.0%} of the calls.".replace("% ", " % ")
        )
    yield from _unknown([each.model for each in estimate.models if each.price is None])
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
    yield from _prices({each.model: each.price for each in estimate.models})


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


def bill(runs: Sequence[Scored]) -> Iterator[Block]:
    """What the runs cost, by stage; nothing where no run has a bill."""
    billed = [(run, its_bill) for run in runs if (its_bill := run.summary.of(BillReader))]
    if not billed:
        return
    yield Only(
        "page",
        "What the models reported, failed and repeated calls among it, by the list prices of the day of the run. A "
        "service may bill otherwise: discounts and taxes are not in it.",
    )
    rows = [(*named(runs, run), *_charged(charge)) for run, its_bill in billed for charge in its_bill.rows]
    head = ("part", "model", "calls", "tokens in", "of them cached", "tokens out", "US dollars")
    yield table(runs, head, rows)
    totals = [f"{': '.join((*named(runs, run), ''))}{_total(its_bill)}" for run, its_bill in billed]
    yield f"In all: {'; '.join(totals)}."
    yield from _unknown(list(dict.fromkeys(model for _, its_bill in billed for model in its_bill.unpriced)))
    if silent := sum(row.unreported for _, its_bill in billed for row in its_bill.rows):
        yield f"Of {silent:,} calls the endpoints did not tell the tokens: these are not in it."
    known = {
        model: price for _, its_bill in billed for prices in its_bill.prices.values() for model, price in prices.items()
    }
    yield from _prices(known)


def _charged(charge: Charge) -> tuple[str, ...]:
    money = "no price" if charge.cost is None else dollars(charge.cost)
    cached = f"{charge.cached_tokens:,}"
    counts = (f"{charge.calls:,}", f"{charge.input_tokens:,}", cached, f"{charge.output_tokens:,}")
    batched = ", in batches" if charge.batched else ""
    return (f"{charge.stage}, {charge.part}{batched}", one_line(charge.model), *counts, money)


def _total(its_bill: Bill) -> str:
    return spent(its_bill) or "no price is known"


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


def _unknown(models: Sequence[str]) -> Iterator[str]:
    if models:
        yield (
            f"No price list has {', '.join(map(one_line, dict.fromkeys(models)))}: give a row in "
            "maskbench-prices.toml, or price-in and price-out (of a judge judge-price-in and judge-price-out) in the "
            "file of a run."
        )


def _prices(prices: dict[str, Price | None]) -> Iterator[str]:
    known = [f"{one_line(model)} {price.words}" for model, price in prices.items() if price and price != FREE]
    if known:
        yield f"Prices of a million tokens: {'; '.join(known)}."


def _time(seconds: float) -> str:
    minutes = seconds / 60
    return f"{seconds:,.0f} s" if minutes < 2 else f"{minutes:,.0f} min" if minutes < 120 else f"{minutes / 60:,.1f} h"


def tokens(runs: Sequence[Scored]) -> Iterator[Block]:
    """What the runs took, as the endpoints counted it."""
    yield Only(
        "page",
        "Answers and tokens as the endpoints counted them. A 0 means that the endpoint reported none, or that no model "
        "was called.",
    )
    rows = [(*named(runs, run), *row) for run in runs for row in _rows(run.summary)]
    yield table(runs, ("model", "answers", "tokens in", "tokens out", "of them reasoning"), rows)
    for run in runs:
        if not is_told(run.summary, "tokens"):
            yield f"{': '.join((*named(runs, run), ''))}The replies were imported, and what they took is {NOT_KNOWN}."
    took = [f"{': '.join((*named(runs, run), ''))}{_seconds(run.summary)}" for run in runs]
    yield f"Time: {'; '.join(took)}."


def _rows(summary: Summary) -> Iterator[tuple[str, ...]]:
    """Who answered, and with how many tokens; of an import nobody may know what the subject took."""
    for who, usage in (("subject", summary.usage.subject), ("judge", summary.usage.judge)):
        answers, *tokens_ = _tokens(usage)
        is_unknown = usage is summary.usage.subject and not is_told(summary, "tokens")
        yield who, answers, *(("–",) * len(tokens_) if is_unknown else tokens_)


def _seconds(summary: Summary) -> str:
    """The time of the calls that were made here; none were for a run that was imported with its verdicts."""
    seconds = summary.usage.seconds
    is_here = seconds or summary.of(SourceReader) is None
    return f"{seconds:,.1f} s" if is_here else "no call was made here"


def _tokens(usage: JudgeUsage) -> tuple[str, str, str, str]:
    """Answers, tokens in and out, reasoning; `at least` so many where a server counts one of several samples."""
    out = f"{usage.output_tokens:,}"
    out = f"at least {out}" if isinstance(usage, SubjectUsage) and usage.at_least else out
    return f"{usage.answers:,}", f"{usage.input_tokens:,}", out, f"{usage.reasoning_tokens:,}"
