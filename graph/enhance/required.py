"""What a match cannot do without, in the order it is shown in."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from typing import NamedTuple

from graph.enhance.found import About, Remark
from graph.relations import Kind, Relation, is_guess
from graph.topology import Topology


class Required(NamedTuple):
    """The closure of a tool under required dependencies.

    Attributes:
        via: What requires it, by what is required, nearest to the tool first.
        confidence: The least on the way there from the tool, by what is required.
        lacking: What is required and cannot be used; what that requires is not followed.
    """

    via: dict[int, int]
    confidence: dict[int, float]
    lacking: tuple[Remark, ...]


def required(
    topology: Topology,
    tool: int,
    *,
    usable: Callable[[int], bool],
    satisfied: Collection[int],
) -> Required:
    """Collect what a tool requires, directly or by what it requires.

    Nearest first, so that what is left out for its size is what is farthest. Of what one tool
    requires, that which is known to feed it data comes before that which must only have happened,
    and then what more tools lead to. Breadth first; O(n log n) in the relations reached.

    Args:
        topology: Where to look.
        tool: Its primary key.
        usable: Whether a tool may be used.
        satisfied: Tools that need not be required any more, nor what they require.

    Returns:
        What is found; its remarks are of the tool that lacks something itself.

    Example:
        >>> topology = Topology([Relation(1, 2, Kind.DEPENDS_ON, 1.0),
        ...                      Relation(2, 3, Kind.DEPENDS_ON, 1.0)])
        >>> required(topology, 1, usable=lambda tool: True, satisfied=()).via
        {2: 1, 3: 2}
    """
    via: dict[int, int] = {tool: tool}
    confidence = {tool: 1.0}
    lacking: dict[int, Remark] = {}
    waiting = deque([tool])
    while waiting:
        current = waiting.popleft()
        for relation in _in_order(topology, current):
            needed = relation.target
            if needed in via or needed in lacking or needed in satisfied:
                continue
            if not usable(needed):
                lacking[needed] = Remark(About.LACKS, current, needed, relation)
                continue
            via[needed] = current
            confidence[needed] = min(confidence[current], relation.confidence)
            waiting.append(needed)
    del via[tool], confidence[tool]
    return Required(via, confidence, tuple(lacking.values()))


def _in_order(topology: Topology, tool: int) -> list[Relation]:
    def place(relation: Relation) -> tuple[bool, int, int]:
        needed = relation.target
        flow = topology.get(needed, tool, Kind.PROVIDES)
        feeds = flow is not None and not is_guess(flow)
        return (not feeds, -len(topology.predecessors(needed)), needed)

    found = list(topology.requires(tool))
    return sorted(found, key=place) if len(found) > 1 else found
