"""Orders tasks by their dependencies: layers and cycles."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from typing import Final

MAX_REPORTED_CYCLES: Final = 5
"""Cycles reported per workflow; the others show once these are fixed."""

TaskDependencies = Mapping[str, Collection[str]]
"""Dependencies by task id; ids missing from the mapping are ignored."""


def group_layers(dependencies: TaskDependencies) -> tuple[tuple[str, ...], ...]:
    """Group tasks in layers, such that each depends only on tasks of earlier layers.

    Each is in the first possible layer; within a layer the given order is kept. Tasks on a cycle,
    and those that depend on them, are omitted. O(tasks + dependencies).

    Example:
        >>> group_layers({"c": ["a", "b"], "a": [], "b": ["a"], "d": []})
        (('a', 'd'), ('b',), ('c',))

    References:
        Kahn, Topological sorting of large networks, CACM 5 (1962).
    """
    left = {
        task: sum(dependency in dependencies for dependency in set(task_dependencies))
        for task, task_dependencies in dependencies.items()
    }
    dependants = _map_dependants(dependencies)
    position = {task: number for number, task in enumerate(dependencies)}
    layer = [task for task, count in left.items() if not count]
    found = []
    while layer:
        found.append(tuple(layer))
        released = []
        for task in layer:
            for dependant in dependants[task]:
                left[dependant] -= 1
                if not left[dependant]:
                    released.append(dependant)
        layer = sorted(released, key=position.__getitem__)
    return tuple(found)


def find_cycles(dependencies: TaskDependencies) -> tuple[tuple[str, ...], ...]:
    """Return cycles of tasks: each waits for the next, the last for the first.

    Cycles are disjoint, and each is a shortest one through its first task. Others show once these
    are broken. O((tasks + dependencies) · `MAX_REPORTED_CYCLES`).

    Example:
        >>> find_cycles({"a": ["b"], "b": ["a"], "c": ["c"], "d": ["a"]})
        (('a', 'b'), ('c',))
    """
    found: list[tuple[str, ...]] = []
    left = dict(dependencies)
    while len(found) < MAX_REPORTED_CYCLES:
        left = _drop_orderable(left)
        if not left:
            break
        cycle = _find_shortest_cycle(_find_task_on_cycle(left), left)
        found.append(cycle)
        for task in cycle:
            del left[task]
    return tuple(found)


def _map_dependants(dependencies: TaskDependencies) -> dict[str, list[str]]:
    dependants: dict[str, list[str]] = {task: [] for task in dependencies}
    for task, task_dependencies in dependencies.items():
        for dependency in set(task_dependencies):
            if dependency in dependants:
                dependants[dependency].append(task)
    return dependants


def _drop_orderable(dependencies: TaskDependencies) -> dict[str, Collection[str]]:
    """Drop the tasks that can be ordered; each remaining one depends on a remaining one."""
    ordered = {task for layer in group_layers(dependencies) for task in layer}
    return {
        task: task_dependencies
        for task, task_dependencies in dependencies.items()
        if task not in ordered
    }


def _find_task_on_cycle(dependencies: TaskDependencies) -> str:
    """Return a task on a cycle; each task must have a dependency in the mapping."""
    task, seen = next(iter(dependencies)), set[str]()
    while task not in seen:
        seen.add(task)
        task = next(dependency for dependency in dependencies[task] if dependency in dependencies)
    return task


def _find_shortest_cycle(start: str, dependencies: TaskDependencies) -> tuple[str, ...]:
    """Return the shortest cycle through a task on a cycle."""
    came_from: dict[str, str] = {}
    waiting = deque([start])
    while start not in came_from:
        task = waiting.popleft()
        for dependency in dependencies[task]:
            if dependency in dependencies and dependency not in came_from:
                came_from[dependency] = task
                waiting.append(dependency)
    cycle = [came_from[start]]
    while cycle[-1] != start:
        cycle.append(came_from[cycle[-1]])
    return tuple(reversed(cycle))
