"""A run's bill as types: what each model reported for each part of the method, and the prices of that day."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from maskbench.method.construct import BY_CALL as QUESTIONED
from maskbench.models.prices import FREE, Price, Tokens, cost
from maskbench.types import Call, Stage

Part: TypeAlias = Literal["beliefs", "statements", "controls", "construct"]
_PARTS: dict[Call, Part] = {
    "direct": "beliefs",
    "consistency": "beliefs",
    "statement": "statements",
    **dict.fromkeys(QUESTIONED, "construct"),
}
StagePrices: TypeAlias = dict[Stage, dict[str, Price | None]]  # by model; null: no list has one
_Count: TypeAlias = Annotated[int, Meta(ge=0)]


def part_of(call: Call) -> Part:
    """The part of the bill that a call belongs to; what is none of the others is a control."""
    return _PARTS.get(call, "controls")


class BillRow(Struct, forbid_unknown_fields=True, kw_only=True):
    """What one model reported for one part; cached and written tokens are part of the input.

    `unreported` are the calls of which the endpoint told no tokens; `batched` says that a batch brought the answers.
    """

    stage: Stage
    part: Part
    model: str
    calls: _Count = 0
    unreported: _Count = 0
    input_tokens: _Count = 0
    cached_tokens: _Count = 0
    written_tokens: _Count = 0
    output_tokens: _Count = 0
    batched: bool | UnsetType = UNSET

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
        """What it comes to; None where every model is one that nobody bills."""
        if not self.rows or all(self.price(row) == FREE for row in self.rows):
            return None
        charges = [Charge(**structs.asdict(row), cost=self._cost(row)) for row in self.rows]
        known = [charge.cost for charge in charges if charge.cost is not None]
        unpriced = list(dict.fromkeys(charge.model for charge in charges if charge.cost is None))
        at_least = bool(unpriced) or not self.whole or any(row.unreported for row in self.rows)
        return Bill(sum(known) if known else None, at_least, unpriced, charges, self.prices)

    def _cost(self, row: BillRow) -> float | None:
        price = self.price(row)
        return None if price is None else cost(row.tokens, price.batched if row.batched is True else price)


class Charge(BillRow, forbid_unknown_fields=True, kw_only=True):
    """A row of the bill with what it costs in US dollars; null where no list has a price."""

    cost: float | None


class Bill(Struct, forbid_unknown_fields=True):
    """What a run cost by the prices of the day on which it was measured, in US dollars.

    `at_least` says that it cost more: a model has no price, an endpoint did not tell its tokens, or some calls
    are in no bill.
    """

    cost: float | None
    at_least: bool
    unpriced: list[str]
    rows: list[Charge]
    prices: StagePrices
