"""The canonical id `server:tool`, the exposed name `server__tool`, and the way between them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable

SEPARATOR = ":"
EXPOSED_SEPARATOR = "__"
MAX_EXPOSED = 40
"""Claude's API takes 64 characters, and Claude Code prepends `mcp__<server>__`."""
MAX_BARE = 64
"""A bare name is its server's own: it is kept as long as Claude's API takes it."""
HASH_LENGTH = 6
LONG_HASH_LENGTH = 16
RESERVED = frozenset(
    {
        "call_tool",
        "control_run",
        "describe_tool",
        "get_run",
        "give_feedback",
        "run_intent",
        "run_workflow",
        "search_tools",
    }
)
"""Names of the gateway's own tools, which no tool of a server may take."""
_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")


class MalformedToolId(ValueError):
    """A text that is not of the form server:tool."""


def join(server: str, tool: str) -> str:
    """Return the canonical id.

    Example:
        >>> join("git", "git_log")
        'git:git_log'
    """
    return f"{server}{SEPARATOR}{tool}"


def split(tool_id: str) -> tuple[str, str]:
    """Split a canonical id at its first colon; a server's name holds none.

    Raises:
        MalformedToolId: If either half is missing.

    Example:
        >>> split("files:read:text")
        ('files', 'read:text')
    """
    server, separator, tool = tool_id.partition(SEPARATOR)
    if not (server and separator and tool):
        raise MalformedToolId(f"{tool_id!r} is not of the form server:tool")
    return server, tool


def exposed_name(server: str, tool: str) -> str:
    """Return the name a client sees when a tool is listed by itself.

    Characters outside [a-zA-Z0-9_-] become `_`. A name that was changed or is longer than
    `MAX_EXPOSED` ends in a hash of the canonical id, so that two ids never share a name by
    accident of replacement and the same id always gets the same name.

    Example:
        >>> exposed_name("git", "git_log")
        'git__git_log'
        >>> exposed_name("my.files", "read file")
        'my_files__read_file_12003d'
    """
    plain = f"{server}{EXPOSED_SEPARATOR}{tool}"
    name = _FOREIGN.sub("_", plain)
    ambiguous = EXPOSED_SEPARATOR in server or EXPOSED_SEPARATOR in tool or server.endswith("_")
    if name == plain and len(name) <= MAX_EXPOSED and not ambiguous:
        return name
    return _marked(name, server, tool)


def bare_name(server: str, tool: str) -> str:
    """Return the name of a tool of the one server that is exposed without a prefix.

    It is the tool's own, unless clients would not take it, or it could be mistaken for the
    exposed name of another server's tool or for a tool of the gateway itself.

    Example:
        >>> bare_name("git", "git_log")
        'git_log'
        >>> bare_name("git", "call_tool")
        'call_tool_e98cf9'
    """
    name = _FOREIGN.sub("_", tool)
    ambiguous = EXPOSED_SEPARATOR in tool or tool in RESERVED
    if name == tool and len(name) <= MAX_BARE and not ambiguous:
        return name
    return _marked(name, server, tool)


def by_exposed_name(tool_ids: Iterable[str], *, bare: Collection[str] = ()) -> dict[str, str]:
    """Map exposed names to canonical ids.

    Where two ids would share a name all the same, the first of them keeps it and the other gets a
    longer hash; those with a prefix come first, in order of their ids.

    Args:
        tool_ids: All there are.
        bare: Servers whose tools are exposed by their bare names; one at most.

    Example:
        >>> by_exposed_name(["git:git_log"])
        {'git__git_log': 'git:git_log'}
        >>> by_exposed_name(["git:git_log"], bare=["git"])
        {'git_log': 'git:git_log'}
    """
    names: dict[str, str] = {}
    halves = sorted((split(tool_id)[0] in bare, tool_id) for tool_id in tool_ids)
    for is_bare, tool_id in halves:
        server, tool = split(tool_id)
        name = bare_name(server, tool) if is_bare else exposed_name(server, tool)
        if name in names:
            name = _marked(name, server, tool, length=LONG_HASH_LENGTH)
        names[name] = tool_id
    return names


def _marked(name: str, server: str, tool: str, *, length: int = HASH_LENGTH) -> str:
    mark = hashlib.sha256(join(server, tool).encode("utf-8", "backslashreplace")).hexdigest()
    return f"{name[: MAX_EXPOSED - length - 1]}_{mark[:length]}"
