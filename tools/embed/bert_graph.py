"""Builds an ONNX graph of a BERT encoder with 8-bit weights from a safetensors file.

The linear layers and the word embeddings take 8 bits a weight and all else stays in 32 bits: a
quarter of the file's size. The graph refers to the weights by their offsets, so that they can be
mapped from a file. An adapter adds a low-rank change to the linear layers for queries alone: one
graph embeds both kinds of text. A reader (`reader`) is two graphs: the encoder's lower layers, for
which one text is enough, and upper layers of its own over two texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from tools.embed.graph_version import ADAPTER_SHARE, WEIGHTS
from tools.embed.quantize import BLOCK, Floats, quantize_blocks, quantize_rows

OPSET = 20  # first with Gelu
CONTRIBUTED = "com.microsoft"  # onnxruntime's own operators
IR_VERSION = 9
LENGTH_BYTES = 8  # a safetensors file starts with the length of its JSON header
ALIGNMENT = 64  # bytes; of each tensor, as the kernels like it
INT8_COMPUTE = 4  # MatMulNBits quantizes its input too, by row and block
MASKED_SCORE = -1e9  # added to the attention score of a padding token

TOKENS: list[int | str] = ["batch", "tokens"]

Shape = Mapping[str, Any]
Dimensions = Mapping[str, list[int | str]]


class UnusableWeights(ValueError):
    """The file is not a BERT encoder in safetensors format."""


@dataclass(frozen=True, kw_only=True)
class BuiltGraphs:
    """Graphs and their weights.

    Attributes:
        graphs: Serialised ONNX models whose tensors are in an external file named `WEIGHTS`.
        weights: The content of that file.
    """

    graphs: tuple[bytes, ...]
    weights: bytes


def build_graph(
    *, weights: Path, config: Path, adapter: Mapping[str, Floats] | None = None
) -> BuiltGraphs:
    """Build the graph: input_ids and attention_mask (batch, tokens) to last_hidden_state.

    Args:
        weights: A safetensors file with the tensor names of transformers' BertModel.
        config: Its `config.json`.
        adapter: Low-rank changes of linear layers, see `trained.load_trained`; with one, the
            graph has the further input `ADAPTER_SHARE`.

    Raises:
        UnusableWeights: If the file contains another architecture.

    References:
        Devlin et al., BERT, NAACL 2019; https://huggingface.co/docs/safetensors (format);
        https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md (MatMulNBits);
        Hu et al., LoRA, ICLR 2022.
    """
    builder = _GraphBuilder(_TensorFile(weights), _read_shape(config), adapter=adapter or {})
    graph = builder.build_encoder()
    return BuiltGraphs(graphs=(graph,), weights=builder.join_weights())


def build_reader(*, weights: Path, config: Path, reader: Mapping[str, Floats]) -> BuiltGraphs:
    """Build the two graphs of a reader.

    The lower one maps `input_ids` and `attention_mask` (batch, tokens) to `states` (batch, tokens,
    hidden). The upper one takes such states of two texts side by side, `segments` (batch, tokens)
    that are 0 for the first text and 1 for the second, `attention_mask`, and `member_weights`
    (batch, members, tokens), which average the tokens of each member. Its results are
    probabilities: `stated` (batch, 1), `tags` (batch, tokens, 3), `members` (batch, members, 1).

    Args:
        weights: As of `build_graph`.
        config: As of `build_graph`.
        reader: What was trained, see `benchmarks.fit_reader`: tensors of the upper layers, and of
            the heads, by name.

    Raises:
        UnusableWeights: If the file contains another architecture.
    """
    builder = _GraphBuilder(_TensorFile(weights, replaced=reader), _read_shape(config))
    first = int(reader["first_layer"])
    graphs = (builder.build_lower(first), builder.build_upper(first))
    return BuiltGraphs(graphs=graphs, weights=builder.join_weights())


def _read_shape(config: Path) -> Shape:
    shape: Shape = json.loads(config.read_text(encoding="utf-8"))
    if shape.get("model_type") != "bert" or shape.get("hidden_act") != "gelu":
        raise UnusableWeights(f"{config} describes no BERT encoder with gelu")
    return shape


class _TensorFile:
    """The tensors of a safetensors file, some of them replaced, and others beside them."""

    def __init__(self, path: Path, *, replaced: Mapping[str, Floats] | None = None) -> None:
        self._replaced = replaced or {}
        with path.open("rb") as file:
            length = int.from_bytes(file.read(LENGTH_BYTES), "little")
            self._header: Mapping[str, Any] = json.loads(file.read(length))
        self._content = np.memmap(path, dtype=np.uint8, mode="r", offset=LENGTH_BYTES + length)

    def read_tensor(self, name: str) -> Floats:
        if name in self._replaced:
            return self._replaced[name]
        if name not in self._header:
            raise UnusableWeights(f"the weights contain no tensor {name!r}")
        entry = self._header[name]
        if entry["dtype"] != "F32":
            raise UnusableWeights(f"tensor {name!r} is {entry['dtype']}, not F32")
        begin, end = entry["data_offsets"]
        return self._content[begin:end].view(np.float32).reshape(entry["shape"])


class _GraphBuilder:
    def __init__(
        self, tensors: _TensorFile, shape: Shape, *, adapter: Mapping[str, Floats] | None = None
    ) -> None:
        self._tensors = tensors
        self._adapter = adapter or {}
        self._hidden = int(shape["hidden_size"])
        self._heads = int(shape["num_attention_heads"])
        self._layers = int(shape["num_hidden_layers"])
        self._epsilon = float(shape["layer_norm_eps"])
        self._nodes: list[Any] = []
        self._initializers: dict[str, Any] = {}
        self._parts: list[bytes] = []
        self._size = 0

    def join_weights(self) -> bytes:
        return b"".join(self._parts)

    def build_encoder(self) -> bytes:
        self._add_layers(range(self._layers), self._add_embeddings(), "last_hidden_state")
        inputs = {"input_ids": TOKENS, "attention_mask": TOKENS}
        states = {"last_hidden_state": [*TOKENS, self._hidden]}
        return self._finish(inputs, {ADAPTER_SHARE: [1]} if self._adapter else {}, states)

    def build_lower(self, layers: int) -> bytes:
        self._add_layers(range(layers), self._add_embeddings(), "states")
        states = {"states": [*TOKENS, self._hidden]}
        return self._finish({"input_ids": TOKENS, "attention_mask": TOKENS}, {}, states)

    def build_upper(self, first: int) -> bytes:
        segments = self._add_node("Gather", self._add_weight("segment.weight"), "segments")
        texts = self._add_node("Add", "states", segments)
        hidden = self._add_layers(range(first, self._layers), texts, "last_hidden_state")
        begin = self._add_node("Gather", hidden, self._add_integers(0), axis=1)
        begin = self._add_node("Squeeze", begin, self._add_integers(1))
        self._add_node("Sigmoid", self._add_head("stated", begin), output="stated")
        self._add_node("Softmax", self._add_head("tags", hidden), axis=-1, output="tags")
        members = self._add_head("members", self._add_node("MatMul", "member_weights", hidden))
        context = self._add_node(
            "Unsqueeze", self._add_head("members_context", begin), self._add_integers(1)
        )
        self._add_node("Sigmoid", self._add_node("Add", members, context), output="members")
        numbers: Dimensions = {
            "states": [*TOKENS, self._hidden],
            "member_weights": ["batch", "members", "tokens"],
        }
        results: Dimensions = {
            "stated": ["batch", 1],
            "tags": [*TOKENS, 3],
            "members": ["batch", "members", 1],
        }
        return self._finish({"segments": TOKENS, "attention_mask": TOKENS}, numbers, results)

    def _add_head(self, name: str, value: str) -> str:
        weight = self._add_array(
            f"{name}.weight", np.ascontiguousarray(self._tensors.read_tensor(f"{name}.weight").T)
        )
        product = self._add_node("MatMul", value, weight)
        return self._add_node("Add", product, self._add_weight(f"{name}.bias"))

    def _add_layers(self, layers: Iterable[int], hidden: str, output: str) -> str:
        mask = self._add_attention_mask()
        for index in layers:
            hidden = self._add_layer(f"encoder.layer.{index}", hidden, mask)
        return self._add_node("Identity", hidden, output=output)

    def _finish(self, integers: Dimensions, numbers: Dimensions, outputs: Dimensions) -> bytes:
        """Return the graph of what was added, and begin another with the same weights."""

        def describe(kind: int, values: Dimensions) -> list[Any]:
            return [
                helper.make_tensor_value_info(name, kind, dims) for name, dims in values.items()
            ]

        graph = helper.make_graph(
            self._nodes,
            "bert",
            [*describe(TensorProto.INT64, integers), *describe(TensorProto.FLOAT, numbers)],
            describe(TensorProto.FLOAT, outputs),
            initializer=list(self._initializers.values()),
        )
        self._nodes, self._initializers = [], {}
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIBUTED, 1)],
            ir_version=IR_VERSION,
        )
        content: bytes = model.SerializeToString(deterministic=True)
        return content

    def _add_node(
        self, kind: str, *inputs: str, output: str | None = None, **attributes: Any
    ) -> str:
        output = output or f"t{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def _add_weight(self, name: str) -> str:
        """Add a tensor of the safetensors file as it is."""
        return self._add_array(name, self._tensors.read_tensor(name))

    def _add_array(self, name: str, array: np.ndarray[Any, Any]) -> str:
        """Append an array to the external weights, and refer to it."""
        content = array.tobytes()
        tensor = TensorProto(
            name=name, data_type=helper.np_dtype_to_tensor_dtype(array.dtype), dims=array.shape
        )
        tensor.data_location = TensorProto.EXTERNAL
        place = {"location": WEIGHTS, "offset": self._size, "length": len(content)}
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
        padded = content + bytes(-len(content) % ALIGNMENT)
        self._parts.append(padded)
        self._size += len(padded)
        self._initializers[name] = tensor
        return name

    def _add_constant(self, name: str, kind: int, values: list[Any]) -> str:
        dims = [] if len(values) == 1 and name.startswith("scalar") else [len(values)]
        self._initializers[name] = helper.make_tensor(name, kind, dims, values)
        return name

    def _add_integers(self, *values: int) -> str:
        name = "i" + "_".join(map(str, values))
        return self._add_constant(name, TensorProto.INT64, list(values))

    def _add_scalar(self, name: str, value: float) -> str:
        return self._add_constant(f"scalar_{name}", TensorProto.FLOAT, [value])

    def _add_layer_norm(self, prefix: str, value: str) -> str:
        scale, bias = self._add_weight(f"{prefix}.weight"), self._add_weight(f"{prefix}.bias")
        return self._add_node(
            "LayerNormalization", value, scale, bias, axis=-1, epsilon=self._epsilon
        )

    def _add_linear(self, prefix: str, value: str) -> str:
        weight = self._tensors.read_tensor(f"{prefix}.weight")
        values, scales = quantize_blocks(weight)
        outputs, inputs = weight.shape
        output = self._add_node(
            "MatMulNBits",
            value,
            self._add_array(f"{prefix}.values", values),
            self._add_array(f"{prefix}.scales", scales),
            "",
            "",
            self._add_weight(f"{prefix}.bias"),
            domain=CONTRIBUTED,
            K=inputs,
            N=outputs,
            bits=8,
            block_size=BLOCK,
            accuracy_level=INT8_COMPUTE,
        )
        return self._add_change(prefix, value, output)

    def _add_change(self, prefix: str, value: str, output: str) -> str:
        """Add the adapter's change of a layer to its output; queries take all of it."""
        if f"{prefix}.down" not in self._adapter:
            return output
        down, up = (
            self._add_array(name, np.ascontiguousarray(self._adapter[name].T))
            for name in (f"{prefix}.down", f"{prefix}.up")
        )
        inner = self._add_node("Mul", self._add_node("MatMul", value, down), ADAPTER_SHARE)
        return self._add_node("Add", output, self._add_node("MatMul", inner, up))

    def _add_word_embeddings(self) -> str:
        values, scales = quantize_rows(
            self._tensors.read_tensor("embeddings.word_embeddings.weight")
        )
        rows = self._add_node("Gather", self._add_array("words.values", values), "input_ids")
        scale = self._add_node("Gather", self._add_array("words.scales", scales), "input_ids")
        return self._add_node("Mul", self._add_node("Cast", rows, to=TensorProto.FLOAT), scale)

    def _add_embeddings(self) -> str:
        words = self._add_word_embeddings()
        length = self._add_node("Shape", "input_ids", start=1, end=2)
        places = self._add_node(
            "Slice",
            self._add_weight("embeddings.position_embeddings.weight"),
            self._add_integers(0),
            length,
            self._add_integers(0),
        )
        # Every token belongs to the first segment: one text is embedded, never a pair.
        segment = self._add_node(
            "Slice",
            self._add_weight("embeddings.token_type_embeddings.weight"),
            self._add_integers(0),
            self._add_integers(1),
            self._add_integers(0),
        )
        total = self._add_node("Add", self._add_node("Add", words, segment), places)
        return self._add_layer_norm("embeddings.LayerNorm", total)

    def _add_attention_mask(self) -> str:
        """Add scores of 0 for tokens and `MASKED_SCORE` for padding, (batch, 1, 1, tokens)."""
        mask = self._add_node("Cast", "attention_mask", to=TensorProto.FLOAT)
        wide = self._add_node("Unsqueeze", mask, self._add_integers(1, 2))
        padding = self._add_node("Sub", self._add_scalar("one", 1.0), wide)
        return self._add_node("Mul", padding, self._add_scalar("masked", MASKED_SCORE))

    def _split_heads(self, value: str, perm: list[int]) -> str:
        split = self._add_integers(0, 0, self._heads, self._hidden // self._heads)
        return self._add_node("Transpose", self._add_node("Reshape", value, split), perm=perm)

    def _add_layer(self, prefix: str, hidden: str, mask: str) -> str:
        attention = f"{prefix}.attention"
        query, key, value = (
            self._add_linear(f"{attention}.self.{name}", hidden)
            for name in ("query", "key", "value")
        )
        scores = self._add_node(
            "MatMul",
            self._split_heads(query, [0, 2, 1, 3]),
            self._split_heads(key, [0, 2, 3, 1]),
        )
        root = self._add_scalar("root", (self._hidden // self._heads) ** 0.5)
        masked = self._add_node("Add", self._add_node("Div", scores, root), mask)
        context = self._add_node(
            "MatMul",
            self._add_node("Softmax", masked, axis=-1),
            self._split_heads(value, [0, 2, 1, 3]),
        )
        joined = self._add_node(
            "Reshape",
            self._add_node("Transpose", context, perm=[0, 2, 1, 3]),
            self._add_integers(0, 0, self._hidden),
        )
        attended = self._add_linear(f"{attention}.output.dense", joined)
        hidden = self._add_layer_norm(
            f"{attention}.output.LayerNorm", self._add_node("Add", attended, hidden)
        )
        inner = self._add_node("Gelu", self._add_linear(f"{prefix}.intermediate.dense", hidden))
        outer = self._add_linear(f"{prefix}.output.dense", inner)
        return self._add_layer_norm(
            f"{prefix}.output.LayerNorm", self._add_node("Add", outer, hidden)
        )
