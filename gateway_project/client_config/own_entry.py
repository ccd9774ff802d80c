"""Writes Foregate's own entry for a client's configuration and recognizes it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import urlsplit

from gateway_project.client_config.clients import KnownClient
from gateway_project.client_config.entry import ConfiguredServer
from gateway_project.foundation.config import Config

GATEWAY_COMMAND = "run_gateway"
INSTALLED_COMMAND = "gateway"
"""The same by the command `foregate`."""
ENTRY_NAME = "foregate"
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
        command: Command that runs the gateway.
        user: User the client acts for; empty for the local admin.
        env: Variables it needs beside the client's own.
        url: URL of a running gateway; empty if the client starts one.
        wsl_distribution: WSL distribution, for clients on Windows; empty outside WSL.
    """

    command: tuple[str, ...]
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
    installed = os.environ.get("FOREGATE_COMMAND")  # set by the command `foregate`
    command = (
        (*json.loads(installed), INSTALLED_COMMAND)
        if installed
        else (sys.executable, str(base / "manage.py"), GATEWAY_COMMAND)
    )
    return OwnLaunch(
        command=command,
        user=user,
        env={"FOREGATE_HOME": str(home)} if home else {},
        url=url,
        wsl_distribution=os.environ.get("WSL_DISTRO_NAME", ""),
    )


def build_entry(
    client: KnownClient, path: Path, launch: OwnLaunch, *, name: str = ENTRY_NAME
) -> dict[str, Any]:
    """Return the entry to write into a client's file.

    Args:
        client: Whose file it is.
        path: The file; on Windows the command goes through WSL.
        launch: How Foregate is started.
        name: Key of the entry.

    Raises:
        EntryNotSupported: If the client does not support servers by URL.
    """
    named = {"name": name} if client.repeats_name else {}
    if launch.url:
        return named | _build_remote_entry(client, launch.url)
    command, *args = launch.command
    env = dict(launch.env)
    if launch.user:
        args += ["--user", launch.user]
    if launch.wsl_distribution and str(path).startswith(_WINDOWS_DRIVES):
        assignments = [f"{name}={value}" for name, value in env.items()]
        env_command = ["env", *assignments] if assignments else []
        args = ["-d", launch.wsl_distribution, "--exec", *env_command, command, *args]
        command, env = WSL_COMMAND, {}
    entry: dict[str, Any] = {"command": command, "args": args}
    if client.joins_command:
        entry = {"command": [command, *args]}
    if env:
        entry["environment" if client.joins_command else "env"] = env
    written = {client.own_words.get(key, key): value for key, value in entry.items()}
    return {**named, **client.own_fields, **written}


def _build_remote_entry(client: KnownClient, url: str) -> dict[str, Any]:
    """Return the entry of a running gateway, whose token comes from a variable."""
    if not client.own_remote_entry:
        raise EntryNotSupported(
            f"{client.title} cannot be given an address with a token from the environment in its "
            "file; connect it without --http"
        )
    return {key: value or url for key, value in client.own_remote_entry.items()}


def list_own_urls(config: Config) -> tuple[str, ...]:
    """Return the URLs of this installation's console and gateway.

    Example:
        >>> list_own_urls(Config(console_port=9000, public_url="https://tools.example"))
        ('http://localhost:9000', 'https://tools.example')
    """
    local = f"http://localhost:{config.console_port}"
    return (local, config.public_url) if config.public_url else (local,)


def is_own_entry(entry: ConfiguredServer, own_urls: Collection[str] = ()) -> bool:
    """Whether an entry is Foregate itself, so that importing it would create a loop.

    Example:
        >>> is_own_entry(ConfiguredServer(name="x", command="python", args=("/opt/fg/manage.py",
        ...     "run_gateway")))
        True
        >>> is_own_entry(ConfiguredServer(name="x", command="uvx", args=("foregate", "gateway")))
        True
    """
    if entry.url:
        return any(_is_same_endpoint(entry.url, url) for url in own_urls)
    words = (entry.command, *entry.args)
    names = {_extract_file_name(word) for word in words}
    return {GATEWAY_COMMAND, "manage.py"} <= names or {INSTALLED_COMMAND, "foregate"} <= names


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
