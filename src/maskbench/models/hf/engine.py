"""Batches: what is continued together, with which threads and which steering, and what happens when memory runs out."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from maskbench.errors import UsageError
from maskbench.models.hf.decoding import Sample, decode
from maskbench.whitebox.loading import out_of_memory
from maskbench.whitebox.steering import checked_layers, steered

if TYPE_CHECKING:
    from maskbench.whitebox.loading import Loaded
    from maskbench.whitebox.vectors import Vectors

TOKENS = 32_768  # of a batch, where nothing says how many fit
LEAST, MOST = 4096, 262_144  # of a batch on a GPU: beyond, more rows make it no faster
SHARE = 0.5  # of the memory that is free once the model is loaded, for the cache of keys and values
SMALL = 10_000_000  # parameters: below, threads wait for each other longer than they compute, above all on busy cores


@dataclass(frozen=True, slots=True)
class Steering:
    """Vectors that are added while the model answers; `layers` None: all that they have."""

    vectors: Vectors
    layers: tuple[int, ...] | None = None
    strength: float = 1.0

    def check(self, layers: int, hidden: int, name: str) -> None:
        """Raise UsageError where this does not fit a model of so many layers and so long hidden states."""
        checked_layers(layers, self.vectors, self.layers)
        if self.vectors.hidden_size != hidden:
            raise UsageError(
                f"The vectors have {self.vectors.hidden_size} numbers a layer, and {name} has {hidden}: they were made "
                "for another model."
            )


class Engine:
    """Answers batches of samples. `budget` is how many tokens one may come to hold, prompts and answers together.

    `extra` are the tokens that an answer is expected to need beyond its first limit.
    """

    def __init__(self, loaded: Loaded, steering: Steering | None = None, batch_tokens: int | None = None) -> None:
        """Raises UsageError for steering that does not fit the model."""
        if steering is not None:
            steering.check(len(loaded.layers), loaded.hidden_size, loaded.name)
        self.loaded = loaded
        self.budget = batch_tokens or _room(loaded)
        self.threads = _threads(loaded)
        self.extra = 0
        self._steering = steering

    def pack(self, waiting: list[Sample]) -> list[Sample]:
        """Take the longest that wait, as many as the budget holds, one at least; those of one prompt stay together."""
        waiting.sort(key=lambda sample: (len(sample.prompt), sample.prompt))
        start, widest = len(waiting), 0
        while start:
            widest = max(widest, self._cost(waiting[start - 1]))
            if start < len(waiting) and widest * (len(waiting) - start + 1) > self.budget:
                break
            start -= 1
        batch = waiting[start:]
        del waiting[start:]
        return batch

    def run(self, batch: Sequence[Sample], grow: Callable[[Sample], int], stopped: Callable[[], bool]) -> bool:
        """Answer a batch; whether it fitted the memory. Raises Stopped, or what the model raises."""
        started = time.monotonic()
        for sample in batch:
            sample.begin()
        try:
            with self._steered(), _using(self.threads):
                decode(self.loaded, batch, grow, stopped)
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
            fitted = False  # what is in memory is still held by the error, up to the end of this clause
        else:
            fitted = True
        if not fitted:
            free()
        for sample in batch:
            sample.seconds = time.monotonic() - started
        return fitted

    def shrink(self, batch: Sequence[Sample]) -> None:
        """From now on no batch may be larger than half of this one, which did not fit."""
        self.budget = max(1, max(map(self._cost, batch)) * len(batch) // 2)

    def _cost(self, sample: Sample) -> int:
        """The tokens that a sample may come to hold, as far as one can tell."""
        return len(sample.prompt) + min(sample.first + self.extra, sample.most)

    def _steered(self) -> AbstractContextManager[None]:
        if self._steering is None:
            return nullcontext()
        return steered(self.loaded.layers, self._steering.vectors, self._steering.layers, self._steering.strength)


def _room(loaded: Loaded) -> int:
    """How many tokens of keys and values fit a part of the memory that is free on a GPU."""
    config = loaded.model.config.get_text_config()
    queries = getattr(config, "num_attention_heads", None)
    if loaded.device.type != "cuda" or queries is None:
        return TOKENS
    heads = getattr(config, "num_key_value_heads", None) or queries
    width = getattr(config, "head_dim", None) or config.hidden_size // queries
    token = 2 * config.num_hidden_layers * heads * width * loaded.model.dtype.itemsize
    spare, _ = torch.cuda.mem_get_info(loaded.device)
    return min(MOST, max(LEAST, int(SHARE * spare / token)))


def _threads(loaded: Loaded) -> int:
    most = torch.get_num_threads()
    small = sum(parameter.numel() for parameter in loaded.model.parameters()) < SMALL
    return 1 if small else most


@contextmanager
def _using(threads: int) -> Iterator[None]:
    """So many threads for what torch computes in this one."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def free() -> None:
    """Give memory back that nobody holds any more."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
