"""Find a model's files in an installed package, the home's models folder, or the hub's cache."""

from __future__ import annotations

import base64
import importlib.metadata
from dataclasses import dataclass
from pathlib import Path

from tools.embed import graph_cache
from tools.embed.embedder import EmbeddingUnavailable
from tools.embed.graph_version import GRAPH_VERSION
from tools.embed.recipes import ModelRecipe

EXPORT_PATH = "onnx/model.onnx"
TOKENIZER_PATH = "tokenizer.json"
KEY_LENGTH = 16
LENGTH_BYTES = 8


@dataclass(frozen=True, kw_only=True)
class ModelFiles:
    """The files of a model.

    Attributes:
        graph: Path of an ONNX file, or an in-memory graph that refers to `weights`.
        tokenizer: Path of its `tokenizer.json`.
        weights: Weights of an in-memory graph.
    """

    graph: Path | bytes
    tokenizer: Path
    weights: memoryview | None = None


def find_model_files(recipe: ModelRecipe, *, home: Path, download: bool) -> ModelFiles:
    """Find the files that the onnx engine needs.

    Args:
        recipe: The model.
        home: Folder with manually installed models in `models/<repo>`, and the cache.
        download: Whether the model may be fetched from the hub.

    Raises:
        EmbeddingUnavailable: If the model is missing; the message says what to do.
    """
    folder = find_packaged_folder(recipe)
    if folder is not None:
        graph, weights = _load_packaged_model(recipe, folder / "model.safetensors", home=home)
        return ModelFiles(graph=graph, tokenizer=folder / TOKENIZER_PATH, weights=weights)
    manual_folder = home / "models" / recipe.repo
    if (manual_folder / EXPORT_PATH).is_file() and (manual_folder / TOKENIZER_PATH).is_file():
        return ModelFiles(
            graph=manual_folder / EXPORT_PATH, tokenizer=manual_folder / TOKENIZER_PATH
        )
    export, tokenizer = (
        _find_in_hub(recipe, name, home=home, download=download)
        for name in (EXPORT_PATH, TOKENIZER_PATH)
    )
    return ModelFiles(graph=export, tokenizer=tokenizer)


def find_packaged_folder(recipe: ModelRecipe) -> Path | None:
    """Return a model's folder in an installed package, without importing the package."""
    weights = _find_packaged_file(recipe)
    if weights is None:
        return None
    path = Path(str(weights.locate()))
    return path.parent if path.is_file() else None


def _find_packaged_file(recipe: ModelRecipe) -> importlib.metadata.PackagePath | None:
    if recipe.distribution is None or recipe.weights is None:
        return None
    try:
        files = importlib.metadata.files(recipe.distribution) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((file for file in files if file.as_posix() == recipe.weights), None)


def _load_packaged_model(
    recipe: ModelRecipe, weights: Path, *, home: Path
) -> tuple[bytes, memoryview]:
    """Return the graph with 8-bit weights, and these weights."""
    name = recipe.repo.replace("/", "--")
    path = home / "cache" / "embed" / f"{name}-{_weights_key(recipe, weights)}.model"
    try:
        content = graph_cache.load_or_build(path, lambda: _build_model(recipe, weights))
    except (OSError, ValueError) as error:
        raise EmbeddingUnavailable(
            f"the packaged model {recipe.repo} is damaged ({error}); "
            f"reinstall the package {recipe.distribution}"
        ) from error
    graph_end = len(content) - LENGTH_BYTES
    graph_start = graph_end - int.from_bytes(content[graph_end:], "little")
    return bytes(content[graph_start:graph_end]), content[:graph_start]


def _build_model(recipe: ModelRecipe, weights: Path) -> bytes:
    """Return weights, graph, and the graph's length."""
    from tools.embed import adapter, bert_graph

    built = bert_graph.build_graph(
        weights=weights,
        config=weights.with_name("config.json"),
        adapter=adapter.load_adapter(recipe),
    )
    length = len(built.graph).to_bytes(LENGTH_BYTES, "little")
    return built.weights + built.graph + length


def _weights_key(recipe: ModelRecipe, weights: Path) -> str:
    """Return a cache key of the weights and the graph's version.

    It uses the hash recorded by the package, since hashing the weights takes long.
    """
    recorded = _find_packaged_file(recipe)
    if recorded is not None and recorded.hash is not None:
        digest = base64.urlsafe_b64decode(recorded.hash.value + "=" * 2).hex()
    else:
        digest = f"{weights.stat().st_size:x}-{weights.stat().st_mtime_ns:x}"
    return f"v{GRAPH_VERSION}-{digest[:KEY_LENGTH]}"


def _find_in_hub(recipe: ModelRecipe, name: str, *, home: Path, download: bool) -> Path:
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(
            huggingface_hub.hf_hub_download(recipe.repo, name, local_files_only=not download)
        )
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError, ValueError) as error:
        remedy = (
            f"connect to the network and run `manage.py embed --model {recipe.repo}` again"
            if download
            else f"run `manage.py embed --model {recipe.repo}`, which fetches it"
        )
        raise EmbeddingUnavailable(
            f"the model {recipe.repo} is not on this machine: {remedy}, "
            f"or put {EXPORT_PATH} and {TOKENIZER_PATH} into {home / 'models' / recipe.repo}"
        ) from error
