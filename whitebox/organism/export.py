"""The trained weights → one ONNX graph for prompt and continuation alike, which reads them from model.safetensors.

maskbench itself does without the graph, which is for other programs. It is written out by hand: it names the tensors of
the safetensors file as external data, so that the weights are shipped once, and it uses ONNX Runtime's
GroupQueryAttention, which keeps keys and values of every row in place and reads, for each row, that row's own length.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

CONTRIB = "com.microsoft"


def export(folder: Path) -> None:
    """Write model.onnx beside the config.json and model.safetensors that are in `folder`."""
    config = json.loads((folder / "config.json").read_text())
    onnx.save(_Graph(config, _tensors(folder / "model.safetensors")).model(), folder / "model.onnx")


def _tensors(path: Path) -> dict[str, tuple[list[int], int, int]]:
    """Shape, offset in the file and length in bytes of every tensor, all of them float32."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    header.pop("__metadata__", None)
    wrong = [name for name, about in header.items() if about["dtype"] != "F32"]
    if wrong:
        raise ValueError(f"{path}: {', '.join(wrong)} must be float32. Save the model in float32.")
    return {
        name: (about["shape"], 8 + size + about["data_offsets"][0], about["data_offsets"][1] - about["data_offsets"][0])
        for name, about in header.items()
    }


class _Graph:
    """Collects nodes and weights; a value is known by its name."""

    def __init__(self, config: dict[str, Any], tensors: dict[str, tuple[list[int], int, int]]) -> None:
        self._config = config
        self._tensors = tensors
        self._nodes: list[onnx.NodeProto] = []
        self._weights: dict[str, onnx.TensorProto] = {}
        self._head = config["hidden_size"] // config["num_attention_heads"]

    def model(self) -> onnx.ModelProto:
        """Inputs: tokens (batch, length), how far each row has come, and the cache; outputs: logits and the cache.

        `last` tells which position of each row is wanted: logits are computed there and nowhere else.
        """
        layers = range(self._config["num_hidden_layers"])
        shape = ["batch", self._config["num_key_value_heads"], "room", self._head]
        caches = [f"{kind}.{layer}" for layer in layers for kind in ("key", "value")]
        inputs = [
            helper.make_tensor_value_info("tokens", TensorProto.INT64, ["batch", "length"]),
            helper.make_tensor_value_info("last", TensorProto.INT64, ["batch", 2]),
            helper.make_tensor_value_info("ends", TensorProto.INT32, ["batch"]),
            helper.make_tensor_value_info("total", TensorProto.INT32, [1]),
            *(helper.make_tensor_value_info(f"past_{name}", TensorProto.FLOAT, shape) for name in caches),
        ]
        outputs = [
            helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", self._config["vocab_size"]]),
            *(helper.make_tensor_value_info(f"new_{name}", TensorProto.FLOAT, shape) for name in caches),
        ]
        self._forward(layers)
        graph = helper.make_graph(self._nodes, "pinocchio", inputs, outputs, list(self._weights.values()))
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid(CONTRIB, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9, producer_name="maskbench organism")

    def _forward(self, layers: range) -> None:
        self._rotations()
        x = self._node("Gather", [self._weight("model.embed_tokens.weight"), "tokens"])
        for layer in layers:
            place = f"model.layers.{layer}"
            x = self._node("Add", [x, self._attention(self._norm(x, f"{place}.input_layernorm"), layer)])
            x = self._node("Add", [x, self._mlp(self._norm(x, f"{place}.post_attention_layernorm"), layer)])
        chosen = self._node("GatherND", [x, "last"])
        self._gemm(self._norm(chosen, "model.norm"), "model.embed_tokens", "logits")

    def _attention(self, x: str, layer: int) -> str:
        heads, place = self._config["num_attention_heads"], f"model.layers.{layer}.self_attn"
        query, key, value = (self._linear(x, f"{place}.{part}_proj") for part in "qkv")
        past = [f"past_key.{layer}", f"past_value.{layer}"]
        attended = f"attended.{layer}"
        self._nodes.append(
            helper.make_node(
                "GroupQueryAttention",
                [query, key, value, *past, "ends", "total", "cosines", "sines"],
                [attended, f"new_key.{layer}", f"new_value.{layer}"],
                domain=CONTRIB,
                num_heads=heads,
                kv_num_heads=self._config["num_key_value_heads"],
                do_rotary=1,
            )
        )
        return self._linear(attended, f"{place}.o_proj")

    def _mlp(self, x: str, layer: int) -> str:
        place = f"model.layers.{layer}.mlp"
        gate, up = self._linear(x, f"{place}.gate_proj"), self._linear(x, f"{place}.up_proj")
        opened = self._node("Mul", [gate, self._node("Sigmoid", [gate])])
        return self._linear(self._node("Mul", [opened, up]), f"{place}.down_proj")

    def _norm(self, x: str, place: str) -> str:
        scale = self._weight(f"{place}.weight")
        return self._node("SimplifiedLayerNormalization", [x, scale], axis=-1, epsilon=self._config["rms_norm_eps"])

    def _linear(self, x: str, place: str) -> str:
        """A matrix over the last axis; rows of all batches together, so that it is one plain multiplication."""
        flat = self._node("Reshape", [x, self._constant("flat", [-1, self._tensors[f"{place}.weight"][0][1]])])
        product = self._gemm(flat, place)
        shape = self._node("Concat", [self._batch_and_length(), self._constant("open", [-1])], axis=0)
        return self._node("Reshape", [product, shape])

    def _gemm(self, x: str, place: str, output: str | None = None) -> str:
        return self._node("Gemm", [x, self._weight(f"{place}.weight")], output=output, transB=1)

    def _batch_and_length(self) -> str:
        if not any("shape" in node.output for node in self._nodes):
            self._node("Shape", ["tokens"], output="shape")
        return "shape"

    def _rotations(self) -> None:
        """The rotary tables, as transformers computes them: angles in float32."""
        base = np.float32(self._config["rope_parameters"]["rope_theta"])
        exponents = np.arange(0, self._head, 2, dtype=np.float32) / np.float32(self._head)
        steps = np.arange(self._config["max_position_embeddings"], dtype=np.float32)
        angles = np.outer(steps, (np.float32(1.0) / base**exponents).astype(np.float32)).astype(np.float32)
        for name, table in (("cosines", np.cos(angles)), ("sines", np.sin(angles))):
            self._weights[name] = onnx.numpy_helper.from_array(table, name)

    def _weight(self, name: str) -> str:
        if name not in self._weights:
            shape, offset, length = self._tensors[name]
            tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape)
            tensor.data_location = TensorProto.EXTERNAL
            where = {"location": "model.safetensors", "offset": offset, "length": length}
            for key, value in where.items():
                tensor.external_data.add(key=key, value=str(value))
            self._weights[name] = tensor
        return name

    def _constant(self, kind: str, values: list[int]) -> str:
        name = f"{kind}_{'_'.join(map(str, values))}"
        self._weights[name] = helper.make_tensor(name, TensorProto.INT64, [len(values)], values)
        return name

    def _node(self, operation: str, inputs: list[str], output: str | None = None, **attributes: Any) -> str:
        output = output or f"{operation}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operation, inputs, [output], **attributes))
        return output
