"""Orders tasks by their dependencies: layers and cycles."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from typing import Final

MAX_REPORTED_CYCLES: Final = 5
"""Cycles reported per workflow; the others show once these are fixed."""
TaskDependencies = Mapping[str, Collection[str]]
"""Dependencies by task id; ids missing from the mapping are ignored."""


def group_layers(dependencies: TaskDependencies) -> tuple[tuple[str, ...], ...]:
    """Group tasks in layers, such that each depends only on tasks of earlier layers.

    Each is in the first possible layer; within a layer the given order is kept. Tasks on a cycle,
    and those that depend on them, are omitted. O(tasks · log(tasks) + dependencies).

    Example:
        >>> group_layers({"c": ["a", "b"], "a": [], "b": ["a"], "d": []})
        (('a', 'd'), ('b',), ('c',))
    """
    position = {task: number for number, task in enumerate(dependencies)}
    sorter = _make_sorter(dependencies)
    with suppress(CycleError):  # the rest can still be sorted
        sorter.prepare()
    layers = []
    while layer := sorted(sorter.get_ready(), key=position.__getitem__):
        layers.append(tuple(layer))
        sorter.done(*layer)
    return tuple(layers)


def find_cycles(dependencies: TaskDependencies) -> tuple[tuple[str, ...], ...]:
    """Return cycles of tasks: each waits for the next, the last for the first.

    Cycles are disjoint; others show once these are broken.
    O((tasks + dependencies) · `MAX_REPORTED_CYCLES`).

    Example:
        >>> find_cycles({"a": ["b"], "b": ["a"], "c": ["c"], "d": ["a"]})
        (('a', 'b'), ('c',))
    """
    found: list[tuple[str, ...]] = []
    left = dict(dependencies)
    position = {task: number for number, task in enumerate(dependencies)}
    while len(found) < MAX_REPORTED_CYCLES:
        try:
            _make_sorter(left).prepare()
        except CycleError as error:
            # Each is a predecessor of the next, and the first comes again as the last.
            cycle = tuple(reversed(error.args[1][1:]))
            first = cycle.index(min(cycle, key=position.__getitem__))
            found.append((*cycle[first:], *cycle[:first]))
            for task in cycle:
                del left[task]
        else:
            break
    return tuple(found)


def _make_sorter(dependencies: TaskDependencies) -> TopologicalSorter[str]:
    known = {
        task: [one for one in before if one in dependencies]
        for task, before in dependencies.items()
    }
    return TopologicalSorter(known)
