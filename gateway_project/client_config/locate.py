"""Where MCP clients keep their lists of servers."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

CLAUDE_DESKTOP = "claude-desktop"
CLAUDE_CODE = "claude-code"
CLIENTS = (CLAUDE_DESKTOP, CLAUDE_CODE)


def candidates(
    client: str, *, environ: Mapping[str, str] = os.environ, platform: str = sys.platform
) -> tuple[Path, ...]:
    """Return the files a client may keep its servers in, most specific first.

    Args:
        client: One of `CLIENTS`.
        environ: Environment that says where home is.
        platform: As `sys.platform`.

    Raises:
        ValueError: If the client is not known.
    """
    home = Path(environ.get("HOME") or Path.home())
    if client == CLAUDE_DESKTOP:
        return (_claude_desktop(home, environ, platform),)
    if client == CLAUDE_CODE:
        folder = environ.get("CLAUDE_CONFIG_DIR")
        user = Path(folder) / ".claude.json" if folder else home / ".claude.json"
        return (Path.cwd() / ".mcp.json", user)
    raise ValueError(f"{client!r} is not a known client; use a file or {' or '.join(CLIENTS)}")


def _claude_desktop(home: Path, environ: Mapping[str, str], platform: str) -> Path:
    name = "claude_desktop_config.json"
    if platform == "darwin":
        return home / "Library" / "Application Support" / "Claude" / name
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    return config / "Claude" / name
