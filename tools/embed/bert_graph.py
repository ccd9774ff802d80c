"""ONNX graph of a BERT encoder over the tensors of a safetensors file, which stay where they are.

The graph refers to the weights by their offsets, so it takes some kilobytes, is built in
milliseconds, and no second copy of the weights is ever written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnx import TensorProto, helper

from tools.embed.graph_version import WEIGHTS

OPSET = 20  # first with Gelu
IR_VERSION = 9
LENGTH_BYTES = 8  # a safetensors file starts with the length of its JSON header
MASKED = -1e9  # added to the attention score of a padding token

Shape = Mapping[str, Any]


class UnfitWeights(ValueError):
    """A file that is no BERT encoder in safetensors form."""


@dataclass(frozen=True, kw_only=True)
class _Tensors:
    header: Mapping[str, Any]
    start: int


def build(*, weights: Path, config: Path) -> bytes:
    """Build the graph: input_ids and attention_mask (batch, tokens) to last_hidden_state.

    Args:
        weights: A safetensors file with the tensor names of transformers' BertModel.
        config: Its `config.json`.

    Returns:
        A serialised ONNX model whose tensors lie in an external file named `WEIGHTS`.

    Raises:
        UnfitWeights: If the file holds another architecture.

    References:
        Devlin et al., BERT, NAACL 2019; https://huggingface.co/docs/safetensors (format).
    """
    shape = json.loads(config.read_text(encoding="utf-8"))
    if shape.get("model_type") != "bert" or shape.get("hidden_act") != "gelu":
        raise UnfitWeights(f"{config} describes no BERT encoder with gelu")
    builder = _Builder(_read_header(weights), shape)
    model = builder.model()
    serialised: bytes = model.SerializeToString(deterministic=True)
    return serialised


def _read_header(weights: Path) -> _Tensors:
    with weights.open("rb") as file:
        length = int.from_bytes(file.read(LENGTH_BYTES), "little")
        header = json.loads(file.read(length))
    return _Tensors(header=header, start=LENGTH_BYTES + length)


class _Builder:
    def __init__(self, tensors: _Tensors, shape: Shape) -> None:
        self._tensors = tensors
        self._hidden = int(shape["hidden_size"])
        self._heads = int(shape["num_attention_heads"])
        self._layers = int(shape["num_hidden_layers"])
        self._epsilon = float(shape["layer_norm_eps"])
        self._nodes: list[Any] = []
        self._initializers: dict[str, Any] = {}

    def model(self) -> Any:
        hidden = self._embeddings()
        mask = self._mask()
        for index in range(self._layers):
            hidden = self._layer(f"encoder.layer.{index}", hidden, mask)
        self._op("Identity", hidden, output="last_hidden_state")
        integers = ["input_ids", "attention_mask"]
        graph = helper.make_graph(
            self._nodes,
            "bert",
            [
                helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
                for name in integers
            ],
            [
                helper.make_tensor_value_info(
                    "last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", self._hidden]
                )
            ],
            initializer=list(self._initializers.values()),
        )
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
        )

    def _op(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        output = output or f"t{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def _weight(self, name: str) -> str:
        """Refer to a tensor of the safetensors file."""
        if name not in self._tensors.header:
            raise UnfitWeights(f"the weights hold no tensor {name!r}")
        entry = self._tensors.header[name]
        if entry["dtype"] != "F32":
            raise UnfitWeights(f"tensor {name!r} is {entry['dtype']}, not F32")
        begin, end = entry["data_offsets"]
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=entry["shape"])
        tensor.data_location = TensorProto.EXTERNAL
        place = {"location": WEIGHTS, "offset": self._tensors.start + begin, "length": end - begin}
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
        self._initializers[name] = tensor
        return name

    def _constant(self, name: str, kind: int, values: list[Any]) -> str:
        dims = [] if len(values) == 1 and name.startswith("scalar") else [len(values)]
        self._initializers[name] = helper.make_tensor(name, kind, dims, values)
        return name

    def _integers(self, *values: int) -> str:
        name = "i" + "_".join(map(str, values))
        return self._constant(name, TensorProto.INT64, list(values))

    def _scalar(self, name: str, value: float) -> str:
        return self._constant(f"scalar_{name}", TensorProto.FLOAT, [value])

    def _normalised(self, prefix: str, value: str) -> str:
        scale, bias = self._weight(f"{prefix}.weight"), self._weight(f"{prefix}.bias")
        return self._op("LayerNormalization", value, scale, bias, axis=-1, epsilon=self._epsilon)

    def _linear(self, prefix: str, value: str) -> str:
        turned = self._op("Transpose", self._weight(f"{prefix}.weight"), perm=[1, 0])
        product = self._op("MatMul", value, turned)
        return self._op("Add", product, self._weight(f"{prefix}.bias"))

    def _embeddings(self) -> str:
        words = self._op("Gather", self._weight("embeddings.word_embeddings.weight"), "input_ids")
        length = self._op("Shape", "input_ids", start=1, end=2)
        places = self._op(
            "Slice",
            self._weight("embeddings.position_embeddings.weight"),
            self._integers(0),
            length,
            self._integers(0),
        )
        # Every token is of the first segment: one text is embedded, never a pair.
        segment = self._op(
            "Slice",
            self._weight("embeddings.token_type_embeddings.weight"),
            self._integers(0),
            self._integers(1),
            self._integers(0),
        )
        total = self._op("Add", self._op("Add", words, segment), places)
        return self._normalised("embeddings.LayerNorm", total)

    def _mask(self) -> str:
        """Zero for a token, very low for padding; shape (batch, 1, 1, tokens)."""
        kept = self._op("Cast", "attention_mask", to=TensorProto.FLOAT)
        wide = self._op("Unsqueeze", kept, self._integers(1, 2))
        left_out = self._op("Sub", self._scalar("one", 1.0), wide)
        return self._op("Mul", left_out, self._scalar("masked", MASKED))

    def _split_heads(self, value: str, perm: list[int]) -> str:
        split = self._integers(0, 0, self._heads, self._hidden // self._heads)
        return self._op("Transpose", self._op("Reshape", value, split), perm=perm)

    def _layer(self, prefix: str, hidden: str, mask: str) -> str:
        attention = f"{prefix}.attention"
        query, key, value = (
            self._linear(f"{attention}.self.{name}", hidden) for name in ("query", "key", "value")
        )
        scores = self._op(
            "MatMul",
            self._split_heads(query, [0, 2, 1, 3]),
            self._split_heads(key, [0, 2, 3, 1]),
        )
        root = self._scalar("root", (self._hidden // self._heads) ** 0.5)
        masked = self._op("Add", self._op("Div", scores, root), mask)
        context = self._op(
            "MatMul",
            self._op("Softmax", masked, axis=-1),
            self._split_heads(value, [0, 2, 1, 3]),
        )
        joined = self._op(
            "Reshape",
            self._op("Transpose", context, perm=[0, 2, 1, 3]),
            self._integers(0, 0, self._hidden),
        )
        attended = self._linear(f"{attention}.output.dense", joined)
        hidden = self._normalised(
            f"{attention}.output.LayerNorm", self._op("Add", attended, hidden)
        )
        inner = self._op("Gelu", self._linear(f"{prefix}.intermediate.dense", hidden))
        outer = self._linear(f"{prefix}.output.dense", inner)
        return self._normalised(f"{prefix}.output.LayerNorm", self._op("Add", outer, hidden))
