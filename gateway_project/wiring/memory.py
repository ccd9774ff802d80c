"""Builds what a process remembers of its callers, and what learns from it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from execution.speculation.calls import NO_SPECULATION, Speculation
from execution.speculation.rules import AdmissibilityRules
from gateway_project.foundation import sealing
from gateway_project.foundation.config import Config
from gateway_project.foundation.sealing import Sealer
from gateway_project.foundation.task_group import TaskGroup
from gateway_project.readiness import NotReady
from gateway_project.use_cases.curate_learning import load_presets
from gateway_project.wiring.follow_graph import GraphKeeper
from learning.dependencies import LearnedFromRun, LearningDependencies
from learning.direct_use import DirectUse
from learning.event_loader import EventLoader
from learning.learner import Learner
from learning.memory import spool
from learning.memory.capture import Capture
from learning.memory.spool import Spool
from learning.memory_keeper import MemoryKeeper
from learning.prediction import ResolvedPrediction
from learning.predictions.record import RecordDependencies
from learning.predictions.recorder import PredictionRecorder
from learning.sessions.analyst import SessionAnalyst
from learning.sessions.memory import NO_MEMORY, SessionMemory
from learning.sessions.registry import SessionRegistry
from learning.sessions.team_models import NextCallModels
from learning.sessions.word_vectors import WordVectors
from learning.threshold_cache import ThresholdCache
from learning.thresholds.named import ThresholdPolicy, make_policy
from learning.thresholds.policy import Presets
from tools import token_count
from tools.embed.cache import CachedEmbedder
from tools.search_index_cache import SearchIndexCache

BYTES_PER_MB = 1_000_000


@dataclass(frozen=True, kw_only=True)
class ProcessMemory:
    """What a process remembers, and the tasks that keep it.

    Attributes:
        loader: Loads recorded events into the database, also those of processes that ended.
        analyst: Analyses sessions; None: nothing is remembered.
    """

    sessions: SessionMemory
    loader: EventLoader
    keeper: MemoryKeeper
    analyst: SessionAnalyst | None = None
    models: NextCallModels | None = None
    direct_use: DirectUse | None = None

    def estimate_p95_ms(self, team: int | None, tool: int) -> float | None:
        """Return the 95th percentile of a tool's duration; see `NextCallModels`."""
        return None if self.models is None else self.models.estimate_p95_ms(team, tool)

    async def run(self) -> None:
        """Load events, analyse sessions and keep models current until cancelled."""
        async with TaskGroup() as group:
            group.create_task(self.loader.run(), name="events")
            group.create_task(self.keeper.run(), name="event limits")
            if self.analyst is not None:
                group.create_task(self.analyst.run(), name="sessions")
            if self.models is not None:
                group.create_task(self.models.run(), name="next-call models")
            if self.direct_use is not None:
                group.create_task(self.direct_use.run(), name="direct use")


def make_memory(  # noqa: PLR0913 - its collaborators
    config: Config,
    capture: Capture,
    *,
    sealer: Sealer,
    embedder: CachedEmbedder,
    rules: Callable[[], AdmissibilityRules],
    on_episode: Callable[[UUID], Awaitable[None]],
    speculation: Speculation = NO_SPECULATION,
    deletes: bool = True,
) -> ProcessMemory:
    """Return what this process remembers of its callers: nothing, if the setting is off."""
    loader, keeper = EventLoader(capture), MemoryKeeper(config, deletes=deletes)
    if not config.memory:
        return ProcessMemory(sessions=NO_MEMORY, loader=loader, keeper=keeper)
    registry = SessionRegistry(record=capture.record, digest=sealer.digest)
    models = NextCallModels()
    vectors = WordVectors(capture, embedder=embedder, sealer=sealer)
    payloads = sealing.load_or_create_sealer(config.home, name=sealing.PAYLOADS)
    direct_use = DirectUse(payloads, on_stored=on_episode)
    analyst = SessionAnalyst(
        registry,
        models=models,
        rules=rules,
        record_words=vectors.record,
        direct_use=direct_use,
        speculation=speculation,
    )
    return ProcessMemory(
        sessions=registry,
        loader=loader,
        keeper=keeper,
        analyst=analyst,
        models=models,
        direct_use=direct_use,
    )


@asynccontextmanager
async def open_capture(config: Config) -> AsyncIterator[Capture]:
    """Yield what records the events of this process, and release its spool file afterwards.

    What is recorded after that goes to a new file and is loaded by another process.
    """
    capture = Capture(Spool(config.home / spool.FOLDER, max_bytes=config.spool_mb * BYTES_PER_MB))
    try:
        yield capture
    finally:
        capture.close()


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


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """The thresholds of a process.

    Attributes:
        cache: Thresholds in force.
        policy: The policy in force.
        presets: Presets by hash of the domain.
    """

    cache: ThresholdCache
    policy: ThresholdPolicy
    presets: Presets

    def learn(self, resolved: Sequence[ResolvedPrediction]) -> None:
        """Recompute thresholds from newly resolved predictions, in their transaction; blocking."""
        from learning import outcomes  # noqa: PLC0415 - not before a prediction is resolved
        from learning.store import thresholds  # noqa: PLC0415

        rules = thresholds.ThresholdRules(
            policy=self.policy, presets=self.presets, load_resolved=outcomes.load_resolved
        )
        thresholds.record_resolved(resolved, rules=rules, at=datetime.now(UTC))


def make_thresholds(config: Config) -> Thresholds:
    """Return the thresholds of a process.

    Raises:
        NotReady: If the policy or a preset is malformed.
    """
    try:
        policy = make_policy(config.threshold_policy)
        presets = load_presets(config)
    except ValueError as error:
        raise NotReady("configuration", f"thresholds: {error}") from None
    return Thresholds(cache=ThresholdCache(presets), policy=policy, presets=presets)


def make_predictions(
    config: Config, *, sealer: Sealer, capture: Capture, thresholds: Thresholds
) -> PredictionRecorder:
    """Return the recorder of a process's predictions.

    Args:
        config: Of the installation.
        sealer: Makes keyed digests of workflows.
        capture: Records events of the memory.
        thresholds: The thresholds that learn from outcomes.
    """
    return PredictionRecorder(
        RecordDependencies(
            digest=sealer.digest,
            count_tokens=token_count.count_tokens,
            record_event=capture.record,
            episode_sealer=sealing.load_or_create_sealer(config.home, name=sealing.PAYLOADS)
            if config.memory
            else None,
        ),
        learn=thresholds.learn,
    )
