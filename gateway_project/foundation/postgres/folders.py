"""The folders of the embedded database: created private, and refused if they are not."""

from __future__ import annotations

import os
import stat

from gateway_project.foundation.postgres.cluster import (
    SYSTEM_FOLDER,
    Cluster,
    OsAccount,
    ServerError,
    is_reachable,
)

PRIVATE_MODE = 0o700
TRAVERSABLE_MODE = 0o711
"""For root's own folders, so that the account PostgreSQL runs as can reach its own."""


def prepare_folders(cluster: Cluster) -> None:
    """Create missing folders and check existing ones.

    Raises:
        ServerError: If a folder cannot be created or belongs to another user.
    """
    has_two_accounts = cluster.keeper != cluster.server
    mode = TRAVERSABLE_MODE if has_two_accounts else PRIVATE_MODE
    _ensure_folder(cluster.home, mode, cluster.keeper)
    if os.path.dirname(cluster.base) == SYSTEM_FOLDER:
        _ensure_folder(SYSTEM_FOLDER, TRAVERSABLE_MODE, cluster.keeper)
    _ensure_folder(cluster.log_folder, PRIVATE_MODE, cluster.keeper)
    for folder, owner in (
        (cluster.base, cluster.keeper),
        (cluster.configuration_folder, cluster.keeper),
        (cluster.socket_folder, cluster.server),
    ):
        _ensure_folder(folder, mode if owner == cluster.keeper else PRIVATE_MODE, owner)
        _check_owner(folder, owner)
    if has_two_accounts and not is_reachable(cluster.base, cluster.server):
        raise ServerError(
            f"the system user {cluster.server.name!r}, whom the embedded database runs as, "
            f"cannot reach {cluster.base}: grant it access to the folders above (chmod o+x), or "
            "set FOREGATE_HOME to another folder"
        )


def explain_unusable(path: str, error: OSError) -> ServerError:
    """Return an error that names the path that failed and what to do about it."""
    if isinstance(error, FileExistsError | NotADirectoryError):
        return ServerError(
            f"cannot use {path}: a file is in the place of a folder; move it away, or set "
            "FOREGATE_HOME to a folder"
        )
    return ServerError(
        f"cannot use {path}: {error.strerror or error}; make the folder writable, free some "
        "space, or set FOREGATE_HOME to another folder"
    )


def fsync_folder(folder: str | os.PathLike[str]) -> None:
    """Have the names in a folder survive a power failure."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _ensure_folder(path: str, mode: int, owner: OsAccount) -> None:
    try:
        if os.path.isdir(path):
            return
        parent = os.path.dirname(path)
        if not os.path.isdir(parent):
            _ensure_folder(parent, mode, owner)
        _create_atomically(path, mode, owner)
    except OSError as error:
        raise explain_unusable(path, error) from None


def _create_atomically(path: str, mode: int, owner: OsAccount) -> None:
    """Create a folder under a temporary name and rename it, so that its mode is right at once.

    An empty folder that another process has just created is replaced by an equal one.
    """
    temporary = f"{path}.{os.getpid()}"
    os.mkdir(temporary, PRIVATE_MODE)
    try:
        if os.geteuid() != owner.uid:
            os.chown(temporary, owner.uid, owner.gid, follow_symlinks=False)
        os.chmod(temporary, mode)
        os.rename(temporary, path)
    except OSError:
        os.rmdir(temporary)
        if not os.path.isdir(path):
            raise


def _check_owner(path: str, owner: OsAccount) -> None:
    """Refuse a folder that another user owns or may write to."""
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
