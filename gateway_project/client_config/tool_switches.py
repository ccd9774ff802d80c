"""Servers and tools that a client's file switches off, in a server's entry or outside of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from gateway_project.client_config import clients, jsonc, raw_file
from gateway_project.client_config.clients import KeyUse, PlatformFolders, follow_path
from gateway_project.client_config.raw_file import UnreadableConfig
from tools.tool_filter import ToolFilter

PROJECT_SETTINGS = (".claude/settings.local.json", ".claude/settings.json")
_INCLUDE_KEYS: Final = ("include", "allow", "allowed", "enabled")
_EXCLUDE_KEYS: Final = ("exclude", "deny", "denied", "disallow", "block", "blocked", "disabled")
_OFF_WORDS: Final = ("block", "blocked", "deny", "denied", "disabled", "false", "never", "off")
_PREFIXES: Final = (
    *(("mcp__", "__"), ("mcp_", "_"), ("mcp:", ":")),
    *(("", "__"), ("", "_"), ("", ":"), ("", "/"), ("", ".")),
)
_BARE_NAME: Final = re.compile(r"(?!mcp[_:])[\w.*-]+")
_NON_WORD: Final = re.compile(r"[^A-Za-z0-9_-]")


def read_filter(value: Any, *, use: KeyUse, key: str, server: str) -> ToolFilter:
    """Read the value of a key that restricts a server's tools.

    Args:
        value: List of names or patterns, text with such, or for `TOOLS` also an object: of names
            and switches, or of lists.
        use: `INCLUDE`, `EXCLUDE` or `TOOLS`.
        key: The key, for errors.
        server: Name of the server, which names of tools may begin with.

    Raises:
        ValueError: If it cannot be read; ignoring it would switch tools on.

    Example:
        >>> read_filter({"a": False, "b": True}, use=KeyUse.TOOLS, key="tools", server="x")
        ToolFilter(include=None, exclude=('a',))
    """
    if value is None:
        return ToolFilter()
    if use is KeyUse.TOOLS and isinstance(value, dict):
        return _read_switches(value, key=key, server=server)
    if use is KeyUse.TOOLS and isinstance(value, list) and any(isinstance(i, dict) for i in value):
        named = {str(i.get("name")): i for i in value if isinstance(i, dict)}
        return _read_switches(named, key=key, server=server)
    names = _read_names(value, key)
    if use is KeyUse.EXCLUDE:
        return exclude_names(names, server=server)
    return ToolFilter(include=None if "*" in names else tuple(names))


def exclude_names(names: Iterable[str], *, server: str) -> ToolFilter:
    """Return a filter that switches tools off, whose names may begin with the server's.

    Example:
        >>> exclude_names(["mcp__git__push"], server="git").exclude
        ('mcp__git__push', 'push')
    """
    found: dict[str, None] = {}
    for name in names:
        found[name] = None
        found |= dict.fromkeys(_strip_server(name, server))
    return ToolFilter(exclude=tuple(found))


def select_excluded(patterns: Iterable[str], *, server: str) -> ToolFilter:
    """Return what a client's list for all of its servers switches off of one server.

    Args:
        patterns: Names of tools, with or without their server's, or patterns of such names.
        server: The server.

    Example:
        >>> select_excluded(["mcp__git__push", "mcp__time", "Bash(rm *)"], server="git").exclude
        ('push',)
        >>> select_excluded(["mcp__git"], server="git").exclude
        ('*',)
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        if _covers_server(pattern, server):
            found["*"] = None
        elif own := _strip_server(pattern, server):
            found |= dict.fromkeys(own)
        elif _BARE_NAME.fullmatch(pattern):
            found[pattern] = None
    return ToolFilter(exclude=tuple(found))


def _covers_server(pattern: str, server: str) -> bool:
    """Whether a pattern means all tools of a server, such as `mcp__git` and `git_*`."""
    for prefix in _list_prefixes(server):
        is_whole = prefix.startswith("mcp") and pattern == prefix.rstrip("_:")
        if is_whole or ("*" in pattern and fnmatchcase(prefix, pattern)):
            return True
    return False


def _strip_server(name: str, server: str) -> list[str]:
    prefixes = (p for p in _list_prefixes(server) if name.startswith(p) and name != p)
    longest = max(prefixes, key=len, default="")
    return [name.removeprefix(longest)] if longest else []


def _list_prefixes(server: str) -> list[str]:
    """Return what clients write before the name of a server's tool."""
    forms = dict.fromkeys((server, _NON_WORD.sub("_", server)))
    return [f"{lead}{form}{end}" for form in forms for lead, end in _PREFIXES]


def _read_switches(value: Mapping[str, Any], *, key: str, server: str) -> ToolFilter:
    total = ToolFilter()
    off = []
    for name, item in value.items():
        if isinstance(item, list) and name in _INCLUDE_KEYS:
            total &= ToolFilter(include=tuple(_read_names(item, f"{key}.{name}")))
        elif isinstance(item, list) and name in _EXCLUDE_KEYS:
            off += _read_names(item, f"{key}.{name}")
        elif is_switched_off(item):
            off.append(name)
    return total & exclude_names(off, server=server)


def is_switched_off(value: Any) -> bool:
    """Whether a switch of a tool, in the form of any client, is off.

    Example:
        >>> is_switched_off({"enabled": False}), is_switched_off("deny"), is_switched_off("ask")
        (True, True, False)
    """
    if isinstance(value, Mapping):
        off = value.get("enabled") is False or value.get("disabled") is True
        return off or is_switched_off(value.get("default"))
    return value is False or (isinstance(value, str) and value.lower() in _OFF_WORDS)


def _read_names(value: Any, key: str) -> list[str]:
    names = re.split(r"[\s,]+", value.strip()) if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{key} must be a list of names of tools; otherwise they would be on")
    # Gemini CLI once took a name with arguments in parentheses.
    return [short for name in names if (short := name.partition("(")[0].strip())]


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
    owners = clients.CLIENTS.values()
    paths = [path for one in owners if client in ("", one.name) for path in one.tool_switches]
    for path in paths:
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
