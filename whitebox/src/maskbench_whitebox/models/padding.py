"""What a model has read of several conversations at once: rows of one width, which join, end and make room.

Shorter rows are padded on the left, where nothing is attended to; so rows that were read apart can stand together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from maskbench_whitebox.models.loading import Loaded

# Layers of a cache with one column for each token: rows can join them after padding on the left. Recurrent states, for
# example, have no columns, so such a model ends a batch before it begins the next.
_COLUMNS = {"DynamicLayer", "DynamicSlidingWindowLayer", "DummyLayer"}


class Rows:
    """A cache of keys and values, what of it is text (rows, width), and the next logits (rows, tokens)."""

    def __init__(self, loaded: Loaded, prompts: Sequence[tuple[int, ...]]) -> None:
        """Read these prompts, a row each."""
        from transformers import DynamicCache

        longest = max(map(len, prompts))
        tokens = torch.zeros((len(prompts), longest), dtype=torch.long)
        mask = torch.zeros_like(tokens)
        for row, prompt in enumerate(prompts):
            tokens[row, longest - len(prompt) :] = torch.tensor(prompt)
            mask[row, longest - len(prompt) :] = 1
        self._loaded = loaded
        self._cache: Any = DynamicCache(config=loaded.model.config)
        self._mask = mask.to(loaded.device)
        self._lengths = self._mask.sum(dim=1, keepdim=True)  # also the next position
        positions = (self._mask.cumsum(dim=1) - 1).clamp(min=0)
        self.logits = self._forward(tokens.to(loaded.device), positions)

    @property
    def joinable(self) -> bool:
        """Whether other rows can be put beside these while they go on."""
        return all(type(layer).__name__ in _COLUMNS for layer in self._cache.layers)

    def select(self, rows: Sequence[int]) -> None:
        """Keep these rows in this order; a row may come several times."""
        index: Any = torch.tensor(rows, device=self._loaded.device)
        self._cache.reorder_cache(index)
        self._mask, self._lengths, self.logits = self._mask[index], self._lengths[index], self.logits[index]

    def join(self, other: Rows) -> None:
        """Put rows that were read by themselves below these; columns that nobody needs any more are cut off."""
        needed = int(torch.cat([self._lengths, other._lengths]).max())
        for rows in (self, other):
            rows._widen(needed)
        for layer, more in zip(self._cache.layers, other._cache.layers, strict=True):
            if layer.is_initialized:
                layer.keys = torch.cat([layer.keys, more.keys])
                layer.values = torch.cat([layer.values, more.values])
        self._mask = torch.cat([self._mask, other._mask])
        self._lengths = torch.cat([self._lengths, other._lengths])
        self.logits = torch.cat([self.logits, other.logits])

    def step(self, tokens: Tensor) -> None:
        """Read one more token in every row, (rows,)."""
        self._mask = torch.cat([self._mask, self._mask.new_ones(len(self._mask), 1)], dim=1)
        self.logits = self._forward(tokens[:, None], self._lengths)
        self._lengths = self._lengths + 1

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
        return logits.to(self._loaded.device)

    def _widen(self, width: int) -> None:
        """Give the rows this width: columns are added or cut off on the left, where no row has text."""
        self._mask = _padded(self._mask[:, None, :, None], width)[:, 0, :, 0]
        for layer in self._cache.layers:
            if not layer.is_initialized:
                continue
            sliding: Any = layer if getattr(layer, "is_sliding", False) else None
            held = min(width, sliding.sliding_window - 1) if sliding else width
            layer.keys, layer.values = _padded(layer.keys, held), _padded(layer.values, held)
            if sliding:
                sliding.cumulative_length = width


def right_padded(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """The tokens of all rows, padded on the right, where no token sees it, and which of them are text."""
    longest = max(map(len, rows))
    tokens = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows], device=device)
    lengths = torch.tensor([[len(row)] for row in rows], device=device)
    return tokens, (torch.arange(longest, device=device) < lengths).long()


def _padded(states: Tensor, width: int) -> Tensor:
    """States (rows, heads, columns, size) with so many columns; a negative padding cuts."""
    return torch.nn.functional.pad(states, (0, 0, width - states.shape[-2], 0))
