"""Suggested workflows as predictions: what identifies one, and whether calls carry it out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any

from execution.speculation.outcome import Evidence
from execution.workflow import WorkflowTask
from gateway_project.foundation import references

ComputeDigest = Callable[..., str]
"""Keyed digest of JSON values, in hex, such as `Sealer.digest`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkflowFingerprint:
    """What identifies a workflow: its tools, and a digest of its calls.

    Attributes:
        tools: Primary keys, ascending; a tool called twice appears twice.
        digest: Keyed digest of the tools with their arguments. Ids, the order of tasks and
            dependencies without data flow do not change it.
    """

    tools: tuple[int, ...]
    digest: str


def fingerprint_workflow(
    tasks: Sequence[WorkflowTask], digest: ComputeDigest
) -> WorkflowFingerprint:
    """Return the fingerprint of an acyclic workflow.

    Each task is digested with the digests of the tasks that it refers to in place of their ids;
    the workflow is the sorted digests of its tasks. O(size of the arguments).

    Args:
        tasks: With unique ids.
        digest: Keyed digest.

    Raises:
        graphlib.CycleError: If tasks refer to each other.
    """
    by_id = {task.id: task for task in tasks}
    digests: dict[str, str] = {}
    order = TopologicalSorter(
        {task.id: [one for one in task.references if one in by_id] for task in tasks}
    )
    for name in order.static_order():
        task = by_id[name]
        digests[name] = digest(
            "predicted task",
            task.pk,
            _replace_ids(task.arguments, digests),
            _replace_ids(task.for_each and references.make_reference(*task.for_each), digests),
        )
    return WorkflowFingerprint(
        tools=tuple(sorted(task.pk for task in tasks)),
        digest=digest("predicted workflow", sorted(digests.values())),
    )


def compare_workflows(predicted: WorkflowFingerprint, other: WorkflowFingerprint) -> Evidence:
    """Return what running another workflow shows of the suggested one.

    Example:
        >>> first = WorkflowFingerprint(tools=(1, 2), digest="a")
        >>> compare_workflows(first, WorkflowFingerprint(tools=(2, 3), digest="b")).value
        'changed_run'
    """
    if predicted.digest == other.digest:
        return Evidence.RUN
    return Evidence.CHANGED_RUN if set(predicted.tools) & set(other.tools) else Evidence.OTHER_RUN


def is_call_of(task: WorkflowTask, tool: int, arguments: Mapping[str, Any]) -> bool:
    """Whether a direct call carries out a task.

    Stated arguments must be equal; where the task refers to another task's result, any value
    will do, since the client took it from a result that it received.

    Args:
        task: A task of the suggestion.
        tool: Primary key of the called tool.
        arguments: As called.
    """
    return (
        task.for_each is None and task.pk == tool and _fits(dict(task.arguments), dict(arguments))
    )


def estimate_saving_ms(
    tasks: Sequence[WorkflowTask], latency_ms: Mapping[int, float]
) -> float | None:
    """Return how long a workflow takes if independent tasks run at the same time.

    Args:
        tasks: With unique ids, acyclic.
        latency_ms: Mean latency by primary key of the tool.

    Returns:
        Length of the critical path in milliseconds; None if the latency of a tool is unknown.

    Example:
        >>> steps = [WorkflowTask(id="a", tool="x", pk=1), WorkflowTask(id="b", tool="y", pk=2),
        ...          WorkflowTask(id="c", tool="x", pk=1, depends_on=("a",))]
        >>> estimate_saving_ms(steps, {1: 100.0, 2: 150.0})
        200.0
    """
    if any(task.pk not in latency_ms for task in tasks):
        return None
    return max(estimate_ends(tasks, lambda task: latency_ms[task.pk]).values(), default=0.0)


def estimate_ends(
    tasks: Sequence[WorkflowTask], estimate: Callable[[WorkflowTask], float]
) -> dict[str, float]:
    """Return when each task would end, in the unit of the estimated durations, from the start.

    Args:
        tasks: With unique ids, acyclic; what they wait for outside of these is ignored.
        estimate: Returns the duration of a task.
    """
    by_id = {task.id: task for task in tasks}
    waits = {task.id: [one for one in task.waits_for if one in by_id] for task in tasks}
    ends: dict[str, float] = {}
    for name in TopologicalSorter(waits).static_order():
        start = max((ends[before] for before in waits[name]), default=0.0)
        ends[name] = start + estimate(by_id[name])
    return ends


def _replace_ids(value: Any, digests: Mapping[str, str]) -> Any:
    """Return a value with the digests of referenced tasks in place of their ids."""
    target = references.parse_reference(value)
    if target is not None:
        task, pointer, select = target
        return references.make_reference(digests.get(task, task), pointer, select)
    if references.parse_literal(value) is not None:
        return value
    if isinstance(value, Mapping):
        return {name: _replace_ids(item, digests) for name, item in value.items()}
    return [_replace_ids(item, digests) for item in value] if _is_list(value) else value


def _fits(expected: Any, actual: Any) -> bool:
    if references.parse_reference(expected) is not None:
        return True
    literal = references.parse_literal(expected)
    if literal is not None:
        return bool(literal.value == actual)
    if isinstance(expected, Mapping):
        return (
            isinstance(actual, Mapping)
            and expected.keys() == actual.keys()
            and all(_fits(item, actual[name]) for name, item in expected.items())
        )
    if _is_list(expected):
        return (
            _is_list(actual)
            and len(expected) == len(actual)
            and all(map(_fits, _iterate(expected), _iterate(actual)))
        )
    return type(expected) is type(actual) and bool(expected == actual)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _iterate(value: Any) -> Iterator[Any]:
    return iter(value)
