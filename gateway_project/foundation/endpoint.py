"""Paths at which MCP is spoken over HTTP."""

from __future__ import annotations

import re
from typing import Final

ENDPOINT_PATH: Final = "/mcp"
GROUP_NAME_PATTERN: Final = "^[a-z0-9][a-z0-9_-]{0,63}$"
_GROUP_PATH: Final = re.compile(f"{ENDPOINT_PATH}/groups/({GROUP_NAME_PATTERN[1:-1]})")


def is_endpoint(path: str) -> bool:
    """Whether a path is that of the endpoint, or of the endpoint of a tool group.

    Example:
        >>> is_endpoint("/mcp/"), is_endpoint("/mcp/groups/a/"), is_endpoint("/mcp/groups/")
        (True, True, False)
    """
    path = path.rstrip("/")
    return path == ENDPOINT_PATH or _GROUP_PATH.fullmatch(path) is not None


def find_group(path: str) -> str | None:
    """Return the name of the tool group in an endpoint's path; None: there is none.

    Example:
        >>> find_group("/mcp/groups/desk"), find_group("/mcp")
        ('desk', None)
    """
    match = _GROUP_PATH.fullmatch(path.rstrip("/"))
    return match[1] if match else None
