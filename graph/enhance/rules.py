"""What the caller of a search may see and has, and what settles ties among tools."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from graph.topology import always


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """What the caller of a search may see, and what it has.

    Attributes:
        usable: Whether a tool may be used by the caller now.
        wanted: Whether a tool passes the filters of the search.
        in_use: Tools the caller uses already: not listed again, and not lacking.
        usage: How often the caller's team called each tool, by primary key.
        pagerank: A tool's share of all rank in the shared graph, in [0, 1].
        vouched: Whether what servers alone say of two tools, by schemas, texts and the shapes of
            results, is enough to bring one along with the other.
    """

    usable: Callable[[int], bool] = always
    wanted: Callable[[int], bool] = always
    in_use: Collection[int] = frozenset()
    usage: Mapping[int, int] = field(default_factory=dict)
    pagerank: Callable[[int], float] = lambda _tool: 0.0
    vouched: Callable[[int, int], bool] = lambda _one, _other: True
