"""Reads a workflow that was run ahead, or that a client states, as an episode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from gateway_project.foundation.references import iterate_references
from learning.episodes import MAX_CERTAINTY, Episode, SessionCall, ValueSource
from learning.past_run import replace_items

if TYPE_CHECKING:
    from execution.speculation.calls import SpeculativeRun
    from execution.workflow import WorkflowTask

_MS_PER_S: Final = 1_000.0


def build_run_episode(
    intent: str, tasks: Sequence[WorkflowTask], run: SpeculativeRun, *, at: float
) -> Episode:
    """Return the episode of a workflow that was run ahead.

    It counts only once its caller has accepted it, or has not contradicted it.
    """
    by_id = {task.id: task for task in tasks}
    numbers = {call.task: number for number, call in enumerate(run.tasks)}
    calls = [
        SessionCall(
            number=number,
            tool=call.tool,
            pk=by_id[call.task].pk,
            at=at - run.took_s + call.started_s,
            duration_s=call.duration_ms / _MS_PER_S,
            is_read_only=True,
            arguments=call.arguments,
            sources=_list_sources(by_id[call.task], numbers),
        )
        for number, call in enumerate(run.tasks)
    ]
    return Episode(calls=tuple(calls), intent=intent, certainty=MAX_CERTAINTY)


def build_stated_episode(
    intent: str, tasks: Iterable[WorkflowTask], *, at: float
) -> Episode | None:
    """Return the episode of a workflow that a client states to be right, without having run it.

    Args:
        intent: What the caller asked for.
        tasks: Its calls; those before the ones that they wait for lose this order. One for a list
            counts as one for its first item.
        at: When it was stated, Unix time in seconds.

    Returns:
        None if it has no tasks.
    """
    stated = [_take_first_item(task) for task in tasks]
    if not stated:
        return None
    numbers = {task.id: number for number, task in enumerate(stated)}
    calls = [
        SessionCall(
            number=number,
            tool=task.tool,
            pk=task.pk,
            at=at + number,
            duration_s=0.0,
            is_read_only=True,
            arguments=task.arguments,
            sources=(*_list_sources(task, numbers), *_list_waits(task, numbers)),
        )
        for number, task in enumerate(stated)
    ]
    return Episode(calls=tuple(calls), intent=intent, certainty=MAX_CERTAINTY, was_made=False)


def _take_first_item(task: WorkflowTask) -> WorkflowTask:
    arguments = {
        name: replace_items(value, task.for_each) for name, value in task.arguments.items()
    }
    return replace(task, arguments=arguments)


def _list_sources(task: WorkflowTask, numbers: Mapping[str, int]) -> tuple[ValueSource, ...]:
    return tuple(
        ValueSource(
            argument=argument,
            call=numbers[target.task],
            pointer=None if target.select else target.pointer,
        )
        for argument, target in iterate_references(task.arguments)
        if target.task in numbers
    )


def _list_waits(task: WorkflowTask, numbers: Mapping[str, int]) -> tuple[ValueSource, ...]:
    return tuple(
        ValueSource(argument="", call=numbers[other], pointer=None)
        for other in task.depends_on
        if other in numbers
    )
