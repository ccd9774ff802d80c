"""Warn about unknown names of tools, servers and categories in a request."""

from __future__ import annotations

from collections.abc import Iterable

from tools.store.search import SearchContext
from tools.visibility import Visibility

MAX_LISTED = 20
MAX_ID_CHARS = 200
"""Characters of an id that a warning repeats."""
NO_TOOLS_WARNING = (
    "no tool is known yet: `manage.py import_servers` registers servers, "
    "`manage.py discover` asks them for their tools"
)


def find_named_tools(
    visibility: Visibility, ids: Iterable[str], *, argument: str
) -> tuple[SearchContext, tuple[str, ...]]:
    """Look up the tools that an argument names; unknown ones are ignored with a warning.

    Args:
        visibility: What the caller may see.
        ids: Canonical ids or exposed names.
        argument: Name of the argument, for the warning.
    """
    known, unknown = [], []
    for tool_id in dict.fromkeys(ids):
        tool = visibility.catalogue.tools.get(tool_id) or visibility.catalogue.find_exposed(
            tool_id, visibility.caller
        )
        if tool is None or not visibility.caller.can_see(tool):
            unknown.append(tool_id[:MAX_ID_CHARS])
        else:
            known.append(tool)
    context = SearchContext(
        tools=frozenset(tool.pk for tool in known),
        servers=frozenset(tool.server for tool in known),
    )
    if not unknown:
        return context, ()
    more = f" and {len(unknown) - MAX_LISTED} more" if len(unknown) > MAX_LISTED else ""
    named = ", ".join(repr(tool_id) for tool_id in unknown[:MAX_LISTED])
    return context, (f"{argument}: there is no tool {named}{more}; ignored",)


def warn_unknown_filters(
    visibility: Visibility, *, server: str | None, category: str | None
) -> tuple[str, ...]:
    """Say that the answer is empty because of unknown filters or an empty catalogue."""
    catalogue, caller = visibility.catalogue, visibility.caller
    if not catalogue.tools:
        return (NO_TOOLS_WARNING,)
    warnings = []
    servers = [one.name for one in catalogue.list_servers(caller)]
    if server is not None and server not in servers:
        warnings.append(f"there is no server {server!r}; {_list_known_names(servers)}")
    if category is not None:
        visible = (tool for tool in catalogue.tools.values() if caller.can_see(tool))
        categories = {tool.category for tool in visible if tool.category}
        if category not in categories:
            warnings.append(f"there is no category {category!r}; {_list_known_names(categories)}")
    return tuple(warnings)


def _list_known_names(names: Iterable[str]) -> str:
    listed = sorted(names)
    more = f" and {len(listed) - MAX_LISTED} more" if len(listed) > MAX_LISTED else ""
    return f"there are {', '.join(listed[:MAX_LISTED])}{more}" if listed else "there is none yet"
