"""Which tool groups a tool is in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_NO_GROUPS: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class GroupMembers:
    """The tools of a group: those that any of the three sets names.

    Attributes:
        name: Of the group.
        servers: Names of servers, with all their tools.
        categories: Names of categories, with all their tools.
        tools: Ids of further tools.
    """

    name: str
    servers: frozenset[str] = frozenset()
    categories: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class GroupIndex:
    """Names of groups by what they name.

    Attributes:
        by_server: By name of a server.
        by_category: By name of a category.
        by_tool: By id of a tool.
    """

    by_server: Mapping[str, frozenset[str]]
    by_category: Mapping[str, frozenset[str]]
    by_tool: Mapping[str, frozenset[str]]

    def find_groups(self, tool_id: str, *, server: str, category: str) -> frozenset[str]:
        """Return the names of the groups that hold a tool.

        Args:
            tool_id: Its id.
            server: Name of its server.
            category: Name of its category; empty: none.
        """
        return (
            self.by_tool.get(tool_id, _NO_GROUPS)
            | self.by_server.get(server, _NO_GROUPS)
            | (self.by_category.get(category, _NO_GROUPS) if category else _NO_GROUPS)
        )


def index_groups(groups: Iterable[GroupMembers]) -> GroupIndex:
    """Index groups by what they name; O(number of names).

    Example:
        >>> index = index_groups([GroupMembers(name="a", servers=frozenset({"git"}))])
        >>> index.find_groups("git:log", server="git", category="")
        frozenset({'a'})
    """
    servers: dict[str, set[str]] = defaultdict(set)
    categories: dict[str, set[str]] = defaultdict(set)
    tools: dict[str, set[str]] = defaultdict(set)
    for group in groups:
        for names, index in (
            (group.servers, servers),
            (group.categories, categories),
            (group.tools, tools),
        ):
            for name in names:
                index[name].add(group.name)
    return GroupIndex(
        by_server=_freeze(servers), by_category=_freeze(categories), by_tool=_freeze(tools)
    )


def _freeze(index: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    return {name: frozenset(groups) for name, groups in index.items()}
