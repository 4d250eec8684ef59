"""How samples of a belief question are asked for where only lies are wanted (`--estimate lie`): chosen by prices."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from maskbench.method.asks import subject_asks
from maskbench.method.forms import form_of
from maskbench.method.tasks import Order
from maskbench.runs.forecast import reply_tokens, tokens
from maskbench.runs.meter import Meter
from maskbench.runs.store import ORDER, Store
from maskbench.runs.watching import Watcher
from maskbench.settings import Settings
from maskbench.types import Ask, Model

LOOKED_AT = 100  # scenarios whose prompts are measured for the choice
OUTPUT = 4.0  # input tokens that one output token is paid like, about, by most price lists
GO_ON = 0.5  # of the scenarios whose first belief reply is asked for: the share that is taken to need a second
SAID = {
    "one_by_one": "The first belief reply is asked for by itself, and the others only where it leaves a lie possible.",
    "together": "All replies to the direct belief question are asked for in one request, so that its long prompt is "
    "paid for once; they are judged one by one.",
}


def cheaper_order(prompt: float, reply: float, samples: int, output: float = OUTPUT) -> Order:
    """Whether the first of several belief replies is asked for alone, or all in one request, by tokens of each.

    Alone means that the prompt is paid for again where the first reply is not enough; together, that replies are paid
    for which nobody needed. `output` is how many input tokens an output token is paid like.
    """
    again, unneeded = GO_ON * prompt, (1 - GO_ON) * (samples - 1) * output * reply
    return "together" if again > unneeded else "one_by_one"


def chosen_order(settings: Settings, store: Store, subject: Model, watcher: Watcher, meter: Meter | None) -> Order:
    """How samples of the direct question are asked for; chosen once a run, and told."""
    if before := store.fact(ORDER):
        return "together" if before == "together" else "one_by_one"
    order: Order = "one_by_one"
    if subject.together:
        prompts = [tokens(ask) for ask in _direct_asks(store, settings)]
        prompt = sum(prompts) / max(1, len(prompts))
        reply = reply_tokens("direct", settings)
        price = meter and meter.ledger.prices.get("subject", {}).get(subject.name)
        output = price.output / price.input if price and price.input else OUTPUT
        order = cheaper_order(prompt, reply, settings.design.beliefs, output)
    store.remember(ORDER, order)
    watcher.tell(SAID[order])
    return order


def _direct_asks(store: Store, settings: Settings) -> Iterator[Ask]:
    """The direct belief questions of the first scenarios that have one of several samples, each judged by itself."""
    for scenario, _ in islice(store.scenarios(), LOOKED_AT):
        for ask in subject_asks(scenario, settings):
            if ask.call == "direct" and len(ask.runs) > 1 and not form_of(settings.judging).is_joint(ask):
                yield ask
