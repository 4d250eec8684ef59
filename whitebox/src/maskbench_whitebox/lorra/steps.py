"""The steps of a LoRRA training: seeded, and taken up again where they were stopped, to the same weights."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from maskbench.errors import Interrupted, UsageError
from maskbench_whitebox.lorra.loss import Loss, Rows, backward
from maskbench_whitebox.lorra.recipe import Recipe

if TYPE_CHECKING:
    from torch import Tensor

    from maskbench_whitebox.models.loading import Loaded

SAVE_SECONDS = 60.0


def schedule(count: int, batch: int, steps: int, name: str) -> Iterator[list[int]]:
    """Which texts each step reads: all of them in an order drawn by name, then all in another, without end."""
    rng = Random(f"lorra order {name}")
    order: list[int] = []
    for _ in range(steps):
        while len(order) < batch:
            order += rng.sample(range(count), count)
        yield order[:batch]
        order = order[batch:]


def steps(
    adapter: Any,
    loaded: Loaded,
    texts: Sequence[Rows],
    recipe: Recipe,
    checkpoint: Checkpoint,
    *,
    watch: Callable[[Loss], None] = lambda loss: None,
    stopped: Callable[[], bool] = lambda: False,
) -> list[Loss]:
    """Train the adapter from its checkpoint, or from the start, to the last step; returns the loss of every step.

    Raises Interrupted, the checkpoint written, where `stopped` says so between two steps; UsageError where the loss
    is no longer a number.
    """
    import torch

    weights = {name: weight for name, weight in adapter.named_parameters() if weight.requires_grad}
    optimizer = torch.optim.AdamW(weights.values(), lr=recipe.rate, weight_decay=0.0)
    losses = checkpoint.load(weights, optimizer)
    for step, batch in enumerate(_batches(texts, recipe), 1):
        if step <= len(losses):
            continue
        if stopped():
            checkpoint.save(weights, optimizer, losses)
            raise Interrupted(
                f"Stopped after step {len(losses)} of {recipe.steps}; the same command goes on from there."
            )
        losses.append(_step(step, adapter, loaded, batch, recipe, optimizer))
        watch(losses[-1])
        checkpoint.save_now_and_then(weights, optimizer, losses)
    checkpoint.save(weights, optimizer, losses)
    return losses


def _batches(texts: Sequence[Rows], recipe: Recipe) -> Iterator[list[Rows]]:
    """The texts of each step: `batch` pressed ones, and as many neutral ones where they count."""
    pressed = [text for text in texts if text.honest]
    neutral = [text for text in texts if not text.honest and recipe.retain]
    both = [
        (some, schedule(len(some), recipe.batch, recipe.steps, f"{recipe.seed} {len(some)}"))
        for some in (pressed, neutral)
        if some
    ]
    for chosen in zip(*(order for _, order in both), strict=True):
        yield [some[place] for (some, _), places in zip(both, chosen, strict=True) for place in places]


def _step(step: int, adapter: Any, loaded: Loaded, batch: Sequence[Rows], recipe: Recipe, optimizer: Any) -> Loss:
    import torch

    try:
        loss = backward(adapter, loaded, batch, recipe)
    except torch.OutOfMemoryError:
        raise UsageError(
            f"Memory ran out with {recipe.at_once} texts at once. Try --at-once {recipe.at_once // 2}."
        ) from None
    if not math.isfinite(loss.loss):
        raise UsageError(f"The loss of step {step} is no number: it diverged. Try a smaller --rate or --alpha.")
    torch.nn.utils.clip_grad_norm_((weight for group in optimizer.param_groups for weight in group["params"]), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return replace(loss, step=step)


class Checkpoint:
    """The state of a training in one file, replaced as a whole."""

    def __init__(self, path: Path, identity: str) -> None:
        """`identity` is everything that shapes the weights: a state of another training is not taken up."""
        self._path = path
        self._identity = identity
        self._saved = time.monotonic()

    def load(self, weights: dict[str, Tensor], optimizer: Any) -> list[Loss]:
        """Take up the state that is there; returns the losses up to it. Raises UsageError for another training's."""
        import torch

        if not self._path.is_file():
            return []
        state = torch.load(self._path, weights_only=True)
        if state["identity"] != self._identity:
            raise UsageError(f"{self._path} belongs to another training. Give another --out, or remove it.")
        with torch.no_grad():
            for name, weight in weights.items():
                weight.copy_(state["weights"][name])
        optimizer.load_state_dict(state["optimizer"])
        return [Loss(*loss) for loss in state["losses"]]

    def save_now_and_then(self, weights: dict[str, Tensor], optimizer: Any, losses: Sequence[Loss]) -> None:
        """Write the state where the last one is a minute old."""
        if time.monotonic() - self._saved > SAVE_SECONDS:
            self.save(weights, optimizer, losses)

    def save(self, weights: dict[str, Tensor], optimizer: Any, losses: Sequence[Loss]) -> None:
        """Write the state so that a crash leaves the last one whole."""
        import torch

        rows = [astuple(loss) for loss in losses]
        state = {"identity": self._identity, "weights": weights, "optimizer": optimizer.state_dict(), "losses": rows}
        partial = self._path.with_suffix(".partial")
        torch.save(state, partial)
        partial.replace(self._path)
        self._saved = time.monotonic()

    def remove(self) -> None:
        """The training is over."""
        self._path.unlink(missing_ok=True)
