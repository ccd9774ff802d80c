"""The MCP clients whose files are known: their names, formats and places."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Client:
    """A client and where it keeps its servers.

    Attributes:
        name: As on the command line.
        title: As people know it.
        key: Member of the file that holds the servers.
        toml: Whether the file is TOML; else it is JSON, in which comments may stand.
        project: File below a project's folder; empty if there is none.
        home: Files below the user's home folder.
        config: Files below $XDG_CONFIG_HOME on Linux, or ~/.config.
        library: Files below ~/Library/Application Support on macOS.
        roaming: Files below %APPDATA% of Windows, for who works in WSL.
        moved: Variable that names another folder, and the file below that; replaces `home`.
        reload: What makes the client read its file again.
    """

    name: str
    title: str
    key: str
    toml: bool = False
    project: str = ""
    home: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    library: tuple[str, ...] = ()
    roaming: tuple[str, ...] = ()
    moved: tuple[str, str] = ("", "")
    reload: str


_CLAUDE_DESKTOP = "Claude/claude_desktop_config.json"
_VSCODE = ("Code/User/mcp.json", "Code - Insiders/User/mcp.json", "VSCodium/User/mcp.json")

CLIENTS: Final = {
    client.name: client
    for client in (
        Client(
            name="claude-desktop",
            title="Claude Desktop",
            key="mcpServers",
            config=(_CLAUDE_DESKTOP,),
            library=(_CLAUDE_DESKTOP,),
            roaming=(
                _CLAUDE_DESKTOP,
                # where the app of the Microsoft Store is redirected to
                f"../Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/{_CLAUDE_DESKTOP}",
            ),
            reload="quit Claude Desktop and start it again",
        ),
        Client(
            name="claude-code",
            title="Claude Code",
            key="mcpServers",
            project=".mcp.json",
            home=(".claude.json",),
            moved=("CLAUDE_CONFIG_DIR", ".claude.json"),
            reload="start a new session of Claude Code",
        ),
        Client(
            name="cursor",
            title="Cursor",
            key="mcpServers",
            project=".cursor/mcp.json",
            home=(".cursor/mcp.json",),
            roaming=("../../.cursor/mcp.json",),
            reload="switch the server on in Cursor's settings, under MCP",
        ),
        Client(
            name="vscode",
            title="VS Code",
            key="servers",
            project=".vscode/mcp.json",
            config=_VSCODE,
            library=_VSCODE,
            home=(".vscode-server/data/User/mcp.json",),
            roaming=_VSCODE,
            reload="run `MCP: List Servers` in VS Code and start it",
        ),
        Client(
            name="windsurf",
            title="Windsurf",
            key="mcpServers",
            home=(".codeium/windsurf/mcp_config.json", ".codeium/windsurf-next/mcp_config.json"),
            roaming=("../../.codeium/windsurf/mcp_config.json",),
            reload="press refresh among Windsurf's MCP servers",
        ),
        Client(
            name="zed",
            title="Zed",
            key="context_servers",
            project=".zed/settings.json",
            config=("zed/settings.json",),
            home=(".config/zed/settings.json", ".var/app/dev.zed.Zed/config/zed/settings.json"),
            roaming=("Zed/settings.json",),
            reload="go on in Zed, which reads its settings as they change",
        ),
        Client(
            name="codex",
            title="Codex",
            key="mcp_servers",
            toml=True,
            project=".codex/config.toml",
            home=(".codex/config.toml",),
            roaming=("../../.codex/config.toml",),
            moved=("CODEX_HOME", "config.toml"),
            reload="start a new session of Codex",
        ),
        Client(
            name="gemini",
            title="Gemini CLI",
            key="mcpServers",
            project=".gemini/settings.json",
            home=(".gemini/settings.json",),
            roaming=("../../.gemini/settings.json",),
            moved=("GEMINI_CLI_HOME", ".gemini/settings.json"),
            reload="start a new session of Gemini CLI",
        ),
    )
}
KEYS: Final = tuple(dict.fromkeys(client.key for client in CLIENTS.values()))
_BY_FOLDER: Final = {
    ".cursor": "cursor",
    ".vscode": "vscode",
    "windsurf": "windsurf",
    "zed": "zed",
    ".zed": "zed",
    ".codex": "codex",
    ".gemini": "gemini",
}


def of_file(path: Path) -> Client | None:
    """Return the client that a file looks like the file of; None if it could be anyone's.

    Example:
        >>> of_file(Path("/home/ann/.gemini/settings.json")).name
        'gemini'
        >>> of_file(Path("servers.json"))
    """
    if path.suffix == ".toml":
        return CLIENTS["codex"]
    name = _BY_FOLDER.get(path.parent.name.lower())
    return CLIENTS[name] if name else None
