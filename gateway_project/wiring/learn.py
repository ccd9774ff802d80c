"""Builds what learns from ended runs in a process, with what that process has loaded."""

from __future__ import annotations

from gateway_project.foundation.sealing import Sealer
from gateway_project.wiring.follow_graph import GraphKeeper
from learning.learned import Learned, Means
from learning.learner import Learner
from tools.embed.cache import CachedEmbedder
from tools.kept_index import KeptIndex


def learner(
    *,
    sealer: Sealer,
    payloads: Sealer,
    embedder: CachedEmbedder | None = None,
    index: KeptIndex | None = None,
    keeper: GraphKeeper | None = None,
) -> Learner:
    """Return what learns from the runs that end here, and from those that nobody learned from.

    Args:
        sealer: Seals what is kept of intents and arguments.
        payloads: Opens what runs were given and answered.
        embedder: Used once it has embedded something else: learning loads no model.
        index: Keeps the catalogue in memory.
        keeper: Keeps counts of calls in memory, and refreshes what follows from shapes.
    """

    def means() -> Means:
        is_loaded = embedder is not None and embedder.statistics.size > 0
        return Means(
            sealer=sealer,
            payloads=payloads,
            embedder=embedder if is_loaded else None,
            index=index.current if is_loaded and index is not None else None,
        )

    def on_learned(learned: Learned) -> None:
        if keeper is None:
            return
        keeper.usage.stored(learned.usage)
        if learned.shapes:
            keeper.refresher.note()

    return Learner(means, on_learned=on_learned)
