"""A data set in a scratch schema, with every query read and encoded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from django.conf import settings

from benchmarks.evaluation import dataset, graph, run, vector_cache
from benchmarks.evaluation.dataset import Dataset, DatasetQuery
from benchmarks.evaluation.gold_calls import GoldToolNames
from benchmarks.evaluation.inputs import (
    EncodedQuery,
    SuggestionInputs,
    encode_queries,
    make_ephemeral_sealer,
)
from benchmarks.evaluation.scratch import open_scratch_schema
from benchmarks.suggestion.boosting import Catalogue
from tools.embed.load import make_embedder
from tools.embed_catalogue import embed_missing
from tools.store import search_index

MAX_INDEX_BYTES = 2_000_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class PreparedSet:
    """A data set that is ready for suggestions.

    Attributes:
        dataset: The data set.
        ground: Inputs of suggestions.
        intents: Every query, read and encoded, by id.
    """

    dataset: Dataset
    ground: SuggestionInputs
    intents: Mapping[str, EncodedQuery]

    @property
    def queries(self) -> Sequence[DatasetQuery]:
        """The queries with gold."""
        return [query for query in self.dataset.queries if query.slots]

    @cached_property
    def names(self) -> GoldToolNames:
        """Names of the tools in the gold."""
        return GoldToolNames.from_dataset(self.dataset)

    @cached_property
    def catalogue(self) -> Catalogue:
        """The tools as the baselines see them; indexes are those of the view."""
        view = self.ground.tool_view
        return Catalogue(
            vectors=view.vectors_at(view.find_positions(view.tools)),
            bm25=lambda intent: view.words.score_lexemes(sorted(set(intent.words))).sum(axis=0),
        )

    def places(self, tools: Sequence[str]) -> list[int]:
        """Return the indexes of tools in the catalogue, by the data set's ids."""
        return [
            int(at)
            for at in self.ground.tool_view.find_positions(
                self.ground.keys_by_id[one] for one in tools
            )
        ]

    def ids(self, places: Sequence[int]) -> list[str]:
        """Return the data set's ids of tools by their indexes."""
        tools = self.ground.tool_view.tools
        return [self.ground.world.dataset_ids[int(tools[at])] for at in places]


def prepare(folder: Path) -> AbstractContextManager[PreparedSet]:
    """Load a data set, store its tools and relations, embed them, and encode its queries."""
    return prepare_dataset(dataset.load_dataset(folder))


@contextmanager
def prepare_dataset(data: Dataset) -> Iterator[PreparedSet]:
    """Store a data set's tools and relations, embed them, and encode its queries."""
    config = settings.FOREGATE
    with vector_cache.open_vector_store(config.home / "cache") as store, open_scratch_schema():
        kept = vector_cache.DiskCachedEmbedder(make_embedder(config), store)
        names = run.store_tools(data.tools)
        embed_missing(kept)
        index = search_index.refresh_index(None, model=kept.model, max_bytes=MAX_INDEX_BYTES)
        assert index is not None
        ground = SuggestionInputs(
            world=graph.prepare_graph(data, names, token_budget=run.DEFAULT_TOKEN_BUDGET),
            index=index,
            embedder=kept,
            sealer=make_ephemeral_sealer(),
        )
        asked = [query for query in data.queries if query.slots]
        intents = encode_queries([query.text for query in asked], embedder=kept)
        yield PreparedSet(
            dataset=data,
            ground=ground,
            intents={query.id: one for query, one in zip(asked, intents, strict=True)},
        )
