"""Where MCP clients keep their lists of servers."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gateway_project.client_config import clients
from gateway_project.client_config.clients import Client

CLIENTS = tuple(clients.CLIENTS)
WINDOWS_USERS = Path("/mnt/c/Users")
NO_PERSON = {"All Users", "Default", "Default User", "Public", "desktop.ini"}


@dataclass(frozen=True, kw_only=True)
class Place:
    """What says where files lie.

    Attributes:
        environ: Environment that says where home is.
        platform: As `sys.platform`.
        windows: Folder of Windows' users as WSL sees it.
    """

    environ: Mapping[str, str]
    platform: str
    windows: Path = WINDOWS_USERS

    @property
    def home(self) -> Path:
        """The user's home folder."""
        return Path(self.environ.get("HOME") or Path.home())

    @property
    def config(self) -> Path:
        """Folder of settings on Linux."""
        return Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")

    @property
    def in_wsl(self) -> bool:
        """Whether Windows' own clients may be looked for too."""
        return self.platform == "linux" and "WSL_DISTRO_NAME" in self.environ


def here() -> Place:
    """Return the place of this process."""
    return Place(environ=os.environ, platform=sys.platform)


def client_named(name: str) -> Client:
    """Return a client.

    Raises:
        ValueError: If the client is not known.
    """
    if name not in clients.CLIENTS:
        known = " or ".join(CLIENTS)
        raise ValueError(f"{name!r} is not a known client; use a file or {known}")
    return clients.CLIENTS[name]


def candidates(client: str, *, place: Place | None = None) -> tuple[Path, ...]:
    """Return the files a client may keep its servers in, most specific first.

    Args:
        client: One of `CLIENTS`.
        place: Where to look; None is here.

    Raises:
        ValueError: If the client is not known.
    """
    known = client_named(client)
    own = project_file(known)
    return (*([own] if own else []), *user_files(known, place or here()))


def project_file(client: Client) -> Path | None:
    """Return the file of the folder worked in; None if the client has none of the kind."""
    return Path.cwd() / client.project if client.project else None


def user_files(client: Client, place: Place) -> tuple[Path, ...]:
    """Return the files of the user, the usual one first; of others only those that exist."""
    usual = [*_by_platform(client, place), *_below_home(client, place)]
    others = [path for path in [*usual[1:], *_windows(client, place)] if path.exists()]
    return tuple(dict.fromkeys([*usual[:1], *others]))


def _by_platform(client: Client, place: Place) -> list[Path]:
    if place.platform == "darwin":
        library = place.home / "Library" / "Application Support"
        return [library / file for file in client.library]
    return [place.config / file for file in client.config]


def _below_home(client: Client, place: Place) -> list[Path]:
    variable, file = client.moved
    if folder := place.environ.get(variable):
        return [Path(folder) / file]
    return [place.home / file for file in client.home]


def _windows(client: Client, place: Place) -> list[Path]:
    """Return the files of clients that run on Windows beside this WSL."""
    if not place.in_wsl:
        return []
    try:
        users = [path for path in place.windows.iterdir() if path.name not in NO_PERSON]
    except OSError:
        return []
    roaming = [user / "AppData" / "Roaming" for user in sorted(users)]
    return [Path(os.path.normpath(folder / file)) for folder in roaming for file in client.roaming]
