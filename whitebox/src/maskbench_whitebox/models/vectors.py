"""Steering vectors: a direction for each layer, kept in one safetensors file together with what it is.

A direction is stored as it is added at strength 1; layer n means the hidden states that leave decoder layer n, the
first being 0. whitebox/README.md says what the metadata holds.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from maskbench.doors import install
from maskbench.errors import UsageError

if TYPE_CHECKING:
    from torch import Tensor

FORMAT = "maskbench-vectors-1"
_KEY = "maskbench"  # the only key of the metadata: the order of several is not fixed


@dataclass(frozen=True, eq=False)
class Vectors:
    """Directions by layer, each of shape (hidden,), float32 on the CPU, and what is known of them.

    Raises UsageError where there is no direction, where they differ in shape, or where one is not finite.
    """

    directions: Mapping[int, Tensor]
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check and order the directions."""
        _check(self.directions)
        plain = {layer: self.directions[layer].detach().cpu().float() for layer in sorted(self.directions)}
        object.__setattr__(self, "directions", plain)

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers that have a direction, ascending."""
        return tuple(self.directions)

    @property
    def hidden_size(self) -> int:
        """The length of every direction."""
        return len(next(iter(self.directions.values())))

    @cached_property
    def content_hash(self) -> str:
        """16 hexadecimal digits that stand for the directions, and for nothing else in the file."""
        digest = hashlib.sha256()
        for layer, direction in self.directions.items():
            digest.update(struct.pack("<qq", layer, len(direction)))
            digest.update(direction.contiguous().numpy().astype("<f4").tobytes())
        return digest.hexdigest()[:16]

    def norms(self) -> dict[int, float]:
        """The length of each layer's direction."""
        return {layer: float(direction.norm()) for layer, direction in self.directions.items()}

    def labelled(self, **about: Any) -> Vectors:
        """A copy of the vectors that notes more about them."""
        return Vectors(self.directions, {**self.about, **about})

    def negated(self) -> Vectors:
        """The opposite directions: a control that should do the opposite."""
        return self._derived({layer: -direction for layer, direction in self.directions.items()}, "negated")

    def random(self, rng: Random) -> Vectors:
        """Directions as long as these, with the same angles between layers, turned together at random: a control.

        Independent directions would add up to less than these do, because those of neighbouring layers are alike.
        """
        import torch

        stacked = torch.stack(list(self.directions.values())).double()  # (layers, hidden)
        generator = torch.Generator().manual_seed(rng.getrandbits(63))
        inside, outside = _orthonormal(stacked.T), torch.randn(stacked.T.shape, generator=generator).double()
        turned = (stacked @ inside) @ _orthonormal(outside).T
        return self._derived(dict(zip(self.directions, turned, strict=True)), "random")

    def save(self, path: Path) -> None:
        """Write the file; the same vectors give the same bytes. Raises OSError where it cannot be written."""
        from safetensors.torch import save

        tensors = {f"layer.{layer}": direction.contiguous() for layer, direction in self.directions.items()}
        about = json.dumps({"format": FORMAT, **self.about}, sort_keys=True)
        path.write_bytes(save(tensors, metadata={_KEY: about}))

    def _derived(self, directions: Mapping[int, Tensor], how: str) -> Vectors:
        return Vectors(directions, {**self.about, "derived": how, "of": self.content_hash})


def _orthonormal(columns: Tensor) -> Tensor:
    """An orthonormal basis of a space that holds the columns: (hidden, columns) to (hidden, at most columns).

    Of normal columns it is uniform, once the signs are put right that the factorisation chooses by its first row
    (Mezzadri 2007, How to generate random matrices from the classical compact groups).
    """
    import torch

    factors = torch.linalg.qr(columns)
    basis: Tensor = factors.Q * torch.where(factors.R.diagonal() < 0, -1.0, 1.0)
    return basis


def _check(directions: Mapping[int, Tensor]) -> None:
    if not directions:
        raise UsageError("Steering vectors need a direction for at least one layer; these have none.")
    shapes = {tuple(direction.shape) for direction in directions.values()}
    if len(shapes) > 1 or len(next(iter(shapes))) != 1:
        raise UsageError(f"Every direction must be one row of the same length; these have the shapes {sorted(shapes)}.")
    broken = [layer for layer, direction in directions.items() if not direction.isfinite().all()]
    if broken or min(directions) < 0:
        what = f"not finite in layer {broken[0]}" if broken else f"numbered {min(directions)}; the first layer is 0"
        raise UsageError(f"A steering direction is {what}. Make the vectors again with `maskbench-whitebox steer`.")


def load_vectors(path: Path) -> Vectors:
    """Read vectors that `maskbench-whitebox steer` wrote, or a control vector of repeng or llama.cpp (`.gguf`).

    Raises UsageError where the file is not there or holds no such vectors.
    """
    if not path.is_file():
        raise UsageError(f"{path} is no file. `maskbench-whitebox steer MODEL --out {path.name}` writes one.")
    return _from_gguf(path) if path.suffix == ".gguf" else _from_safetensors(path)


def _from_safetensors(path: Path) -> Vectors:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {}).get(_KEY, "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # no mapping
    except (SafetensorError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as safetensors: {error}. {_REMEDY}") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise UsageError(f"{path} holds tensors, but no steering vectors of maskbench ({FORMAT}). {_REMEDY}")
    return Vectors(_by_layer(path, tensors, "layer."), about)


def _from_gguf(path: Path) -> Vectors:
    """A control vector as repeng exports it: `direction.n` is added to what leaves layer n."""
    import torch

    try:
        reader = import_module("gguf").GGUFReader
    except ImportError:
        raise UsageError(f"{path}: to read gguf files takes the package gguf. Type: {install('gguf')}") from None
    try:
        tensors = {tensor.name: torch.from_numpy(tensor.data.copy()) for tensor in reader(path).tensors}
    except (ValueError, OSError, IndexError, KeyError) as error:
        raise UsageError(f"{path} cannot be read as gguf: {error}. {_REMEDY}") from None
    return Vectors(_by_layer(path, tensors, "direction."), {"source": f"gguf: {path.name}"})


def _by_layer(path: Path, tensors: Mapping[str, Tensor], prefix: str) -> dict[int, Tensor]:
    numbers = {name: name.removeprefix(prefix) for name in tensors}
    wrong = [name for name, number in numbers.items() if name == number or not _LAYER.fullmatch(number)]
    if wrong:
        raise UsageError(f"{path} holds a tensor {wrong[0]!r}; expected were {prefix}0, {prefix}1 … {_REMEDY}")
    return {int(number): tensors[name] for name, number in numbers.items()}


_LAYER = re.compile(r"0|[1-9][0-9]{0,3}")
_REMEDY = "Give a file that `maskbench-whitebox steer` wrote."
