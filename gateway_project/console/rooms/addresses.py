"""Addresses of the pages of servers and tools, whose names may hold any character."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.urls import reverse

ODD: Final = ":"
"""Stands in a path for a name that cannot: no name of a server or tool is a colon."""


def server_address(name: str) -> str:
    """Return the address of a server's page.

    Example:
        >>> server_address("a/b"), server_address("add")
        ('/servers/a/b/', '/servers/:/?name=add')
    """
    if name.split("/")[0] == "add" or not _fits_path(name):
        return reverse("server-page", args=[ODD], query={"name": name})
    return reverse("server-page", args=[name])


def tool_address(tool: str) -> str:
    """Return the address of a tool's page.

    Example:
        >>> tool_address("fs:read/it"), tool_address("fs:a/../b")
        ('/tools/fs:read/it/', '/tools/:/?name=fs%3Aa%2F..%2Fb')
    """
    if not _fits_path(tool):
        return reverse("tool-page", args=[ODD], query={"name": tool})
    return reverse("tool-page", args=[tool])


def run_address(run: UUID) -> str:
    """Return the address of a run's page.

    Example:
        >>> run_address(UUID(int=1))
        '/runs/00000000-0000-0000-0000-000000000001/'
    """
    return f"/runs/{run}/"


def read_name(path: str, query: str | None) -> str:
    """Return the name that an address means."""
    return query or "" if path == ODD else path


def _fits_path(name: str) -> bool:
    r"""Whether a name survives in a path: browsers resolve dots, and a line break ends it."""
    return not any(step in ("", ".", "..") for step in name.split("/")) and "\n" not in name
