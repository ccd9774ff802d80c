"""Inputs of suggestions for a data set: stored tools, search index and encoded intents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from django.conf import settings

from benchmarks.evaluation.graph import EVALUATION_CALLER, EvaluationWorld
from gateway_project.foundation import schema
from gateway_project.foundation.sealing import Sealer, load_or_create_sealer
from graph import encode
from graph.suggestion.intent import reading as reader
from graph.suggestion.ranking.tool_view import ToolView
from tools.embed.load import LazyReader
from tools.visibility import Visibility

if TYPE_CHECKING:
    from graph.suggestion.intent.encoded import EncodedIntent
    from graph.suggestion.intent.reading import IntentReading
    from tools.embed.embedder import Embedder
    from tools.embed.reader import ReadStatements
    from tools.search_index import SearchIndex

ENCODE_BATCH_SIZE: Final = 256

EncodeProgress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class SuggestionInputs:
    """Inputs of suggestions that do not depend on learning.

    Attributes:
        world: The stored tools and their relations.
        index: The catalogue's search index.
        embedder: Embedder of the index's model.
        sealer: Ephemeral sealer of this evaluation.
    """

    world: EvaluationWorld
    index: SearchIndex
    embedder: Embedder
    sealer: Sealer

    @cached_property
    def read(self) -> ReadStatements:
        """The packaged reader, as a gateway reads."""
        return LazyReader(settings.FOREGATE)

    @cached_property
    def visibility(self) -> Visibility:
        """What the evaluation's caller may see."""
        return Visibility(catalogue=self.world.catalogue, caller=EVALUATION_CALLER)

    @cached_property
    def keys_by_id(self) -> Mapping[str, int]:
        """Primary key of each tool, by the data set's id."""
        return {name: pk for pk, name in self.world.dataset_ids.items()}

    @cached_property
    def required_parameters(self) -> Mapping[str, frozenset[str]]:
        """Names of the parameters that each tool requires, by the data set's id."""
        required = {}
        for tool in self.world.catalogue.tools.values():
            normal = schema.normalise(tool.input_schema)
            names = {name for name in normal.get("required", ()) if isinstance(name, str)}
            required[self.world.dataset_ids[tool.pk]] = frozenset(
                names & set(normal.get("properties", ()))
            )
        return required

    @property
    def tool_view(self) -> ToolView:
        """The tools as ranking sees them."""
        return ToolView.for_team(self.index, team=None)


@dataclass(frozen=True, kw_only=True, eq=False)
class EncodedQuery:
    """An intent, read and encoded."""

    reading: IntentReading
    encoded: EncodedIntent


def encode_queries(
    texts: Sequence[str],
    *,
    embedder: Embedder,
    on_progress: EncodeProgress = lambda _done, _all: None,
) -> list[EncodedQuery]:
    """Read and encode intents, in order."""
    queries: list[EncodedQuery] = []
    for start in range(0, len(texts), ENCODE_BATCH_SIZE):
        readings = [reader.read_intent(text) for text in texts[start : start + ENCODE_BATCH_SIZE]]
        encoded = encode.encode_intents(readings, embedder=embedder)
        queries += [
            EncodedQuery(reading=reading, encoded=vectors)
            for reading, vectors in zip(readings, encoded, strict=True)
        ]
        on_progress(len(queries), len(texts))
    return queries


def make_ephemeral_sealer() -> Sealer:
    """Return a sealer with a random key that is never stored."""
    with TemporaryDirectory() as folder:
        return load_or_create_sealer(Path(folder))
