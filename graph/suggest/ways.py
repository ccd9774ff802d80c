"""How the tools of a workflow lead to one another, directly or by way of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import Final

from graph import explain
from graph.explain import Path, Vocabulary
from graph.relations import Kind
from graph.topology import Topology

MAX_PATHS: Final = 8
MAX_HOPS: Final = 3
LEAST: Final = 0.25
"""Product of the hops' confidences; less tells nothing."""


def paths(
    topology: Topology, tools: Sequence[int], names: Callable[[int], str]
) -> tuple[Path, ...]:
    """Find the surest ways between tools; direct ones first, then by confidence.

    What tools are merely often used together for is no dependency and is left out.

    Args:
        topology: The relations around the tools: ways are searched in all of it.
        tools: Primary keys; repeated ones count once.
        names: Name of a tool by primary key.
    """
    found = list(_found(topology, tuple(dict.fromkeys(tools)), Vocabulary(names=names)))
    found.sort(key=lambda path: (not path.is_direct, -path.confidence, path.tools))
    return tuple(found[:MAX_PATHS])


def _found(topology: Topology, tools: Sequence[int], words: Vocabulary) -> Iterator[Path]:
    for start, end in permutations(tools, 2):
        path = explain.routes(topology, start, end, words=words).strongest
        if path is not None and len(path.hops) <= MAX_HOPS and path.confidence >= LEAST:
            kinds = {hop.relation.kind for hop in path.hops}
            passes = set(path.tools[1:-1]) & set(tools)
            if Kind.OFTEN_USED_WITH not in kinds and not passes:
                yield path
