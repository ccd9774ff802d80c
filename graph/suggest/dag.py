"""Tasks from tools: how often each stands, in which order, and what each must wait for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

from graph.algorithms.reduction import transitive_reduction
from graph.binding import bind, instances
from graph.binding.learned import NOTHING
from graph.binding.steps import BindTool, BoundStep, Feeds, FieldPair, Step
from graph.relations import Kind, Relation
from graph.suggest.current import MAX_REPEATS
from graph.suggest.order import ordered
from graph.suggest.types import Task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from graph.ranking.rank import Ranking
    from graph.suggest.choose import Chosen
    from graph.suggest.types import Asked, Known, SuggestTool

MAX_ID: Final = 40
"""Characters of a task's id, but for the number of a repetition."""
_FOREIGN: Final = re.compile(r"[^a-zA-Z0-9_-]+")


@dataclass(frozen=True, kw_only=True, eq=False)
class Dag:
    """Tasks with bound arguments.

    Attributes:
        tasks: In an order in which they can run one after another.
        bound: What was bound of each, in the same order.
        broken: Dependencies that the order goes against, each the weakest of a cycle.
        moved: Relations that corrected the ranker's order.
        is_serial: Whether some wait only because their tools may do more than read.
    """

    tasks: tuple[Task, ...]
    bound: tuple[BoundStep, ...]
    broken: tuple[Relation, ...] = ()
    moved: tuple[Relation, ...] = ()
    is_serial: bool = False


def arrange(chosen: Chosen, asked: Asked, *, ranking: Ranking, known: Known) -> Dag:
    """Make tasks of the chosen tools, bind their arguments and say what they wait for.

    A task waits for those it takes values from or may take them from, for those whose tool its
    own requires, and, unless both are known to only read, for those that stand before it. Tools
    that are often used together wait for nothing on that account. What a longer way makes
    superfluous is left out. The order is the ranker's, corrected by the graph: see `order`.

    Args:
        chosen: Tools in the ranker's order.
        asked: The intent and the caller's parameters.
        ranking: Says which clause each tool answers.
        known: Tools, relations and what past runs bound.

    Raises:
        graph.binding.parameters.ParameterError: If a parameter is of the wrong type.
    """
    tools = [tool for pk in chosen.tools if (tool := known.tool(pk)) is not None]
    shares = ranking.clause_shares
    tools = list(_repeated(tools, chosen, asked, ranking=ranking, known=known))
    order = ordered(
        tools,
        known.topology.among([tool.pk for tool in tools]),
        ranked=chosen.ranked,
        ranking=ranking,
        reading=asked.reading,
    )
    ids = task_ids([tool.name for tool in order.tools])
    steps = [
        step(task, tool, shares=shares.get(tool.pk))
        for task, tool in zip(ids, order.tools, strict=True)
    ]
    bound = bind.bind(
        steps,
        reading=asked.reading,
        parameters=asked.parameters,
        knowledge=known.knowledge or NOTHING,
        feeds=feeds(known),
        model=known.binding,
    )
    place = {task: number for number, task in enumerate(ids)}
    flow = {(place[giver], place[one.id]) for one in bound for giver in (*one.refs, *one.after)}
    serial = set(_serial(order.tools))
    waits = _waits(ids, transitive_reduction(sorted(flow | order.needs | serial)))
    tasks = tuple(
        Task(
            id=one.id,
            tool=tool.pk,
            name=tool.tool,
            arguments=one.arguments,
            depends_on=waits[one.id],
            is_required=tool.pk in chosen.required,
        )
        for one, tool in zip(bound, order.tools, strict=True)
    )
    return Dag(
        tasks=tasks,
        bound=bound,
        broken=order.broken,
        moved=order.moved,
        is_serial=bool(serial - flow - order.needs),
    )


def bind_tool(tool: SuggestTool) -> BindTool:
    """Return what binding reads of a tool."""
    return BindTool(
        pk=tool.pk,
        tool=tool.tool,
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        definition_hash=tool.definition_hash,
        is_trusted=tool.is_trusted,
    )


def step(task: str, tool: SuggestTool, *, shares: NDArray[np.float32] | None = None) -> Step:
    """Return a task of a tool as binding reads it."""
    return Step(id=task, tool=bind_tool(tool), shares=shares, is_read_only=tool.is_read_only)


def task_ids(names: Iterable[str]) -> list[str]:
    """Return readable ids for tasks, each once.

    Args:
        names: Of their tools at the servers, any characters.

    Example:
        >>> task_ids(["get time", "get time", "log"])
        ['get_time', 'get_time_2', 'log']
    """
    taken: dict[str, None] = {}
    for name in names:
        base = _FOREIGN.sub("_", name).strip("_")[:MAX_ID] or "task"
        task, number = base, 1
        while task in taken:
            number += 1
            task = f"{base}_{number}"
        taken[task] = None
    return list(taken)


def _repeated(
    tools: Sequence[SuggestTool], chosen: Chosen, asked: Asked, *, ranking: Ranking, known: Known
) -> Iterator[SuggestTool]:
    """Yield each tool as often as the intent asks for it, where past runs did not repeat it."""
    counts = {tool.pk: 0 for tool in tools}
    for tool in tools:
        counts[tool.pk] += 1
    steps = [
        step(str(tool.pk), tool, shares=ranking.clause_shares.get(tool.pk))
        for tool in tools
        if counts[tool.pk] == 1 and tool.pk not in chosen.required
    ]
    wanted = instances.instances(steps, reading=asked.reading, model=known.binding)
    for tool in tools:
        for _ in range(min(wanted.get(str(tool.pk), 1), MAX_REPEATS)):
            yield tool


def _serial(tools: Sequence[SuggestTool]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of places whose order may matter: one of both may do more than read."""
    for first, then in combinations(range(len(tools)), 2):
        if not (tools[first].is_read_only and tools[then].is_read_only):
            yield first, then


def _waits(ids: Sequence[str], arcs: Iterable[tuple[int, int]]) -> Mapping[str, tuple[str, ...]]:
    waits: dict[str, list[str]] = {task: [] for task in ids}
    for first, then in sorted(arcs):
        waits[ids[then]].append(ids[first])
    return {task: tuple(before) for task, before in waits.items()}


def feeds(known: Known) -> Feeds:
    """Say which fields of one tool feed another, by what relations tell."""

    def between(source: int, target: int) -> Sequence[FieldPair]:
        relation = known.topology.get(source, target, Kind.PROVIDES)
        if relation is None:
            return ()
        return [
            FieldPair(pair.get("output", ""), pair["input"], relation.confidence)
            for pair in relation.detail.get("fields", ())
            if "input" in pair
        ]

    return between
