"""Locates the files in which MCP clients keep their servers."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gateway_project.client_config import clients
from gateway_project.client_config.clients import KnownClient

CLIENT_NAMES = tuple(clients.CLIENTS)
WINDOWS_USERS = Path("/mnt/c/Users")
SYSTEM_FOLDERS = {"All Users", "Default", "Default User", "Public", "desktop.ini"}


@dataclass(frozen=True, kw_only=True)
class PlatformFolders:
    """Standard folders of a user on a platform.

    Attributes:
        environ: Environment, which determines the folders.
        platform: As `sys.platform`.
        windows_users: Windows user folders as seen from WSL.
    """

    environ: Mapping[str, str]
    platform: str
    windows_users: Path = WINDOWS_USERS

    @property
    def home(self) -> Path:
        """The user's home folder."""
        return Path(self.environ.get("HOME") or Path.home())

    @property
    def config(self) -> Path:
        """Configuration folder on Linux."""
        return Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")

    @property
    def in_wsl(self) -> bool:
        """Whether this is WSL, so that clients on Windows count too."""
        return self.platform == "linux" and "WSL_DISTRO_NAME" in self.environ


def current_platform() -> PlatformFolders:
    """Return the folders of this process."""
    return PlatformFolders(environ=os.environ, platform=sys.platform)


def find_client(name: str) -> KnownClient:
    """Return a client by name.

    Raises:
        ValueError: If the client is not known.
    """
    if name not in clients.CLIENTS:
        names = " or ".join(CLIENT_NAMES)
        raise ValueError(f"{name!r} is not a known client; use a file or {names}")
    return clients.CLIENTS[name]


def candidate_files(client: str, *, folders: PlatformFolders | None = None) -> tuple[Path, ...]:
    """Return the files a client may keep its servers in, most specific first.

    Args:
        client: One of `CLIENT_NAMES`.
        folders: Where to look; None for this process's folders.

    Raises:
        ValueError: If the client is not known.
    """
    known_client = find_client(client)
    project_file = find_project_file(known_client)
    return (
        *([project_file] if project_file else []),
        *find_user_files(known_client, folders or current_platform()),
    )


def list_readable_files(client: str) -> tuple[Path, ...]:
    """Return the files of a client that are read: its own, then others that hold servers too.

    Raises:
        ValueError: If the client is not known.
    """
    known_client, files = find_client(client), candidate_files(client)
    patterns = [(Path.cwd(), pattern) for pattern in known_client.more_project_files]
    patterns += [
        (file.parent, pattern)
        for file in find_user_files(known_client, current_platform())
        for pattern in known_client.more_user_files
    ]
    more = (file for folder, pattern in patterns for file in sorted(folder.glob(pattern)))
    return tuple(dict.fromkeys((*files, *more)))


def find_project_file(client: KnownClient) -> Path | None:
    """Return the project file in the working folder; None if the client has none."""
    return Path.cwd() / client.project_file if client.project_file else None


def find_user_files(client: KnownClient, folders: PlatformFolders) -> tuple[Path, ...]:
    """Return the user's files, the default first; others only if they exist."""
    local = [*_list_platform_files(client, folders), *_list_home_files(client, folders)]
    others = [
        path for path in [*local[1:], *_list_windows_files(client, folders)] if path.exists()
    ]
    return tuple(dict.fromkeys([*local[:1], *others]))


def _list_platform_files(client: KnownClient, folders: PlatformFolders) -> list[Path]:
    if folders.platform == "darwin":
        library = folders.home / "Library" / "Application Support"
        return [library / file for file in client.library_files]
    return [folders.config / file for file in client.config_files]


def _list_home_files(client: KnownClient, folders: PlatformFolders) -> list[Path]:
    variable, file = client.folder_override
    if folder := folders.environ.get(variable):
        return [Path(folder) / file]
    return [folders.home / file for file in client.home_files]


def _list_windows_files(client: KnownClient, folders: PlatformFolders) -> list[Path]:
    """Return the files of clients on Windows, if this is WSL."""
    if not folders.in_wsl:
        return []
    try:
        users = [
            path for path in folders.windows_users.iterdir() if path.name not in SYSTEM_FOLDERS
        ]
    except OSError:
        return []
    roaming = [user / "AppData" / "Roaming" for user in sorted(users)]
    return [
        Path(os.path.normpath(folder / file))
        for folder in roaming
        for file in client.roaming_files
    ]
