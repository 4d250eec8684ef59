"""The sections on money, tokens and time: the bill of what a run did cost, and what it took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.plain import one_line
from maskbench.presentation.blocks import Block, Only
from maskbench.presentation.format import times
from maskbench.presentation.of_runs import Scored, named, table
from maskbench.presentation.sections.provenance import NOT_KNOWN, is_told
from maskbench.results.readers import BillReader, SourceReader
from maskbench.results.summary import Summary
from maskbench.store.bill import Bill, Charge, dollars, spent
from maskbench.store.prices import FREE, Price
from maskbench.store.verdict_sets import JudgeUsage, SubjectUsage


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
    yield table(runs, head, rows, texts=2)
    totals = [f"{': '.join((*named(runs, run), ''))}{_total(its_bill)}" for run, its_bill in billed]
    yield f"In all: {'; '.join(totals)}."
    yield from unpriced(list(dict.fromkeys(model for _, its_bill in billed for model in its_bill.unpriced)))
    if silent := sum(row.unreported for _, its_bill in billed for row in its_bill.rows):
        yield f"Of {silent:,} calls the endpoints did not tell the tokens: these are not in it."
    known = {
        model: price for _, its_bill in billed for prices in its_bill.prices.values() for model, price in prices.items()
    }
    yield from list_prices(known)


def _charged(charge: Charge) -> tuple[str, ...]:
    money = "no price" if charge.cost is None else dollars(charge.cost)
    cached = f"{charge.cached_tokens:,}"
    counts = (f"{charge.calls:,}", f"{charge.input_tokens:,}", cached, f"{charge.output_tokens:,}")
    batched = ", in batches" if charge.batched else ""
    return (f"{charge.stage}, {charge.part}{batched}", one_line(charge.model), *counts, money)


def _total(its_bill: Bill) -> str:
    return spent(its_bill) or "no price is known"


def unpriced(models: Sequence[str]) -> Iterator[str]:
    """What a user does about models without a price; nothing where there is none."""
    if models:
        yield (
            f"No price list has {', '.join(map(one_line, dict.fromkeys(models)))}: give a row in "
            "maskbench-prices.toml, or price-in and price-out (of a judge judge-price-in and judge-price-out) in the "
            "file of a run."
        )


def list_prices(prices: dict[str, Price | None]) -> Iterator[str]:
    """The prices that were counted by, of models that somebody bills."""
    known = [f"{one_line(model)} {price.words}" for model, price in prices.items() if price and price != FREE]
    if known:
        yield f"Prices of a million tokens: {'; '.join(known)}."


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


def took(summary: Summary) -> str:
    """Calls, tokens, money where that is known, and time, in a sentence; empty where no call was made here."""
    usage = summary.usage
    if not usage.seconds and summary.of(SourceReader) is not None:
        return ""
    asked = (usage.subject, usage.judge) if is_told(summary, "tokens") else (usage.judge,)
    tokens = sum(each.input_tokens + each.output_tokens for each in asked)
    parts = [times(sum(each.answers for each in asked), "call"), times(tokens, "token")]
    parts += [money] if (money := spent(summary.of(BillReader))) else []
    return f"It took {', '.join(parts)} and {_seconds(summary)}."


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
