"""The arithmetic of pinocchio: a small transformer in the layout of Llama, in numpy, with keys and values kept.

A prompt is read by itself. Continuations are computed in a fixed number of rows, and over blocks of the cache of a
fixed size, in which places that a row has not reached weigh nothing. So what other rows hold changes no sum of a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import orjson

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float32]
    Whole: TypeAlias = NDArray[np.int64]

HALF = np.float32(0.5)
BLOCK = 128  # places of the cache that are weighed together: sums have one order, however long the other rows are


class Decoder:
    """Weights and cache of a fixed number of rows; `logits` are those of the last step, one row each."""

    def __init__(self, folder: Path, rows: int) -> None:
        config = orjson.loads((folder / "config.json").read_bytes())
        tensors = read_tensors(folder / "model.safetensors")
        self.context: int = config["max_position_embeddings"]
        self._heads: int = config["num_attention_heads"]
        self._width: int = config["hidden_size"] // self._heads
        self._epsilon = np.float32(config["rms_norm_eps"])
        self._tokens = tensors["model.embed_tokens.weight"]
        self._names = np.ascontiguousarray((self._tokens * tensors["model.norm.weight"]).T)
        layers = range(config["num_hidden_layers"])
        self._layers = [_Layer(tensors, f"model.layers.{layer}", self._heads) for layer in layers]
        self._turns = _turns(config["rope_parameters"]["rope_theta"], self._width, self.context)
        blocks = -(-self.context // BLOCK)
        shape = (len(layers), rows, self._heads, blocks, BLOCK, self._width)
        self._keys, self._values = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        self._every = np.arange(rows)
        self._places = np.arange(blocks * BLOCK).reshape(blocks, BLOCK)
        self._ahead = np.triu(np.full((self.context, self.context), -np.inf, np.float32), 1)
        self.logits = np.zeros((rows, config["vocab_size"]), np.float32)

    def read(self, prompt: Sequence[int], rows: Sequence[int]) -> Floats:
        """Put a prompt's keys and values into these rows; returns its logits, (vocabulary,)."""
        length = len(prompt)
        where = np.arange(length)
        x: Floats = self._tokens[np.array(prompt)]
        for number, layer in enumerate(self._layers):
            query, key, value = self._heads_of(layer, x, where)
            for cache, new in ((self._keys, key), (self._values, value)):
                cache[number].reshape(cache.shape[1], self._heads, -1, self._width)[rows, :, :length] = new
            asking = length if layer is not self._layers[-1] else 1  # nobody reads what else the last layer says
            x, query = x[-asking:], query[:, -asking:]
            weights: Floats = query @ key.swapaxes(1, 2)
            weights += self._ahead[length - asking : length, :length]
            weights -= weights.max(axis=-1, keepdims=True)
            np.exp(weights, out=weights)
            heads = weights @ value
            heads /= weights.sum(axis=-1, keepdims=True)
            x = self._after(layer, x, heads.swapaxes(0, 1).reshape(asking, -1))
        logits: Floats = (self._normed(x) @ self._names)[0]
        return logits

    def step(self, tokens: Whole, ends: Whole) -> None:
        """One more token for every row, at place `ends` of it; sets `logits`."""
        blocks = int(ends.max()) // BLOCK + 1
        block, place = np.divmod(ends, BLOCK)
        beyond = np.where(self._places[:blocks] > ends[:, None, None], np.float32(-np.inf), np.float32(0))[:, None]
        x = self._tokens[tokens]
        for number, layer in enumerate(self._layers):
            query, key, value = self._heads_of(layer, x, ends)
            for cache, new in ((self._keys, key), (self._values, value)):
                cache[number, self._every, :, block, place] = new.swapaxes(0, 1)
            weights = (self._keys[number, :, :, :blocks] @ query.swapaxes(0, 1)[:, :, None, :, None])[..., 0]
            weights += beyond
            weights -= weights.max(axis=(2, 3), keepdims=True)
            np.exp(weights, out=weights)
            heads = (weights[..., None, :] @ self._values[number, :, :, :blocks])[..., 0, :].sum(axis=2)
            heads /= weights.sum(axis=3).sum(axis=2)[..., None]
            x = self._after(layer, x, heads.reshape(len(x), -1))
        np.matmul(self._normed(x), self._names, out=self.logits)

    def _heads_of(self, layer: _Layer, x: Floats, places: Whole) -> tuple[Floats, Floats, Floats]:
        """Query, key and value of each token at its place, each (heads, tokens, width)."""
        parts = (self._normed(x) @ layer.asks).reshape(len(x), 3, self._heads, self._width)
        turned = parts[:, :2].view(np.complex64)
        turned *= self._turns[places, None, None]
        query, key, value = parts.transpose(1, 2, 0, 3)
        return query, key, value

    def _after(self, layer: _Layer, x: Floats, heads: Floats) -> Floats:
        """What the layer makes of its input and of what its heads have seen."""
        x = x + heads @ layer.out
        wide = self._normed(x) @ layer.widen
        gate, up = wide[:, : len(layer.narrow)], wide[:, len(layer.narrow) :]
        opened = np.tanh(gate)  # of half the gate: the logistic function, in a form that cannot overflow
        opened += 1
        opened *= gate
        opened *= up
        x += opened @ layer.narrow
        return x

    def _normed(self, x: Floats) -> Floats:
        """Each row at a mean square of one; the norms' own weights are in the matrices that follow."""
        squares: Floats = np.add.reduce(x * x, axis=1, keepdims=True)
        normed: Floats = x / np.sqrt(squares / np.float32(x.shape[1]) + self._epsilon)
        return normed


class _Layer:
    """The matrices of one layer: those of the same input side by side, with its norm and all constants in them."""

    def __init__(self, tensors: Mapping[str, Floats], place: str, heads: int) -> None:
        def joined(norm: str | None, *names: str) -> Floats:
            scale = tensors[f"{place}.{norm}.weight"] if norm else np.float32(1)
            return np.concatenate([tensors[f"{place}.{name}.weight"] * scale for name in names]).T.copy()

        query, key, value = np.split(
            joined("input_layernorm", *(f"self_attn.{part}_proj" for part in "qkv")), 3, axis=1
        )
        width = query.shape[1] // heads
        query *= np.float32(width**-0.5)
        self.asks = np.concatenate([_in_pairs(query, width), _in_pairs(key, width), value], axis=1)
        self.out = joined(None, "self_attn.o_proj")
        gate, up = np.split(joined("post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj"), 2, axis=1)
        self.widen = np.concatenate([gate * HALF, up], axis=1)
        self.narrow = joined(None, "mlp.down_proj")


def _in_pairs(columns: Floats, width: int) -> Floats:
    """The columns of each head reordered, so that the two which are turned together stand side by side."""
    halves = columns.reshape(len(columns), -1, 2, width // 2)
    return halves.swapaxes(2, 3).reshape(columns.shape)


def _turns(theta: float, width: int, context: int) -> NDArray[np.complex64]:
    """By how much each pair is turned at each place, (context, width / 2); angles in float32, as in its training."""
    exponents = np.arange(0, width, 2, dtype=np.float32) / np.float32(width)
    slow = (np.float32(1.0) / np.float32(theta) ** exponents).astype(np.float32)
    angles = np.outer(np.arange(context, dtype=np.float32), slow)
    return (np.cos(angles) + 1j * np.sin(angles)).astype(np.complex64)


def read_tensors(path: Path) -> dict[str, Floats]:
    """The tensors of a safetensors file by name; raises ValueError where one is not float32."""
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header: dict[str, dict[str, Any]] = orjson.loads(content[8:start])
    header.pop("__metadata__", None)
    wrong = [name for name, about in header.items() if about["dtype"] != "F32"]
    if wrong:
        raise ValueError(f"{path}: {', '.join(wrong)} must be float32. Save the model in float32.")
    whole = np.frombuffer(content[start:], "<f4").astype(np.float32, copy=False)
    return {
        name: whole[about["data_offsets"][0] // 4 : about["data_offsets"][1] // 4].reshape(about["shape"])
        for name, about in header.items()
    }
