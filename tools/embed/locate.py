"""Find a model's files: in an installed package, the home's models folder, or the hub's cache."""

from __future__ import annotations

import base64
import importlib.metadata
from dataclasses import dataclass
from pathlib import Path

from tools.embed import graph_cache
from tools.embed.embedder import EmbeddingUnavailable
from tools.embed.graph_version import GRAPH_VERSION
from tools.embed.recipes import Recipe

EXPORT = "onnx/model.onnx"
TOKENIZER = "tokenizer.json"
KEY_LENGTH = 16


@dataclass(frozen=True, kw_only=True)
class ModelFiles:
    """Where a model lies.

    Attributes:
        graph: Path of an ONNX file, or a graph in memory that refers to `weights`.
        tokenizer: Path of its `tokenizer.json`.
        weights: Safetensors file a graph in memory refers to.
    """

    graph: Path | bytes
    tokenizer: Path
    weights: Path | None = None


def model_files(recipe: Recipe, *, home: Path, download: bool) -> ModelFiles:
    """Find what the onnx engine needs of a model.

    Args:
        recipe: The model.
        home: Folder with `models/<repo>` for models put there by hand, and the cache.
        download: Whether the model may be fetched from the hub.

    Raises:
        EmbeddingUnavailable: If the model is not there; the message says what to do.
    """
    folder = packaged_folder(recipe)
    if folder is not None:
        weights = folder / "model.safetensors"
        graph = _packaged_graph(recipe, weights, home=home)
        return ModelFiles(graph=graph, tokenizer=folder / TOKENIZER, weights=weights)
    placed = home / "models" / recipe.repo
    if (placed / EXPORT).is_file() and (placed / TOKENIZER).is_file():
        return ModelFiles(graph=placed / EXPORT, tokenizer=placed / TOKENIZER)
    export, tokenizer = (
        _from_hub(recipe, name, home=home, download=download) for name in (EXPORT, TOKENIZER)
    )
    return ModelFiles(graph=export, tokenizer=tokenizer)


def packaged_folder(recipe: Recipe) -> Path | None:
    """Return the folder of a model that an installed package carries, without importing it."""
    weights = _packaged_file(recipe)
    if weights is None:
        return None
    path = Path(str(weights.locate()))
    return path.parent if path.is_file() else None


def _packaged_file(recipe: Recipe) -> importlib.metadata.PackagePath | None:
    if recipe.distribution is None or recipe.weights is None:
        return None
    try:
        files = importlib.metadata.files(recipe.distribution) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((file for file in files if file.as_posix() == recipe.weights), None)


def _packaged_graph(recipe: Recipe, weights: Path, *, home: Path) -> bytes:
    name = recipe.repo.replace("/", "--")
    path = home / "cache" / "embed" / f"{name}-{_weights_key(recipe, weights)}.graph"
    try:
        return graph_cache.load_or_build(path, lambda: _build(weights))
    except (OSError, ValueError) as error:
        raise EmbeddingUnavailable(
            f"the packaged model {recipe.repo} is damaged ({error}); "
            f"reinstall the package {recipe.distribution}"
        ) from error


def _build(weights: Path) -> bytes:
    from tools.embed import bert_graph  # noqa: PLC0415 - needs the onnx package, heavy

    return bert_graph.build(weights=weights, config=weights.with_name("config.json"))


def _weights_key(recipe: Recipe, weights: Path) -> str:
    """Name the weights and the graph's version: the hash the package records, read in no time."""
    recorded = _packaged_file(recipe)
    if recorded is not None and recorded.hash is not None:
        digest = base64.urlsafe_b64decode(recorded.hash.value + "=" * 2).hex()
    else:
        digest = f"{weights.stat().st_size:x}-{weights.stat().st_mtime_ns:x}"
    return f"v{GRAPH_VERSION}-{digest[:KEY_LENGTH]}"


def _from_hub(recipe: Recipe, name: str, *, home: Path, download: bool) -> Path:
    import huggingface_hub  # noqa: PLC0415 - heavy, and the packaged model never needs it
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError  # noqa: PLC0415

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
            f"or put {EXPORT} and {TOKENIZER} into {home / 'models' / recipe.repo}"
        ) from error
