"""Prices of tokens, and what tokens cost by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta, Struct, structs

TYPED = "the settings"  # the source of a price that a run's settings have
MILLION = 1_000_000

Dollars = Annotated[float, Meta(ge=0, le=1_000_000)]


class Price(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The price of a million tokens of one model in US dollars, with its page and date."""

    input: Dollars
    output: Dollars
    cached: Dollars | None = None  # input that a cache held; None: as any other input
    write: Dollars | None = None  # input that is put into a cache; None: as any other input
    minimum: int | None = None  # tokens of a beginning before a cache takes it
    batch: Annotated[float, Meta(gt=0, le=1)] | None = None  # share of these prices that a batch costs; None: all
    reasons: bool = False  # it is known to reason before it answers, unless it is told not to
    date: str = ""
    source: str = ""

    @property
    def batched(self) -> Price:
        """What the tokens of a batch cost: the share that the list gives of each price, or all of it."""
        share = 1.0 if self.batch is None else self.batch
        rates = {name: getattr(self, name) for name in ("input", "output", "cached", "write")}
        return structs.replace(self, **{name: rate * share for name, rate in rates.items() if rate is not None})

    @property
    def words(self) -> str:
        """The price of a million tokens as people say it, with its date, or that it was typed in."""
        cached = "" if self.cached is None else f", ${self.cached:g} cached"
        when = self.date or (self.source == TYPED and f"by {TYPED}")
        return f"${self.input:g} in{cached}, ${self.output:g} out" + (f" ({when})" if when else "")


FREE = Price(input=0, output=0, source="no service: nobody bills the tokens")


@dataclass(slots=True)
class Tokens:
    """Tokens of some calls; `cached` and `written` are part of `input`, as the endpoints report them."""

    calls: int = 0
    input: float = 0
    cached: float = 0
    written: float = 0
    output: float = 0

    def __iadd__(self, other: Tokens) -> Tokens:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


def cost(tokens: Tokens, price: Price) -> float:
    """The cost of tokens in US dollars."""
    cached = min(tokens.cached, tokens.input)
    written = min(tokens.written, tokens.input - cached)
    rates = (
        (tokens.input - cached - written, price.input),
        (cached, price.input if price.cached is None else price.cached),
        (written, price.input if price.write is None else price.write),
        (tokens.output, price.output),
    )
    return sum(count * rate for count, rate in rates) / MILLION
