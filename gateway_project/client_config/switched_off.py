"""Servers and tools that a client has disabled outside their servers' own entries."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from gateway_project.client_config import jsonc, raw_file
from gateway_project.client_config.clients import follow_path
from gateway_project.client_config.locate import PlatformFolders
from gateway_project.client_config.raw_file import UnreadableConfig
from gateway_project.client_config.read_filter import is_switched_off, select_excluded
from tools.tool_filter import ToolFilter

TOOL_SWITCHES = (
    ("claude-code", ("permissions", "deny")),
    ("gemini", ("tools", "exclude")),
    ("gemini", ("excludeTools",)),  # before 0.3
    ("zed", ("agent", "tool_permissions", "tools")),
    ("amp", ("amp.tools.disable",)),
    ("opencode", ("tools",)),
    ("opencode", ("permission",)),
)
"""Client, and path in its file to a list of names of tools, or an object with a switch of each."""
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
    """Return the names that Claude Code's file or settings disable in a project's `.mcp.json`."""
    own = follow_path(document, ("projects", str(project)))
    key = "disabledMcpjsonServers"
    return frozenset((*_get_text_list(own, key), *_get_text_list(document, key)))


def find_tool_filter(document: Any, server: str, *, client: str) -> ToolFilter:
    """Return which tools of a server a file switches off outside the server's entry.

    Args:
        document: A client's parsed file, or its settings.
        server: Name of the server.
        client: Name of the client whose file it is; empty: any.

    Example:
        >>> settings = {"permissions": {"deny": ["mcp__git__push"]}}
        >>> find_tool_filter(settings, "git", client="claude-code").exclude
        ('push',)
    """
    denied: list[str] = []
    for owner, path in TOOL_SWITCHES:
        if client and client != owner:
            continue
        switches = follow_path(document, path)
        if isinstance(switches, list):
            denied += [name for name in switches if isinstance(name, str)]
        elif isinstance(switches, Mapping):
            denied += [name for name, value in switches.items() if is_switched_off(value)]
    return select_excluded(denied, server=server) & _read_zed_profile(document, server)


def _read_zed_profile(document: Any, server: str) -> ToolFilter:
    """Return which tools Zed's profile for new threads leaves out."""
    agent = _get_member(document, "agent")
    name = _get_member(agent, "default_profile") or "write"
    profile = follow_path(agent, ("profiles", str(name)))
    tools = follow_path(profile, ("context_servers", server, "tools"))
    switches = tools if isinstance(tools, Mapping) else {}
    is_list = _get_member(profile, "enable_all_context_servers") is False
    return ToolFilter(
        include=tuple(name for name, on in switches.items() if on is True) if is_list else None,
        exclude=tuple(name for name, on in switches.items() if on is False),
    )


def load_claude_settings(project: Path, folders: PlatformFolders) -> tuple[Any, ...]:
    """Return Claude Code's settings for a project.

    An unreadable settings file is ignored; Claude Code itself reports it.
    """
    folder = folders.environ.get("CLAUDE_CONFIG_DIR")
    user = (Path(folder) if folder else folders.home / ".claude") / "settings.json"
    return tuple(map(_load_settings, (*(project / file for file in PROJECT_SETTINGS), user)))


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
