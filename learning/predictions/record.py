"""Stores predictions and what callers did after them; blocking."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from execution.speculation.outcome import (
    EXPLICIT_WEIGHT,
    Evidence,
    Outcome,
    ResolvedSpeculation,
)
from execution.speculation.predicted_workflow import (
    ComputeDigest,
    WorkflowFingerprint,
    compare_workflows,
    estimate_saving_ms,
    fingerprint_workflow,
)
from execution.store import payloads, speculations
from execution.store.speculations import FoundEvidence, NewSpeculation
from execution.workflow import WorkflowTask
from gateway_project.foundation.caller import SessionKey
from gateway_project.foundation.sealing import Sealer
from learning import outcomes
from learning.episodes import Episode, OwnedEpisode
from learning.memory.event import Event, EventKind, EventOutcome
from learning.predictions.open_intents import PredictedIntent, find_telling_values
from learning.store import episodes, experience

MS_PER_S: Final = 1_000.0
NO_SESSION: Final = 0
"""Session of an event that belongs to none."""
_OUTCOMES: Final = {
    Outcome.HIT: EventOutcome.HIT,
    Outcome.MISS: EventOutcome.MISS,
    Outcome.REJECTED: EventOutcome.REJECTED,
    Outcome.MODIFIED: EventOutcome.MODIFIED,
    Outcome.FAILED: EventOutcome.MISS,
    Outcome.EXPIRED: EventOutcome.EXPIRED,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class StartedRun:
    """A run that a caller started.

    Attributes:
        intent: Its purpose in words; empty: not stated.
        speculation: The suggestion that the caller names as its source; None: none.
        open_intents: Open suggestions of the session, newest first.
        at: When it was started, Unix time in seconds.
    """

    run: UUID
    caller: SessionKey
    tasks: tuple[WorkflowTask, ...]
    intent: str
    speculation: UUID | None
    open_intents: tuple[PredictedIntent, ...]
    at: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownEvidence:
    """What direct calls showed of a suggestion.

    Attributes:
        at: When, Unix time in seconds.
    """

    predicted: PredictedIntent
    evidence: Evidence
    at: float


RecordJob = PredictedIntent | StartedRun | ShownEvidence
"""Something to record."""


@dataclass(frozen=True, kw_only=True)
class RecordDependencies:
    """The collaborators of recording.

    Attributes:
        count_tokens: Counts the tokens of a text.
        record_event: Records an event of the memory; never raises.
        episode_sealer: Seals contexts, what workflows teach that nobody ran as a run, and what
            people need to see to judge a prediction; None: nothing of it is kept.
    """

    digest: ComputeDigest
    count_tokens: Callable[[str], int] | None = None
    record_event: Callable[[Event], None] = lambda _event: None
    episode_sealer: Sealer | None = None


def record_jobs(jobs: Sequence[RecordJob], dependencies: RecordDependencies) -> None:
    """Record jobs in order; those recorded before change nothing.

    Raises:
        django.db.Error: If the database is unavailable; the jobs may be recorded again.
    """
    predicted = [job for job in jobs if isinstance(job, PredictedIntent)]
    if predicted:
        _record_predictions(predicted, dependencies)
    for job in jobs:
        if isinstance(job, ShownEvidence):
            _add_evidence(job.predicted.id, job.predicted.caller, job.evidence, at=job.at)
            if job.evidence is Evidence.CALLS:  # as direct use, they teach in its place
                episodes.drop_held([job.predicted.id])
        elif isinstance(job, StartedRun):
            _link_run(job, dependencies.digest)
    for one in predicted:
        dependencies.record_event(_build_start_event(one))


def record_stated_episode(
    predicted: PredictedIntent,
    episode: Episode | None,
    dependencies: RecordDependencies,
    *,
    at: float,
) -> None:
    """Store what the workflow teaches that a caller stated in place of a suggestion.

    It waits until no run of it can follow that names the suggestion: that would teach the same.
    """
    sealer = dependencies.episode_sealer
    if episode is None or sealer is None:
        return
    owned = OwnedEpisode(episode, predicted.caller[1])
    episodes.insert_episodes({predicted.id: owned}, sealer=sealer, weight=None)
    teaches_at = datetime.fromtimestamp(at, UTC) + outcomes.RUN_MAY_FOLLOW
    episodes.release_episode(predicted.id, weight=EXPLICIT_WEIGHT, at=teaches_at)


def build_end_event(resolved: ResolvedSpeculation) -> Event:
    """Return the event of a resolved prediction."""
    return Event(
        kind=EventKind.SPECULATION_END,
        at=resolved.resolved_at.timestamp(),
        team=resolved.team,
        session=NO_SESSION,
        context_hash=resolved.context_hash,
        prediction=resolved.id,
        outcome=_OUTCOMES[resolved.outcome],
        weight=resolved.weight,
        data={
            "form": "intent",
            "confidence": resolved.confidence,
            "shadow": resolved.is_shadow,
            "explicit": resolved.is_explicit,
            "tools": list(resolved.tools),
        },
    )


def _record_predictions(
    predicted: Sequence[PredictedIntent], dependencies: RecordDependencies
) -> None:
    rows = []
    for one in predicted:
        user, (owner, _), *_ = one.caller
        tools = {task.pk for task in one.tasks}
        latency_ms = experience.load_mean_latencies(owner, tools)
        fingerprint = fingerprint_workflow(one.tasks, dependencies.digest)
        run, sealer = one.ran.run, dependencies.episode_sealer
        rows.append(
            NewSpeculation(
                id=one.id,
                user=user,
                team=owner,
                context_hash=one.context.context,
                domain_hash=one.context.domain,
                context_sealed=_seal_context(one, dependencies),
                confidence=one.confidence,
                ranked_confidence=one.ranked_confidence,
                threshold=one.threshold,
                is_admitted=one.is_admitted,
                is_runnable=one.is_runnable,
                tools=fingerprint.tools,
                digest=fingerprint.digest,
                saves_ms=estimate_saving_ms(one.tasks, latency_ms) if tools else None,
                tokens=_count_tokens(one, dependencies),
                at=datetime.fromtimestamp(one.at, UTC),
                is_shadow=run is None,
                fallback=one.ran.fallback,
                tasks=None
                if run is None
                else tuple((task.tool, task.duration_ms, task.trouble) for task in run.tasks),
                took_ms=None if run is None else MS_PER_S * run.took_s,
                content=None
                if sealer is None
                else payloads.seal_json(one.describe(), sealer=sealer)[0],
            )
        )
    held = {
        one.id: OwnedEpisode(one.ran.episode, one.caller[1])
        for one in predicted
        if one.ran.episode is not None
    }
    # First: the outcome of a prediction must find what it decides about.
    if held and dependencies.episode_sealer is not None:
        episodes.insert_episodes(held, sealer=dependencies.episode_sealer, weight=None)
    speculations.insert_speculations(rows)


def _seal_context(one: PredictedIntent, dependencies: RecordDependencies) -> str:
    described, sealer = one.context.described, dependencies.episode_sealer
    if described is None or sealer is None:
        return ""
    return sealer.seal(asdict(described))


def _count_tokens(one: PredictedIntent, dependencies: RecordDependencies) -> int | None:
    """Return the tokens that a client writes to run the workflow."""
    if dependencies.count_tokens is None:
        return None
    tasks: list[dict[str, Any]] = [
        {"id": task.id, "tool": task.pk, "arguments": task.arguments} for task in one.tasks
    ]
    return dependencies.count_tokens(json.dumps({"tasks": tasks}, default=str))


def _build_start_event(one: PredictedIntent) -> Event:
    return Event(
        kind=EventKind.SPECULATION_START,
        at=one.at,
        team=one.caller[1].owner,
        session=NO_SESSION,
        context_hash=one.context.context,
        context_check=one.context.check,
        prediction=one.id,
        data={
            "form": "intent",
            "confidence": one.confidence,
            "shadow": one.ran.run is None,
            "tools": sorted(task.pk for task in one.tasks),
        },
    )


def _link_run(job: StartedRun, digest: ComputeDigest) -> None:
    """Record what a run shows of the suggestion that it comes from.

    That is the one it names; else the newest open one for the same words, with the same calls,
    or with tools in common, in this order.
    """
    ran = fingerprint_workflow(job.tasks, digest)
    if job.speculation is not None:
        user, (owner, _), *_ = job.caller
        named = speculations.load_fingerprint(job.speculation, user=user, team=owner)
        if named is not None:
            source = WorkflowFingerprint(tools=named[0], digest=named[1])
            _add_run(job, job.speculation, compare_workflows(source, ran), ran)
        return
    compared = [
        (one, compare_workflows(fingerprint_workflow(one.tasks, digest), ran))
        for one in job.open_intents
    ]
    chosen = _choose_source(job.intent, compared)
    if chosen is not None:
        _add_run(job, chosen[0].id, chosen[1], ran)
        return
    values = find_telling_values([task.arguments for task in job.tasks])
    for number, (one, _) in enumerate(compared):
        if not one.ran.values.isdisjoint(values):
            _add_evidence(one.id, one.caller, Evidence.USED, at=job.at)
        elif number == 0:  # the newest: others had other purposes
            _add_evidence(one.id, one.caller, Evidence.OTHER_CALLS, at=job.at)


def _choose_source(
    intent: str, compared: Sequence[tuple[PredictedIntent, Evidence]]
) -> tuple[PredictedIntent, Evidence] | None:
    wanted: Sequence[Callable[[PredictedIntent, Evidence], bool]] = (
        lambda one, _: bool(intent) and one.intent == intent,
        lambda _, evidence: evidence is Evidence.RUN,
        lambda _, evidence: evidence is Evidence.CHANGED_RUN,
    )
    for is_wanted in wanted:
        for one, evidence in compared:
            if is_wanted(one, evidence):
                return one, evidence
    return None


def _add_run(
    job: StartedRun, speculation: UUID, evidence: Evidence, ran: WorkflowFingerprint
) -> None:
    _add_evidence(
        speculation,
        job.caller,
        evidence,
        at=job.at,
        run=job.run,
        changed_tools=None if evidence is Evidence.RUN else ran.tools,
    )
    episodes.delete_episode(speculation)  # the run teaches in its place


def _add_evidence(
    speculation: UUID,
    caller: SessionKey,
    evidence: Evidence,
    *,
    at: float,
    run: UUID | None = None,
    changed_tools: tuple[int, ...] | None = None,
) -> None:
    user, (owner, _), *_ = caller
    speculations.add_evidence(
        FoundEvidence(
            id=speculation,
            user=user,
            team=owner,
            evidence=evidence,
            at=datetime.fromtimestamp(at, UTC),
            run=run,
            changed_tools=changed_tools,
        )
    )
