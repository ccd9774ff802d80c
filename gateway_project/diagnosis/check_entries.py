"""Find mistakes in a server's entry without starting the server."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gateway_project.client_config.entry import find_unset
from gateway_project.foundation.redaction import Redactor
from tools.upstream import remote_entry
from tools.upstream.errors import UnsetVariable
from tools.upstream.spec import LaunchSpec, ServerSpec, resolve_launch
from tools.upstream.written_secrets import list_secret_places

_WINDOWS_COMMAND: Final = re.compile(r"[A-Za-z]:[\\/]|.*\.(?:exe|cmd|bat)$", re.IGNORECASE)
_COMMAND_SOURCES: Final = {
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


def find_entry_problem(spec: ServerSpec, environ: Mapping[str, str]) -> str:
    """Return a problem of an entry and what to do about it; empty if none is found.

    Args:
        spec: The entry.
        environ: The gateway's environment.
    """
    if spec.unreadable:
        return spec.unreadable
    texts = (spec.command, *spec.args, spec.cwd or "", spec.url, *spec.headers.values())
    unset_in_texts = find_unset(texts, {**environ, **spec.env})
    if unset := tuple(
        dict.fromkeys((*unset_in_texts, *find_unset(tuple(spec.env.values()), environ)))
    ):
        return (
            f"refers to variables that are not set: {', '.join(unset)}; set them in the "
            f"gateway's environment, or write ${{{unset[0]}:-default}}"
        )
    if spec.transport != "stdio":
        url_problem = remote_entry.find_url_problem(spec.url)
        return f"{url_problem}; correct its entry" if url_problem else ""
    try:
        launch = resolve_launch(spec, environ)
    except UnsetVariable as error:
        return str(error)
    return Redactor(launch.secrets).redact(
        _find_folder_problem(launch) or _find_command_problem(launch)
    )


def find_unsealed_secrets(spec: ServerSpec) -> str:
    """Return where an entry's arguments contain an apparent secret; empty if nowhere."""
    places = list_secret_places(spec.args)
    if not places:
        return ""
    return (
        f"holds what looks like a secret in {', '.join(places)}, where it is not sealed; import "
        "it again with `manage.py import_servers --seal-secrets`, or write ${NAME} there and NAME "
        "into its environment, in the console"
    )


def _find_folder_problem(launch: LaunchSpec) -> str:
    if launch.cwd and not Path(launch.cwd).is_dir():
        return f"its folder {launch.cwd} does not exist; correct its entry"
    return ""


def _find_command_problem(launch: LaunchSpec) -> str:
    command = launch.command
    if os.sep in command:
        path = Path(launch.cwd or ".", command)
        if not path.exists():
            return _explain_missing_command(command)
        if path.is_dir() or not os.access(path, os.X_OK):
            return f"{command} cannot be executed; run `chmod +x`, or name its interpreter"
        return ""
    if shutil.which(command, path=launch.env.get("PATH")):
        return ""
    return _explain_missing_command(command)


def _explain_missing_command(command: str) -> str:
    if command.lower() in {"cmd", "cmd.exe", "powershell", "powershell.exe"}:
        return f"{command} is a Windows shell; use the program it starts as the command"
    if _WINDOWS_COMMAND.match(command):
        return (
            f"{command} is a Windows path; write it as WSL sees it (/mnt/c/…), or the command "
            "that is installed here"
        )
    if source := _COMMAND_SOURCES.get(command):
        return f"{command} is not installed, or not on the PATH; it comes with {source}"
    if os.sep in command:
        return f"{command} does not exist; correct its entry, or install it"
    return f"{command} is not on the PATH of the gateway; install it, or write its whole path"
