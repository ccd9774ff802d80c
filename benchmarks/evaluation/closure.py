"""The closure of a tool under required dependencies."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from graph.algorithms.cycles import break_cycles, sort_topologically
from graph.relations import Relation
from graph.topology import Topology, accept_every_tool


@dataclass(frozen=True, kw_only=True, slots=True)
class Closure:
    """The required dependencies of a tool.

    Attributes:
        ordered_tools: The usable ones, each after its own requirements; without the tool itself.
            If the tool is on a cycle, use `run_order` to order all of them.
        required_by: For each of them and each missing one, the tool that requires it on a
            shortest chain.
        missing: Unusable ones; their own requirements are not followed.
        dropped_relations: Relations of cycles that the order violates.
    """

    ordered_tools: tuple[int, ...]
    required_by: Mapping[int, int]
    missing: tuple[int, ...]
    dropped_relations: tuple[Relation, ...]


def collect_closure(
    topology: Topology, tool: int, *, usable: Callable[[int], bool] = accept_every_tool
) -> Closure:
    """Collect the required dependencies of a tool, in an order in which they can run.

    Used where one order of all is needed, and as reference by the evaluation. A search collects
    them nearest first instead (`graph.enhance.required`), so that a cut drops the farthest.

    O(tools log tools + relations) of the part reached, plus breaking cycles.

    Args:
        topology: Relations as the caller sees them.
        tool: Primary key of the tool.
        usable: Tells whether a tool may be used at all.
    """
    required_by: dict[int, int] = {}
    missing: list[int] = []
    relations: list[Relation] = []
    queue = deque([tool])
    while queue:
        current = queue.popleft()
        for relation in sorted(topology.required_relations(current), key=_target_tool):
            required = relation.target
            is_new = required != tool and required not in required_by
            if is_new:
                required_by[required] = current
                if usable(required):
                    queue.append(required)
                else:
                    missing.append(required)
            relations.append(relation)
    unusable = set(missing)
    broken = break_cycles(r for r in relations if r.target not in unusable)
    after: dict[int, list[int]] = {}
    for relation in broken.kept_relations:
        after.setdefault(relation.target, []).append(relation.source)
    tools = [tool, *(required for required in required_by if required not in unusable)]
    ordered = sort_topologically(tools, after)
    return Closure(
        ordered_tools=tuple(required for required in ordered if required != tool),
        required_by=required_by,
        missing=tuple(missing),
        dropped_relations=broken.dropped_relations,
    )


def _target_tool(relation: Relation) -> int:
    return relation.target
