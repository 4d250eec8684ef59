"""How many threads torch computes with: what was asked for, else the quicker of one and all, found by trying.

Threads wait for each other at every step. With a small model, or on cores that others use, that costs more than the
threads give.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from torch import nn

    from maskbench_whitebox.models.loading import Loaded

SMALL = 10_000_000  # parameters, below which one thread is always quicker, and nothing need be tried
ROUNDS, PATIENCE = 3, 2.0  # how often each is timed, and the seconds after which that is enough
ROWS, COLUMNS = 8, 4  # of the step that is timed, about as large as one of a batch

_known: WeakKeyDictionary[nn.Module, int] = WeakKeyDictionary()


def quickest_threads(loaded: Loaded) -> int:
    """One or all: whichever takes a step of this model in less time, on a CPU; a model is timed once."""
    import torch

    most = torch.get_num_threads()
    parameters = sum(parameter.numel() for parameter in loaded.model.parameters())
    if most == 1 or parameters < SMALL:
        return 1
    if loaded.device.type != "cpu":
        return most
    if loaded.model not in _known:
        _known[loaded.model] = min((1, most), key=_timed(loaded, (1, most)).__getitem__)
    return _known[loaded.model]


def _timed(loaded: Loaded, counts: tuple[int, ...]) -> dict[int, float]:
    """The shortest time that a step took with so many threads each; the first step is no measure, and not counted."""
    import torch

    tokens = torch.zeros((ROWS, COLUMNS), dtype=torch.long, device=loaded.device)
    times = dict.fromkeys(counts, float("inf"))
    began = time.monotonic()
    with torch.inference_mode():
        loaded.model(input_ids=tokens, use_cache=False, logits_to_keep=1)
        for _ in range(ROUNDS):
            for count in counts:
                with using(count):
                    started = time.monotonic()
                    loaded.model(input_ids=tokens, use_cache=False, logits_to_keep=1)
                    times[count] = min(times[count], time.monotonic() - started)
            if time.monotonic() - began > PATIENCE:
                break
    return times


@contextmanager
def using(threads: int | None) -> Iterator[None]:
    """So many threads for what torch computes in this one; None leaves them as they are."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
