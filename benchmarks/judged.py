"""Queries of public data sets with the evidence for each candidate, for tuning."""

from __future__ import annotations

import os
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from benchmarks.evaluation.dataset import DatasetQuery
    from tools.embed.embedder import Embedder
    from tools.search_index import IndexHit, SearchIndex

FOLDS = 5
POOL = 60
SIDE = 30
"""`POOL` candidates are taken by the sum of both kinds of evidence, `SIDE` by each alone."""
RATIO = 0.02
MAX_INDEX_BYTES = 2_000_000_000

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class JudgedQuery:
    """Candidates of one query.

    Attributes:
        fold: Fold of its group.
        dense: Cosines.
        lexical: BM25.
        servers: Primary key of each candidate's server.
        ids: The data set's ids of the candidates.
        slots: The gold.
    """

    fold: int
    dense: Floats
    lexical: Floats
    servers: NDArray[np.int64]
    ids: tuple[str, ...]
    slots: tuple[frozenset[str], ...]

    @property
    def gold(self) -> NDArray[np.bool_]:
        """Which candidates are right."""
        wanted = frozenset().union(*self.slots)
        return np.array([name in wanted for name in self.ids], dtype=np.bool_)

    def ndcg(self, worth: Floats, slots: tuple[frozenset[str], ...] | None = None) -> float:
        """NDCG@10 of the ranking by a value of each candidate; -inf leaves one out."""
        from benchmarks.evaluation import metrics

        wanted = self.slots if slots is None else slots
        order = np.argsort(-worth, kind="stable")[:10]
        named = [self.ids[at] for at in order if np.isfinite(worth[at])]
        return metrics.ndcg_at(metrics.compute_gains(named, wanted), needed=len(wanted), k=10)


def judge_all_sets(*, limit: int, only: str = "*") -> dict[str, list[JudgedQuery]]:
    """Search for a sample of each set's queries; the sets are in the folder FOREGATE_DATA.

    Args:
        limit: Approximate number of queries per set.
        only: Glob pattern of the names of the sets.
    """
    root = os.environ.get("FOREGATE_DATA")
    if not root:
        sys.exit("set FOREGATE_DATA to the folder of the data sets")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway_project.settings.base")
    import django

    django.setup()
    from django.conf import settings

    from gateway_project.foundation import telemetry
    from gateway_project.foundation.postgres import migrate

    telemetry.configure_logging(settings.FOREGATE, process="tune", quiet=True)
    migrate.migrate_once()
    folders = sorted(path.parent for path in Path(root).glob(f"{only}/queries.jsonl"))
    return {folder.name: gather(folder, limit=limit) for folder in folders}


def gather(folder: Path, *, limit: int) -> list[JudgedQuery]:
    """Search for a sample of a set's queries; return the evidence for their candidates."""
    from django.conf import settings

    from benchmarks.evaluation import dataset, run, vector_cache
    from benchmarks.evaluation.scratch import open_scratch_schema
    from tools.embed.load import make_embedder
    from tools.embed_catalogue import embed_missing
    from tools.store import search_index

    data = dataset.load_dataset(folder)
    step = max(1, len(data.queries) // limit)
    config = settings.FOREGATE
    with vector_cache.open_vector_store(config.home / "cache") as store, open_scratch_schema():
        embedder = vector_cache.DiskCachedEmbedder(make_embedder(config), store)
        names = run.store_tools(data.tools)
        embed_missing(embedder)
        index = search_index.refresh_index(None, model=embedder.model, max_bytes=MAX_INDEX_BYTES)
        assert index is not None
        ids_by_pk = _ids_by_pk(names)
        return [
            _judge(query, embedder, index, ids_by_pk)
            for query in data.queries[::step]
            if query.slots
        ]


def _ids_by_pk(names: dict[str, str]) -> dict[int, str]:
    from tools import ids
    from tools.models import Tool

    rows = Tool.objects.values_list("pk", "server__name", "name")
    return {pk: names[ids.join_id(server, name)] for pk, server, name in rows}


def _judge(
    query: DatasetQuery, embedder: Embedder, index: SearchIndex, ids_by_pk: dict[int, str]
) -> JudgedQuery:
    from tools import query_text
    from tools.lexemes import hash_lexeme, map_lexemes
    from tools.search_index import RankingPreference, SearchFilter

    text = query_text.read_query(query.text)
    keys = [hash_lexeme(lexeme) for lexeme in map_lexemes(text.words)]
    vectors = embedder.embed(text.embedded_texts, kind="query")
    pools = ((1.0, RATIO, POOL), (1.0, 0.0, SIDE), (0.0, 1.0, SIDE))
    found: dict[int, IndexHit] = {}
    for dense, lexical, size in pools:
        best = index.find_best(
            keys,
            vectors=vectors,
            only=SearchFilter(),
            preference=RankingPreference(dense=dense, lexical=lexical),
            limit=size,
        )
        found |= {item.tool_pk: item for item in best}
    at = np.searchsorted(index.tools, list(found))
    return JudgedQuery(
        fold=zlib.crc32(query.group.encode()) % FOLDS,
        dense=np.array([item.similarity or 0.0 for item in found.values()]),
        lexical=np.array([item.bm25 for item in found.values()]),
        servers=index.servers[at],
        ids=tuple(ids_by_pk[pk] for pk in found),
        slots=query.slots,
    )
