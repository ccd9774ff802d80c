"""Reads an episode as the run of the workflow that its calls amount to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final, NamedTuple
from uuid import UUID

from execution.ended_run import AnsweredCalls, CallDurations, EndedRun
from execution.status import RunStatus
from execution.workflow import Workflow, WorkflowTask
from gateway_project.foundation import canonical
from gateway_project.foundation.caller import Contributor
from gateway_project.foundation.references import LITERAL, is_reference_mark, make_reference
from learning.episodes import Episode, SessionCall, ValueSource

FIRST_ITEM: Final = "0"
"""The item of a list that represents all of them, as for for-each tasks."""
MS_PER_S: Final = 1_000


def build_ended_run(episode: Episode, *, run: UUID, contributor: Contributor) -> EndedRun:
    """Return an episode as a run whose weight is its certainty.

    A call that failed and was repeated with success is no task of its own. Calls of one tool with
    values from the same places, save for the item of a list, are one task, as if it had run for
    each item. A task waits for those it takes values from; besides, calls that may change
    something keep their place, since values alone do not show what they need.
    """
    made = _fold_retries(episode.calls)
    groups = _group_by_task(made)
    task_ids = {call.number: name for name, group in groups.items() for call in group}
    tasks = [
        _build_task(name, group[0], task_ids, waits_for=_find_order(group, made, task_ids))
        for name, group in groups.items()
    ]
    return EndedRun(
        run=run,
        contributor=contributor,
        status=_judge(made),
        is_direct=False,
        ended_at=_to_time(episode.ended_at),
        intent=episode.intent,
        workflow=Workflow(tasks=tuple(tasks)),
        answered_calls=tuple(_sum_calls(name, group) for name, group in groups.items()),
        call_durations=_count_durations(episode.calls) if episode.was_made else (),
        weight=episode.certainty,
    )


def _fold_retries(calls: Sequence[SessionCall]) -> list[SessionCall]:
    """Return calls without the failed ones after which the same tool succeeded."""
    last_success = {call.tool: call.number for call in calls if call.succeeded}
    return [
        call for call in calls if call.succeeded or last_success.get(call.tool, -1) < call.number
    ]


class _TaskKey(NamedTuple):
    """Identifies the calls that are one task: each source as argument, task and pointer."""

    tool: str
    sources: frozenset[tuple[str, str, str | None]]


def _group_by_task(calls: Iterable[SessionCall]) -> dict[str, list[SessionCall]]:
    groups: dict[str, list[SessionCall]] = {}
    ids_by_key: dict[_TaskKey, str] = {}
    task_ids: dict[int, str] = {}
    for call in calls:
        name = f"t{len(groups) + 1}"
        taken = frozenset(
            (source.argument, task_ids[source.call], _mask_items(source.pointer))
            for source in call.sources
            if source.is_result and source.call in task_ids
        )
        if taken:
            name = ids_by_key.setdefault(_TaskKey(call.tool, taken), name)
        groups.setdefault(name, []).append(call)
        task_ids[call.number] = name
    return groups


def _mask_items(pointer: str | None) -> str | None:
    if pointer is None:
        return None
    return "/".join(FIRST_ITEM if step.isdecimal() else step for step in pointer.split("/"))


def _find_order(
    group: Sequence[SessionCall], made: Sequence[SessionCall], task_ids: Mapping[int, str]
) -> tuple[str, ...]:
    """Return the task directly before, if it or this one may have changed something."""
    own = task_ids[group[0].number]
    for before, call in pairwise(made):
        if call is group[0] and task_ids[before.number] != own:
            is_free = before.is_read_only and call.is_read_only
            return () if is_free else (task_ids[before.number],)
    return ()


def _build_task(
    name: str, call: SessionCall, task_ids: Mapping[int, str], *, waits_for: tuple[str, ...]
) -> WorkflowTask:
    taken = [
        source
        for source in call.sources
        if source.is_result and task_ids.get(source.call, name) != name
    ]
    places = {source.argument: source for source in taken if source.pointer is not None}
    unnamed = [task_ids[source.call] for source in taken if source.pointer is None]
    arguments = {
        key: _insert_references(value, f"/{canonical.escape_token(key)}", places, task_ids)
        for key, value in call.arguments.items()
    }
    references = tuple(dict.fromkeys(task_ids[source.call] for source in places.values()))
    return WorkflowTask(
        id=name,
        tool=call.tool,
        arguments=arguments,
        depends_on=tuple(dict.fromkeys((*waits_for, *unnamed))),
        references=references,
    )


def _insert_references(
    value: Any,
    pointer: str,
    places: Mapping[str, ValueSource],
    task_ids: Mapping[int, str],
) -> Any:
    """Return a value with references for what was taken, and what looks like one escaped."""
    source = places.get(pointer)
    if source is not None:
        return make_reference(task_ids[source.call], source.pointer or "")
    if is_reference_mark(value):
        return {LITERAL: value}
    if isinstance(value, Mapping):
        return {
            key: _insert_references(
                inner, f"{pointer}/{canonical.escape_token(key)}", places, task_ids
            )
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [
            _insert_references(inner, f"{pointer}/{place}", places, task_ids)
            for place, inner in enumerate(value)
        ]
    return value


def _judge(made: Sequence[SessionCall]) -> RunStatus:
    if all(call.succeeded for call in made):
        return RunStatus.SUCCEEDED
    return RunStatus.PARTIAL_SUCCESS if any(call.succeeded for call in made) else RunStatus.FAILED


def _sum_calls(name: str, group: Sequence[SessionCall]) -> AnsweredCalls:
    succeeded = sum(call.succeeded for call in group)
    return AnsweredCalls(
        task=name,
        tool=group[0].tool,
        succeeded=succeeded,
        failed=len(group) - succeeded,
        started_at=_to_time(group[0].at),
        ended_at=_to_time(max(call.ended_at for call in group)),
    )


def _count_durations(calls: Iterable[SessionCall]) -> tuple[CallDurations, ...]:
    found: dict[str, list[float]] = defaultdict(list)
    for call in calls:
        found[call.tool].append(call.duration_s * MS_PER_S)
    return tuple(
        CallDurations(tool=tool, calls=len(each), total_ms=sum(each))
        for tool, each in sorted(found.items())
    )


def _to_time(at: float) -> datetime:
    return datetime.fromtimestamp(at, tz=UTC)
