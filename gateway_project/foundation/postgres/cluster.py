"""An embedded database: its folders, locks and accounts.

The keeper imports this module, so it uses only light modules of the standard library: values are
named tuples because `dataclasses` alone adds 2.5 MB and 20 ms to a process.
"""

from __future__ import annotations

import json
import os
import stat
from typing import NamedTuple

NAME = "foregate"
"""Name of the database and of the role that owns it."""

PORT = "5432"
"""Part of the socket's file name; nothing listens on the network."""

SYSTEM_FOLDER = "/var/lib/foregate"
"""Contains the data if the user PostgreSQL runs as cannot reach root's home folder."""


class ServerError(Exception):
    """The embedded database cannot be used; one line that says why and what to do."""


class OsAccount(NamedTuple):
    """A user of the operating system."""

    uid: int
    gid: int
    name: str


class Cluster(NamedTuple):
    """An embedded database: a PostgreSQL data folder and how it is served.

    Attributes:
        home: Foregate's home folder, links resolved.
        base: Folder of the data, the locks and the server's configuration.
        socket_folder: Folder of the server's socket.
        server: Account PostgreSQL runs as.
        keeper: Account its keeper runs as: root if `server` was chosen for root, else the same.
        linger_s: Seconds the server stays up after its last user has gone.
        log_bytes: Size at which the server's log is rotated.
        programs: Folder of PostgreSQL's programs; empty: the installed ones.
    """

    home: str
    base: str
    socket_folder: str
    server: OsAccount
    keeper: OsAccount
    linger_s: float
    log_bytes: int
    programs: str = ""

    @property
    def data_folder(self) -> str:
        """PostgreSQL's data folder."""
        return os.path.join(self.base, "data")

    @property
    def upgraded_folder(self) -> str:
        """Data of the installed major version, complete, before it takes the old one's place."""
        return os.path.join(self.base, "data.upgraded")

    @property
    def upgrade_folder(self) -> str:
        """Folder in which a move to another major version works."""
        return os.path.join(self.base, "upgrade")

    @property
    def configuration_folder(self) -> str:
        """Folder of the server's configuration files, rewritten at each start."""
        return os.path.join(self.base, "conf")

    @property
    def log_folder(self) -> str:
        """Folder of the server's log."""
        return os.path.join(self.home, "logs")

    @property
    def log_file(self) -> str:
        """Log of the server and its keeper."""
        return os.path.join(self.log_folder, "postgres.log")

    @property
    def socket_file(self) -> str:
        """The server's socket."""
        return os.path.join(self.socket_folder, f".s.PGSQL.{PORT}")

    @property
    def keeper_lock(self) -> str:
        """Held by the only keeper of this cluster."""
        return os.path.join(self.base, "keeper.lock")

    @property
    def users_lock(self) -> str:
        """Shared by all processes that use the database."""
        return os.path.join(self.base, "users.lock")

    @property
    def server_lock(self) -> str:
        """Shared by the server's processes; held as long as any of them lives."""
        return os.path.join(self.base, "server.lock")

    @property
    def postmaster_lock(self) -> str:
        """Held by the server's first process only."""
        return os.path.join(self.base, "postmaster.lock")

    @property
    def upgrade_lock(self) -> str:
        """Held while the data is moved to another major version."""
        return os.path.join(self.base, "upgrade.lock")

    def to_json(self) -> str:
        """Serialise for the keeper's command line."""
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str) -> Cluster:
        """Parse the output of `to_json`."""
        fields = json.loads(text)
        fields["server"] = OsAccount(*fields["server"])
        fields["keeper"] = OsAccount(*fields["keeper"])
        return cls(**fields)


def is_reachable(path: str, account: OsAccount) -> bool:
    """Whether the account may traverse every folder of a path.

    Folders that do not exist yet count as traversable: Foregate will create them.
    """
    while True:
        try:
            if not _has_permission(os.stat(path), account, stat.S_IXOTH):
                return False
        except FileNotFoundError:
            pass
        except OSError:
            return False
        parent = os.path.dirname(path)
        if parent == path:
            return True
        path = parent


def is_readable(path: str, account: OsAccount) -> bool:
    """Whether the account may reach and read a file or folder that exists."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    return is_reachable(os.path.dirname(path), account) and _has_permission(
        status, account, stat.S_IROTH
    )


def _has_permission(status: os.stat_result, account: OsAccount, bit: int) -> bool:
    """Whether the account has a permission, given as its bit for others."""
    if status.st_uid == account.uid:
        return bool(status.st_mode & bit << 6)
    if status.st_gid == account.gid:
        return bool(status.st_mode & bit << 3)
    return bool(status.st_mode & bit)
