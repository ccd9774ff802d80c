"""Engine sentence-transformers (optional extra): runs any model of that library."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gateway_project.foundation.embedding_models import ModelRecipe
from tools.embed.embedder import EmbeddingUnavailable, TextKind, Vectors
from tools.embed.pooling import MAX_BATCH, normalise
from tools.embed.quantize import Floats
from tools.embed.trained import load_trained

INSTALL_HINT = (
    "install Foregate with the extra sentence-transformers, or set FOREGATE_EMBEDDING_ENGINE"
)


class TorchEmbedder:
    """A model in sentence-transformers; thread-safe."""

    def __init__(
        self,
        name: str,
        recipe: ModelRecipe | None,
        *,
        folder: Path | None,
        threads: int,
        download: bool,
    ) -> None:
        """Load the model.

        Args:
            name: Its name on the hub.
            recipe: Its settings; None: use those in its own files.
            folder: Its local folder; None: use the hub's cache.
            threads: Processor threads to use.
            download: Whether it may be fetched from the hub.

        Raises:
            EmbeddingUnavailable: If the extra is not installed or the model cannot be loaded.
        """
        try:
            import sentence_transformers  # noqa: PLC0415 - an extra
            import torch  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise EmbeddingUnavailable(
                f"the engine sentence-transformers is not installed: {INSTALL_HINT}=onnx"
            ) from error
        torch.set_num_threads(threads)
        try:
            self._model = sentence_transformers.SentenceTransformer(
                str(folder or name), device="cpu", local_files_only=not download
            )
        except (OSError, ValueError) as error:
            raise EmbeddingUnavailable(
                f"the model {name} is not on this machine: run `manage.py embed --model {name}` "
                "with a connection to the network"
            ) from error
        self._name = name
        self._prefix = recipe.query_prefix if recipe else None
        self._current = threading.local()
        if recipe:
            self._model.max_seq_length = recipe.max_tokens
            self._add_adapter(load_trained(recipe.adapter))

    def _add_adapter(self, changes: Mapping[str, Floats]) -> None:
        """Change the outputs of the model's linear layers while this thread embeds queries."""
        import torch  # noqa: PLC0415 - an extra

        encoder: Any = self._model[0].auto_model
        for name in {key.rpartition(".")[0] for key in changes}:
            down, up = (torch.from_numpy(changes[f"{name}.{part}"]) for part in ("down", "up"))
            hook = partial(self._change_output, down, up)
            encoder.get_submodule(name).register_forward_hook(hook)

    def _change_output(
        self, down: Any, up: Any, _layer: Any, inputs: tuple[Any, ...], output: Any
    ) -> Any:
        if self._current.kind != "query":
            return output
        return output + inputs[0] @ down.T @ up.T

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._name

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self._model.get_embedding_dimension() or 0)

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        """Embed texts; see `Embedder.embed`."""
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        self._current.kind = kind
        prompts = self._model.prompts or {}
        own = prompts.get("query" if kind == "query" else "document") or ""
        prefix = own if self._prefix is None else self._prefix if kind == "query" else ""
        vectors = self._model.encode(
            [prefix + text for text in texts],
            batch_size=MAX_BATCH,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return normalise(np.asarray(vectors, dtype=np.float32))
