"""Record past runs and learn from them, as a gateway does."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from benchmarks.evaluation.gold_calls import GoldToolNames
from benchmarks.evaluation.inputs import EncodeProgress, SuggestionInputs
from benchmarks.evaluation.past_runs import iterate_past_runs
from graph.patterns import PastRun
from graph.ranker_cache import TeamModels
from graph.record_runs import record_runs
from graph.store import binding_uses as learned_store
from graph.store import patterns as pattern_store
from graph.suggestion.ranking.fit import fit_ranker
from graph.suggestion.ranking.ranker import Ranker

if TYPE_CHECKING:
    from benchmarks.evaluation.dataset import Dataset
    from graph.suggestion.ranking.past_intents import PastIntent
    from graph.suggestion.ranking.prior import Prior


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedHistory:
    """The models learned from a history.

    Attributes:
        models: The fitted models.
        past_intents: The distinct past intents, oldest first.
        fit_seconds: Time to fit, without recording.
        runs: Recorded runs that they were learned from; 0: not counted.
    """

    models: TeamModels
    past_intents: Sequence[PastIntent]
    fit_seconds: float
    runs: int = 0

    @cached_property
    def tool_sets(self) -> frozenset[frozenset[int]]:
        """The sets of tools that past runs used."""
        return frozenset(frozenset(intent.tools) for intent in self.past_intents)


def record_history(
    inputs: SuggestionInputs,
    runs: Sequence[PastRun],
    *,
    team: int | None = None,
    on_progress: EncodeProgress = lambda _done, _all: None,
) -> None:
    """Record runs as a gateway does."""
    record_runs(
        runs,
        team=team,
        embedder=inputs.embedder,
        sealer=inputs.sealer,
        on_progress=on_progress,
    )


def learn_from_dataset(
    dataset: Dataset,
    inputs: SuggestionInputs,
    *,
    on_progress: Callable[[str, int, int], None] = lambda _stage, _done, _all: None,
) -> LearnedHistory:
    """Record a data set's history, and learn from it."""
    names = GoldToolNames.from_dataset(dataset)
    runs = list(iterate_past_runs(dataset.history, names=names, keys=inputs.keys_by_id))
    if runs:
        record_history(
            inputs, runs, on_progress=lambda done, total: on_progress("recording", done, total)
        )
    return replace(learn_from_history(inputs), runs=len(runs))


def learn_from_history(
    inputs: SuggestionInputs,
    *,
    team: int | None = None,
    prior: Prior | None = None,
) -> LearnedHistory:
    """Fit all models to a team's recorded runs; the ranker is read back from its stored form.

    Args:
        inputs: Stored tools, index and recorded runs.
        team: Primary key of the team; None: the runs shared by all teams.
        prior: Prior of the ranking; None: the shipped one.
    """
    past = pattern_store.load_history(team, inputs.index.model, sealer=inputs.sealer)
    knowledge = learned_store.load_knowledge(team, inputs.sealer)
    started = time.perf_counter()
    ranker = fit_ranker(past, inputs.tool_view, prior=prior)
    models = TeamModels(
        ranker=Ranker.from_bytes(ranker.to_bytes()),
        knowledge=knowledge,
    )
    return LearnedHistory(
        models=models, past_intents=past, fit_seconds=time.perf_counter() - started
    )


def refit_ranking(
    inputs: SuggestionInputs,
    learned: LearnedHistory,
    *,
    runs: int | None = None,
) -> LearnedHistory:
    """Refit the ranking to the oldest past intents.

    Args:
        inputs: Stored tools and index.
        learned: Models learned from all past runs.
        runs: Number of past intents; None: all.
    """
    past = learned.past_intents[:runs]
    started = time.perf_counter()
    ranker = fit_ranker(past, inputs.tool_view)
    return LearnedHistory(
        models=replace(learned.models, ranker=ranker),
        past_intents=past,
        fit_seconds=time.perf_counter() - started,
    )
