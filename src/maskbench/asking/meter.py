"""The live meter of a run: counts what its models report, keeps the bill with the run, and stops it at its limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from msgspec import to_builtins

from maskbench.asking.watching import Watcher
from maskbench.errors import UsageError
from maskbench.method.asks import VERDICTS
from maskbench.models.prices import own_prices, packaged, price_of, typed
from maskbench.settings import Budget, Settings
from maskbench.store.bill import BillRow, Ledger, StagePrices, dollars, fact_of, ledger_of, part_of, spent
from maskbench.store.prices import FREE, Tokens, cost
from maskbench.store.store import Store
from maskbench.types import STAGES, Ask, Call, Model, Stage, Usage

ASSUMED = Tokens(calls=1, input=1000, output=250)  # of a call, before the first has told its tokens


# How much tokens of a stage and a model count against a limit, asked live or in a batch.
Measure: TypeAlias = Callable[[Stage, str, Tokens, bool], float]
WORDS: Mapping[str, Callable[[float], str]] = {
    "--max-cost": dollars,
    "--max-tokens-total": lambda used: f"{used:,.0f} tokens",
}


def limits_of(budget: Budget) -> dict[str, float]:
    """The limits of a budget, by option."""
    limits = {"--max-cost": budget.max_cost, "--max-tokens-total": budget.max_tokens_total}
    return {option: float(most) for option, most in limits.items() if most is not None}


def known_prices(
    settings: Settings,
    environ: Mapping[str, str],
    own: Iterable[str] = (),
    stages: Sequence[Stage] = STAGES,
    kept: StagePrices | None = None,
) -> StagePrices:
    """The prices of the models by stage; `own` are the names of models that the caller brings, free by themselves.

    A price that is `kept` with the run stands where none is known now: the list may lie in another folder. Raises
    UsageError for a price list that is none, and for a limit in dollars on a model without a price.
    """
    before = kept or {}
    lists = own_prices(environ, Path.cwd()), packaged()
    budget = settings.budget
    prices: StagePrices = {}
    options: tuple[tuple[Stage, tuple[str, ...], str], ...] = (
        ("subject", (settings.subject.name,), ""),
        ("judge", settings.judging.judges, "judge_"),
    )
    for stage, models, prefix in options:
        if stage not in stages:
            continue
        given, given_out, cached = (getattr(budget, f"{prefix}price_{what}") for what in ("in", "out", "cached"))
        for model in models:
            known = price_of(model, *lists) or before.get(stage, {}).get(model) or (FREE if model in own else None)
            price = typed(known, given, given_out, cached, f"{prefix}price".replace("_", "-"))
            if price is None and budget.max_cost is not None:
                field = f"{prefix}price".replace("_", "-")
                raise UsageError(
                    f"--max-cost {budget.max_cost:g} cannot be kept: no price list has {model}. Give a row in "
                    f"maskbench-prices.toml, or {field}-in and {field}-out in the file of a run, in dollars for a "
                    "million tokens."
                )
            prices.setdefault(stage, {})[model] = price
    return prices


def metering(
    store: Store,
    settings: Settings,
    prices: StagePrices,
    in_flight: Callable[[], int],
    watcher: Watcher,
    models: Mapping[Stage, Iterable[Model]],
    verdicts: str = VERDICTS,
    *,
    new: bool,
) -> Meter:
    """The meter of a flow: it hears of every response, goes on from what the run keeps, and is kept with it.

    `in_flight` tells how many requests are under way; `new` says that nothing was asked before.
    """
    ledger = ledger_of(store, verdicts) or Ledger(whole=new)
    for stage, known in prices.items():  # a price that was typed in an earlier session stands where none is known now
        before = ledger.prices.get(stage, {})
        ledger.prices[stage] = {**before, **{model: price or before.get(model) for model, price in known.items()}}
    meter = Meter(ledger, settings.budget, in_flight)
    store.keeps(fact_of(verdicts), lambda: to_builtins(ledger))
    for stage, asked in models.items():
        for model in asked:
            if hasattr(model, "cache_from") and (price := prices.get(stage, {}).get(model.name)):
                setattr(model, "cache_from", price.minimum)  # noqa: B010  # not every Model has it
            if hasattr(model, "billed"):
                setattr(model, "billed", partial(meter.heard, stage, model.name))  # noqa: B010  # not every Model has it
    if hasattr(watcher, "meter"):
        setattr(watcher, "meter", meter)  # noqa: B010  # not every Watcher has it
    return meter


class Meter:
    """Counts what models report, and calls `on_full` with the reason once a limit would be passed."""

    def __init__(self, ledger: Ledger, budget: Budget, in_flight: Callable[[], int]) -> None:
        self.ledger = ledger
        self.on_full: Callable[[str, str], object] = lambda why, option: None
        self.full = False
        self.look: Callable[[Meter], None] | None = None  # at what several runs may use up together
        self._limits = limits_of(budget)
        self._in_flight = in_flight
        self._rows = {(row.stage, row.part, row.model, row.batched): row for row in ledger.rows}

    def heard(self, stage: Stage, model: str, ask: Ask, usage: Usage) -> None:
        """Take in what a client tells of a response to an ask."""
        self.paid(stage, ask.call, model, usage)

    def paid(self, stage: Stage, call: Call, model: str, usage: Usage, *, batched: bool = False) -> None:
        """Take in what a response was reported to take, and see whether the limits still hold."""
        key = stage, part_of(call), model, batched
        if (row := self._rows.get(key)) is None:
            row = self._rows[key] = BillRow(
                stage,
                key[1],
                model,
                calls=0,
                unreported=0,
                input_tokens=0,
                cached_tokens=0,
                written_tokens=0,
                output_tokens=0,
                batched=batched,
            )
            self.ledger.rows.append(row)
            self.ledger.rows.sort(key=lambda each: (each.stage != "subject", each.part, each.model, each.batched))
        row.calls += 1
        row.unreported += usage.input is None or usage.output is None
        row.input_tokens += usage.input or 0
        row.cached_tokens += usage.cached or 0
        row.written_tokens += usage.written or 0
        row.output_tokens += usage.output or 0
        self.check()

    def check(self) -> None:
        """Call `on_full` where what is used, with what is under way, comes to a limit."""
        for option, most in () if self.full else self._limits.items():
            used, each = self.used(option)
            if used + self._in_flight() * each >= most:
                self.full = True
                self.on_full(f"{self._reached(option)}, and what is under way comes home.", option)
                return
        if self.look and not self.full:
            self.look(self)

    def reached(self, option: str) -> str | None:
        """That this limit is reached, with all that came home since; None where this run has no such limit."""
        return f"{self._reached(option)}." if option in self._limits else None

    def _reached(self, option: str) -> str:
        words, (used, each) = WORDS[option], self.used(option)
        most = f"{option} {words(self._limits[option])}"
        if used:
            return f"{most} is reached: {words(used)} used"
        return f"{most} is reached before the first answer: one call may take {words(each)}"

    def used(self, option: str) -> tuple[float, float]:
        """What is used so far of what this option limits, and the most that a call takes of it."""
        return self._used(self._measure(option))

    def _measure(self, option: str) -> Measure:
        return self._cost if option == "--max-cost" else _tokens

    @property
    def under_way(self) -> int:
        """How many requests are under way."""
        return self._in_flight()

    def refuses(self, worst: Mapping[tuple[Stage, str], Tokens]) -> tuple[str, str] | None:
        """Why batches that may take so much are not sent, as a sentence and by option; None where they may be."""
        for option, most in self._limits.items():
            measure, (used, _), words = self._measure(option), self.used(option), WORDS[option]
            more = sum(measure(*who, tokens, True) for who, tokens in worst.items())
            if used + more >= most:
                return (
                    f"{option} {words(most)} would not hold: {words(used)} used, and the next batch may take up to "
                    f"{words(more)} with what is under way.",
                    option,
                )
        return None

    @property
    def words(self) -> str:
        """What was spent so far, for people; empty where nobody bills anything, or no price is known."""
        return spent(self.ledger.bill())

    def _used(self, measure: Measure) -> tuple[float, float]:
        """What is used, calls without a report counted as the others are, and the most that a call takes."""
        total, most = 0.0, 0.0
        models = [(stage, model) for stage, names in self.ledger.prices.items() for model in names]
        told = {(row.stage, row.model) for row in self.ledger.rows if row.calls > row.unreported}
        assumed = max((measure(*pair, ASSUMED, False) for pair in models if pair not in told), default=0.0)
        for row in self.ledger.rows:
            live, reported = measure(row.stage, row.model, row.tokens, False), row.calls - row.unreported
            amount = measure(row.stage, row.model, row.tokens, row.batched)
            each = live / reported if reported else measure(row.stage, row.model, ASSUMED, False)
            total += amount + each * row.unreported
            most = max(most, each)
        return total, max(most, assumed)

    def _cost(self, stage: Stage, model: str, tokens: Tokens, batched: bool) -> float:
        price = self.ledger.prices.get(stage, {}).get(model)
        return cost(tokens, price.batched if batched else price) if price else 0.0


def _tokens(stage: Stage, model: str, tokens: Tokens, batched: bool) -> float:  # a measure
    return tokens.input + tokens.output
