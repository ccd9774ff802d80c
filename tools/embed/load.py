"""The embedder an installation is configured for; nothing heavy is loaded before it is used."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import structlog

from gateway_project.foundation.config import Config
from tools.embed import locate
from tools.embed.cache import CachedEmbedder
from tools.embed.embedder import Embedder, EmbeddingUnavailable, Kind, Vectors
from tools.embed.recipes import Recipe, UnknownModel, recipe_for

RETRY_AFTER_S = 60.0

log = structlog.get_logger(__name__)


class LazyEmbedder:
    """Loads its model at the first use, once, in the thread that asks first.

    A load that failed is not tried again for `RETRY_AFTER_S`: until then every use fails at once
    with the same error.
    """

    def __init__(
        self,
        model: str,
        build: Callable[[], Embedder],
        *,
        dimensions: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._build = build
        self._dimensions = dimensions
        self._clock = clock
        self._lock = threading.Lock()
        self._loaded: Embedder | None = None
        self._error: EmbeddingUnavailable | None = None
        self._failed_at = 0.0

    @property
    def model(self) -> str:
        """Name of the model; known without loading it."""
        return self._model

    @property
    def dimensions(self) -> int:
        """Length of a vector; a model without a recipe is loaded to know it."""
        return self._dimensions or self._ready().dimensions

    @property
    def is_loaded(self) -> bool:
        """Whether the next use finds the model in memory."""
        return self._loaded is not None

    def embed(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        """Embed texts; see `Embedder.embed`."""
        return self._ready().embed(texts, kind=kind)

    def _ready(self) -> Embedder:
        if self._loaded is not None:
            return self._loaded
        with self._lock:
            return self._loaded or self._load()

    def _load(self) -> Embedder:
        if self._error is not None and self._clock() - self._failed_at < RETRY_AFTER_S:
            raise self._error
        started = self._clock()
        try:
            loaded = self._build()
        except EmbeddingUnavailable as error:
            self._error, self._failed_at = error, self._clock()
            raise
        self._loaded, self._error = loaded, None
        log.info("embed.loaded", model=self._model, seconds=round(self._clock() - started, 3))
        return loaded


def embedder_for(
    config: Config, *, model: str | None = None, download: bool = False
) -> CachedEmbedder:
    """Return the configured embedder, or the one of another model; returns at once.

    Args:
        config: Names the model, the engine, the threads and the home folder.
        model: Another model than the configured one.
        download: Whether the model may be fetched from the hub: only where a person asked for it.

    Raises:
        UnknownModel: If the onnx engine has no recipe for the model.
    """
    name = model or config.embedding_model
    if config.embedding_engine == "onnx":
        recipe = recipe_for(name)
        build = _onnx(recipe, config, download=download)
        return CachedEmbedder(LazyEmbedder(recipe.repo, build, dimensions=recipe.dimensions))
    try:
        known: Recipe | None = recipe_for(name)
    except UnknownModel:
        known = None
    full_name = known.repo if known else name
    return CachedEmbedder(
        LazyEmbedder(
            full_name,
            _torch(full_name, known, config, download=download),
            dimensions=known.dimensions if known else None,
        )
    )


def _onnx(recipe: Recipe, config: Config, *, download: bool) -> Callable[[], Embedder]:
    def build() -> Embedder:
        from tools.embed import onnx  # noqa: PLC0415 - heavy: loaded by the first use

        files = locate.model_files(recipe, home=config.home, download=download)
        return onnx.OnnxEmbedder(recipe, files, threads=config.embedding_threads)

    return build


def _torch(
    name: str, recipe: Recipe | None, config: Config, *, download: bool
) -> Callable[[], Embedder]:
    def build() -> Embedder:
        from tools.embed import torch  # noqa: PLC0415 - heavy: loaded by the first use

        placed = config.home / "models" / name
        packaged = locate.packaged_folder(recipe) if recipe else None
        return torch.TorchEmbedder(
            name,
            recipe,
            folder=packaged or (placed if placed.is_dir() else None),
            threads=config.embedding_threads,
            download=download,
        )

    return build
