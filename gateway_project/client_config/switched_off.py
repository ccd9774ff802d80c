"""Servers that a client lists and has switched off elsewhere than in their entries."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from gateway_project.client_config import jsonc, raw_file
from gateway_project.client_config.locate import Place
from gateway_project.client_config.raw_file import UnreadableConfig

PROJECT_SETTINGS = (".claude/settings.local.json", ".claude/settings.json")


def named_in(document: Any, project: Path | None, names: Collection[str]) -> frozenset[str]:
    """Return the names that a file itself switches off.

    Args:
        document: The whole file.
        project: Folder whose own list counts, in Claude Code's file.
        names: Servers that stand in the file, for lists of those that are allowed.

    Example:
        >>> sorted(named_in({"mcp": {"allowed": ["a"]}}, None, ["a", "b"]))
        ['b']
    """
    off = set(_list(_in(document, "mcp"), "excluded"))
    off |= set(_list(document, "excludeMCPServers"))
    allowed = _list(_in(document, "mcp"), "allowed") or _list(document, "allowMCPServers")
    if allowed:
        off |= set(names) - set(allowed)
    own = _in(_in(document, "projects"), str(project))
    return frozenset(off | set(_list(own, "disabledMcpServers")))


def of_project(document: Any, project: Path) -> frozenset[str]:
    """Return the names that Claude Code's own file switches off in a project's `.mcp.json`."""
    own = _in(_in(document, "projects"), str(project))
    return frozenset(_list(own, "disabledMcpjsonServers"))


def by_settings(project: Path, place: Place) -> frozenset[str]:
    """Return the names that Claude Code's settings switch off in a project's `.mcp.json`.

    A file of settings that cannot be read says nothing; Claude Code complains of it itself.
    """
    folder = place.environ.get("CLAUDE_CONFIG_DIR")
    user = (Path(folder) if folder else place.home / ".claude") / "settings.json"
    off: set[str] = set()
    for path in (*(project / file for file in PROJECT_SETTINGS), user):
        off |= set(_list(_settings(path), "disabledMcpjsonServers"))
    return frozenset(off)


def _settings(path: Path) -> Any:
    try:
        return jsonc.loads(raw_file.read(path).text or "{}")
    except (UnreadableConfig, ValueError, RecursionError):
        return {}


def _in(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _list(value: Any, key: str) -> list[str]:
    found = _in(value, key)
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []
