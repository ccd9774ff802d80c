"""The canonical id `server:tool`, the exposed name `server__tool`, and the way between them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

SEPARATOR = ":"
EXPOSED_SEPARATOR = "__"
MAX_EXPOSED = 40
"""Claude's API takes 64 characters, and Claude Code prepends `mcp__<server>__`."""
HASH_LENGTH = 6
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
    mark = hashlib.sha256(join(server, tool).encode("utf-8", "backslashreplace")).hexdigest()
    return f"{name[: MAX_EXPOSED - HASH_LENGTH - 1]}_{mark[:HASH_LENGTH]}"


def by_exposed_name(tool_ids: Iterable[str]) -> dict[str, str]:
    """Map exposed names to canonical ids.

    Example:
        >>> by_exposed_name(["git:git_log"])
        {'git__git_log': 'git:git_log'}
    """
    return {exposed_name(*split(tool_id)): tool_id for tool_id in tool_ids}
