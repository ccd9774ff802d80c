"""Search the tools of a data set in memory, as a gateway would for the words of its clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from benchmarks.evaluation.dataset import DatasetTool
from benchmarks.evaluation.prefetch import FindTools
from tools.catalogue import CatalogueTool
from tools.catalogue_index import index_words
from tools.danger import Danger
from tools.embed.cache import CachedEmbedder
from tools.embed_catalogue import embed_tools
from tools.embedding_text import compose_text
from tools.query_text import QueryError
from tools.search import SearchRequest, search_in_memory
from tools.search_index import SearchIndex
from tools.store.search import SearchScope

MAX_HITS = 8
"""Hits of a search; prediction looks at no more."""


def make_word_search(tools: Sequence[DatasetTool], embedder: CachedEmbedder) -> FindTools:
    """Index tools, numbered from 1, and return a search for them that remembers its answers.

    Raises:
        EmbeddingUnavailable: If the model cannot be loaded.
    """
    listed = [list_tool(tool, pk) for pk, tool in enumerate(tools, start=1)]
    index = _embed_index(listed, embedder)
    scope = SearchScope(within=frozenset(tool.pk for tool in listed))

    @cache
    def find_tools(text: str) -> Mapping[int, float]:
        request = SearchRequest(query=text, limit=MAX_HITS, scope=scope)
        try:
            answer = search_in_memory(request, tools=listed, embedder=embedder, index=index)
        except QueryError:
            return {}
        return {hit.tool_pk: hit.score for hit in answer.hits}

    return find_tools


def _embed_index(listed: Sequence[CatalogueTool], embedder: CachedEmbedder) -> SearchIndex:
    texts = [compose_text(tool.definition, server=tool.server) for tool in listed]
    return replace(
        index_words(listed),
        model=embedder.model,
        vectors=embed_tools(texts, embedder),
        embeddings=np.arange(1, len(listed) + 1),
    )


def list_tool(tool: DatasetTool, pk: int) -> CatalogueTool:
    """Return a tool as a catalogue holds it: shared, and callable."""
    return CatalogueTool(
        pk=pk,
        tool=tool.id,
        server=tool.server,
        name=tool.name,
        title="",
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=None,
        annotations={},
        definition_hash="",
        token_count=0,
        category="",
        danger=Danger.READ,
        danger_reasons=(),
        vetoed=False,
        state="active",
        enabled=True,
        team=None,
    )
