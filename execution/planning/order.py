"""The order of tasks that wait for each other: in layers, or around in circles."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from typing import Final

MAX_CYCLES: Final = 5
"""Cycles that are told of one workflow; the others are found once these are mended."""

Waits = Mapping[str, Collection[str]]
"""What each task waits for, by its id; ids that are no task of the mapping do not count."""


def layers(waits: Waits) -> tuple[tuple[str, ...], ...]:
    """Return tasks in layers, such that each waits only for those of layers before its own.

    Each stands in the first layer it can. Inside a layer the order given is kept. Tasks of a
    cycle, and those that wait for them, are left out. O(tasks + waits).

    Example:
        >>> layers({"c": ["a", "b"], "a": [], "b": ["a"], "d": []})
        (('a', 'd'), ('b',), ('c',))

    References:
        Kahn, Topological sorting of large networks, CACM 5 (1962).
    """
    left = {task: sum(one in waits for one in set(wanted)) for task, wanted in waits.items()}
    dependants = _dependants(waits)
    place = {task: number for number, task in enumerate(waits)}
    layer = [task for task, count in left.items() if not count]
    found = []
    while layer:
        found.append(tuple(layer))
        free = []
        for task in layer:
            for other in dependants[task]:
                left[other] -= 1
                if not left[other]:
                    free.append(other)
        layer = sorted(free, key=place.__getitem__)
    return tuple(found)


def cycles(waits: Waits) -> tuple[tuple[str, ...], ...]:
    """Return circles of tasks: each waits for the next, the last for the first.

    No task stands in two of them, and each is a shortest one of its first task. What else is wrong
    shows once they are broken. O((tasks + waits) · `MAX_CYCLES`).

    Example:
        >>> cycles({"a": ["b"], "b": ["a"], "c": ["c"], "d": ["a"]})
        (('a', 'b'), ('c',))
    """
    found: list[tuple[str, ...]] = []
    left = dict(waits)
    while len(found) < MAX_CYCLES:
        left = _without_ordered(left)
        if not left:
            break
        cycle = _shortest(_on_cycle(left), left)
        found.append(cycle)
        for task in cycle:
            del left[task]
    return tuple(found)


def _dependants(waits: Waits) -> dict[str, list[str]]:
    dependants: dict[str, list[str]] = {task: [] for task in waits}
    for task, wanted in waits.items():
        for one in set(wanted):
            if one in dependants:
                dependants[one].append(task)
    return dependants


def _without_ordered(waits: Waits) -> dict[str, Collection[str]]:
    """Return what is left without the tasks that an order can be found for; each waits for one."""
    ordered = {task for layer in layers(waits) for task in layer}
    return {task: wanted for task, wanted in waits.items() if task not in ordered}


def _on_cycle(waits: Waits) -> str:
    """Return a task on a cycle, where each waits for at least one."""
    task, seen = next(iter(waits)), set[str]()
    while task not in seen:
        seen.add(task)
        task = next(one for one in waits[task] if one in waits)
    return task


def _shortest(start: str, waits: Waits) -> tuple[str, ...]:
    """Return the shortest way from a task on a cycle back to itself."""
    came_from: dict[str, str] = {}
    waiting = deque([start])
    while start not in came_from:
        task = waiting.popleft()
        for one in waits[task]:
            if one in waits and one not in came_from:
                came_from[one] = task
                waiting.append(one)
    way = [came_from[start]]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return tuple(reversed(way))
