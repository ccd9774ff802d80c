"""Find a model's files in an installed package, the home's models folder, or the hub's cache."""

from __future__ import annotations

import base64
import importlib.metadata
import mmap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gateway_project.foundation.embedding_models import ModelRecipe
from tools.embed import graph_cache
from tools.embed.embedder import EmbeddingUnavailable
from tools.embed.graph_version import GRAPH_VERSION

if TYPE_CHECKING:
    from tools.embed.bert_graph import BuiltGraphs

EXPORT_PATH = "onnx/model.onnx"
TOKENIZER_PATH = "tokenizer.json"
BUILT_FILE = f"v{GRAPH_VERSION}.model"
"""Name of a built model's file in its package; see `build_model`."""
READER_FILE = f"v{GRAPH_VERSION}.reader"
"""Name of its reader's file there."""
KEY_LENGTH = 16
LENGTH_BYTES = 8


@dataclass(frozen=True, kw_only=True)
class ModelFiles:
    """The files of a model.

    Attributes:
        graphs: Path of an ONNX file, or in-memory graphs that refer to `weights`.
        tokenizer: Path of its `tokenizer.json`.
        weights: Weights of in-memory graphs.
    """

    graphs: tuple[Path | bytes, ...]
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
    built = _find_in_package(recipe.built, BUILT_FILE)
    if built is not None:
        return _split_model(_map_file(built), built.with_name(TOKENIZER_PATH))
    folder = find_packaged_folder(recipe)
    if folder is not None:
        return _load_packaged_model(recipe, folder, home=home, build=build_model)
    manual_folder = home / "models" / recipe.repo
    if (manual_folder / EXPORT_PATH).is_file() and (manual_folder / TOKENIZER_PATH).is_file():
        return ModelFiles(
            graphs=(manual_folder / EXPORT_PATH,), tokenizer=manual_folder / TOKENIZER_PATH
        )
    export, tokenizer = (
        _find_in_hub(recipe, name, home=home, download=download)
        for name in (EXPORT_PATH, TOKENIZER_PATH)
    )
    return ModelFiles(graphs=(export,), tokenizer=tokenizer)


def find_reader_files(recipe: ModelRecipe, *, home: Path) -> ModelFiles | None:
    """Find the files of a model's reader; None if it has none, or is not installed as a package.

    Raises:
        EmbeddingUnavailable: If the packaged model is damaged.
    """
    built = _find_in_package(recipe.built, READER_FILE)
    if built is not None:
        return _split_model(_map_file(built), built.with_name(TOKENIZER_PATH))
    folder = find_packaged_folder(recipe)
    if folder is None or recipe.reader is None:
        return None
    return _load_packaged_model(recipe, folder, home=home, build=build_reader)


def find_packaged_folder(recipe: ModelRecipe) -> Path | None:
    """Return a model's folder in an installed package, without importing the package."""
    path = _find_in_package(recipe.distribution, recipe.weights or "")
    return None if path is None else path.parent


def _find_in_package(distribution: str | None, name: str) -> Path | None:
    """Return a file of an installed package whose path ends so, without importing the package."""
    found = _find_packaged_file(distribution, name)
    path = None if found is None else Path(str(found.locate()))
    return path if path is not None and path.is_file() else None


def _find_packaged_file(
    distribution: str | None, name: str
) -> importlib.metadata.PackagePath | None:
    if distribution is None or not name:
        return None
    try:
        files = importlib.metadata.files(distribution) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((file for file in files if f"/{file.as_posix()}".endswith(f"/{name}")), None)


def _load_packaged_model(
    recipe: ModelRecipe, folder: Path, *, home: Path, build: Callable[[ModelRecipe, Path], bytes]
) -> ModelFiles:
    """Return the graphs with 8-bit weights, built at the first use."""
    weights, ending = folder / "model.safetensors", build.__name__.removeprefix("build_")
    name = recipe.repo.replace("/", "--")
    path = home / "cache" / "embed" / f"{name}-{_weights_key(recipe, weights)}.{ending}"
    try:
        content = graph_cache.load_or_build(path, lambda: build(recipe, weights))
    except (OSError, ValueError) as error:
        raise EmbeddingUnavailable(
            f"the packaged model {recipe.repo} is damaged ({error}); "
            f"reinstall the package {recipe.distribution}"
        ) from error
    return _split_model(content, folder / TOKENIZER_PATH)


def _map_file(path: Path) -> memoryview:
    with path.open("rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _split_model(content: memoryview, tokenizer: Path) -> ModelFiles:
    """Return the parts of a built model."""
    end = len(content) - LENGTH_BYTES
    count = int.from_bytes(content[end:], "little")
    start = end = end - count * LENGTH_BYTES
    graphs = []
    for place in range(start, start + count * LENGTH_BYTES, LENGTH_BYTES):
        length = int.from_bytes(content[place : place + LENGTH_BYTES], "little")
        graphs.append(bytes(content[end - length : end]))
        end -= length
    return ModelFiles(graphs=tuple(graphs), tokenizer=tokenizer, weights=content[:end])


def build_model(recipe: ModelRecipe, weights: Path) -> bytes:
    """Return a model as one file: weights, graphs from the last to the first, lengths, number."""
    from tools.embed import bert_graph, trained

    adapter = trained.load_trained(recipe.adapter)
    return _join_model(
        bert_graph.build_graph(
            weights=weights, config=weights.with_name("config.json"), adapter=adapter
        )
    )


def build_reader(recipe: ModelRecipe, weights: Path) -> bytes:
    """Return a model's reader as one file like that of `build_model`."""
    from tools.embed import bert_graph, trained

    reader = trained.load_trained(recipe.reader)
    return _join_model(
        bert_graph.build_reader(
            weights=weights, config=weights.with_name("config.json"), reader=reader
        )
    )


def _join_model(built: BuiltGraphs) -> bytes:
    sizes = [*map(len, built.graphs), len(built.graphs)]
    return b"".join(
        [
            built.weights,
            *reversed(built.graphs),
            *(size.to_bytes(LENGTH_BYTES, "little") for size in sizes),
        ]
    )


def _weights_key(recipe: ModelRecipe, weights: Path) -> str:
    """Return a cache key of the weights and the graph's version.

    It uses the hash recorded by the package, since hashing the weights takes long.
    """
    recorded = _find_packaged_file(recipe.distribution, recipe.weights or "")
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
