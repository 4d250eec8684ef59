"""Directions from recorded hidden states: one a layer, by three methods, and how well each tells a pair's sides apart.

A method gives a direction; its length is, whatever the method, the distance between the means of the two sides, so
that strength 1 moves a hidden state as far as the contrast does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from maskbench.errors import UsageError
from maskbench_whitebox.models.vectors import Vectors
from maskbench_whitebox.steering.contrast import Contrast
from maskbench_whitebox.steering.hidden_states import TOKENS, Position, record, threads_for

if TYPE_CHECKING:
    from torch import Tensor

    from maskbench_whitebox.models.loading import Loaded

Method = Literal["mean-difference", "pca", "logistic"]
PENALTY = 0.01  # of the squared weights in the logistic regression


def learn(
    loaded: Loaded,
    contrast: Contrast,
    method: Method = "mean-difference",
    position: Position | None = None,
    tokens_at_once: int = TOKENS,
    seen: Callable[[int], None] = lambda _: None,
) -> Vectors:
    """Steering vectors of every layer; `position` None is the answer where the pairs have one, otherwise the turn.

    `about` holds, by layer, in how many of the held-out pairs the positive side lies further along the direction than
    its partner (a tie is a half), the AUC on the same pairs, and the mean length of the hidden states. Raises
    UsageError where the two sides do not differ, or a conversation does not fit.
    """
    where = position or ("answer" if contrast.answered else "turn")
    sides = [(pair.positive, pair.negative) for pair in (*contrast.learned(), *contrast.held_out())]
    learned = len(contrast.learned())
    with threads_for(loaded):
        states = record(loaded, [side for both in sides for side in both], where, tokens_at_once, seen)
        positive, negative = states[::2], states[1::2]
        learned_lines = directions(positive[:learned], negative[:learned], method)
        figures = {
            "pairs_won": pairs_won(positive[learned:], negative[learned:], learned_lines),
            "auc": separation(positive[learned:], negative[learned:], learned_lines),
            "norms": _rounded(learned_lines.norm(dim=-1)),
            "hidden_norms": _rounded(states.norm(dim=-1).mean(dim=0)),
        }
    pairs = {"name": contrast.name, "hash": contrast.content_hash, "pairs": len(sides), "learned": learned}
    about = {**_identity(loaded), "method": method, "position": where, "contrast": pairs, **figures}
    return Vectors(dict(enumerate(learned_lines)), about)


def directions(positive: Tensor, negative: Tensor, method: Method) -> Tensor:
    """One direction a layer, from states of shape (pairs, layers, hidden) each: (layers, hidden).

    It points from the negative to the positive side. Raises UsageError where they do not differ in some layer.
    """
    import torch

    differences = (positive - negative).double()
    means = differences.mean(dim=0)
    lengths = means.norm(dim=-1, keepdim=True)
    if not (lengths > 0).all():
        layer = int((lengths[:, 0] <= 0).nonzero()[0])
        raise UsageError(f"The two sides of the contrast do not differ in layer {layer}: no direction leads there.")
    if method == "mean-difference":
        return means.float()
    find = _principal if method == "pca" else _normal
    rows = [find(positive[:, n].double(), negative[:, n].double()) for n in range(len(means))]
    lines = torch.stack(rows)
    lines = lines / lines.norm(dim=-1, keepdim=True) * lengths
    forward = (lines * means).sum(dim=-1, keepdim=True) >= 0
    return torch.where(forward, lines, -lines).float()


def _principal(positive: Tensor, negative: Tensor) -> Tensor:
    """The first principal component of the pairs' differences, taken about zero.

    Zou et al. 2023 put the two sides of a pair in random order, so that the mean which they take off is near zero.
    Taken off for all pairs alike, what the sides differ in would be gone, and only how that varies left.
    """
    import torch

    components: Tensor = torch.linalg.svd(positive - negative, full_matrices=False).Vh
    return components[0]


def _normal(positive: Tensor, negative: Tensor) -> Tensor:
    """The normal of the plane that a logistic regression with an L2 penalty puts between the sides.

    States are measured in distances between the sides' means, so that the penalty means the same everywhere.
    """
    import numpy as np
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    middle = (positive.mean(dim=0) + negative.mean(dim=0)) / 2
    scale = (positive.mean(dim=0) - negative.mean(dim=0)).norm()
    sides = np.concatenate([((positive - middle) / scale).numpy(), -((negative - middle) / scale).numpy()])
    signs = np.repeat((1.0, -1.0), (len(positive), len(negative)))

    def loss(weights: Any) -> tuple[float, Any]:
        margins = sides @ weights[:-1] + signs * weights[-1]
        pulls = -1 / (1 + np.exp(margins)) / len(sides)
        gradient = np.append(pulls @ sides + PENALTY * weights[:-1], pulls @ signs)
        return float(np.logaddexp(0, -margins).mean() + PENALTY / 2 * (weights[:-1] ** 2).sum()), gradient

    start = np.zeros(sides.shape[1] + 1)
    solution = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000})
    return positive.new_tensor(solution.x[:-1])


def pairs_won(positive: Tensor, negative: Tensor, learned: Tensor) -> list[float]:
    """By layer, in how many pairs the positive side lies further along the direction than its own partner; a tie is ½.

    What a pair has in common, such as its question, moves both sides alike and does not count here; in the AUC it does.
    """
    apart = ((positive - negative) * learned).sum(dim=-1)  # (pairs, layers)
    return _rounded(((apart > 0).float() + (apart == 0).float() / 2).sum(dim=0))


def separation(positive: Tensor, negative: Tensor, learned: Tensor) -> list[float]:
    """By layer, how often a state of the positive side lies further along the direction than one of the other (AUC)."""
    forward, back = ((side * learned).sum(dim=-1).T for side in (positive, negative))  # (layers, pairs)
    wins = (forward[:, :, None] > back[:, None, :]).float() + (forward[:, :, None] == back[:, None, :]).float() / 2
    return _rounded(wins.mean(dim=(1, 2)))


def _identity(loaded: Loaded) -> Mapping[str, Any]:
    from importlib.metadata import version

    return {
        "model": Path(loaded.name).name if Path(loaded.name).is_dir() else loaded.name,  # no path of this machine
        "fingerprint": loaded.fingerprint,
        "adapter": loaded.adapter_hash,
        "dtype": loaded.dtype,
        "layers": len(loaded.layers),
        "hidden_size": loaded.hidden_size,
        "version": version("maskbench"),
    }


def _rounded(values: Tensor) -> list[float]:
    return [round(float(value), 4) for value in values]
