"""Turn tools into tasks: how often each runs, in which order, and what each waits for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from graph.algorithms.cycles import reduce_transitively
from graph.relations import RelationKind
from graph.suggestion.binding import bind, instances
from graph.suggestion.binding.knowledge import EMPTY_KNOWLEDGE
from graph.suggestion.binding.tasks import FeedLookup, FieldPair, SuggestedTask
from graph.suggestion.workflow.order import order_tools
from graph.suggestion.workflow.replace_deprecated import MAX_REPEATS
from tools.embed.reader import read_nothing

if TYPE_CHECKING:
    from graph.suggestion.binding.tasks import WorkflowTool
    from graph.suggestion.intent.reading import IntentReading
    from graph.suggestion.ranking.rank import Ranking
    from graph.suggestion.workflow.choose import ChosenTools
    from graph.suggestion.workflow.order import WorkflowDag
    from graph.suggestion.workflow.types import SuggestionContext
    from tools.embed.reader import ReadStatements

MAX_ID: Final = 40
"""Characters of a task's id, not counting the suffix of a repetition."""
_INVALID_ID_CHARACTERS: Final = re.compile(r"[^a-zA-Z0-9_-]+")


def arrange_tasks(
    chosen: ChosenTools,
    reading: IntentReading,
    *,
    ranking: Ranking,
    context: SuggestionContext,
    parameters: Mapping[str, Any] | None = None,
    requests: Mapping[int, tuple[int, int]] | None = None,
) -> WorkflowDag:
    """Create tasks for the chosen tools, bind their arguments and set their dependencies.

    A task depends on those it takes or may take values from, on those whose tool its own tool
    requires, and, unless both are known to be read-only, on those ordered before it. Tools that
    are merely often used together do not wait for each other. Dependencies are reduced
    transitively. The order is the ranker's, corrected by the graph: see `order`.

    Args:
        chosen: Tools in the ranker's order.
        reading: The prepared intent.
        ranking: Holds the clause that each tool answers.
        context: Tools, relations and values bound in past runs.
        parameters: Values that the caller passes by name.
        requests: By tool, start and end of the part of the intent that asks for it; None: unknown.

    Raises:
        graph.suggestion.binding.parameters.ParameterError: If a parameter is of the wrong type.
    """
    read = context.read or read_nothing
    tools = _repeat_tools(chosen, reading, context=context, read=read)
    order = order_tools(
        tools,
        context.topology.relations_among([tool.pk for tool in tools]),
        ranked=chosen.ranked_set,
        ranking=ranking,
        reading=reading,
    )
    bound = bind.bind_arguments(
        _make_tasks(order.tools, requests or {}),
        reading=reading,
        parameters=parameters,
        knowledge=context.knowledge or EMPTY_KNOWLEDGE,
        feeds=find_feeds(context),
        read=read,
    )
    place = {task.id: number for number, task in enumerate(bound)}
    data_flow = {
        (place[producer], place[task.id])
        for task in bound
        for producer in (*task.references, *task.wait_for)
    }
    serial = set(_serial_pairs(order.tools))
    dependencies = _build_dependencies(
        list(place), reduce_transitively(sorted(data_flow | order.dependencies | serial))
    )
    return replace(
        order,
        tasks=tuple(replace(task, depends_on=dependencies[task.id]) for task in bound),
        is_serial=bool(serial - data_flow - order.dependencies),
    )


def _repeat_tools(
    chosen: ChosenTools,
    reading: IntentReading,
    *,
    context: SuggestionContext,
    read: ReadStatements,
) -> list[WorkflowTool]:
    """Repeat tools for which the intent states several values.

    A tool that is required by another, or that the ranked set repeats already, stays as it is.
    """
    tools = [tool for pk in chosen.tools if (tool := context.find_tool(pk)) is not None]
    ranked_counts = Counter(tool.pk for tool in tools)
    tasks = [
        SuggestedTask(id=str(tool.pk), tool=tool)
        for tool in tools
        if ranked_counts[tool.pk] == 1 and tool.pk not in chosen.required_by
    ]
    counts = instances.count_instances(tasks, text=reading.text, read=read)
    return [tool for tool in tools for _ in range(min(counts.get(str(tool.pk), 1), MAX_REPEATS))]


def _make_tasks(
    tools: Sequence[WorkflowTool], requests: Mapping[int, tuple[int, int]]
) -> list[SuggestedTask]:
    """Make a task for each tool; only the one task of a tool has a request of its own."""
    occurrences = Counter(tool.pk for tool in tools)
    return [
        SuggestedTask(
            id=task,
            tool=tool,
            request=requests.get(tool.pk) if occurrences[tool.pk] == 1 else None,
        )
        for task, tool in zip(make_task_ids([tool.name for tool in tools]), tools, strict=True)
    ]


def make_task_ids(names: Iterable[str]) -> list[str]:
    """Return readable, unique ids for tasks.

    Args:
        names: Names of their tools at the servers, any characters.

    Example:
        >>> make_task_ids(["get time", "get time", "log"])
        ['get_time', 'get_time_2', 'log']
    """
    taken: dict[str, None] = {}
    for name in names:
        base = _INVALID_ID_CHARACTERS.sub("_", name).strip("_")[:MAX_ID] or "task"
        task, number = base, 1
        while task in taken:
            number += 1
            task = f"{base}_{number}"
        taken[task] = None
    return list(taken)


def _serial_pairs(tools: Sequence[WorkflowTool]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of positions whose order may matter: not both tools are read-only."""
    for first, then in combinations(range(len(tools)), 2):
        if not (tools[first].is_read_only and tools[then].is_read_only):
            yield first, then


def _build_dependencies(
    ids: Sequence[str], arcs: Iterable[tuple[int, int]]
) -> Mapping[str, tuple[str, ...]]:
    dependencies: dict[str, list[str]] = {task: [] for task in ids}
    for first, then in sorted(arcs):
        dependencies[ids[then]].append(ids[first])
    return {task: tuple(before) for task, before in dependencies.items()}


def find_feeds(context: SuggestionContext) -> FeedLookup:
    """Return a lookup of the fields of one tool that feed another, from the relations."""

    def find_field_pairs(source: int, target: int) -> Sequence[FieldPair]:
        relation = context.topology.get(source, target, RelationKind.PROVIDES)
        if relation is None:
            return ()
        return [
            FieldPair(pair.get("output", ""), pair["input"], relation.confidence)
            for pair in relation.detail.get("fields", ())
            if "input" in pair
        ]

    return find_field_pairs
