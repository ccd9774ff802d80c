"""Mistakes that stand in a server's entry and are seen without starting it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gateway_project.client_config.unset import unset_in
from tools.upstream import remote_entry
from tools.upstream.errors import UnsetVariable
from tools.upstream.spec import Launch, ServerSpec, resolve

_WINDOWS: Final = re.compile(r"[A-Za-z]:[\\/]|.*\.(?:exe|cmd|bat)$", re.IGNORECASE)
_COMES_WITH: Final = {
    "npx": "Node.js (https://nodejs.org)",
    "node": "Node.js (https://nodejs.org)",
    "npm": "Node.js (https://nodejs.org)",
    "uvx": "uv (`pip install uv`)",
    "uv": "uv (`pip install uv`)",
    "docker": "Docker",
    "deno": "Deno",
    "bunx": "Bun",
    "bun": "Bun",
    "pipx": "pipx (`pip install pipx`)",
}


def problem(spec: ServerSpec, environ: Mapping[str, str]) -> str:
    """Say what is wrong with an entry and what to do; empty if nothing is seen.

    Args:
        spec: The entry.
        environ: The gateway's environment.
    """
    started = (spec.command, *spec.args, *spec.env.values(), spec.cwd or "")
    if unset := unset_in((*started, spec.url, *spec.headers.values()), environ):
        return (
            f"refers to variables that are not set: {', '.join(unset)}; set them in the "
            f"gateway's environment, or write ${{{unset[0]}:-default}}"
        )
    if spec.transport != "stdio":
        wrong = remote_entry.url_problem(spec.url)
        return f"{wrong}; correct its entry" if wrong else ""
    try:
        launch = resolve(spec, environ)
    except UnsetVariable as error:
        return str(error)
    return _folder_problem(launch) or _command_problem(launch)


def _folder_problem(launch: Launch) -> str:
    if launch.cwd and not Path(launch.cwd).is_dir():
        return f"its folder {launch.cwd} does not exist; correct its entry"
    return ""


def _command_problem(launch: Launch) -> str:
    command = launch.command
    if os.sep in command:
        path = Path(launch.cwd or ".", command)
        if not path.exists():
            return _missing(command)
        if path.is_dir() or not os.access(path, os.X_OK):
            return f"{command} cannot be executed; run `chmod +x`, or name its interpreter"
        return ""
    if shutil.which(command, path=launch.env.get("PATH")):
        return ""
    return _missing(command)


def _missing(command: str) -> str:
    if command.lower() in {"cmd", "cmd.exe", "powershell", "powershell.exe"}:
        return f"{command} is a shell of Windows; write what stands behind it as the command"
    if _WINDOWS.match(command):
        return (
            f"{command} is a path of Windows; write it as WSL sees it (/mnt/c/…), or the command "
            "that is installed here"
        )
    if source := _COMES_WITH.get(command):
        return f"{command} is not installed, or not on the PATH; it comes with {source}"
    if os.sep in command:
        return f"{command} does not exist; correct its entry, or install it"
    return f"{command} is not on the PATH of the gateway; install it, or write its whole path"
