"""Installs clients and servers in a folder, and moves the servers behind Foregate."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.clients.catalogue import build_catalogue
from benchmarks.outside import servers
from benchmarks.outside.servers import OutsideServer

PACKAGE: Final = Path(__file__).resolve().parent
BASE: Final = PACKAGE.parent.parent
REAL: Final = ("filesystem", "memory", "everything", "sequential-thinking")
PINNED: Final = ("filesystem:read_text_file", "lab:read_gauge", "weather:get_forecast")
"""Tools that an admin has listed under `hybrid` exposure."""
CLIENTS: Final = {
    "claude": ("@anthropic-ai/claude-code", "2.1.332"),
    "codex": ("@openai/codex", "0.171.0"),
    "gemini": ("@google/gemini-cli", "0.61.0"),
}
FILE_NAMES: Final = {"claude": "claude-code", "codex": "codex", "gemini": "gemini"}
"""What Foregate calls the clients."""
Entries = Mapping[str, Mapping[str, Any]]


def set_up(folder: Path) -> Entries:
    """Return the servers' entries; install what is missing, and fill Foregate's catalogue once."""
    for name, (package, version) in CLIENTS.items():
        servers.install(
            OutsideServer(name=name, registry="npm", package=package, version=version, tools=0),
            folder,
        )
    work = folder / "work"
    work.mkdir(exist_ok=True)
    (work / "one.txt").write_text("The cost centre has a budget of 1200.\n")
    entries = {**_install_real(folder), **_write_generated(folder)}
    direct = folder / "direct.json"
    direct.write_text(json.dumps({"mcpServers": entries}))
    direct.chmod(0o600)
    if not (folder / "home" / "filled").exists():
        _fill(folder, direct)
    return entries


def build_foregate_entry(folder: Path, client: str, exposure: str) -> Entries:
    """Return the entry that `connect_client` writes, with an exposure."""
    file = folder / f"connected.{'toml' if client == 'codex' else 'json'}"
    file.unlink(missing_ok=True)
    manage(folder, "connect_client", FILE_NAMES[client], "--file", str(file))
    text = file.read_text()
    written = tomllib.loads(text) if client == "codex" else json.loads(text)
    entry = written["mcp_servers" if client == "codex" else "mcpServers"]["foregate"]
    if exposure != "auto":
        entry["args"] += ["--exposure", exposure]
    entry["env"] = {**entry.get("env", {}), **_own_settings(folder)}
    return {"foregate": entry}


def pin_tools(folder: Path, *, pinned: bool) -> None:
    """Pin the tools that `hybrid` lists, or none, so that `auto` finds a new installation."""
    file = folder / "pinned.json"
    tools = {tool: {"pinned": pinned} for tool in PINNED}
    form = {"format": "foregate-configuration", "version": 1}
    file.write_text(json.dumps({**form, "tools": tools}))
    manage(folder, "import_config", str(file))


def manage(folder: Path, *arguments: str) -> str:
    """Run a command of the installation of this benchmark, and return its output.

    Raises:
        SystemExit: If it fails.
    """
    done = subprocess.run(
        [sys.executable, str(BASE / "manage.py"), *arguments],
        env={**os.environ, **_own_settings(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{arguments[0]} failed: {done.stderr[-1_000:]}")
    return done.stdout


def _own_settings(folder: Path) -> dict[str, str]:
    """Return settings under which several installations get along on one machine."""
    return {"FOREGATE_HOME": str(folder / "home"), "FOREGATE_CONSOLE_ON_DEMAND": "false"}


def _install_real(folder: Path) -> dict[str, dict[str, Any]]:
    entries = {}
    for server in servers.load_servers():
        if server.name in REAL:
            servers.install(server, folder)
            command, env = servers.get_launch(server, folder)
            if server.name == "filesystem":
                command[-1] = str(folder / "work")
            if server.name == "memory":
                env["MEMORY_FILE_PATH"] = str(folder / "memory.jsonl")
            entries[server.name] = {"command": command[0], "args": command[1:], "env": env}
    return entries


def _write_generated(folder: Path) -> dict[str, dict[str, Any]]:
    lab = json.loads((PACKAGE / "lab.json").read_text())
    catalogue = {**build_catalogue(), "lab": lab}
    file = folder / "catalogue.json"
    file.write_text(json.dumps(catalogue))
    program = [str(PACKAGE / "server.py"), str(file)]
    return {
        name: {"command": sys.executable, "args": [*program, name, str(folder / "calls.jsonl")]}
        for name in catalogue
    }


def _fill(folder: Path, direct: Path) -> None:
    """Import and discover the servers; nobody is trusted."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    manage(folder, "import_servers", "--from", str(direct))
    manage(folder, "discover")
    (home / "filled").touch()
