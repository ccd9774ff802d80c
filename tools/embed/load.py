"""Builds the configured embedder; heavy modules are loaded on first use."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import structlog

from gateway_project.foundation.config import Config
from gateway_project.foundation.embedding_models import (
    MINILM,
    ModelRecipe,
    UnknownModel,
    find_recipe,
)
from tools.embed import locate
from tools.embed.cache import CachedEmbedder
from tools.embed.embedder import Embedder, EmbeddingUnavailable, TextKind, Vectors
from tools.embed.reader import Answer, Question, ReadStatements, read_nothing

RETRY_AFTER_S = 60.0

log = structlog.get_logger(__name__)


class LazyReader:
    """Loads the packaged model's reader once, on first use; if that fails, nothing is read."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._read: ReadStatements | None = None

    def __call__(self, text: str, questions: Sequence[Question]) -> Sequence[Answer]:
        """Answer questions about a text; see `ReadStatements`."""
        if self._read is None:
            with self._lock:
                self._read = self._read or self._load()
        return self._read(text, questions)

    def _load(self) -> ReadStatements:
        from tools.embed import onnx_reader

        started = time.monotonic()
        recipe = find_recipe(MINILM)
        try:
            files = locate.find_reader_files(recipe, home=self._config.home)
            if files is None:
                log.warning("embed.no_reader", package=recipe.distribution, action="reinstall it")
                return read_nothing
            reader = onnx_reader.OnnxReader(files, threads=self._config.embedding_threads)
        except EmbeddingUnavailable as error:
            log.warning("embed.reader_unavailable", reason=str(error))
            return read_nothing
        log.info("embed.reader_loaded", seconds=round(time.monotonic() - started, 3))
        return reader.read


class LazyEmbedder:
    """Loads its model once, on first use, in the calling thread.

    After a failed load, every use fails at once with the same error for `RETRY_AFTER_S`.
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
        """Length of a vector; a model without a recipe is loaded for it."""
        return self._dimensions or self._ensure_loaded().dimensions

    @property
    def is_loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._loaded is not None

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        """Embed texts; see `Embedder.embed`."""
        return self._ensure_loaded().embed(texts, kind=kind)

    def _ensure_loaded(self) -> Embedder:
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
        log.info(
            "embed.model_loaded", model=self._model, seconds=round(self._clock() - started, 3)
        )
        return loaded


def make_embedder(
    config: Config, *, model: str | None = None, download: bool = False
) -> CachedEmbedder:
    """Return an embedder without loading its model.

    Args:
        config: Configures model, engine, threads and home folder.
        model: A model other than the configured one.
        download: Whether the model may be fetched from the hub; only at a person's request.

    Raises:
        UnknownModel: If the onnx engine has no recipe for the model.
    """
    name = model or config.embedding_model
    if config.embedding_engine == "onnx":
        recipe = find_recipe(name)
        build = _make_onnx_loader(recipe, config, download=download)
        lazy = LazyEmbedder(recipe.repo, build, dimensions=recipe.dimensions)
        return CachedEmbedder(lazy, read=LazyReader(config))
    try:
        known_recipe: ModelRecipe | None = find_recipe(name)
    except UnknownModel:
        known_recipe = None
    full_name = known_recipe.repo if known_recipe else name
    return CachedEmbedder(
        LazyEmbedder(
            full_name,
            _make_torch_loader(full_name, known_recipe, config, download=download),
            dimensions=known_recipe.dimensions if known_recipe else None,
        ),
        read=LazyReader(config),
    )


def _make_onnx_loader(
    recipe: ModelRecipe, config: Config, *, download: bool
) -> Callable[[], Embedder]:
    def build() -> Embedder:
        from tools.embed import onnx

        files = locate.find_model_files(recipe, home=config.home, download=download)
        return onnx.OnnxEmbedder(recipe, files, threads=config.embedding_threads)

    return build


def _make_torch_loader(
    name: str, recipe: ModelRecipe | None, config: Config, *, download: bool
) -> Callable[[], Embedder]:
    def build() -> Embedder:
        from tools.embed import torch

        placed = config.home / "models" / name
        packaged = locate.find_packaged_folder(recipe) if recipe else None
        return torch.TorchEmbedder(
            name,
            recipe,
            folder=packaged or (placed if placed.is_dir() else None),
            threads=config.embedding_threads,
            download=download,
        )

    return build
