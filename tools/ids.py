"""Canonical ids `server:tool`, exposed names `server__tool`, and their conversion."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable

SEPARATOR = ":"
EXPOSED_SEPARATOR = "__"
MAX_EXPOSED_LENGTH = 40
"""Claude's API takes 64 characters, and Claude Code prepends `mcp__<server>__`."""
MAX_BARE_LENGTH = 64
"""Limit of Claude's API; a bare name is the server's own and gets no prefix from us."""
HASH_LENGTH = 6
LONG_HASH_LENGTH = 16
RESERVED_NAMES = frozenset(
    {
        "call_tool",
        "control_run",
        "describe_tool",
        "get_run",
        "give_feedback",
        "read_tool",
        "read_workflow",
        "run_intent",
        "run_workflow",
        "search_tools",
    }
)
"""Names of the meta-tools and of a future one, which no server's tool may take."""
_UNSAFE_CHARACTER = re.compile(r"[^a-zA-Z0-9_-]")


class MalformedToolId(ValueError):
    """The text does not have the form server:tool."""


def join_id(server: str, tool: str) -> str:
    """Return the canonical id.

    Example:
        >>> join_id("git", "git_log")
        'git:git_log'
    """
    return f"{server}{SEPARATOR}{tool}"


def split_id(tool_id: str) -> tuple[str, str]:
    """Split a canonical id at its first colon; server names contain none.

    Raises:
        MalformedToolId: If either half is missing.

    Example:
        >>> split_id("files:read:text")
        ('files', 'read:text')
    """
    server, separator, tool = tool_id.partition(SEPARATOR)
    if not (server and separator and tool):
        raise MalformedToolId(f"{tool_id!r} is not of the form server:tool")
    return server, tool


def exposed_name(server: str, tool: str, *, limit: int = MAX_EXPOSED_LENGTH) -> str:
    """Return the name under which clients list a tool.

    Characters outside [a-zA-Z0-9_-] become `_`, which also precedes a digit or `-` at the start.
    A name that was changed or is longer than the limit ends in a hash of the canonical id, so that
    replacement cannot make two ids share a name, and the same id always gets the same name.

    Args:
        server: Name of the server.
        tool: Name of its tool.
        limit: Characters that the client takes.

    Example:
        >>> exposed_name("git", "git_log")
        'git__git_log'
        >>> exposed_name("my.files", "read file")
        'my_files__read_file_12003d'
    """
    plain = f"{server}{EXPOSED_SEPARATOR}{tool}"
    name = _make_safe(plain)
    ambiguous = EXPOSED_SEPARATOR in server or EXPOSED_SEPARATOR in tool or server.endswith("_")
    if name == plain and len(name) <= limit and not ambiguous:
        return name
    return _append_hash(name, server, tool, limit=limit)


def bare_name(server: str, tool: str) -> str:
    """Return the exposed name of a tool of the one server without a prefix.

    It is the tool's own name, unless clients would reject it, or it could be mistaken for the
    exposed name of another server's tool or for a meta-tool.

    Example:
        >>> bare_name("git", "git_log")
        'git_log'
        >>> bare_name("git", "call_tool")
        'call_tool_e98cf9'
    """
    name = _make_safe(tool)
    ambiguous = EXPOSED_SEPARATOR in tool or tool in RESERVED_NAMES
    if name == tool and len(name) <= MAX_BARE_LENGTH and not ambiguous:
        return name
    return _append_hash(name, server, tool)


def map_exposed_names(
    tool_ids: Iterable[str], *, bare: Collection[str] = (), limit: int = MAX_EXPOSED_LENGTH
) -> dict[str, str]:
    """Map exposed names to canonical ids.

    If two ids would still share a name, the first keeps it and the other gets a longer hash;
    prefixed names come first, then by id.

    Args:
        tool_ids: All canonical ids.
        bare: Servers whose tools are exposed by their bare names; one at most.
        limit: Characters of a prefixed name that the client takes.

    Example:
        >>> map_exposed_names(["git:git_log"])
        {'git__git_log': 'git:git_log'}
        >>> map_exposed_names(["git:git_log"], bare=["git"])
        {'git_log': 'git:git_log'}
    """
    names: dict[str, str] = {}
    ordered = sorted((split_id(tool_id)[0] in bare, tool_id) for tool_id in tool_ids)
    for is_bare, tool_id in ordered:
        server, tool = split_id(tool_id)
        name = bare_name(server, tool) if is_bare else exposed_name(server, tool, limit=limit)
        if name in names:
            name = _append_hash(name, server, tool, length=LONG_HASH_LENGTH, limit=limit)
        names[name] = tool_id
    return names


def _make_safe(name: str) -> str:
    """Return a name of characters that every client takes; Gemini's begin with a letter or `_`."""
    safe = _UNSAFE_CHARACTER.sub("_", name)
    return f"_{safe}" if safe[:1].isdigit() or safe.startswith("-") else safe


def _append_hash(
    name: str,
    server: str,
    tool: str,
    *,
    length: int = HASH_LENGTH,
    limit: int = MAX_EXPOSED_LENGTH,
) -> str:
    mark = hashlib.sha256(join_id(server, tool).encode("utf-8", "backslashreplace")).hexdigest()
    return f"{name[: limit - length - 1]}_{mark[:length]}"
