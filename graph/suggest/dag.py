"""Tasks from tools: how often each stands, in which order, and what each must wait for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

from graph.algorithms.cycles import break_cycles, topological_order
from graph.algorithms.reduction import transitive_reduction
from graph.binding import bind, instances
from graph.binding.learned import NOTHING
from graph.binding.steps import BindTool, BoundStep, Feeds, FieldPair, Step
from graph.relations import LEAST_BINDING, Kind, Relation, is_binding
from graph.suggest.types import Task

if TYPE_CHECKING:
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
        is_serial: Whether some wait only because their tools may do more than read.
    """

    tasks: tuple[Task, ...]
    bound: tuple[BoundStep, ...]
    broken: tuple[Relation, ...] = ()
    is_serial: bool = False


def arrange(chosen: Chosen, asked: Asked, *, ranking: Ranking, known: Known) -> Dag:
    """Make tasks of the chosen tools, bind their arguments and say what they wait for.

    A task waits for those it takes values from or may take them from, for those whose tool its
    own requires, and, unless both are known to only read, for those that stand before it. Tools
    that are often used together wait for nothing on that account. What a longer way makes
    superfluous is left out.

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
    ordered, needs, broken = _ordered(tools, known.topology.among([t.pk for t in tools]))
    ids = task_ids([tool.name for tool in ordered])
    steps = [
        Step(id=task, tool=bind_tool(tool), shares=shares.get(tool.pk))
        for task, tool in zip(ids, ordered, strict=True)
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
    flow = {
        (place[giver], place[step.id]) for step in bound for giver in (*step.refs, *step.after)
    }
    serial = set(_serial(ordered))
    waits = _waits(ids, transitive_reduction(sorted(flow | needs | serial)))
    tasks = tuple(
        Task(
            id=step.id,
            tool=tool.pk,
            name=tool.tool,
            arguments=step.arguments,
            depends_on=waits[step.id],
            is_required=tool.pk in chosen.required,
        )
        for step, tool in zip(bound, ordered, strict=True)
    )
    return Dag(tasks=tasks, bound=bound, broken=broken, is_serial=bool(serial - flow - needs))


def bind_tool(tool: SuggestTool) -> BindTool:
    """Return what binding reads of a tool."""
    return BindTool(
        pk=tool.pk,
        tool=tool.tool,
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        definition_hash=tool.definition_hash,
    )


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
        Step(id=str(tool.pk), tool=bind_tool(tool), shares=ranking.clause_shares.get(tool.pk))
        for tool in tools
        if counts[tool.pk] == 1 and tool.pk not in chosen.required
    ]
    wanted = instances.instances(steps, reading=asked.reading, model=known.binding)
    for tool in tools:
        for _ in range(wanted.get(str(tool.pk), 1)):
            yield tool


def _ordered(
    tools: Sequence[SuggestTool], among: Iterable[Relation]
) -> tuple[list[SuggestTool], set[tuple[int, int]], tuple[Relation, ...]]:
    """Put what is depended on before what depends on it; as given where that is free.

    Returns:
        The tools; pairs of their places, the first of which the second depends on; and the
        dependencies that had to be broken.
    """
    meant = [
        relation
        for relation in among
        if relation.kind is Kind.DEPENDS_ON
        and (is_binding(relation) or relation.confidence >= LEAST_BINDING)
    ]
    told = {one.key: one for one in meant}
    whole = break_cycles(meant)
    pairs = [pair for relation in whole.kept for pair in _pairs(relation, tools)]
    # Repeated tools may close a circle that the tools themselves do not have.
    arcs = break_cycles(
        Relation(then, first, Kind.DEPENDS_ON, told[key].confidence, told[key].required)
        for first, then, key in pairs
    ).kept
    ahead: dict[int, list[int]] = {}
    for arc in arcs:
        ahead.setdefault(arc.target, []).append(arc.source)
    order = topological_order(range(len(tools)), ahead)
    place = {number: at for at, number in enumerate(order)}
    needs = {(place[arc.target], place[arc.source]) for arc in arcs}
    return [tools[number] for number in order], needs, whole.cut


def _pairs(
    relation: Relation, tools: Sequence[SuggestTool]
) -> Iterator[tuple[int, int, tuple[int, int, Kind]]]:
    """Yield for each task of the depending tool the nearest one before it that it depends on."""
    firsts = [number for number, tool in enumerate(tools) if tool.pk == relation.target]
    for then, tool in enumerate(tools):
        if tool.pk == relation.source:
            before = [first for first in firsts if first < then]
            yield (before[-1] if before else firsts[0]), then, relation.key


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
