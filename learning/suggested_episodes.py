"""Reads a workflow that was run ahead, or that a client states, as an episode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from gateway_project.foundation.references import iterate_references, parse_reference
from learning.episodes import MAX_CERTAINTY, Episode, SessionCall, ValueSource
from learning.past_run import replace_items

if TYPE_CHECKING:
    from execution.early_run import EarlyRun
    from execution.predicted_workflow import PredictedTask

_MS_PER_S: Final = 1_000.0


def build_run_episode(
    intent: str, tasks: Sequence[PredictedTask], run: EarlyRun, *, at: float
) -> Episode:
    """Return the episode of a workflow that was run ahead.

    It counts only once its caller has accepted it, or has not contradicted it.

    Args:
        intent: What the caller asked for.
        tasks: The suggested calls; none of them for a list.
        run: The run; every call of it succeeded.
        at: When it ended, Unix time in seconds.
    """
    by_id = {task.id: task for task in tasks}
    numbers = {call.task: number for number, call in enumerate(run.tasks)}
    calls = [
        SessionCall(
            number=number,
            tool=call.tool,
            pk=by_id[call.task].tool,
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
    intent: str, tasks: Iterable[PredictedTask], names: Mapping[int, str], *, at: float
) -> Episode | None:
    """Return the episode of a workflow that a client states to be right, without having run it.

    Args:
        intent: What the caller asked for.
        tasks: Its calls; those before the ones that they wait for lose this order. One for a list
            counts as one for its first item.
        names: Canonical ids of the tools by primary key.
        at: When it was stated, Unix time in seconds.

    Returns:
        None if it has no tasks, or a tool has no name.
    """
    stated = [_take_first_item(task) for task in tasks]
    if not stated or any(task.tool not in names for task in stated):
        return None
    numbers = {task.id: number for number, task in enumerate(stated)}
    calls = [
        SessionCall(
            number=number,
            tool=names[task.tool],
            pk=task.tool,
            at=at + number,
            duration_s=0.0,
            is_read_only=True,
            arguments=task.arguments,
            sources=(*_list_sources(task, numbers), *_list_waits(task, numbers)),
        )
        for number, task in enumerate(stated)
    ]
    return Episode(calls=tuple(calls), intent=intent, certainty=MAX_CERTAINTY, was_made=False)


def _take_first_item(task: PredictedTask) -> PredictedTask:
    items = parse_reference(task.for_each)
    arguments = {name: replace_items(value, items) for name, value in task.arguments.items()}
    return replace(task, arguments=arguments)


def _list_sources(task: PredictedTask, numbers: Mapping[str, int]) -> tuple[ValueSource, ...]:
    return tuple(
        ValueSource(argument=argument, call=numbers[target.task], pointer=target.pointer)
        for argument, target in iterate_references(task.arguments)
        if target.task in numbers
    )


def _list_waits(task: PredictedTask, numbers: Mapping[str, int]) -> tuple[ValueSource, ...]:
    return tuple(
        ValueSource(argument="", call=numbers[other], pointer=None)
        for other in task.depends_on
        if other in numbers
    )
