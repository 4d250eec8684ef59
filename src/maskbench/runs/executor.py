"""The executor of a run: what has its passes asked of models, live or in batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from maskbench.method.forms.prompts import Prompts
from maskbench.method.tasks import Order
from maskbench.runs.batched import Batched
from maskbench.runs.desk import Desk
from maskbench.runs.lie_order import chosen_order
from maskbench.runs.live import Gate, Live
from maskbench.runs.passes import passes_of
from maskbench.runs.protocol import Pass
from maskbench.runs.store import Store
from maskbench.runs.watching import Watcher
from maskbench.settings import Settings
from maskbench.types import Kind, Model

Executor: TypeAlias = Live | Batched


def measuring(
    settings: Settings,
    store: Store,
    subject: Model,
    judges: Mapping[Kind, Model],
    prompts: Prompts,
    watcher: Watcher,
    gate: Gate | None = None,
    *,
    batched: bool = False,
) -> Executor:
    """One measurement on its way.

    `judges` are by kind of scenario; `gate` is the one that the models wait at, to be closed by `stop`.
    """
    order: Order = "one_by_one"
    if settings.design.estimate == "lie":
        order = chosen_order(settings, store, subject, watcher, gate.meter if gate else None)
    return executor(
        settings, store, passes_of(settings, store, prompts, order), judges, watcher, gate, subject, batched=batched
    )


def executor(
    settings: Settings,
    store: Store,
    passes: Iterable[Pass],
    judges: Mapping[Kind, Model],
    watcher: Watcher,
    gate: Gate | None = None,
    subject: Model | None = None,
    *,
    batched: bool = False,
) -> Executor:
    """What has these passes asked of models; without a `subject` replies stand as they are stored.

    `batched`: with batches of the set of verdicts of the first pass, or with what earlier ones brought.
    """
    models = [*([subject] if subject else []), *judges.values()]
    desk = Desk(settings, store, judges, watcher, subject)
    live = Live(settings, store, desk, passes, models, watcher, gate, subject)
    if not batched:
        return live
    return Batched(settings, store, live, desk, list(passes), judges, watcher, gate.meter if gate else None, subject)
