"""Locates the embedded database of a home folder and the accounts that it runs as."""

from __future__ import annotations

import hashlib
import os
import pwd

from gateway_project.foundation.postgres.cluster import (
    PORT,
    SYSTEM_FOLDER,
    Cluster,
    OsAccount,
    ServerError,
    is_reachable,
)

SHORT_FOLDER = "/tmp"  # noqa: S108 - the folder made in it is private and its owner is checked
"""Contains the socket if the path of the home folder is too long for it.

Neither TMPDIR nor XDG_RUNTIME_DIR: processes of different sessions must arrive at the same path.
"""

MAX_SOCKET_PATH = 103
"""Bytes of a socket's path on macOS; Linux allows 107."""


def locate_cluster(home: str, *, postgres_user: str, linger_s: float, log_bytes: int) -> Cluster:
    """Locate the embedded database of a home folder, whether it exists yet or not.

    An ordinary user's data is in the home folder. PostgreSQL refuses to run as root; for root it
    runs as the home folder's owner, or as `postgres_user` if root owns that too, and the data is
    in `SYSTEM_FOLDER` if that user cannot reach the home folder. Existing data is used where it
    is.

    Raises:
        ServerError: If an account is missing.
    """
    home = os.path.realpath(home)
    base = os.path.join(home, "postgres")
    keeper = server = _find_account(_find_server_uid(home))
    if server.uid == 0:
        server = _find_account_by_name(postgres_user)
        base = _choose_base_for_root(home, server)
    return Cluster(
        home=home,
        base=base,
        socket_folder=choose_socket_folder(base, server),
        server=server,
        keeper=keeper,
        linger_s=linger_s,
        log_bytes=log_bytes,
    )


def choose_socket_folder(base: str, server: OsAccount) -> str:
    """Return where the socket of the data in a folder is."""
    folder = os.path.join(base, "run")
    if len(os.fsencode(f"{folder}/.s.PGSQL.{PORT}")) > MAX_SOCKET_PATH or "," in folder:
        return os.path.join(SHORT_FOLDER, f"foregate-{server.uid}-{_hash_path(base)}")
    return folder


def _find_server_uid(home: str) -> int:
    """Return the user who runs the server: this process's; for root, the home folder's owner."""
    uid = os.geteuid()
    if uid != 0:
        return uid
    try:
        owner = os.stat(home).st_uid
        pwd.getpwuid(owner)
    except (OSError, KeyError):
        return 0
    return owner


def _choose_base_for_root(home: str, server: OsAccount) -> str:
    inside = os.path.join(home, "postgres")
    outside = os.path.join(SYSTEM_FOLDER, _hash_path(home))
    for base in (inside, outside):
        if os.path.isdir(os.path.join(base, "data")):
            return base
    return inside if is_reachable(home, server) else outside


def _find_account(uid: int) -> OsAccount:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise ServerError(
            f"user id {uid} has no entry in the system's list of users, which PostgreSQL needs: "
            "add one (useradd), or set DATABASE_URL to use a PostgreSQL of your own"
        ) from None
    return OsAccount(uid=uid, gid=entry.pw_gid, name=entry.pw_name)


def _find_account_by_name(name: str) -> OsAccount:
    try:
        uid = pwd.getpwnam(name).pw_uid
    except KeyError:
        raise ServerError(
            f"FOREGATE_POSTGRES_USER: there is no user {name!r} on this system; name one that "
            "exists and is not root, for the embedded database to run as"
        ) from None
    if uid == 0:
        raise ServerError(
            "FOREGATE_POSTGRES_USER: PostgreSQL does not run as root; name another user"
        )
    return _find_account(uid)


def _hash_path(path: str) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
