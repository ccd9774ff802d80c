"""Engine sentence-transformers (optional extra): runs any model of that library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tools.embed.embedder import EmbeddingUnavailable, TextKind, Vectors
from tools.embed.pooling import MAX_BATCH, normalise
from tools.embed.recipes import ModelRecipe

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
        if recipe:
            self._model.max_seq_length = recipe.max_tokens

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
