"""What to say of names in a request that nobody knows: of tools, servers, categories."""

from __future__ import annotations

from collections.abc import Iterable

from gateway_project.sight import Sight
from tools.store.search import Context

MAX_LISTED = 20
MAX_SHOWN = 200
"""Characters of an id that a warning repeats."""
NO_TOOLS = (
    "no tool is known yet: `manage.py import_servers` registers servers, "
    "`manage.py discover` asks them for their tools"
)


def tools(sight: Sight, ids: Iterable[str], *, argument: str) -> tuple[Context, tuple[str, ...]]:
    """Look up tools that an argument names; what is not known is ignored with a warning.

    Args:
        sight: What the caller may see.
        ids: Canonical ids, or exposed names.
        argument: What names them.
    """
    known, unknown = [], []
    for tool_id in dict.fromkeys(ids):
        found = sight.catalogue.tools.get(tool_id)
        tool = found or sight.catalogue.exposed(tool_id, sight.caller)
        if tool is None or not sight.caller.sees(tool.team):
            unknown.append(tool_id[:MAX_SHOWN])
        else:
            known.append(tool)
    context = Context(
        tools=frozenset(tool.pk for tool in known),
        servers=frozenset(tool.server for tool in known),
    )
    if not unknown:
        return context, ()
    more = f" and {len(unknown) - MAX_LISTED} more" if len(unknown) > MAX_LISTED else ""
    named = ", ".join(repr(tool_id) for tool_id in unknown[:MAX_LISTED])
    return context, (f"{argument}: there is no tool {named}{more}; ignored",)


def filters(sight: Sight, *, server: str | None, category: str | None) -> tuple[str, ...]:
    """Say why an answer is empty that would otherwise mislead."""
    catalogue, caller = sight.catalogue, sight.caller
    if not catalogue.tools:
        return (NO_TOOLS,)
    warnings = []
    servers = [s.name for s in catalogue.servers.values() if s.enabled and caller.sees(s.team)]
    if server is not None and server not in servers:
        warnings.append(f"there is no server {server!r}; {_listed(servers)}")
    if category is not None:
        seen = (tool for tool in catalogue.tools.values() if caller.sees(tool.team))
        categories = {tool.category for tool in seen if tool.category}
        if category not in categories:
            warnings.append(f"there is no category {category!r}; {_listed(categories)}")
    return tuple(warnings)


def _listed(names: Iterable[str]) -> str:
    known = sorted(names)
    more = f" and {len(known) - MAX_LISTED} more" if len(known) > MAX_LISTED else ""
    return f"there are {', '.join(known[:MAX_LISTED])}{more}" if known else "there is none yet"
