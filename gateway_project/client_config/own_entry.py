"""Writes Foregate's own entry for a client's configuration and recognizes it."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import urlsplit

from gateway_project.client_config.clients import KnownClient
from gateway_project.client_config.entry import ConfiguredServer

GATEWAY_COMMAND = "run_gateway"
TOKEN_VARIABLE = "FOREGATE_TOKEN"  # noqa: S105 - the name of a variable
WSL_COMMAND = "wsl.exe"
_WINDOWS_DRIVES = "/mnt/"
_LOOPBACK = {"localhost", "127.0.0.1", "::1", "0.0.0.0"}  # noqa: S104 - compared, not bound


class EntryNotSupported(Exception):
    """The requested entry cannot be written for this client; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class OwnLaunch:
    """How a client starts or reaches Foregate.

    Attributes:
        python: Interpreter of the installation.
        manage_py: Its manage.py.
        user: User the client acts for; empty for the local admin.
        env: Variables it needs beside the client's own.
        url: URL of a running gateway; empty if the client starts one.
        wsl_distribution: WSL distribution, for clients on Windows; empty outside WSL.
    """

    python: str
    manage_py: str
    user: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    wsl_distribution: str = ""


def describe_own_launch(*, base: Path, user: str, url: str, home: Path | None) -> OwnLaunch:
    """Return how this installation is started.

    Args:
        base: Folder of manage.py.
        user: User the client acts for; empty for the local admin.
        url: URL of a running gateway; empty if the client starts one.
        home: FOREGATE_HOME; None for the default.
    """
    return OwnLaunch(
        python=sys.executable,
        manage_py=str(base / "manage.py"),
        user=user,
        env={"FOREGATE_HOME": str(home)} if home else {},
        url=url,
        wsl_distribution=os.environ.get("WSL_DISTRO_NAME", ""),
    )


def build_entry(client: KnownClient, path: Path, launch: OwnLaunch) -> dict[str, Any]:
    """Return the entry to write into a client's file.

    Args:
        client: Whose file it is.
        path: The file; on Windows the command goes through WSL.
        launch: How Foregate is started.

    Raises:
        EntryNotSupported: If the client does not support servers by URL.
    """
    if launch.url:
        return _build_remote_entry(client, launch.url)
    command, args, env = launch.python, [launch.manage_py, GATEWAY_COMMAND], dict(launch.env)
    if launch.user:
        args += ["--user", launch.user]
    if launch.wsl_distribution and str(path).startswith(_WINDOWS_DRIVES):
        assignments = [f"{name}={value}" for name, value in env.items()]
        env_command = ["env", *assignments] if assignments else []
        args = ["-d", launch.wsl_distribution, "--exec", *env_command, command, *args]
        command, env = WSL_COMMAND, {}
    entry: dict[str, Any] = {"command": command, "args": args}
    if env:
        entry["env"] = env
    type_fields = {"claude-code": {"type": "stdio"}, "vscode": {"type": "stdio"}}
    return {**type_fields.get(client.name, {}), **_make_source_field(client), **entry}


def _make_source_field(client: KnownClient) -> dict[str, Any]:
    return {"source": "custom"} if client.name == "zed" else {}


def _build_remote_entry(client: KnownClient, url: str) -> dict[str, Any]:
    """Return the entry of a running gateway, whose token comes from a variable."""
    bearer = {"Authorization": f"Bearer ${{env:{TOKEN_VARIABLE}}}"}
    shapes: dict[str, dict[str, Any]] = {
        "claude-code": {
            "type": "http",
            "url": url,
            "headers": {"Authorization": f"Bearer ${{{TOKEN_VARIABLE}}}"},
        },
        "cursor": {"url": url, "headers": bearer},
        "vscode": {"type": "http", "url": url, "headers": bearer},
        "windsurf": {"serverUrl": url, "headers": bearer},
        "codex": {"url": url, "bearer_token_env_var": TOKEN_VARIABLE},
        "gemini": {"httpUrl": url, "headers": {"Authorization": f"Bearer ${TOKEN_VARIABLE}"}},
    }
    if client.name not in shapes:
        raise EntryNotSupported(
            f"{client.title} cannot be given an address with a token from the environment in its "
            "file; connect it without --http"
        )
    return shapes[client.name]


def is_own_entry(entry: ConfiguredServer, own_urls: Collection[str] = ()) -> bool:
    """Whether an entry is Foregate itself, so that importing it would create a loop.

    Example:
        >>> is_own_entry(ConfiguredServer(name="x", command="python", args=("/opt/fg/manage.py",
        ...     "run_gateway")))
        True
    """
    if entry.url:
        return any(_is_same_endpoint(entry.url, url) for url in own_urls)
    words = (entry.command, *entry.args)
    return GATEWAY_COMMAND in words and any(
        _extract_file_name(word) == "manage.py" for word in words
    )


def _extract_file_name(word: str) -> str:
    return PureWindowsPath(word).name if "\\" in word else PurePosixPath(word).name


def _is_same_endpoint(url: str, other_url: str) -> bool:
    endpoint = _parse_endpoint(url)
    return endpoint is not None and endpoint == _parse_endpoint(other_url)


def _parse_endpoint(url: str) -> tuple[str, int] | None:
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return None
    host = (parts.hostname or "").lower()
    return ("loopback" if host in _LOOPBACK else host, port)
