"""Record past runs and learn from them, as a gateway does."""

from __future__ import annotations

import time
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from gateway_project.evaluation.ground import Ground, Report
from graph.binding import model as binding_models
from graph.kept_rankers import Kept
from graph.patterns import PastRun
from graph.ranking.fit import fit
from graph.ranking.ranker import Ranker
from graph.record_runs import MAX_SAMPLED, record_runs
from graph.store import learned as learned_store
from graph.store import patterns as pattern_store

if TYPE_CHECKING:
    from graph.binding.model import BindingModel
    from graph.ranking.past import PastIntent
    from graph.ranking.prior import Prior


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """What was learned from a history.

    Attributes:
        kept: What suggestions go by.
        past: The distinct past intents, oldest first.
        seconds: Time it took to fit, recording apart.
    """

    kept: Kept
    past: Sequence[PastIntent]
    seconds: float

    @cached_property
    def sets(self) -> frozenset[frozenset[int]]:
        """Sets of tools that past runs used."""
        return frozenset(frozenset(one.tools) for one in self.past)


def record(
    ground: Ground,
    runs: Sequence[PastRun],
    *,
    team: int | None = None,
    on_progress: Report = lambda _done, _all: None,
) -> None:
    """Record runs as a gateway does."""
    record_runs(
        runs,
        team=team,
        embedder=ground.embedder,
        sealer=ground.sealer,
        index=ground.index,
        on_progress=on_progress,
    )


def learn(
    ground: Ground,
    *,
    team: int | None = None,
    prior: Prior | None = None,
    binding_prior: BindingModel | None = None,
) -> Learned:
    """Fit all models to what a team's recorded runs show, and read them as they are stored.

    Args:
        ground: On whose tables the runs are.
        team: Primary key of the team; None: the runs that everybody learns from.
        prior: Of the ranking; None: as shipped.
        binding_prior: Of the model of bindings; None: as shipped.
    """
    past = pattern_store.history(team, ground.index.model, sealer=ground.sealer)
    samples = pattern_store.samples(team, limit=MAX_SAMPLED)
    knowledge = learned_store.knowledge(team, ground.sealer)
    started = time.perf_counter()
    known = binding_models.shipped() if binding_prior is None else binding_prior
    ranker = fit(past, ground.view, prior=prior)
    kept = Kept(
        ranker=Ranker.from_bytes(ranker.to_bytes()),
        binding=binding_models.fit_binding(samples, prior=known) if samples else known,
        knowledge=knowledge,
    )
    return Learned(kept=kept, past=past, seconds=time.perf_counter() - started)


def learn_again(
    ground: Ground,
    learned: Learned,
    *,
    runs: int | None = None,
    without: AbstractSet[str] = frozenset(),
    prior: Prior | None = None,
) -> Learned:
    """Fit the ranking anew to the oldest past intents, or without some of its features.

    Args:
        ground: What suggestions are made on.
        learned: From all past runs.
        runs: How many of the past intents; None: all.
        without: Feature families left out.
        prior: Of the ranking; None: as shipped.
    """
    past = learned.past[:runs]
    started = time.perf_counter()
    ranker = fit(past, ground.view, prior=prior, without=without)
    return Learned(
        kept=replace(learned.kept, ranker=ranker),
        past=past,
        seconds=time.perf_counter() - started,
    )
