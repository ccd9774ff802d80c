"""Loads public sets as a gateway sees them: a view of their tools, and queries as past intents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.fit_prior.indexed import indexed

if TYPE_CHECKING:
    from benchmarks.evaluation.dataset import DatasetQuery
    from graph.suggestion.ranking.past_intents import PastIntent
    from graph.suggestion.ranking.tool_view import ToolView

QUERIES = 600
"""Maximum number of queries of a set."""
SINGLES = 300
"""Maximum number of queries with a single tool, which would dominate some sets."""
SEED = 0
AT = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainingSet:
    """A public set, prepared for learning.

    Attributes:
        name: Name of its folder.
        view: Its tools.
        intents: Its queries, each as an intent that ran once.
        is_ordered: Whether its gold gives the order of the tools.
    """

    name: str
    view: ToolView
    intents: tuple[PastIntent, ...]
    is_ordered: bool

    def drawn(self, count: int, seed: int) -> list[PastIntent]:
        """Draw `count` of the queries."""
        order = np.random.default_rng(seed).permutation(len(self.intents))
        return [self.intents[at] for at in order[:count]]


def gather(folder: Path, *, is_ordered: bool) -> TrainingSet:
    """Store and index a set, and encode a sample of its queries."""
    from benchmarks.evaluation import inputs
    from graph.suggestion.ranking.tool_view import ToolView

    with indexed(folder) as one:
        queries = _sample(one.data.queries)
        read = inputs.encode_queries([query.text for query in queries], embedder=one.embedder)
    return TrainingSet(
        name=one.data.name,
        view=ToolView.for_team(one.index, team=None),
        intents=tuple(
            _past(number, query, one.keys, intent.encoded)
            for number, (query, intent) in enumerate(zip(queries, read, strict=True))
        ),
        is_ordered=is_ordered,
    )


def _sample(queries: Sequence[DatasetQuery]) -> list[DatasetQuery]:
    known = [query for query in queries if query.tools]
    single = [query for query in known if len(set(query.tools)) == 1][:SINGLES]
    kept = [query for query in known if len(set(query.tools)) > 1] + single
    order = np.random.default_rng(SEED).permutation(len(kept))[:QUERIES]
    return [kept[at] for at in sorted(order)]


def _past(number: int, query: DatasetQuery, keys: dict[str, int], encoded: object) -> PastIntent:
    from graph.suggestion.ranking.past_intents import PastIntent

    return PastIntent(
        pattern=number,
        tools=tuple(keys[tool] for tool in query.tools),
        encoded=encoded,  # type: ignore[arg-type]
        successes=1,
        failures=0,
        last_seen=AT,
    )
