"""The bill that is kept with a run: read back for a set of verdicts or for several, and in words."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from maskbench.errors import RunUnreadable
from maskbench.method.asks import VERDICTS
from maskbench.runs.bill_json import Bill, Ledger, StagePrices
from maskbench.runs.fitting import Misfit, fitted
from maskbench.runs.folder import RunFolder
from maskbench.runs.store import Store


def fact_of(verdicts: str) -> str:
    """The name of the fact under which a run keeps the bill of a verdict set; its own set's has the replies, too."""
    return "bill" if verdicts == VERDICTS else f"bill {verdicts}"


def ledger_of(store: Store, verdicts: str = VERDICTS) -> Ledger | None:
    """What is kept of a bill; None where nothing is. Raises RunUnreadable for what maskbench did not write."""
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
    """What the replies and these verdict sets cost; None where nothing is kept, or nobody bills any of the models."""
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
    """What a bill comes to, for people; empty where there is none, or no price is known."""
    if bill is None or bill.cost is None:
        return ""
    return f"{'at least ' if bill.at_least else ''}{dollars(bill.cost)}"


def dollars(amount: float) -> str:
    """An amount of money for people: cents from a dollar on, hundredths of a cent below."""
    return f"${amount:,.2f}" if amount >= 1 or amount == 0 else f"${amount:.4f}"
