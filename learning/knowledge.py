"""Learns from an ended run or episode exactly once, in any process, after any number of attempts.

The pattern is recorded first, keyed by the run's id, so that repeating it changes nothing. The
rest is one transaction with the mark that the run was learned from. A run beyond its person's
share of what a team learns teaches nothing, nor does one that belongs to nobody.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from uuid import UUID

import structlog

from execution.ended_run import EndedRun
from execution.store import transactions, unlearned_runs
from gateway_project.foundation.reasons import summarize_error
from graph.patterns import InvalidRun
from graph.record import RelationObservation
from graph.record_runs import record_runs
from graph.store import relations, shapes, usage, writing
from graph.store.recording import TeamDeleted
from graph.store.usage import CallCount, UsageKey
from learning import by_hand, latency, observations, past_run
from learning.dependencies import LearnedFromRun, LearningDependencies
from learning.observations import ToolCallTotals
from learning.store import contributions, episodes, experience
from learning.store.contributions import ContributedRuns
from learning.store.experience import ToolObservation, VisibleTool
from tools.query_text import QueryError

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class _RunObservations:
    """The observations of a run to write, besides its pattern."""

    called: frozenset[int]
    call_totals: Mapping[int, ToolCallTotals]
    used_tools: frozenset[int]
    tool_observations: Mapping[int, ToolObservation]
    order_observations: list[RelationObservation]
    shapes: list[shapes.ObservedShape]


def learn_from_run(
    run: UUID, dependencies: LearningDependencies, *, at: datetime
) -> LearnedFromRun | None:
    """Learn from an ended run; blocking.

    Args:
        run: Its id.
        dependencies: Collaborators of learning.
        at: Current time.

    Returns:
        None if the run has not ended, does not exist, or was learned from already.
    """
    run_data = unlearned_runs.load_ended_run(
        run, sealer=dependencies.payload_sealer, bounds_ms=latency.BOUNDS_MS
    )
    if run_data is None:
        return None
    return _learn(
        run_data,
        dependencies,
        claim=lambda: unlearned_runs.mark_learned(run, at=at),
        counts_calls=True,
    )


def learn_from_episode(episode: UUID, dependencies: LearningDependencies) -> LearnedFromRun | None:
    """Learn from direct calls that belong together as from a run of their workflow; blocking.

    Their usage and the shapes of their results were counted when they were made.

    Args:
        episode: Its id.
        dependencies: Collaborators of learning.

    Returns:
        None if it was learned from already.

    Raises:
        UnsealingFailed: If no key opens it.
    """
    stored = episodes.load_episode(episode, sealer=dependencies.payload_sealer)
    if stored is None:
        return None
    return _learn(
        by_hand.build_ended_run(stored.episode, run=episode, contributor=stored.contributor),
        dependencies,
        claim=lambda: episodes.delete_episode(episode),
        counts_calls=False,
    )


def _learn(
    run_data: EndedRun,
    dependencies: LearningDependencies,
    *,
    claim: Callable[[], bool],
    counts_calls: bool,
) -> LearnedFromRun | None:
    """Learn from a run; `claim` marks it as learned, and returns False if it was before."""
    contributor, at = run_data.contributor, run_data.ended_at
    tools = experience.find_visible_tools(_collect_tool_names(run_data), team=contributor.owner)
    called = frozenset(tool.pk for tool in tools.values())
    contributed = contributions.load_contributed(contributor, at=at)
    if None in contributor or not contributed.has_room_for(called):
        return LearnedFromRun() if claim() else None
    pattern, unembedded = _record_pattern(run_data, tools, dependencies)
    observed = _observe_run(run_data, tools, counts_calls=counts_calls)
    outcome = writing.retry_on_conflict(
        lambda: _write_observations(
            run_data, observed, contributed, claim=claim, td_rate=dependencies.td_rate
        )
    )
    if outcome is None:
        return None
    relation_count, shape_count, usages = outcome
    return LearnedFromRun(
        has_pattern=pattern,
        lacks_vectors=unembedded,
        relation_count=relation_count,
        shape_count=shape_count,
        usage=usages,
    )


def _collect_tool_names(run_data: EndedRun) -> set[str]:
    tasks = () if run_data.workflow is None else run_data.workflow.tasks
    return {call.tool for call in run_data.answered_calls} | {task.tool for task in tasks}


def _record_pattern(
    run_data: EndedRun, tools: Mapping[str, VisibleTool], dependencies: LearningDependencies
) -> tuple[bool, bool]:
    """Record the run in its pattern; return whether it counts there, and lacks vectors."""
    run = past_run.build_past_run(run_data, _map_primary_keys(tools))
    if run is None:
        return False, False
    try:
        recorded = record_runs(
            [run],
            team=run_data.contributor.owner,
            embedder=dependencies.embedder,
            sealer=dependencies.sealer,
            index=dependencies.index if dependencies.embedder else None,
        )
    except (InvalidRun, QueryError, TeamDeleted) as error:
        log.info("run.no_pattern_learned", run=str(run_data.run), reason=summarize_error(error))
        return False, False
    return True, bool(recorded.unembedded)


def _observe_run(
    run_data: EndedRun, tools: Mapping[str, VisibleTool], *, counts_calls: bool
) -> _RunObservations:
    pks = _map_primary_keys(tools)
    used = observations.collect_used_tools(run_data, pks)
    return _RunObservations(
        called=frozenset(pks.values()),
        call_totals=observations.collect_calls(run_data, pks) if counts_calls else {},
        used_tools=used,
        tool_observations=_observe_tools(run_data, pks, used),
        order_observations=observations.observe_order(run_data, pks),
        shapes=list(_iterate_shapes(run_data, tools)),
    )


def _map_primary_keys(tools: Mapping[str, VisibleTool]) -> dict[str, int]:
    return {name: tool.pk for name, tool in tools.items()}


def _observe_tools(
    run_data: EndedRun, tools: Mapping[str, int], used: frozenset[int]
) -> dict[int, ToolObservation]:
    counts: dict[int, list[int]] = {tool: [0] * latency.BUCKETS for tool in used}
    total_ms: dict[int, float] = defaultdict(float)
    for timed in run_data.call_durations:
        if timed.tool in tools:
            tool = tools[timed.tool]
            counts.setdefault(tool, [0] * latency.BUCKETS)[timed.bucket] += timed.calls
            total_ms[tool] += timed.total_ms
    return {
        tool: ToolObservation(
            runs=run_data.weight if tool in used else 0.0,
            total_ms=total_ms[tool],
            latencies=latencies,
        )
        for tool, latencies in counts.items()
    }


def _iterate_shapes(
    run_data: EndedRun, tools: Mapping[str, VisibleTool]
) -> Iterable[shapes.ObservedShape]:
    """Yield the shapes of tools' results, of tools whose definitions are unchanged."""
    if not run_data.results:
        return
    from graph import output_shape

    found: dict[str, list[output_shape.Shape]] = defaultdict(list)
    for result in run_data.results:
        tool = tools.get(result.tool)
        if tool is None or tool.definition_hash != result.definition_hash:
            continue
        shape = output_shape.describe_shape(result.raw)
        if shape is not None:
            found[result.tool].append(shape)
    for name, each in found.items():
        yield shapes.ObservedShape(
            tool=tools[name].pk,
            team=run_data.contributor.owner,
            definition_hash=tools[name].definition_hash,
            shape=reduce(output_shape.merge_shapes, each),
        )


def _write_observations(
    run_data: EndedRun,
    observed: _RunObservations,
    contributed: ContributedRuns,
    *,
    claim: Callable[[], bool],
    td_rate: float,
) -> tuple[int, int, Mapping[UsageKey, int]] | None:
    """Write all observations and mark the run learned; None if it was learned from before."""
    from graph import output_shape

    with transactions.short_transaction():
        if not claim():
            return None
        relation_observations = [
            one
            for one in (*observed.order_observations, *_observe_co_use(run_data, observed))
            if contributed.has_room_between(one.source, one.target, observed.called)
        ]
        experience.add_experience(
            run_data.contributor.owner, observed.tool_observations, at=run_data.ended_at
        )
        relations.observe_relations(
            run_data.contributor.owner, relation_observations, td_rate=td_rate
        )
        counts = {
            (tool, run_data.contributor.owner): CallCount(
                calls.succeeded + calls.failed, calls.failed
            )
            for tool, calls in observed.call_totals.items()
        }
        usages = usage.add_usage(counts, at=run_data.ended_at)
        if contributed.is_limited:
            contributions.add_contribution(
                run_data.contributor, observed.called, at=run_data.ended_at
            )
        changed = shapes.record_shapes(
            observed.shapes, merge=output_shape.merge_shapes, at=run_data.ended_at
        )
    return len(relation_observations), changed, usages


def _observe_co_use(run_data: EndedRun, observed: _RunObservations) -> list[RelationObservation]:
    if not observed.used_tools:
        return []
    experience.lock_experience(run_data.contributor.owner, observed.tool_observations)
    known = usage.load_partners(run_data.contributor.owner, observed.used_tools)
    wanted = observed.used_tools.union(*known)
    before = experience.load_run_counts(run_data.contributor.owner, wanted, at=run_data.ended_at)
    return observations.observe_co_use(
        observed.used_tools,
        known=known,
        before=before,
        weight=run_data.weight,
        at=run_data.ended_at,
    )
