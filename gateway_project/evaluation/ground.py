"""What suggestions for a data set are made on: stored tools, the index, intents as numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from gateway_project.evaluation.graph import CALLER, World
from gateway_project.foundation import schema
from gateway_project.foundation.sealing import Sealer, load_or_create
from gateway_project.sight import Sight
from graph import encode
from graph.intent import reading as reader
from graph.ranking.tool_view import ToolView

if TYPE_CHECKING:
    from graph.intent.encoded import Encoded
    from graph.intent.reading import Reading
    from tools.embed.embedder import Embedder
    from tools.search_index import SearchIndex

ENCODED_AT_ONCE: Final = 256

Report = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class Ground:
    """What suggestions are made on, whatever was learned.

    Attributes:
        world: The stored tools and their relations.
        index: The catalogue in memory.
        embedder: Of the index's model.
        sealer: Of this evaluation alone.
    """

    world: World
    index: SearchIndex
    embedder: Embedder
    sealer: Sealer

    @cached_property
    def sight(self) -> Sight:
        """What the evaluation's caller sees."""
        return Sight(catalogue=self.world.catalogue, caller=CALLER)

    @cached_property
    def keys(self) -> Mapping[str, int]:
        """Primary key of each tool, by the data set's id."""
        return {name: pk for pk, name in self.world.names.items()}

    @cached_property
    def required(self) -> Mapping[str, frozenset[str]]:
        """Names of the parameters that each tool requires, by the data set's id."""
        found = {}
        for tool in self.world.catalogue.tools.values():
            normal = schema.normalise(tool.input_schema).schema
            named = {one for one in normal.get("required", ()) if isinstance(one, str)}
            found[self.world.names[tool.pk]] = frozenset(named & set(normal.get("properties", ())))
        return found

    @property
    def view(self) -> ToolView:
        """The tools as ranking sees them."""
        return ToolView.of(self.index, team=None)


@dataclass(frozen=True, kw_only=True, eq=False)
class Intent:
    """An intent that was read and encoded."""

    reading: Reading
    encoded: Encoded


def read(
    texts: Sequence[str], *, embedder: Embedder, on_progress: Report = lambda _done, _all: None
) -> list[Intent]:
    """Read and encode intents, in their order."""
    found: list[Intent] = []
    for start in range(0, len(texts), ENCODED_AT_ONCE):
        readings = [reader.read(text) for text in texts[start : start + ENCODED_AT_ONCE]]
        encoded = encode.encode(readings, embedder=embedder)
        found += [
            Intent(reading=one, encoded=numbers)
            for one, numbers in zip(readings, encoded, strict=True)
        ]
        on_progress(len(found), len(texts))
    return found


def own_sealer() -> Sealer:
    """Return a sealer whose key nobody else has, and which is gone with it."""
    with TemporaryDirectory() as folder:
        return load_or_create(Path(folder))
