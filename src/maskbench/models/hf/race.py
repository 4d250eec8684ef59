"""Drawing tokens by common noise: each waits its time over its likelihood, and the first one is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from maskbench.stats.common_noise import UNIT, mixed, place_words, spread

if TYPE_CHECKING:
    from torch import Tensor

_AT_ONCE = 1 << 16  # numbers on a CPU: what its cache holds is mixed several times as fast as what it does not


def raced(likely: Tensor, places: Sequence[tuple[int, int]]) -> Tensor:
    """A token for each row of likelihoods, (rows, tokens) to (rows,), by the noise of that row's seed and position."""
    words = torch.tensor([place_words(*place) for place in places], dtype=torch.int32, device=likely.device)
    tokens = spread(torch.arange(likely.shape[1], dtype=torch.int32, device=likely.device))
    rows = max(1, _AT_ONCE // likely.shape[1]) if likely.device.type == "cpu" else len(likely)
    starts = range(0, len(likely), rows)
    return torch.cat([_first(likely[at : at + rows], tokens, words[at : at + rows]) for at in starts])


def _first(likely: Tensor, tokens: Tensor, words: Tensor) -> Tensor:
    """The token of each row with the shortest wait over its likelihood."""
    numbers = mixed(tokens ^ words[:, :1], words[:, 1:])
    waits = numbers.float().add_(0.5).mul_(-UNIT).log1p_().neg_()
    return (likely / waits).max(dim=1).indices  # quicker than argmax
