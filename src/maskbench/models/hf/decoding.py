"""Continuing prompts, many at a time: one reading of each prompt, however many samples are drawn from it.

The whole distribution is sampled at the temperature asked for. A row draws one number a token from its own generator
and inverts the distribution with it, so a reply hangs on its own prompt and seed; what stands beside it in the batch
changes the last bits of its logits and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from maskbench.types import Failure

if TYPE_CHECKING:
    from torch import Tensor

    from maskbench.whitebox.loading import Loaded

SPARSE = 0.75  # a batch of which less than this share is still going on is made smaller


class Stopped(Exception):
    """Decoding was told to stop between two steps."""


@dataclass(slots=True, eq=False)
class Sample:
    """One answer in the making; `most` is how many tokens it may ever have, `first` how many at first."""

    prompt: tuple[int, ...]
    seed: int
    temperature: float
    first: int
    most: int
    tokens: list[int] = field(default_factory=list)
    limit: int = 0  # tokens that it may have as things stand
    doubled: bool = False  # the limit was, for want of an answer
    broken: bool = False  # its logits are no numbers
    seconds: float = 0.0
    done: asyncio.Future[None] | None = None
    failure: Failure | None = None

    def begin(self) -> None:
        """Start, or start over: the same prompt and seed give the same answer."""
        self.tokens, self.limit, self.doubled, self.broken = [], self.first, False, False


def decode(
    loaded: Loaded, samples: Sequence[Sample], grow: Callable[[Sample], int], stopped: Callable[[], bool]
) -> None:
    """Continue these samples together until each has ended or has its limit of tokens.

    `grow` says what limit a sample that has come to its limit has from now on; it goes on where that is larger.
    Raises Stopped where `stopped` says so between two steps, and whatever the model raises.
    """
    with torch.inference_mode():
        batch = _Batch(loaded, samples)
        while batch.take(grow):
            if stopped():
                raise Stopped
            batch.step()


class _Batch:
    """Rows under way: their cache, their attention mask (rows, tokens so far) and their next logits (rows, tokens)."""

    def __init__(self, loaded: Loaded, samples: Sequence[Sample]) -> None:
        """Read every prompt once, then give each sample a row of its own."""
        self._loaded = loaded
        self._device = loaded.device
        prompts = list(dict.fromkeys(sample.prompt for sample in samples))
        self._read(prompts)
        places = {prompt: place for place, prompt in enumerate(prompts)}
        self._rows: list[Sample | None] = list(samples)
        self._rngs = [np.random.default_rng(sample.seed) for sample in samples]
        rows = [places[sample.prompt] for sample in samples]
        if rows != list(range(len(prompts))):
            self._select(rows)

    def _read(self, prompts: Sequence[tuple[int, ...]]) -> None:
        from transformers import DynamicCache

        longest = max(map(len, prompts))
        tokens = torch.zeros((len(prompts), longest), dtype=torch.long)
        mask = torch.zeros_like(tokens)
        for row, prompt in enumerate(prompts):
            tokens[row, longest - len(prompt) :] = torch.tensor(prompt)
            mask[row, longest - len(prompt) :] = 1
        self._cache = DynamicCache(config=self._loaded.model.config)
        self._mask = mask.to(self._device)
        self._lengths = self._mask.sum(dim=1, keepdim=True)  # also the next position
        positions = (self._mask.cumsum(dim=1) - 1).clamp(min=0)
        self._logits = self._forward(tokens.to(self._device), positions)

    def _forward(self, tokens: Tensor, positions: Tensor) -> Tensor:
        output: Any = self._loaded.model(
            input_ids=tokens,
            attention_mask=self._mask,
            position_ids=positions,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        logits: Tensor = output.logits[:, -1].float()
        return logits

    def _select(self, rows: Sequence[int]) -> None:
        index: Any = torch.tensor(rows, device=self._device)
        self._cache.reorder_cache(index)
        self._mask, self._lengths, self._logits = self._mask[index], self._lengths[index], self._logits[index]

    def take(self, grow: Callable[[Sample], int]) -> bool:
        """Draw a token for each row; whether any goes on."""
        temperatures = [sample.temperature if sample else 0.0 for sample in self._rows]
        self._drawn = _draw(self._logits, temperatures, self._rngs)
        for row, (sample, token) in enumerate(zip(self._rows, self._drawn.tolist(), strict=True)):
            if sample is not None and self._ended(sample, token, grow):
                self._rows[row] = None
        return any(sample is not None for sample in self._rows)

    def _ended(self, sample: Sample, token: int, grow: Callable[[Sample], int]) -> bool:
        if token < 0:
            sample.broken = True
            return True
        sample.tokens.append(token)
        if token in self._loaded.ends:
            return True
        if len(sample.tokens) >= sample.limit:
            sample.limit = grow(sample)
        return len(sample.tokens) >= sample.limit

    def step(self) -> None:
        """One more token for every row; rows that have ended are dropped once they are many."""
        going = [row for row, sample in enumerate(self._rows) if sample is not None]
        if len(going) < SPARSE * len(self._rows):
            self._select(going)
            self._rows = [self._rows[row] for row in going]
            self._rngs = [self._rngs[row] for row in going]
            self._drawn = self._drawn[torch.tensor(going, device=self._device)]
        self._mask = torch.cat([self._mask, self._mask.new_ones(len(self._rows), 1)], dim=1)
        tokens = self._drawn.clamp(min=0)[:, None]
        self._logits = self._forward(tokens, self._lengths)
        self._lengths = self._lengths + 1


def _draw(logits: Tensor, temperatures: Sequence[float], rngs: Sequence[np.random.Generator]) -> Tensor:
    """A token for each row, (rows, tokens) to (rows,): the likeliest at temperature 0, −1 where none is a number."""
    most, likeliest = logits.max(dim=1, keepdim=True)
    tokens = likeliest[:, 0]
    if any(temperatures):
        device, wide = logits.device, torch.float32 if logits.device.type == "mps" else torch.float64
        warmth = torch.tensor(temperatures, device=device)[:, None]
        numbers = [rng.random() if temperature else 0.0 for rng, temperature in zip(rngs, temperatures, strict=True)]
        sums = ((logits - most) / warmth.where(warmth > 0, 1)).exp().cumsum(dim=1, dtype=wide)
        reached = torch.tensor(numbers, dtype=wide, device=device)[:, None] * sums[:, -1:]
        drawn = (sums <= reached).sum(dim=1).clamp(max=logits.shape[1] - 1)
        tokens = drawn.where(warmth[:, 0] > 0, tokens)
    return tokens.where(most[:, 0].isfinite(), -1)
