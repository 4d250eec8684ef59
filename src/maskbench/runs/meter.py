"""The live meter of a run: counts what its models report, keeps the bill with the run, and stops it at its limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from msgspec import to_builtins

from maskbench.errors import UsageError
from maskbench.method.asks import VERDICTS
from maskbench.models.prices import FREE, Tokens, cost, own_prices, packaged, price_of, typed
from maskbench.runs.bill import BillRow, Ledger, StagePrices, dollars, fact_of, ledger_of, part_of, spent
from maskbench.runs.store import Store
from maskbench.runs.watching import Watcher
from maskbench.settings import Budget, Settings
from maskbench.types import STAGES, Ask, Call, Model, Stage, Usage

ASSUMED = Tokens(calls=1, input=1000, output=250)  # of a call, before the first has told its tokens


class _Measure(Protocol):
    """How much tokens of a stage and a model count against a limit, asked live or in a batch."""

    def __call__(self, stage: Stage, model: str, tokens: Tokens, *, batched: bool = False) -> float: ...


class _Limit(NamedTuple):
    """A limit: its option, what it allows, what is used, what a call may take, the words for both, and its measure."""

    option: str
    most: float
    used: float
    each: float
    words: Callable[[float], str]
    measure: _Measure

    @property
    def reached(self) -> str:
        """What to say once it is reached, without a full stop."""
        return f"{self.option} {self.words(self.most)} is reached: {self.words(self.used)} used"


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


class Purse(Protocol):
    """What several runs may use up together: it is asked wherever the meter of one of them looks at its limits."""

    def look(self, meter: Meter) -> None:
        """Stop all of them where what they used, with what is under way, comes to a limit."""
        ...


class Meter:
    """Counts what models report, and calls `on_full` with the reason once a limit would be passed."""

    def __init__(self, ledger: Ledger, budget: Budget, in_flight: Callable[[], int]) -> None:
        self.ledger = ledger
        self.on_full: Callable[[str, str], object] = lambda why, option: None
        self.full = False
        self.purse: Purse | None = None  # what several runs may use up together
        self._budget = budget
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
        for limit in () if self.full else self._limits():
            if limit.used + self._in_flight() * limit.each >= limit.most:
                self.full = True
                self.on_full(f"{limit.reached}, and what is under way comes home.", limit.option)
                return
        if self.purse and not self.full:
            self.purse.look(self)

    def reached(self, option: str) -> str | None:
        """That this limit is reached, with all that came home since; None where this run has no such limit."""
        return next((f"{limit.reached}." for limit in self._limits() if limit.option == option), None)

    def used(self, option: str) -> tuple[float, float]:
        """What is used so far of what this option limits, and the most that a call takes of it."""
        return self._used(self._cost if option == "--max-cost" else _tokens)

    @property
    def under_way(self) -> int:
        """How many requests are under way."""
        return self._in_flight()

    def refuses(self, worst: Mapping[tuple[Stage, str], Tokens]) -> tuple[str, str] | None:
        """Why batches that may take so much are not sent, as a sentence and by option; None where they may be."""
        for limit in self._limits():
            more = sum(limit.measure(*who, tokens, batched=True) for who, tokens in worst.items())
            if limit.used + more >= limit.most:
                return (
                    f"{limit.option} {limit.words(limit.most)} would not hold: {limit.words(limit.used)} used, and the "
                    f"next batch may take up to {limit.words(more)} with what is under way.",
                    limit.option,
                )
        return None

    @property
    def words(self) -> str:
        """What was spent so far, for people; empty where nobody bills anything, or no price is known."""
        return spent(self.ledger.bill())

    def _limits(self) -> Iterator[_Limit]:
        if (most := self._budget.max_cost) is not None:
            yield _Limit("--max-cost", most, *self._used(self._cost), dollars, self._cost)
        if (tokens := self._budget.max_tokens_total) is not None:
            used = self._used(_tokens)
            yield _Limit("--max-tokens-total", tokens, *used, lambda count: f"{count:,.0f} tokens", _tokens)

    def _used(self, measure: _Measure) -> tuple[float, float]:
        """What is used, calls without a report counted as the others are, and the most that a call takes."""
        total, most = 0.0, 0.0
        models = [(stage, model) for stage, names in self.ledger.prices.items() for model in names]
        told = {(row.stage, row.model) for row in self.ledger.rows if row.calls > row.unreported}
        assumed = max((measure(*pair, ASSUMED) for pair in models if pair not in told), default=0.0)
        for row in self.ledger.rows:
            live, reported = measure(row.stage, row.model, row.tokens), row.calls - row.unreported
            amount = measure(row.stage, row.model, row.tokens, batched=row.batched)
            each = live / reported if reported else measure(row.stage, row.model, ASSUMED)
            total += amount + each * row.unreported
            most = max(most, each)
        return total, max(most, assumed)

    def _cost(self, stage: Stage, model: str, tokens: Tokens, *, batched: bool = False) -> float:
        price = self.ledger.prices.get(stage, {}).get(model)
        return cost(tokens, price.batched if batched else price) if price else 0.0


def _tokens(stage: Stage, model: str, tokens: Tokens, *, batched: bool = False) -> float:  # a measure
    return tokens.input + tokens.output
