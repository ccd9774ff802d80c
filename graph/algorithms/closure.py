"""What a tool cannot do without: everything required, directly or by what is required."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from graph.algorithms.cycles import break_cycles, topological_order
from graph.relations import Relation
from graph.topology import Topology, always


@dataclass(frozen=True, kw_only=True, slots=True)
class Closure:
    """The required dependencies of a tool.

    Attributes:
        ordered: All that can be used, each after what it requires itself; without the tool. Where
            the tool itself is on a cycle, `run_order` of all of them says which goes first.
        via: Who requires each of them, and each missing one, on a shortest chain from the tool.
        missing: Those that cannot be used; what they require in turn is not followed.
        cut: Relations that the order goes against, because they are on a cycle.
    """

    ordered: tuple[int, ...]
    via: Mapping[int, int]
    missing: tuple[int, ...]
    cut: tuple[Relation, ...]


def closure(topology: Topology, tool: int, *, usable: Callable[[int], bool] = always) -> Closure:
    """Collect the required dependencies of a tool, in an order in which they can run.

    For whoever wants all of it in one order, and what evaluation compares answers with. What a
    search adds beneath a match is walked nearest first instead (`graph.enhance.required`), so
    that what does not fit is what is farthest.

    O(tools log tools + relations) of what is reached, plus the breaking of cycles.

    Args:
        topology: Where to look.
        tool: Its key; one without relations has no dependencies.
        usable: Says whether a tool may be used at all.
    """
    via: dict[int, int] = {}
    missing: list[int] = []
    needs: list[Relation] = []
    waiting = deque([tool])
    while waiting:
        current = waiting.popleft()
        for relation in sorted(topology.requires(current), key=_target):
            needed = relation.target
            is_new = needed != tool and needed not in via
            if is_new:
                via[needed] = current
                if usable(needed):
                    waiting.append(needed)
                else:
                    missing.append(needed)
            needs.append(relation)
    left_out = set(missing)
    broken = break_cycles(r for r in needs if r.target not in left_out)
    after: dict[int, list[int]] = {}
    for relation in broken.kept:
        after.setdefault(relation.target, []).append(relation.source)
    found = [tool, *(needed for needed in via if needed not in left_out)]
    ordered = topological_order(found, after)
    return Closure(
        ordered=tuple(needed for needed in ordered if needed != tool),
        via=via,
        missing=tuple(missing),
        cut=broken.cut,
    )


def _target(relation: Relation) -> int:
    return relation.target
