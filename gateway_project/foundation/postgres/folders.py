"""The folders of the embedded database: made private, and trusted only if they are."""

from __future__ import annotations

import os
import stat

from gateway_project.foundation.postgres.cluster import (
    SYSTEM_FOLDER,
    Account,
    Cluster,
    ServerError,
    reachable,
)

PRIVATE = 0o700
PASSABLE = 0o711
"""For root's own folders, so that the account PostgreSQL runs as gets through to its own."""


def prepare(cluster: Cluster) -> None:
    """Make what is missing and check what is there.

    Raises:
        ServerError: If a folder cannot be made or belongs to somebody else.
    """
    split = cluster.keeper != cluster.server
    mode = PASSABLE if split else PRIVATE
    _make(cluster.home, mode, cluster.keeper)
    if os.path.dirname(cluster.base) == SYSTEM_FOLDER:
        _make(SYSTEM_FOLDER, PASSABLE, cluster.keeper)
    _make(cluster.logs, PRIVATE, cluster.keeper)
    for folder, owner in (
        (cluster.base, cluster.keeper),
        (cluster.configuration, cluster.keeper),
        (cluster.socket_folder, cluster.server),
    ):
        _make(folder, mode if owner == cluster.keeper else PRIVATE, owner)
        _check_owner(folder, owner)
    if split and not reachable(cluster.base, cluster.server):
        raise ServerError(
            f"the system user {cluster.server.name!r}, whom the embedded database runs as, cannot "
            f"reach {cluster.base}: let it through the folders above (chmod o+x), or set "
            "FOREGATE_HOME to another folder"
        )


def unusable(path: str, error: OSError) -> ServerError:
    """Say which path failed and what to do about it."""
    if isinstance(error, FileExistsError | NotADirectoryError):
        return ServerError(
            f"cannot use {path}: a file stands where a folder is needed; move it away, or set "
            "FOREGATE_HOME to a folder"
        )
    return ServerError(
        f"cannot use {path}: {error.strerror or error}; make the folder writable, free some room, "
        "or set FOREGATE_HOME to another folder"
    )


def _make(path: str, mode: int, owner: Account) -> None:
    try:
        if os.path.isdir(path):
            return
        parent = os.path.dirname(path)
        if not os.path.isdir(parent):
            _make(parent, mode, owner)
        _place(path, mode, owner)
    except OSError as error:
        raise unusable(path, error) from None


def _place(path: str, mode: int, owner: Account) -> None:
    """Make a folder under another name and rename it, so that none is seen half made.

    An empty folder that another process has just placed is replaced by its like.
    """
    fresh = f"{path}.{os.getpid()}"
    os.mkdir(fresh, PRIVATE)
    try:
        if os.geteuid() != owner.uid:
            os.chown(fresh, owner.uid, owner.gid, follow_symlinks=False)
        os.chmod(fresh, mode)
        os.rename(fresh, path)
    except OSError:
        os.rmdir(fresh)
        if not os.path.isdir(path):
            raise


def _check_owner(path: str, owner: Account) -> None:
    """Refuse a folder that others could write to or have put there."""
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode):
        raise ServerError(f"{path} is not a folder: move it away, or set FOREGATE_HOME to another")
    if status.st_uid != owner.uid:
        raise ServerError(
            f"{path} belongs to user id {status.st_uid}, not to {owner.name!r}: run Foregate as "
            "the user who made it, or set FOREGATE_HOME to another folder"
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ServerError(f"others may write to {path}: run `chmod go-w {path}`")
