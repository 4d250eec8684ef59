"""What is continued together, with which threads and which steering, and what happens when memory runs out."""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from maskbench.errors import UsageError
from maskbench_whitebox.models.decoding import Batch, Sample
from maskbench_whitebox.models.loading import out_of_memory
from maskbench_whitebox.models.steering import checked_layers, steered
from maskbench_whitebox.models.threads import quickest_threads, using

if TYPE_CHECKING:
    from maskbench_whitebox.models.loading import Loaded
    from maskbench_whitebox.models.vectors import Vectors

TOKENS = 32_768  # in a batch, where the memory cannot be measured
LEAST, MOST = 4096, 262_144  # limits of a batch on a GPU: more rows make it no faster
SHARE = 0.5  # of the memory that is free once the model is loaded, for the cache of keys and values
AT_ONCE = 0.25  # of the budget: prompts that are read at a time
STEPS = 8  # of a batch, after which new samples may join
PATIENCE = 0.05  # seconds that a finished sample waits for others to finish


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


class NoRoom(Exception):
    """Memory has run out."""


class Engine:
    """Answers samples. `budget` is how many tokens may be held at a time, prompts and answers together.

    `extra` are the tokens that an answer is expected to need beyond its first limit; `drawn` counts the tokens drawn.
    """

    def __init__(
        self,
        loaded: Loaded,
        steering: Steering | None = None,
        batch_tokens: int | None = None,
        threads: int | None = None,
    ) -> None:
        """Raises UsageError for steering that does not fit the model."""
        if steering is not None:
            steering.check(len(loaded.layers), loaded.hidden_size, loaded.name)
        self.loaded = loaded
        self.budget = batch_tokens or _room(loaded)
        self.threads = threads or quickest_threads(loaded)
        self.extra = 0
        self._steering = steering
        self._batch = Batch(loaded)
        self._joining: list[Sample] = []

    @property
    def drawn(self) -> int:
        """The tokens that were drawn so far."""
        return self._batch.drawn

    @property
    def samples(self) -> list[Sample]:
        """Those that are being answered."""
        return [*self._batch.samples, *self._joining]

    def admit(self, waiting: list[Sample]) -> None:
        """Take samples off those that wait, the longest first, as many as the budget has room for.

        One at least where nothing goes on, and not too many prompts: what goes on stands still while they are read.
        Samples of one prompt stay together, so that it is read once.
        """
        if not waiting or not self._batch.joinable:
            return
        waiting.sort(key=lambda sample: (len(sample.prompt), sample.prompt))
        going = self.samples
        start, widest = len(waiting), max(map(self._cost, going), default=0)
        prompt, read = None, 0
        while start:
            sample = waiting[start - 1]
            widest = max(widest, self._cost(sample))
            read += len(sample.prompt) * (sample.prompt != prompt)
            rows = len(going) + len(waiting) - start + 1
            if rows > 1 and (widest * rows > self.budget or (start < len(waiting) and read > AT_ONCE * self.budget)):
                break
            prompt, start = sample.prompt, start - 1
        self._joining += waiting[start:]
        del waiting[start:]

    def advance(self, grow: Callable[[Sample], int], stopped: Callable[[], bool]) -> list[Sample]:
        """Go on for some steps, fewer where a sample ends and steps take their time; returns what has ended.

        Raises NoRoom where memory runs out, and what the model raises; `abandon` has the samples then.
        """
        try:
            with using(self.threads), torch.inference_mode():
                return self._advance(grow, stopped)
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
        raise NoRoom  # outside of the clause above, whose error keeps tensors in memory

    def _advance(self, grow: Callable[[Sample], int], stopped: Callable[[], bool]) -> list[Sample]:
        if self._joining:
            self._batch.join(self._joining)
            self._joining = []
        began, ended = time.monotonic(), list[Sample]()
        for _ in range(STEPS):
            if stopped() or not self._batch.samples or (ended and time.monotonic() - began > PATIENCE):
                break
            ended += self._batch.advance(grow)
        return ended

    def abandon(self) -> list[Sample]:
        """Drop all that goes on and give its memory back; returns the samples, which may begin anew."""
        samples, drawn = self.samples, self.drawn
        self._batch, self._joining = Batch(self.loaded), []
        self._batch.drawn = drawn
        free()
        return samples

    def shrink(self, samples: Sequence[Sample]) -> None:
        """From now on no more may be held than half of these, which did not fit."""
        self.budget = max(1, max(map(self._cost, samples)) * len(samples) // 2)

    def steered(self) -> AbstractContextManager[None]:
        """A block in which the model is steered, where it is to be."""
        if self._steering is None:
            return nullcontext()
        return steered(self.loaded.layers, self._steering.vectors, self._steering.layers, self._steering.strength)

    def _cost(self, sample: Sample) -> int:
        """The tokens that a sample may come to hold, as far as one can tell."""
        return len(sample.prompt) + max(len(sample.tokens), min(sample.first + self.extra, sample.most))


def _room(loaded: Loaded) -> int:
    """How many tokens of keys and values fit a part of the memory that is free on each GPU that has layers."""
    config = loaded.model.config.get_text_config()
    queries = getattr(config, "num_attention_heads", None)
    shares = Counter(next(layer.parameters()).device for layer in loaded.layers)
    if queries is None or any(device.type != "cuda" for device in shares):
        return TOKENS
    heads = getattr(config, "num_key_value_heads", None) or queries
    width = getattr(config, "head_dim", None) or config.hidden_size // queries
    layer = 2 * heads * width * loaded.model.dtype.itemsize  # bytes of a token
    rooms = [SHARE * torch.cuda.mem_get_info(device)[0] / (layer * count) for device, count in shares.items()]
    return min(MOST, max(LEAST, int(min(rooms))))


def free() -> None:
    """Give memory back that nobody holds any more."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
