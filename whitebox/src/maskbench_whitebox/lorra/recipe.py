"""The recipe of an adapter: how long, how far, where and on what it is trained."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from maskbench_whitebox.lorra.texts import Variant

PUBLIC_LAYERS, PUBLIC_DEPTH = (10, 12, 14, 16, 18, 20), 32  # of the public scripts, counted with the embeddings as 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How an adapter is trained; the defaults are those of public LoRRA scripts for 7B models, and not MASK's.

    `target_layers` are numbered from 0; none are those of the public scripts by depth. `modules` are the linear
    layers that get a LoRA, in every layer up to the last target. `retain` weighs the loss on neutral text.
    `system_prompt` (a name or a file, by default `honest`) is for prompt-distill alone; `honest` and `dishonest`, the
    sentences after T, are for lorra alone. The texts of the sandbox bring their own of all three.
    """

    variant: Variant = "lorra"
    data: str = "builtin"
    target_layers: tuple[int, ...] = ()
    alpha: float = 5.0
    rank: int = 8
    rate: float = 3e-4
    modules: tuple[str, ...] = ("q_proj", "v_proj")
    steps: int = 70
    batch: int = 16
    retain: float = 0.0
    answer_tokens: int = 64
    system_prompt: str | None = None
    honest: str | None = None
    dishonest: str | None = None
    at_once: int = 32
    seed: int = 0


_DISTILL: Mapping[str, Any] = {"alpha": 1.0, "retain": 1.0}
# Chosen on pinocchio's dev sandboxes (whitebox/README.md): a small model takes larger steps.
_PINOCCHIO: Mapping[str, Any] = {"data": "sandbox", "target_layers": (1, 2, 3), "rate": 2e-3}
_PINOCCHIO_ALPHA: Mapping[Variant, float] = {"lorra": 1.0, "prompt-distill": 1.5}


def recipe(variant: Variant, name: str, **given: Any) -> Recipe:
    """The recipe of a variant for the model of that name, with what is given instead of its defaults.

    prompt-distill has alpha 1 and a retention loss of weight 1; pinocchio has a recipe of its own.
    """
    own = {**_DISTILL} if variant == "prompt-distill" else {}
    if name == "pinocchio":
        own |= {**_PINOCCHIO, "alpha": _PINOCCHIO_ALPHA[variant]}
    return Recipe(variant=variant, **{**own, **given})


def default_layers(count: int) -> tuple[int, ...]:
    """The public scripts' layers at the same depth in a model of another number of layers.

    They count the embeddings as 0, so their 10 of 32 is what leaves layer 9 here. 32 layers: 9, 11, 13, 15, 17, 19.
    """
    return tuple(sorted({max(0, math.floor(layer * count / PUBLIC_DEPTH + 0.5) - 1) for layer in PUBLIC_LAYERS}))
