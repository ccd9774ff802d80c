"""Collect the tools that a match requires, in display order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from typing import NamedTuple

from graph.enhance.answer import Remark, RemarkKind
from graph.relations import Relation, RelationKind, is_server_guess
from graph.topology import Topology


class RequiredClosure(NamedTuple):
    """The closure of a tool under required dependencies.

    Attributes:
        required_by: For each required tool, the tool that requires it; nearest first.
        confidence: For each required tool, the lowest confidence on the path to it.
        missing_remarks: About required tools that cannot be used; their own requirements are not
            followed.
    """

    required_by: dict[int, int]
    confidence: dict[int, float]
    missing_remarks: tuple[Remark, ...]


def collect_required(
    topology: Topology,
    tool: int,
    *,
    usable: Callable[[int], bool],
    satisfied: Collection[int],
) -> RequiredClosure:
    """Collect the tools that a tool requires, directly or transitively.

    Nearest first, so that a cut for size drops the farthest. Among the requirements of one tool,
    those known to feed it data come before mere prerequisites, then those with more predecessors.
    Breadth first; O(n log n) in the relations reached.

    Args:
        topology: Relations as the caller sees them.
        tool: Primary key of the tool.
        usable: Tells whether the caller may use a tool.
        satisfied: Tools in use already; they and their requirements are skipped.

    Returns:
        The closure; each remark is about the tool that directly lacks the other.

    Example:
        >>> topology = Topology([Relation(1, 2, RelationKind.DEPENDS_ON, 1.0),
        ...                      Relation(2, 3, RelationKind.DEPENDS_ON, 1.0)])
        >>> collect_required(topology, 1, usable=lambda tool: True, satisfied=()).required_by
        {2: 1, 3: 2}
    """
    required_by: dict[int, int] = {tool: tool}
    confidence = {tool: 1.0}
    missing: dict[int, Remark] = {}
    queue = deque([tool])
    while queue:
        current = queue.popleft()
        for relation in _sort_requirements(topology, current):
            required = relation.target
            if required in required_by or required in missing or required in satisfied:
                continue
            if not usable(required):
                missing[required] = Remark(RemarkKind.LACKS, current, required, relation)
                continue
            required_by[required] = current
            confidence[required] = min(confidence[current], relation.confidence)
            queue.append(required)
    del required_by[tool], confidence[tool]
    return RequiredClosure(required_by, confidence, tuple(missing.values()))


def _sort_requirements(topology: Topology, tool: int) -> list[Relation]:
    def sort_key(relation: Relation) -> tuple[bool, int, int]:
        required = relation.target
        data_flow = topology.get(required, tool, RelationKind.PROVIDES)
        feeds = data_flow is not None and not is_server_guess(data_flow)
        return (not feeds, -len(topology.predecessors(required)), required)

    relations = list(topology.required_relations(tool))
    return sorted(relations, key=sort_key) if len(relations) > 1 else relations
