"""A run's bill: what each model reported for each part of the method, by the prices of that day."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct, structs

from maskbench.errors import RunUnreadable
from maskbench.method.asks import VERDICTS
from maskbench.store.fitting import Misfit, fitted
from maskbench.store.folder import RunFolder
from maskbench.store.prices import FREE, Price, Tokens, cost
from maskbench.store.store import Store
from maskbench.types import Call, Stage

Part: TypeAlias = Literal["beliefs", "statements", "controls"]
_PARTS: dict[Call, Part] = {
    "direct": "beliefs",
    "consistency": "beliefs",
    "statement": "statements",
}
StagePrices: TypeAlias = dict[Stage, dict[str, Price | None]]  # by model; null: no list has one
_Count: TypeAlias = Annotated[int, Meta(ge=0)]


def part_of(call: Call) -> Part:
    """The part of the bill that a call belongs to; what is none of the others is a control."""
    return _PARTS.get(call, "controls")


class BillRow(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The tokens and calls that one model reported for one part; cached and written tokens are part of the input.

    `unreported` are the calls of which the endpoint told no tokens; `batched` says that a batch brought the answers.
    """

    stage: Stage
    part: Part
    model: str
    calls: _Count
    unreported: _Count
    input_tokens: _Count
    cached_tokens: _Count
    written_tokens: _Count
    output_tokens: _Count
    batched: bool = False

    @property
    def tokens(self) -> Tokens:
        """The tokens as prices take them."""
        return Tokens(self.calls, self.input_tokens, self.cached_tokens, self.written_tokens, self.output_tokens)


class Ledger(Struct, forbid_unknown_fields=True):
    """All that was reported since the run began."""

    rows: list[BillRow] = []
    prices: StagePrices = {}
    whole: bool = True  # false: calls were made of which no bill was kept

    def price(self, row: BillRow) -> Price | None:
        """The price by which a row is charged."""
        return self.prices.get(row.stage, {}).get(row.model)

    def bill(self) -> Bill | None:
        """The bill of this ledger; None where every model is one that nobody bills."""
        if not self.rows or all(self.price(row) == FREE for row in self.rows):
            return None
        charges = [Charge(**structs.asdict(row), cost=self._cost(row)) for row in self.rows]
        known = [charge.cost for charge in charges if charge.cost is not None]
        unpriced = list(dict.fromkeys(charge.model for charge in charges if charge.cost is None))
        at_least = bool(unpriced) or not self.whole or any(row.unreported for row in self.rows)
        return Bill(sum(known) if known else None, at_least, unpriced, charges, self.prices)

    def _cost(self, row: BillRow) -> float | None:
        price = self.price(row)
        return None if price is None else cost(row.tokens, price.batched if row.batched else price)


class Charge(BillRow, forbid_unknown_fields=True, kw_only=True):
    """A row of the bill with what it costs in US dollars; null where no list has a price."""

    cost: float | None


class Bill(Struct, forbid_unknown_fields=True):
    """The bill of a run by the prices of the day on which it was measured, in US dollars.

    `at_least` says that it cost more: a model has no price, an endpoint did not tell its tokens, or some calls
    are in no bill.
    """

    cost: float | None
    at_least: bool
    unpriced: list[str]
    rows: list[Charge]
    prices: StagePrices


def fact_of(verdicts: str) -> str:
    """The name of the fact under which a run keeps the bill of a verdict set; its own set's has the replies, too."""
    return "bill" if verdicts == VERDICTS else f"bill {verdicts}"


def ledger_of(store: Store, verdicts: str = VERDICTS) -> Ledger | None:
    """The ledger that a run keeps; None where it keeps none. Raises RunUnreadable for what maskbench did not write."""
    plain = store.fact(fact_of(verdicts))
    try:
        return None if plain is None else fitted(plain, Ledger, fact_of(verdicts))
    except Misfit as error:
        raise RunUnreadable(f"The run's bill is none: {error}. Restore the run's database.") from None


def prices_kept(folder: RunFolder, verdicts: str = VERDICTS) -> StagePrices:
    """The prices by which a run's replies and a verdict set were billed so far; none of a run that cannot be read."""
    try:
        store = folder.store()
    except RunUnreadable:
        return {}
    with closing(store):
        ledger = ledger_of(store, verdicts)
    return ledger.prices if ledger else {}


def bill_of(store: Store, sets: Sequence[str]) -> Bill | None:
    """The bill of the replies and these verdict sets; None where nothing is kept, or nobody bills any of the models."""
    ledgers = {name: ledger_of(store, name) for name in dict.fromkeys((VERDICTS, *sets))}
    there = {name: ledger for name, ledger in ledgers.items() if ledger}
    together = Ledger(whole=len(there) == len(ledgers) and all(ledger.whole for ledger in there.values()))
    for name, ledger in there.items():
        rows = [row for row in ledger.rows if row.stage == "subject" or name in sets]
        together.rows += rows
        for stage in {row.stage for row in rows}:
            together.prices[stage] = {**together.prices.get(stage, {}), **ledger.prices.get(stage, {})}
    return together.bill()


def spent(bill: Bill | None) -> str:
    """The sum of a bill in words; empty where there is none, or no price is known."""
    if bill is None or bill.cost is None:
        return ""
    return f"{'at least ' if bill.at_least else ''}{dollars(bill.cost)}"


def dollars(amount: float) -> str:
    """An amount of money for people: cents from a dollar on, hundredths of a cent below."""
    return f"${amount:,.2f}" if amount >= 1 or amount == 0 else f"${amount:.4f}"
