"""Rules of enhancement: visibility, filters and tie-breaking data of the caller."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from graph.topology import accept_every_tool


@dataclass(frozen=True, kw_only=True, slots=True)
class EnhancementRules:
    """What the caller of a search may see and uses already, and the data that breaks ties.

    Attributes:
        is_usable: Tells whether the caller may use a tool now.
        is_wanted: Tells whether a tool passes the filters of the search.
        tools_in_use: Tools the caller uses already: neither listed again nor missing.
        usage_counts: How often the caller's team called each tool, by primary key.
        pagerank_of: A tool's share of all rank in the shared graph, in [0, 1].
        is_trusted_pair: Tells whether a relation that only servers vouch for (by schemas, texts
            and result shapes) suffices to add one of two tools for the other.
        may_destroy: Tells whether a tool is destructive or dangerous; what runs alone taught adds
            none to an answer.
    """

    is_usable: Callable[[int], bool] = accept_every_tool
    is_wanted: Callable[[int], bool] = accept_every_tool
    tools_in_use: Collection[int] = frozenset()
    usage_counts: Mapping[int, int] = field(default_factory=dict)
    pagerank_of: Callable[[int], float] = lambda _tool: 0.0
    is_trusted_pair: Callable[[int, int], bool] = lambda _source, _target: True
    may_destroy: Callable[[int], bool] = lambda _tool: False
