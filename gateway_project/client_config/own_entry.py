"""Foregate's own entry in a client's configuration: how it is written, and known again."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import urlsplit

from gateway_project.client_config.clients import Client
from gateway_project.client_config.entry import Entry

GATEWAY = "run_gateway"
TOKEN = "FOREGATE_TOKEN"  # noqa: S105 - the name of a variable
INTO_WSL = "wsl.exe"
_WINDOWS_DRIVES = "/mnt/"
_LOOPBACK = {"localhost", "127.0.0.1", "::1", "0.0.0.0"}  # noqa: S104 - compared, not bound


class NotOffered(Exception):
    """What was asked for cannot be written for this client; one line that says what to do."""


@dataclass(frozen=True, kw_only=True)
class Launch:
    """How a client starts or reaches Foregate.

    Attributes:
        python: Interpreter of the installation.
        manage: Its manage.py.
        user: User the client acts for; empty: the local admin.
        env: Variables it needs beside the client's own.
        url: Address of a running gateway; empty: the client starts one.
        distribution: WSL's, for clients on Windows; empty outside WSL.
    """

    python: str
    manage: str
    user: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    distribution: str = ""


def launch_here(*, base: Path, user: str, url: str, home: Path | None) -> Launch:
    """Return how this very installation is started.

    Args:
        base: Folder of manage.py.
        user: User the client acts for, empty for the local admin.
        url: Address of a running gateway, empty to have it started.
        home: FOREGATE_HOME if it is not the usual one.
    """
    return Launch(
        python=sys.executable,
        manage=str(base / "manage.py"),
        user=user,
        env={"FOREGATE_HOME": str(home)} if home else {},
        url=url,
        distribution=os.environ.get("WSL_DISTRO_NAME", ""),
    )


def build(client: Client, path: Path, launch: Launch) -> dict[str, Any]:
    """Return the entry to write into a client's file.

    Args:
        client: Whose file it is.
        path: The file; one of Windows gets a command that leads into WSL.
        launch: How Foregate is started.

    Raises:
        NotOffered: If the client cannot reach a server by its address.
    """
    if launch.url:
        return _remote(client, launch.url)
    command, args, env = launch.python, [launch.manage, GATEWAY], dict(launch.env)
    if launch.user:
        args += ["--user", launch.user]
    if launch.distribution and str(path).startswith(_WINDOWS_DRIVES):
        given = [f"{name}={value}" for name, value in env.items()]
        within = ["env", *given] if given else []
        args = ["-d", launch.distribution, "--exec", *within, command, *args]
        command, env = INTO_WSL, {}
    entry: dict[str, Any] = {"command": command, "args": args}
    if env:
        entry["env"] = env
    kind = {"claude-code": {"type": "stdio"}, "vscode": {"type": "stdio"}}
    return {**kind.get(client.name, {}), **_source(client), **entry}


def _source(client: Client) -> dict[str, Any]:
    return {"source": "custom"} if client.name == "zed" else {}


def _remote(client: Client, url: str) -> dict[str, Any]:
    """Return the entry of a gateway that runs already; its token comes from a variable."""
    bearer = {"Authorization": f"Bearer ${{env:{TOKEN}}}"}
    shapes: dict[str, dict[str, Any]] = {
        "claude-code": {
            "type": "http",
            "url": url,
            "headers": {"Authorization": f"Bearer ${{{TOKEN}}}"},
        },
        "cursor": {"url": url, "headers": bearer},
        "vscode": {"type": "http", "url": url, "headers": bearer},
        "windsurf": {"serverUrl": url, "headers": bearer},
        "codex": {"url": url, "bearer_token_env_var": TOKEN},
        "gemini": {"httpUrl": url, "headers": {"Authorization": f"Bearer ${TOKEN}"}},
    }
    if client.name not in shapes:
        raise NotOffered(
            f"{client.title} cannot be given an address with a token from the environment in its "
            "file; connect it without --http"
        )
    return shapes[client.name]


def is_own(entry: Entry, own_urls: Collection[str] = ()) -> bool:
    """Whether an entry is Foregate, so that importing it would lead in a circle.

    Example:
        >>> is_own(Entry(name="x", command="python", args=("/opt/fg/manage.py", "run_gateway")))
        True
    """
    if entry.url:
        return any(_same_place(entry.url, url) for url in own_urls)
    words = (entry.command, *entry.args)
    return GATEWAY in words and any(_file_name(word) == "manage.py" for word in words)


def _file_name(word: str) -> str:
    return PureWindowsPath(word).name if "\\" in word else PurePosixPath(word).name


def _same_place(one: str, other: str) -> bool:
    return _place(one) is not None and _place(one) == _place(other)


def _place(url: str) -> tuple[str, int] | None:
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return None
    host = (parts.hostname or "").lower()
    return ("loopback" if host in _LOOPBACK else host, port)
