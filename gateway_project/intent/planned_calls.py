"""The calls of a suggestion, as next-call prediction takes them in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gateway_project.foundation import references

if TYPE_CHECKING:
    from graph.suggestion.next_call.call import PlannedCall
    from graph.suggestion.workflow.types import Suggestion


def list_planned_calls(
    suggestion: Suggestion, probabilities: Mapping[int, float]
) -> tuple[PlannedCall, ...]:
    """Return the suggested calls in their order, without references to results.

    Args:
        suggestion: The workflow.
        probabilities: That each tool is needed; of others the confidence counts.
    """
    from graph.suggestion.next_call.call import PlannedCall

    tasks = {task.id: task for task in suggestion.tasks}
    planned = []
    for task_id in suggestion.order:
        task = tasks[task_id]
        stated = {
            name: value
            for name, value in task.arguments.items()
            if not any(references.iterate_references(value))
        }
        sure = math.prod(one.confidence for one in suggestion.bindings.get(task_id, ()))
        planned.append(
            PlannedCall(
                tool=task.tool,
                arguments=stated,
                is_complete=len(stated) == len(task.arguments)
                and not suggestion.needs_input.get(task_id),
                chance=sure * float(probabilities.get(task.tool, suggestion.confidence)),
            )
        )
    return tuple(planned)
