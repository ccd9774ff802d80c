"""One embedded database: its folders, its locks, its accounts.

The keeper imports this module, so it takes nothing but the standard library, and of that nothing
heavy: values are named tuples because `dataclasses` alone adds 2.5 MB and 20 ms to a process.
"""

from __future__ import annotations

import json
import os
import stat
from typing import NamedTuple

NAME = "foregate"
"""Of the database and of the role that owns it."""

PORT = "5432"
"""Names the socket's file; nothing listens on the network."""

SYSTEM_FOLDER = "/var/lib/foregate"
"""Holds the data when root's home folder is closed to the user PostgreSQL runs as."""


class ServerError(Exception):
    """The embedded database cannot be used; one line that says why and what to do."""


class Account(NamedTuple):
    """A user of the operating system."""

    uid: int
    gid: int
    name: str


class Cluster(NamedTuple):
    """One embedded database: a PostgreSQL data folder and what serves it.

    Attributes:
        home: Foregate's home folder, links resolved.
        base: Folder of the data, the locks and the server's configuration.
        socket_folder: Where clients find the server.
        server: Account PostgreSQL runs as.
        keeper: Account its keeper runs as: root where `server` was chosen for root, else the same.
        linger_s: Seconds the server stays up after its last user has gone.
        log_bytes: Size at which the server's log is rotated.
    """

    home: str
    base: str
    socket_folder: str
    server: Account
    keeper: Account
    linger_s: float
    log_bytes: int

    @property
    def data(self) -> str:
        """PostgreSQL's data folder."""
        return os.path.join(self.base, "data")

    @property
    def configuration(self) -> str:
        """Folder of the server's configuration files, rewritten at each start."""
        return os.path.join(self.base, "conf")

    @property
    def logs(self) -> str:
        """Folder of the server's log."""
        return os.path.join(self.home, "logs")

    @property
    def log_file(self) -> str:
        """What the server and its keeper have to say."""
        return os.path.join(self.logs, "postgres.log")

    @property
    def socket_file(self) -> str:
        """The server's socket."""
        return os.path.join(self.socket_folder, f".s.PGSQL.{PORT}")

    @property
    def keeper_lock(self) -> str:
        """Held by the one keeper of this cluster."""
        return os.path.join(self.base, "keeper.lock")

    @property
    def users_lock(self) -> str:
        """Shared by all processes that use the database."""
        return os.path.join(self.base, "users.lock")

    @property
    def server_lock(self) -> str:
        """Held by the server's processes together, for as long as one of them lives."""
        return os.path.join(self.base, "server.lock")

    @property
    def postmaster_lock(self) -> str:
        """Held by the server's first process alone."""
        return os.path.join(self.base, "postmaster.lock")

    def to_json(self) -> str:
        """Write for the keeper's command line."""
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str) -> Cluster:
        """Read what `to_json` wrote."""
        fields = json.loads(text)
        fields["server"] = Account(*fields["server"])
        fields["keeper"] = Account(*fields["keeper"])
        return cls(**fields)


def reachable(path: str, account: Account) -> bool:
    """Whether the account may pass through every folder of a path.

    Folders that do not exist yet count as open: Foregate will make them.
    """
    while True:
        try:
            if not _may(os.stat(path), account, stat.S_IXOTH):
                return False
        except FileNotFoundError:
            pass
        except OSError:
            return False
        parent = os.path.dirname(path)
        if parent == path:
            return True
        path = parent


def readable(path: str, account: Account) -> bool:
    """Whether the account may reach and read a file or folder that exists."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    return reachable(os.path.dirname(path), account) and _may(status, account, stat.S_IROTH)


def _may(status: os.stat_result, account: Account, bit: int) -> bool:
    """Whether the permission `bit` (as for others) is the account's."""
    if status.st_uid == account.uid:
        return bool(status.st_mode & bit << 6)
    if status.st_gid == account.gid:
        return bool(status.st_mode & bit << 3)
    return bool(status.st_mode & bit)
