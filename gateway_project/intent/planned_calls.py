"""The calls of a suggestion, as next-call prediction takes them in."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from graph.suggestion.binding.steps import Binding
    from graph.suggestion.next_call.call import PlannedCall
    from graph.suggestion.workflow.types import Suggestion

_STATED: Final = frozenset({"user", "literal", "default"})
"""Values of `BindingSource`; those of a default are constants of the definition."""


def list_planned_calls(
    suggestion: Suggestion, probabilities: Mapping[int, float]
) -> tuple[PlannedCall, ...]:
    """Return the suggested calls in their order, with the arguments that the client stated.

    References to results and values learned from earlier sessions are left out: prediction gives
    what is returned here the origin of the client's words.

    Args:
        suggestion: The workflow.
        probabilities: That each tool is needed; of others the confidence counts.
    """
    from graph.suggestion.next_call.call import PlannedCall

    tasks = {task.id: task for task in suggestion.tasks}
    planned = []
    for task_id in suggestion.order:
        task, bindings = tasks[task_id], suggestion.bindings.get(task_id, ())
        stated = _select_stated(task.arguments, bindings)
        sure = math.prod(one.confidence for one in bindings)
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


def _select_stated(arguments: Mapping[str, Any], bindings: Sequence[Binding]) -> dict[str, Any]:
    sources: dict[str, set[str]] = {}
    for one in bindings:
        for name in one.pointer.split("/")[1:2]:
            sources.setdefault(name.replace("~1", "/").replace("~0", "~"), set()).add(one.source)
    return {n: value for n, value in arguments.items() if n in sources and sources[n] <= _STATED}
