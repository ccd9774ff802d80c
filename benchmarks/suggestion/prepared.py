"""A data set on tables of its own, with every query read and encoded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from django.conf import settings

from benchmarks.suggestion.boosting import Catalogue
from gateway_project.evaluation import dataset, graph, kept_vectors, run
from gateway_project.evaluation.dataset import Dataset, DatasetQuery
from gateway_project.evaluation.gold_calls import Names
from gateway_project.evaluation.ground import Ground, Intent, own_sealer, read
from gateway_project.evaluation.scratch import scratch_schema
from tools.embed.load import embedder_for
from tools.embed_catalogue import embed_missing
from tools.store import search_index

MAX_INDEX_BYTES = 2_000_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Prepared:
    """A data set that can be asked.

    Attributes:
        dataset: As read.
        ground: What suggestions are made on.
        intents: Every query, read and encoded, by id.
    """

    dataset: Dataset
    ground: Ground
    intents: Mapping[str, Intent]

    @property
    def queries(self) -> Sequence[DatasetQuery]:
        """The queries with gold."""
        return [query for query in self.dataset.queries if query.slots]

    @cached_property
    def names(self) -> Names:
        """How gold speaks of the tools."""
        return Names.of(self.dataset)

    @cached_property
    def catalogue(self) -> Catalogue:
        """The tools as the baselines see them: places are those of the view."""
        view = self.ground.view
        return Catalogue(
            vectors=view.vectors(view.find(view.tools)),
            bm25=lambda intent: view.words.matrix(sorted(set(intent.words))).sum(axis=0),
        )

    def places(self, tools: Sequence[str]) -> list[int]:
        """Return the places of tools in the catalogue, by the data set's ids."""
        return [int(at) for at in self.ground.view.find(self.ground.keys[one] for one in tools)]

    def ids(self, places: Sequence[int]) -> list[str]:
        """Return the data set's ids of tools by their places."""
        tools = self.ground.view.tools
        return [self.ground.world.names[int(tools[at])] for at in places]


@contextmanager
def prepare(folder: Path) -> Iterator[Prepared]:
    """Store a data set's tools and relations, embed them, and encode its queries."""
    data = dataset.load(folder)
    config = settings.FOREGATE
    with kept_vectors.open_kept(config.home / "cache") as store, scratch_schema():
        kept = kept_vectors.KeptEmbedder(embedder_for(config), store)
        names = run.store_tools(data.tools)
        embed_missing(kept)
        index = search_index.refresh(None, model=kept.model, max_bytes=MAX_INDEX_BYTES)
        assert index is not None
        ground = Ground(
            world=graph.prepare(data, names, token_budget=run.TOKEN_BUDGET),
            index=index,
            embedder=kept,
            sealer=own_sealer(),
        )
        asked = [query for query in data.queries if query.slots]
        intents = read([query.text for query in asked], embedder=kept)
        yield Prepared(
            dataset=data,
            ground=ground,
            intents={query.id: one for query, one in zip(asked, intents, strict=True)},
        )
