"""A public set on tables of its own: stored, embedded and indexed by the product's own code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway_project.evaluation.dataset import Dataset
    from tools.embed.embedder import Embedder
    from tools.search_index import SearchIndex

MAX_INDEX_BYTES = 2_000_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Indexed:
    """One set.

    Attributes:
        data: Its tools and queries.
        index: Of its tools.
        embedder: Keeps vectors between runs.
        keys: Primary key of each tool by the set's id.
    """

    data: Dataset
    index: SearchIndex
    embedder: Embedder
    keys: dict[str, int]


@contextmanager
def indexed(folder: Path) -> Iterator[Indexed]:
    """Store and index a set; the tables are dropped at the end."""
    from django.conf import settings

    from gateway_project.evaluation import dataset, kept_vectors, run
    from gateway_project.evaluation.scratch import scratch_schema
    from tools.embed.load import embedder_for
    from tools.embed_catalogue import embed_missing
    from tools.store import search_index

    data = dataset.load(folder)
    config = settings.FOREGATE
    with kept_vectors.open_kept(config.home / "cache") as store, scratch_schema():
        embedder = kept_vectors.KeptEmbedder(embedder_for(config), store)
        names = run.store_tools(data.tools)
        embed_missing(embedder)
        index = search_index.refresh(None, model=embedder.model, max_bytes=MAX_INDEX_BYTES)
        assert index is not None
        yield Indexed(data=data, index=index, embedder=embedder, keys=_keys(names))


def _keys(names: dict[str, str]) -> dict[str, int]:
    from tools import ids
    from tools.models import Tool

    rows = Tool.objects.values_list("pk", "server__name", "name")
    return {names[ids.join(server, name)]: pk for pk, server, name in rows}
