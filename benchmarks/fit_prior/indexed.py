"""A public set in a scratch schema: stored, embedded and indexed by the product's own code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.evaluation.dataset import Dataset
    from tools.embed.embedder import Embedder
    from tools.search_index import SearchIndex

MAX_INDEX_BYTES = 2_000_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class IndexedSet:
    """A stored and indexed set.

    Attributes:
        data: Its tools and queries.
        index: Search index of its tools.
        embedder: Embedder that caches vectors across runs.
        keys: Primary key of each tool by the set's id.
    """

    data: Dataset
    index: SearchIndex
    embedder: Embedder
    keys: dict[str, int]


@contextmanager
def indexed(folder: Path) -> Iterator[IndexedSet]:
    """Store and index a set; the tables are dropped at the end."""
    from django.conf import settings

    from benchmarks.evaluation import dataset, run, vector_cache
    from benchmarks.evaluation.scratch import open_scratch_schema
    from tools.embed.load import make_embedder
    from tools.embed_catalogue import embed_missing
    from tools.store import search_index

    data = dataset.load_dataset(folder)
    config = settings.FOREGATE
    with vector_cache.open_vector_store(config.home / "cache") as store, open_scratch_schema():
        embedder = vector_cache.DiskCachedEmbedder(make_embedder(config), store)
        names = run.store_tools(data.tools)
        embed_missing(embedder)
        index = search_index.refresh_index(None, model=embedder.model, max_bytes=MAX_INDEX_BYTES)
        assert index is not None
        yield IndexedSet(data=data, index=index, embedder=embedder, keys=_keys(names))


def _keys(names: dict[str, str]) -> dict[str, int]:
    from tools import ids
    from tools.models import Tool

    rows = Tool.objects.values_list("pk", "server__name", "name")
    return {names[ids.join_id(server, name)]: pk for pk, server, name in rows}
