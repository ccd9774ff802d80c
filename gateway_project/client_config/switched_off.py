"""Servers that a client has disabled outside their own entries."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from gateway_project.client_config import jsonc, raw_file
from gateway_project.client_config.locate import PlatformFolders
from gateway_project.client_config.raw_file import UnreadableConfig

PROJECT_SETTINGS = (".claude/settings.local.json", ".claude/settings.json")


def names_disabled_in(
    document: Any, project: Path | None, names: Collection[str]
) -> frozenset[str]:
    """Return the names of servers that a file itself disables.

    Args:
        document: The parsed file.
        project: Folder of the project whose list counts, in Claude Code's file.
        names: All servers in the file, to resolve allow-lists.

    Example:
        >>> sorted(names_disabled_in({"mcp": {"allowed": ["a"]}}, None, ["a", "b"]))
        ['b']
    """
    disabled = set(_get_text_list(_get_member(document, "mcp"), "excluded"))
    disabled |= set(_get_text_list(document, "excludeMCPServers"))
    allowed = _get_text_list(_get_member(document, "mcp"), "allowed") or _get_text_list(
        document, "allowMCPServers"
    )
    if allowed:
        disabled |= set(names) - set(allowed)
    project_settings = _get_member(_get_member(document, "projects"), str(project))
    return frozenset(disabled | set(_get_text_list(project_settings, "disabledMcpServers")))


def names_disabled_for_project(document: Any, project: Path) -> frozenset[str]:
    """Return the names that Claude Code's own file disables in a project's `.mcp.json`."""
    project_settings = _get_member(_get_member(document, "projects"), str(project))
    return frozenset(_get_text_list(project_settings, "disabledMcpjsonServers"))


def names_disabled_by_settings(project: Path, folders: PlatformFolders) -> frozenset[str]:
    """Return the names that Claude Code's settings disable in a project's `.mcp.json`.

    An unreadable settings file is ignored; Claude Code itself reports it.
    """
    folder = folders.environ.get("CLAUDE_CONFIG_DIR")
    user = (Path(folder) if folder else folders.home / ".claude") / "settings.json"
    disabled: set[str] = set()
    for path in (*(project / file for file in PROJECT_SETTINGS), user):
        disabled |= set(_get_text_list(_load_settings(path), "disabledMcpjsonServers"))
    return frozenset(disabled)


def _load_settings(path: Path) -> Any:
    try:
        return jsonc.loads(raw_file.read_raw(path).text or "{}")
    except (UnreadableConfig, ValueError, RecursionError):
        return {}


def _get_member(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _get_text_list(value: Any, key: str) -> list[str]:
    items = _get_member(value, key)
    return [item for item in items if isinstance(item, str)] if isinstance(items, list) else []
