"""The calls that a run makes next, once somebody lets it go on after a decision point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from execution.planning.references import NO_ITEM
from execution.running import for_each
from execution.running.result_cache import RunTooLarge
from execution.running.results import LARGE_BYTES
from execution.running.run_state import RunState
from execution.workflow import WorkflowTask
from gateway_project.foundation import json_size

MAX_CALLS: Final = 16
"""Calls of a layer that are resolved; the run makes the others itself."""


def list_next_calls(state: RunState) -> list[tuple[WorkflowTask, Mapping[str, Any]]]:
    """Return the calls of the layer that opens next: task and arguments, references replaced.

    Tasks with large arguments, or whose references cannot be resolved, are left out: the run
    itself resolves them on a worker thread and reports what is wrong.

    Args:
        state: State of a run at rest.

    Returns:
        At most `MAX_CALLS`; none unless the run is at a decision point.
    """
    tasks = [state.schedule.tasks[task] for task in state.schedule.list_next_layer()]
    return list(islice((call for task in tasks for call in _resolve(state, task)), MAX_CALLS))


def _resolve(
    state: RunState, task: WorkflowTask
) -> Iterator[tuple[WorkflowTask, Mapping[str, Any]]]:
    results = state.result_cache
    is_small = results.estimate_size_bytes(task.references) <= LARGE_BYTES
    if not (is_small and json_size.is_small(task.arguments)):
        return
    try:
        items = (
            [NO_ITEM]
            if task.for_each is None
            else for_each.require_list_items(results.resolve_list(task))
        )
        for item in items:
            yield task, results.resolve(task.arguments, item=item)
    except (LookupError, for_each.NotAList, RunTooLarge):
        return
