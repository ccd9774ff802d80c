"""Learns from an ended run or episode exactly once, in any process, after any number of attempts.

The pattern is recorded first, keyed by the run's id, so that repeating it changes nothing. The
rest is one transaction with the mark that the run was learned from. A run beyond its person's
share of what a team learns teaches nothing, nor does one that belongs to nobody.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
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
from learning import by_hand, observations, past_run
from learning.dependencies import LearnedFromRun, LearningDependencies
from learning.store import contributions, episodes, experience
from learning.store.experience import ToolObservation, VisibleTool
from tools.query_text import QueryError

log = structlog.get_logger(__name__)


def learn_from_run(
    run: UUID, dependencies: LearningDependencies, *, at: datetime
) -> LearnedFromRun | None:
    """Learn from an ended run; blocking.

    Returns:
        None if the run has not ended, does not exist, or was learned from already.
    """
    run_data = unlearned_runs.load_ended_run(run, sealer=dependencies.payload_sealer)
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
    from graph import output_shape

    owner, at = run_data.contributor.owner, run_data.ended_at
    tools = experience.find_visible_tools(_collect_tool_names(run_data), team=owner)
    pks = {name: tool.pk for name, tool in tools.items()}
    called = frozenset(pks.values())
    contributed = contributions.load_contributed(run_data.contributor, at=at)
    if None in run_data.contributor or not contributed.has_room_for(called):
        return LearnedFromRun() if claim() else None
    has_pattern, lacks_vectors = _record_pattern(run_data, pks, dependencies)
    used = observations.collect_used_tools(run_data, pks)
    tool_observations = _observe_tools(run_data, pks, used)
    order = observations.observe_order(run_data, pks)
    calls = observations.collect_calls(run_data, pks) if counts_calls else {}
    seen_shapes = list(_iterate_shapes(run_data, tools))

    def write() -> LearnedFromRun | None:
        with transactions.short_transaction():
            if not claim():
                return None
            related = [
                one
                for one in (*order, *_observe_co_use(run_data, used, tool_observations))
                if contributed.has_room_between(one.source, one.target, called)
            ]
            experience.add_experience(owner, tool_observations, at=at)
            relations.observe_relations(owner, related, td_rate=dependencies.td_rate)
            counts = {(tool, owner): count for tool, count in calls.items()}
            total = usage.add_usage(counts, at=at)
            if contributed.is_limited:
                contributions.add_contribution(run_data.contributor, called, at=at)
            changed = shapes.record_shapes(seen_shapes, merge=output_shape.merge_shapes, at=at)
        return LearnedFromRun(
            has_pattern=has_pattern,
            lacks_vectors=lacks_vectors,
            relation_count=len(related),
            shape_count=changed,
            usage=total,
        )

    return writing.retry_on_conflict(write)


def _collect_tool_names(run_data: EndedRun) -> set[str]:
    tasks = () if run_data.workflow is None else run_data.workflow.tasks
    return {call.tool for call in run_data.answered_calls} | {task.tool for task in tasks}


def _record_pattern(
    run_data: EndedRun, tools: Mapping[str, int], dependencies: LearningDependencies
) -> tuple[bool, bool]:
    """Record the run in its pattern; return whether it counts there, and lacks vectors."""
    run = past_run.build_past_run(run_data, tools)
    if run is None:
        return False, False
    try:
        recorded = record_runs(
            [run],
            team=run_data.contributor.owner,
            embedder=dependencies.embedder,
            sealer=dependencies.sealer,
        )
    except (InvalidRun, QueryError, TeamDeleted) as error:
        log.info("run.no_pattern_learned", run=str(run_data.run), reason=summarize_error(error))
        return False, False
    return True, bool(recorded.unembedded)


def _observe_tools(
    run_data: EndedRun, tools: Mapping[str, int], used: frozenset[int]
) -> dict[int, ToolObservation]:
    timed = {tools[one.tool]: one for one in run_data.call_durations if one.tool in tools}
    return {
        tool: ToolObservation(
            runs=run_data.weight if tool in used else 0.0,
            calls=timed[tool].calls if tool in timed else 0,
            total_ms=timed[tool].total_ms if tool in timed else 0.0,
        )
        for tool in used | timed.keys()
    }


def _iterate_shapes(
    run_data: EndedRun, tools: Mapping[str, VisibleTool]
) -> Iterable[shapes.ObservedShape]:
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


def _observe_co_use(
    run_data: EndedRun, used: frozenset[int], seen: Mapping[int, ToolObservation]
) -> list[RelationObservation]:
    if not used:
        return []
    owner, at = run_data.contributor.owner, run_data.ended_at
    experience.lock_experience(owner, seen)
    known = usage.load_partners(owner, used)
    before = experience.load_run_counts(owner, used.union(*known), at=at)
    return observations.observe_co_use(
        used, known=known, before=before, weight=run_data.weight, at=at
    )
