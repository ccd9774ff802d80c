"""Queries of public data sets with what speaks for each candidate, for tuning."""

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
    from gateway_project.evaluation.dataset import DatasetQuery
    from tools.embed.embedder import Embedder
    from tools.search_index import Found, SearchIndex

FOLDS = 5
POOL = 60
SIDE = 30
"""Candidates by the sum of both kinds of evidence, and by each of them alone."""
RATIO = 0.02
MAX_INDEX_BYTES = 2_000_000_000

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Candidates of one query.

    Attributes:
        fold: Side of the splits that its group stands on.
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
        """Tell which candidates are right."""
        wanted = frozenset().union(*self.slots)
        return np.array([name in wanted for name in self.ids], dtype=np.bool_)

    def ndcg(self, worth: Floats, slots: tuple[frozenset[str], ...] | None = None) -> float:
        """NDCG@10 of the ranking by a value of each candidate; -inf leaves one out."""
        from gateway_project.evaluation import metrics

        wanted = self.slots if slots is None else slots
        order = np.argsort(-worth, kind="stable")[:10]
        named = [self.ids[at] for at in order if np.isfinite(worth[at])]
        return metrics.ndcg(metrics.gains(named, wanted), needed=len(wanted), k=10)


def every_set(*, limit: int, only: str = "*") -> dict[str, list[Judged]]:
    """Search for a sample of each set's queries; the sets lie where FOREGATE_DATA says.

    Args:
        limit: Queries of each set, about.
        only: Name of the sets to take, as a pattern.
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

    telemetry.configure(settings.FOREGATE, process="tune", quiet=True)
    migrate.migrate_once()
    folders = sorted(path.parent for path in Path(root).glob(f"{only}/queries.jsonl"))
    return {folder.name: gather(folder, limit=limit) for folder in folders}


def gather(folder: Path, *, limit: int) -> list[Judged]:
    """Search for a sample of a set's queries and keep what speaks for each candidate."""
    from django.conf import settings

    from gateway_project.evaluation import dataset, kept_vectors, run
    from gateway_project.evaluation.scratch import scratch_schema
    from tools.embed.load import embedder_for
    from tools.embed_catalogue import embed_missing
    from tools.store import search_index

    data = dataset.load(folder)
    step = max(1, len(data.queries) // limit)
    config = settings.FOREGATE
    with kept_vectors.open_kept(config.home / "cache") as store, scratch_schema():
        embedder = kept_vectors.KeptEmbedder(embedder_for(config), store)
        names = run.store_tools(data.tools)
        embed_missing(embedder)
        index = search_index.refresh(None, model=embedder.model, max_bytes=MAX_INDEX_BYTES)
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
    return {pk: names[ids.join(server, name)] for pk, server, name in rows}


def _judge(
    query: DatasetQuery, embedder: Embedder, index: SearchIndex, ids_by_pk: dict[int, str]
) -> Judged:
    from tools import query_text
    from tools.search_index import Filter, Preference
    from tools.store import indexed

    text = query_text.read(query.text)
    read = indexed.read(text.words, embedder.embed([text.text, *text.sentences], kind="query"))
    pools = ((1.0, RATIO, POOL), (1.0, 0.0, SIDE), (0.0, 1.0, SIDE))
    found: dict[int, Found] = {}
    for dense, lexical, size in pools:
        best = index.best(
            list(read.keys.values()),
            vectors=read.vectors,
            only=Filter(),
            preference=Preference(dense=dense, lexical=lexical),
            limit=size,
        )
        found |= {item.tool_pk: item for item in best}
    at = np.searchsorted(index.tools, list(found))
    return Judged(
        fold=zlib.crc32(query.group.encode()) % FOLDS,
        dense=np.array([item.similarity or 0.0 for item in found.values()]),
        lexical=np.array([item.bm25 for item in found.values()]),
        servers=index.servers[at],
        ids=tuple(ids_by_pk[pk] for pk in found),
        slots=query.slots,
    )
