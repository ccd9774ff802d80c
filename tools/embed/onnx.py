"""Engine onnx: runs an encoder with onnxruntime."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from gateway_project.foundation.embedding_models import ModelRecipe
from gateway_project.foundation.reasons import summarize_error
from tools.embed.embedder import EmbeddingUnavailable, TextKind, Vectors
from tools.embed.graph_version import ADAPTER_SHARE, WEIGHTS
from tools.embed.locate import ModelFiles
from tools.embed.pooling import make_batches, pool_states

# onnxruntime reads this on import; disabling its telemetry afterwards would be too late.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
import onnxruntime

PROVIDERS = ["CPUExecutionProvider"]
_SHRINK_ARENA = onnxruntime.RunOptions()
"""Frees afterwards what a batch needed: up to 160 MB, for 3 % more time."""
_SHRINK_ARENA.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")

TokenIds = NDArray[np.int64]


class OnnxEmbedder:
    """An encoder in onnxruntime; thread-safe."""

    def __init__(self, recipe: ModelRecipe, files: ModelFiles, *, threads: int) -> None:
        self._recipe = recipe
        try:
            self._tokenizer = load_tokenizer(files.tokenizer, recipe.max_tokens)
            [graph] = files.graphs
            self._session = open_session(graph, files.weights, threads=threads)
        except Exception as error:  # both libraries raise bare Exception
            raise EmbeddingUnavailable(
                f"the model {recipe.repo} cannot be loaded: {summarize_error(error)}"
            ) from error
        self._inputs = {item.name for item in self._session.get_inputs()}

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._recipe.repo

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._recipe.dimensions

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        """Embed texts; see `Embedder.embed`."""
        prefix = self._recipe.query_prefix if kind == "query" else ""
        tokens = [
            encoding.ids for encoding in self._tokenizer.encode_batch([prefix + t for t in texts])
        ]
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for group in make_batches([len(ids) for ids in tokens]):
            vectors[group] = self._run_batch([tokens[index] for index in group], kind)
        return vectors

    def _run_batch(self, tokens: list[list[int]], kind: TextKind) -> Vectors:
        longest = max(map(len, tokens))
        ids: TokenIds = np.zeros((len(tokens), longest), dtype=np.int64)
        mask: TokenIds = np.zeros_like(ids)
        for row, sequence in enumerate(tokens):
            ids[row, : len(sequence)] = sequence
            mask[row, : len(sequence)] = 1
        feed = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(ids),
            ADAPTER_SHARE: np.array([kind == "query"], dtype=np.float32),
        }
        inputs = {name: value for name, value in feed.items() if name in self._inputs}
        options = _SHRINK_ARENA if kind == "document" else None
        states = self._session.run(None, inputs, options)[0]
        return pool_states(states, mask, self._recipe.pooling)


def load_tokenizer(path: Path, max_tokens: int) -> Tokenizer:
    """Return a tokenizer that truncates texts and pads none."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def open_session(
    graph: Path | bytes, weights: memoryview | None, *, threads: int, keeps_memory: bool = True
) -> onnxruntime.InferenceSession:
    """Open a graph.

    Args:
        graph: Path of an ONNX file, or a graph in memory.
        weights: The external weights of a graph in memory.
        threads: Of the session.
        keeps_memory: Whether what a run needed is kept for the next.
    """
    options = onnxruntime.SessionOptions()
    options.enable_cpu_mem_arena = keeps_memory
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only: the optimiser's warnings are useless here
    # Otherwise idle threads spin, and a gateway is idle most of the time.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if weights is None:
        return onnxruntime.InferenceSession(str(graph), options, providers=PROVIDERS)
    content = np.frombuffer(weights, dtype=np.uint8)
    options.add_external_initializers_from_files_in_memory([WEIGHTS], [content], [content.nbytes])
    return onnxruntime.InferenceSession(graph, options, providers=PROVIDERS)
