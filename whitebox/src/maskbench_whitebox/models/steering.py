"""Steering: a direction is added to the hidden states that leave a layer, for as long as a with-block lasts.

Hooks are entered on an ExitStack and nowhere else, so a wrong layer number, a failing forward pass or an interrupt
leaves no hook on the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from maskbench.errors import UsageError
from maskbench_whitebox.models.vectors import Vectors

if TYPE_CHECKING:
    from torch import Tensor, nn


@contextmanager
def steered(
    layers: Sequence[nn.Module], vectors: Vectors, chosen: Sequence[int] | None = None, strength: float = 1.0
) -> Iterator[None]:
    """Add strength × direction to the hidden states that leave each chosen layer, at all positions.

    `layers` are the model's decoder layers in order; `chosen` are layer numbers from 0, None all that have a
    direction. Strength 0 changes no bit. Raises UsageError where the model or the vectors lack a layer, where the
    strength is no finite number, and during a forward pass whose hidden states have another size.
    """
    wanted = checked_layers(len(layers), vectors, chosen)
    if not math.isfinite(strength):
        raise UsageError(f"A steering strength must be a finite number, not {strength}.")
    with ExitStack() as hooks:
        for layer in wanted if strength else ():
            adding = _adding(layer, strength * vectors.directions[layer])
            hooks.enter_context(layers[layer].register_forward_hook(adding))
        yield


def checked_layers(count: int, vectors: Vectors, chosen: Sequence[int] | None) -> tuple[int, ...]:
    """The layers to steer, ascending; raises UsageError where one is not in the model or has no direction."""
    wanted = vectors.layers if chosen is None else tuple(sorted(set(chosen)))
    for layer in wanted:
        if not 0 <= layer < count:
            raise UsageError(f"There is no layer {layer}: the model's {count} layers are numbered 0 to {count - 1}.")
        if layer not in vectors.directions:
            have = ", ".join(map(str, vectors.layers))
            raise UsageError(f"The vectors have no direction for layer {layer}, only for {have}.")
    return wanted


def _adding(layer: int, direction: Tensor) -> Callable[[Any, Any, Any], Any]:
    """A forward hook that adds the direction; some layers return a tensor, others a tuple that begins with it."""

    def hook(_module: Any, _inputs: Any, output: Any) -> Any:
        nonlocal direction
        hidden = output[0] if isinstance(output, tuple) else output
        if hidden.shape[-1] != len(direction):
            raise UsageError(
                f"The vectors have {len(direction)} numbers a layer, and layer {layer} of this model "
                f"{hidden.shape[-1]}: they were made for another model."
            )
        direction = direction.to(hidden)  # the device and precision of the layer; a copy is made once
        moved = hidden + direction
        return (moved, *output[1:]) if isinstance(output, tuple) else moved

    return hook


_MOST_LAYERS = 10_000


def layer_numbers(text: str) -> tuple[int, ...]:
    """The layers in a list such as 10,12-16, ascending; raises UsageError for any other text."""
    chosen: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or not (last if dash else "0").isdecimal() or int(last or first) < int(first):
            raise UsageError(f"-M layers={text}: give numbers and ranges, as in 10,12-16. The first layer is 0.")
        if int(last or first) > _MOST_LAYERS:
            raise UsageError(f"-M layers={text}: no model has so many layers.")
        chosen.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(chosen))
