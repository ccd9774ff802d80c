"""Suggested workflows as predictions: what identifies one, and whether calls carry it out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from graphlib import TopologicalSorter
from typing import Any

from execution.workflow import Workflow
from gateway_project.foundation import references

ComputeDigest = Callable[..., str]
"""Keyed digest of JSON values, in hex, such as `Sealer.digest`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PredictedTask:
    """A call of a workflow.

    Attributes:
        id: Unique in the workflow.
        tool: Primary key of the tool.
        arguments: Values, and references to the results of other tasks.
        depends_on: Ids of tasks that must end first; those referred to need not be named.
        for_each: The list that it runs for, as a reference; None: it runs once.
    """

    id: str
    tool: int
    arguments: Mapping[str, Any] = field(default_factory=dict)
    depends_on: tuple[str, ...] = ()
    for_each: Mapping[str, Any] | None = None


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


class Resemblance(StrEnum):
    """How a workflow relates to the suggested one."""

    SAME = "same"
    """The same tools with the same arguments."""
    CHANGED = "changed"
    """It shares tools with the suggestion."""
    OTHER = "other"
    """It shares none."""


def list_tasks(workflow: Workflow, find_tool: Callable[[str], int]) -> tuple[PredictedTask, ...]:
    """Return the tasks of a workflow that a client wrote.

    Args:
        workflow: With the names of its tools.
        find_tool: Returns the primary key of a tool; may raise.
    """
    return tuple(
        PredictedTask(
            id=task.id,
            tool=find_tool(task.tool),
            arguments=task.arguments,
            depends_on=task.depends_on,
            for_each=None
            if task.for_each is None
            else references.make_reference(task.for_each.task, task.for_each.pointer),
        )
        for task in workflow.tasks
    )


def fingerprint_workflow(
    tasks: Sequence[PredictedTask], digest: ComputeDigest
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
    order = TopologicalSorter({task.id: _list_referenced(task, by_id) for task in tasks})
    for name in order.static_order():
        task = by_id[name]
        digests[name] = digest(
            "predicted task",
            task.tool,
            _replace_ids(task.arguments, digests),
            _replace_ids(task.for_each, digests),
        )
    return WorkflowFingerprint(
        tools=tuple(sorted(task.tool for task in tasks)),
        digest=digest("predicted workflow", sorted(digests.values())),
    )


def compare_workflows(predicted: WorkflowFingerprint, other: WorkflowFingerprint) -> Resemblance:
    """Return how another workflow relates to the suggested one.

    Example:
        >>> first = WorkflowFingerprint(tools=(1, 2), digest="a")
        >>> compare_workflows(first, WorkflowFingerprint(tools=(2, 3), digest="b")).value
        'changed'
    """
    if predicted.digest == other.digest:
        return Resemblance.SAME
    if set(predicted.tools) & set(other.tools):
        return Resemblance.CHANGED
    return Resemblance.OTHER


def is_call_of(task: PredictedTask, tool: int, arguments: Mapping[str, Any]) -> bool:
    """Whether a direct call carries out a task.

    Stated arguments must be equal; where the task refers to another task's result, any value
    will do, since the client took it from a result that it received.

    Args:
        task: A task of the suggestion.
        tool: Primary key of the called tool.
        arguments: As called.
    """
    return (
        task.for_each is None
        and task.tool == tool
        and _fits(dict(task.arguments), dict(arguments))
    )


def estimate_saving_ms(
    tasks: Sequence[PredictedTask], latency_ms: Mapping[int, float]
) -> float | None:
    """Return how long a workflow takes if independent tasks run at the same time.

    Args:
        tasks: With unique ids, acyclic.
        latency_ms: Mean latency by primary key of the tool.

    Returns:
        Length of the critical path in milliseconds; None if the latency of a tool is unknown.

    Example:
        >>> steps = [PredictedTask(id="a", tool=1), PredictedTask(id="b", tool=2),
        ...          PredictedTask(id="c", tool=1, depends_on=("a",))]
        >>> estimate_saving_ms(steps, {1: 100.0, 2: 150.0})
        200.0
    """
    if any(task.tool not in latency_ms for task in tasks):
        return None
    by_id = {task.id: task for task in tasks}
    predecessors = {
        task.id: {
            *_list_referenced(task, by_id),
            *(one for one in task.depends_on if one in by_id),
        }
        for task in tasks
    }
    ends: dict[str, float] = {}
    for name in TopologicalSorter(predecessors).static_order():
        start = max((ends[before] for before in predecessors[name]), default=0.0)
        ends[name] = start + latency_ms[by_id[name].tool]
    return max(ends.values(), default=0.0)


def _list_referenced(task: PredictedTask, by_id: Mapping[str, PredictedTask]) -> set[str]:
    return {
        target.task
        for value in (task.arguments, task.for_each)
        for _, target in references.iterate_references(value)
        if target.task in by_id
    }


def _replace_ids(value: Any, digests: Mapping[str, str]) -> Any:
    """Return a value with the digests of referenced tasks in place of their ids."""
    target = references.parse_reference(value)
    if target is not None:
        return references.make_reference(digests.get(target.task, target.task), target.pointer)
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
