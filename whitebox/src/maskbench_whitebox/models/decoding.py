"""Continuing prompts, many at a time: a sample leaves when it ends, and another one takes its row.

The whole distribution is sampled at the temperature asked for. A sample draws one number a token from its own
generator and inverts the distribution with it, so a reply hangs on its own prompt and seed; what stands beside it
changes the last bits of its logits and nothing else.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch

from maskbench.types import Failure
from maskbench_whitebox.models.padding import Rows

if TYPE_CHECKING:
    from torch import Tensor

    from maskbench_whitebox.models.loading import Loaded

SPARSE = 0.75  # where a smaller share of a batch still goes on, its rows are compacted


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
    doubled: bool = False  # the limit was doubled, because there was no answer yet
    broken: bool = False  # its logits are no numbers
    seconds: float = 0.0
    done: asyncio.Future[None] | None = None
    failure: Failure | None = None
    rng: np.random.Generator = field(default_factory=np.random.default_rng)
    _began: float = 0.0

    def begin(self) -> None:
        """Start, or start over: the same prompt and seed give the same answer."""
        self.tokens, self.limit, self.doubled, self.broken = [], self.first, False, False
        self.rng = np.random.default_rng(self.seed)
        self._began = time.monotonic()

    def end(self) -> None:
        """Note how long it took."""
        self.seconds = time.monotonic() - self._began


class Batch:
    """Samples that go on together, a row each; `drawn` counts the tokens that were drawn."""

    def __init__(self, loaded: Loaded) -> None:
        self.drawn = 0
        self._loaded = loaded
        self._rows: Rows | None = None
        self._samples: list[Sample | None] = []  # by row; None has ended

    @property
    def samples(self) -> list[Sample]:
        """Those that go on."""
        return [sample for sample in self._samples if sample is not None]

    @property
    def joinable(self) -> bool:
        """Whether samples may join while others go on."""
        return not self.samples or self._rows is None or self._rows.joinable

    def join(self, samples: Sequence[Sample]) -> None:
        """Read the prompts of more samples, each of them once however many share it, and give each a row."""
        prompts = list(dict.fromkeys(sample.prompt for sample in samples))
        places = {prompt: place for place, prompt in enumerate(prompts)}
        rows = [places[sample.prompt] for sample in samples]
        for sample in samples:
            sample.begin()
        read = Rows(self._loaded, prompts)
        if rows != list(range(len(prompts))):
            read.select(rows)
        self._keep([row for row, sample in enumerate(self._samples) if sample is not None])
        if self._rows is None:
            self._rows = read
        else:
            self._rows.join(read)
        self._samples += samples

    def advance(self, grow: Callable[[Sample], int]) -> list[Sample]:
        """Draw a token for each sample, and get the next logits of those that go on; returns those that ended.

        `grow` says what limit a sample that has come to its limit has from now on; it goes on where that is larger.
        """
        assert self._rows is not None, "nothing has joined"  # noqa: S101
        drawn = _drawn(self._rows.logits, self._samples)
        ended: list[Sample] = []
        for row, (sample, token) in enumerate(zip(self._samples, drawn.tolist(), strict=True)):
            if sample is not None and self._ended(sample, token, grow):
                sample.end()
                ended.append(sample)
                self._samples[row] = None
        self._step(drawn)
        return ended

    def _ended(self, sample: Sample, token: int, grow: Callable[[Sample], int]) -> bool:
        if token < 0:
            sample.broken = True
            return True
        self.drawn += 1
        sample.tokens.append(token)
        if token in self._loaded.ends:
            return True
        if len(sample.tokens) >= sample.limit:
            sample.limit = grow(sample)
        return len(sample.tokens) >= sample.limit

    def _step(self, drawn: Tensor) -> None:
        """The next logits; rows that have ended are dropped once they are many."""
        going = [row for row, sample in enumerate(self._samples) if sample is not None]
        if len(going) < SPARSE * len(self._samples):
            self._keep(going)
            drawn = drawn[torch.tensor(going, dtype=torch.long, device=drawn.device)]
        if self._rows is not None:
            self._rows.step(drawn.clamp(min=0))

    def _keep(self, rows: Sequence[int]) -> None:
        if not rows:
            self._rows = None
        elif self._rows is not None and len(rows) < len(self._samples):
            self._rows.select(rows)
        self._samples = [self._samples[row] for row in rows]


def _drawn(logits: Tensor, samples: Sequence[Sample | None]) -> Tensor:
    """A token for each row, (rows, tokens) to (rows,): the likeliest at temperature 0, −1 where none is a number."""
    most, likeliest = logits.max(dim=1, keepdim=True)
    tokens = likeliest[:, 0]
    temperatures = [sample.temperature if sample else 0.0 for sample in samples]
    if any(temperatures):
        device, wide = logits.device, torch.float32 if logits.device.type == "mps" else torch.float64
        warmth = torch.tensor(temperatures, device=device)[:, None]
        likely = ((logits - most) / warmth.where(warmth > 0, 1)).exp()
        numbers = [sample.rng.random() if sample and sample.temperature else 0.0 for sample in samples]
        sums = likely.cumsum(dim=1, dtype=wide)
        reached = torch.tensor(numbers, dtype=wide, device=device)[:, None] * sums[:, -1:]
        drawn = (sums <= reached).sum(dim=1).clamp(max=logits.shape[1] - 1)
        tokens = drawn.where(warmth[:, 0] > 0, tokens)
    return tokens.where(most[:, 0].isfinite(), -1)
