"""The known MCP clients: names, file formats and locations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gateway_project.client_config.placeholders import PlaceholderSyntax

_NO_PLACEHOLDERS: Final = PlaceholderSyntax()


@dataclass(frozen=True, kw_only=True)
class KnownClient:
    """A client and the locations of its configuration.

    Attributes:
        name: Name on the command line.
        title: Display name.
        servers_key: Member of the file that holds the servers.
        is_toml: Whether the file is TOML; else it is JSON with comments.
        holders: Paths within the file to objects that hold `servers` too.
        more_project_files: Patterns of other files below a project's folder that are read.
        more_user_files: Patterns of such files below the folder of a user's file.
        project_file: File below a project's folder; empty if there is none.
        home_files: Files below the user's home folder.
        config_files: Files below $XDG_CONFIG_HOME on Linux, or ~/.config.
        library_files: Files below ~/Library/Application Support on macOS.
        roaming_files: Files below %APPDATA% on Windows, for users of WSL.
        folder_override: Variable that names another folder, and the file below it; replaces
            `home_files`.
        syntax: Placeholders that it replaces in the texts of an entry.
        reload_hint: How to make the client reload its file.
    """

    name: str
    title: str
    servers_key: str
    is_toml: bool = False
    holders: tuple[tuple[str, ...], ...] = ()
    more_project_files: tuple[str, ...] = ()
    more_user_files: tuple[str, ...] = ()
    project_file: str = ""
    home_files: tuple[str, ...] = ()
    config_files: tuple[str, ...] = ()
    library_files: tuple[str, ...] = ()
    roaming_files: tuple[str, ...] = ()
    folder_override: tuple[str, str] = ("", "")
    syntax: PlaceholderSyntax = _NO_PLACEHOLDERS
    reload_hint: str = ""


_CLAUDE_DESKTOP = "Claude/claude_desktop_config.json"
_VSCODE = ("Code/User/mcp.json", "Code - Insiders/User/mcp.json", "VSCodium/User/mcp.json")

CLIENTS: Final = {
    client.name: client
    for client in (
        KnownClient(
            name="claude-desktop",
            title="Claude Desktop",
            servers_key="mcpServers",
            config_files=(_CLAUDE_DESKTOP,),
            library_files=(_CLAUDE_DESKTOP,),
            more_user_files=("Claude Extensions/*/manifest.json",),
            roaming_files=(
                _CLAUDE_DESKTOP,
                # the redirected folder of the Microsoft Store app
                f"../Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/{_CLAUDE_DESKTOP}",
            ),
            reload_hint="quit Claude Desktop and start it again",
        ),
        KnownClient(
            name="claude-code",
            title="Claude Code",
            servers_key="mcpServers",
            project_file=".mcp.json",
            home_files=(".claude.json",),
            folder_override=("CLAUDE_CONFIG_DIR", ".claude.json"),
            syntax=PlaceholderSyntax(plain=True, unset="kept"),
            reload_hint="start a new session of Claude Code",
        ),
        KnownClient(
            name="cursor",
            title="Cursor",
            servers_key="mcpServers",
            project_file=".cursor/mcp.json",
            home_files=(".cursor/mcp.json",),
            roaming_files=("../../.cursor/mcp.json",),
            syntax=PlaceholderSyntax(env=True, editor=True, unset="empty"),
            reload_hint="switch the server on in Cursor's settings, under MCP",
        ),
        KnownClient(
            name="vscode",
            title="VS Code",
            servers_key="servers",
            holders=(
                ("mcp",),
                ("settings", "mcp"),
                ("customizations", "vscode", "mcp"),
                ("customizations", "vscode", "settings", "mcp"),
            ),
            more_project_files=(
                *(".vscode/settings.json", "*.code-workspace"),
                *(".devcontainer/devcontainer.json", ".devcontainer.json"),
                ".devcontainer/*/devcontainer.json",
            ),
            more_user_files=("settings.json",),
            project_file=".vscode/mcp.json",
            config_files=_VSCODE,
            library_files=_VSCODE,
            home_files=(".vscode-server/data/User/mcp.json",),
            roaming_files=_VSCODE,
            syntax=PlaceholderSyntax(env=True, editor=True, unset="empty"),
            reload_hint="run “MCP: List Servers” in VS Code and start it",
        ),
        KnownClient(
            name="windsurf",
            title="Windsurf",
            servers_key="mcpServers",
            home_files=(
                ".codeium/windsurf/mcp_config.json",
                ".codeium/windsurf-next/mcp_config.json",
            ),
            roaming_files=("../../.codeium/windsurf/mcp_config.json",),
            syntax=PlaceholderSyntax(env=True),
            reload_hint="press refresh among Windsurf's MCP servers",
        ),
        KnownClient(
            name="zed",
            title="Zed",
            servers_key="context_servers",
            project_file=".zed/settings.json",
            config_files=("zed/settings.json",),
            home_files=(
                ".config/zed/settings.json",
                ".var/app/dev.zed.Zed/config/zed/settings.json",
            ),
            roaming_files=("Zed/settings.json",),
            reload_hint="continue in Zed, which reloads its settings on change",
        ),
        KnownClient(
            name="codex",
            title="Codex",
            servers_key="mcp_servers",
            is_toml=True,
            project_file=".codex/config.toml",
            home_files=(".codex/config.toml",),
            roaming_files=("../../.codex/config.toml",),
            folder_override=("CODEX_HOME", "config.toml"),
            reload_hint="start a new session of Codex",
        ),
        KnownClient(
            name="gemini",
            title="Gemini CLI",
            servers_key="mcpServers",
            project_file=".gemini/settings.json",
            home_files=(".gemini/settings.json",),
            roaming_files=("../../.gemini/settings.json",),
            folder_override=("GEMINI_CLI_HOME", ".gemini/settings.json"),
            syntax=PlaceholderSyntax(plain=True, unbraced=True, unset="kept"),
            reload_hint="start a new session of Gemini CLI",
        ),
    )
}
_OTHERS: Final = {
    client.name: client
    for client in (
        KnownClient(
            name="cline",
            title="Cline",
            servers_key="mcpServers",
            syntax=PlaceholderSyntax(env=True),
        ),
        KnownClient(
            name="roo",
            title="Roo Code",
            servers_key="mcpServers",
            syntax=PlaceholderSyntax(env=True, editor=True, unset="empty"),
        ),
        KnownClient(
            name="kiro",
            title="Kiro",
            servers_key="mcpServers",
            syntax=PlaceholderSyntax(plain=True, unset="kept"),
        ),
        KnownClient(name="lm-studio", title="LM Studio", servers_key="mcpServers"),
        KnownClient(
            name="amp",
            title="Amp",
            servers_key="amp.mcpServers",
            syntax=PlaceholderSyntax(plain=True, unset="kept"),
        ),
        KnownClient(
            name="opencode",
            title="opencode",
            servers_key="mcp",
            holders=(("mcp",),),  # since 2.0
            syntax=PlaceholderSyntax(curly=True, unset="empty"),
        ),
        KnownClient(
            name="copilot-cli",
            title="Copilot CLI",
            servers_key="mcpServers",
            syntax=PlaceholderSyntax(plain=True, unbraced=True, unset="kept"),
        ),
    )
}
"""Clients whose files are read where a user names them; they are not looked for, nor connected."""
HOLDER_KEY: Final = "servers"
HOLDERS: Final = CLIENTS["vscode"].holders
SERVERS_KEYS: Final = (
    *dict.fromkeys(client.servers_key for client in CLIENTS.values()),
    *(_OTHERS[name].servers_key for name in ("amp", "opencode")),
)
_BY_NAME: Final = {
    "claude_desktop_config.json": "claude-desktop",
    ".claude.json": "claude-code",
    ".mcp.json": "claude-code",
    "devcontainer.json": "vscode",
    ".devcontainer.json": "vscode",
    "cline_mcp_settings.json": "cline",
    "mcp_settings.json": "roo",
    "opencode.json": "opencode",
    "opencode.jsonc": "opencode",
    "mcp-config.json": "copilot-cli",
}
_BY_FOLDER: Final = {
    ".cursor": "cursor",
    ".vscode": "vscode",
    "windsurf": "windsurf",
    "zed": "zed",
    ".zed": "zed",
    ".codex": "codex",
    ".gemini": "gemini",
    ".roo": "roo",
    ".lmstudio": "lm-studio",
    "amp": "amp",
    ".amp": "amp",
    "opencode": "opencode",
    ".copilot": "copilot-cli",
}


def guess_client(path: Path) -> KnownClient | None:
    """Return the client that a file appears to belong to; None if any could own it.

    Example:
        >>> guess_client(Path("/home/ann/.gemini/settings.json")).name
        'gemini'
        >>> guess_client(Path("servers.json"))
    """
    if path.suffix == ".toml":
        return CLIENTS["codex"]
    if path.suffix == ".code-workspace":
        return CLIENTS["vscode"]
    if path.parent.parent.name == ".kiro":
        return _OTHERS["kiro"]
    name = _BY_NAME.get(path.name) or _BY_FOLDER.get(path.parent.name.lower(), "")
    return CLIENTS.get(name) or _OTHERS.get(name)


def has_form(document: Any, client: KnownClient) -> bool:
    """Whether a file has a list of servers where a client keeps it, or lists of its projects."""
    if not isinstance(document, Mapping):
        return False
    holders = (follow_path(document, path) for path in client.holders)
    return not document.keys().isdisjoint((client.servers_key, "projects")) or any(
        isinstance(holder, Mapping) and HOLDER_KEY in holder for holder in holders
    )


def guess_by_form(document: Any) -> KnownClient | None:
    """Return the client whose form a file has; None if any could own it.

    Example:
        >>> guess_by_form({"mcp": {"servers": {}}}).name
        'vscode'
        >>> guess_by_form({"mcpServers": {}})
    """
    if not isinstance(document, dict):
        return None
    has_holder = any(
        isinstance(holder := follow_path(document, path), dict) and HOLDER_KEY in holder
        for path in HOLDERS
    )
    if has_holder or {"inputs", "servers"} <= document.keys():
        return CLIENTS["vscode"]
    owners = (CLIENTS["zed"], _OTHERS["amp"])
    return next((owner for owner in owners if owner.servers_key in document), None)


def follow_path(value: Any, path: Iterable[str]) -> Any:
    """Return what lies at a path of keys; None if there is nothing."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
