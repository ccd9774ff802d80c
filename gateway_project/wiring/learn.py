"""Builds the learner of a process from the components that the process has loaded."""

from __future__ import annotations

from gateway_project.foundation.sealing import Sealer
from gateway_project.wiring.follow_graph import GraphKeeper
from learning.dependencies import LearnedFromRun, LearningDependencies
from learning.learner import Learner
from tools.embed.cache import CachedEmbedder
from tools.search_index_cache import SearchIndexCache


def make_learner(
    *,
    sealer: Sealer,
    payloads: Sealer,
    embedder: CachedEmbedder | None = None,
    index: SearchIndexCache | None = None,
    keeper: GraphKeeper | None = None,
    td_rate: float = 0.0,
) -> Learner:
    """Return the learner for runs that end here and for those not learned from yet.

    Args:
        sealer: Seals stored data of intents and arguments.
        payloads: Opens payloads of runs.
        embedder: Used only once its model is loaded for something else.
        index: Keeps the catalogue in memory.
        keeper: Counts calls in memory, and refreshes the graph when shapes change.
        td_rate: Learning rate of TD(0) for relations; 0: runs are counted.
    """

    def get_dependencies() -> LearningDependencies:
        is_loaded = embedder is not None and embedder.statistics.size > 0
        return LearningDependencies(
            sealer=sealer,
            payload_sealer=payloads,
            embedder=embedder if is_loaded else None,
            index=index.current if is_loaded and index is not None else None,
            td_rate=td_rate,
        )

    def on_learned(learned: LearnedFromRun) -> None:
        if keeper is None:
            return
        keeper.usage.apply_stored_counts(learned.usage)
        if learned.shape_count:
            keeper.refresher.note_change()

    return Learner(get_dependencies, on_learned=on_learned)
