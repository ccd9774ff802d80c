"""Locks of the kernel, which are let go whatever way their holder dies."""

from __future__ import annotations

import fcntl
import os
import time

POLL_S = 0.01


def acquire(path: str, *, shared: bool = False, uid: int = -1, wait_s: float = 0.0) -> int | None:
    """Take an advisory lock on a file, which is made if needed.

    Args:
        path: The lock's file.
        shared: Several may hold it, or one alone.
        uid: Owner of the file if this process makes it as root.
        wait_s: How long to try; at least once.

    Returns:
        The descriptor that holds the lock until it is closed, in this process and all that
        inherit it, or None if somebody else holds the lock.

    Raises:
        OSError: If the file cannot be opened.
    """
    deadline = time.monotonic() + wait_s
    while True:
        descriptor = _open(path, uid)
        if _try(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX):
            if is_current(descriptor, path):
                return descriptor
        elif time.monotonic() >= deadline:
            os.close(descriptor)
            return None
        os.close(descriptor)
        time.sleep(POLL_S)


def is_current(descriptor: int, path: str) -> bool:
    """Whether the path still leads to the file that is open, and not to a successor or nothing."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False


def is_free(path: str) -> bool:
    """Whether nobody holds the lock exclusively; True if it was never taken."""
    if not os.path.exists(path):
        return True
    descriptor = acquire(path, shared=True)
    if descriptor is None:
        return False
    os.close(descriptor)
    return True


def open_record(path: str) -> int:
    """Open a file for `hold_record`."""
    return _open(path, -1)


def hold_record(descriptor: int) -> None:
    """Take the lock that belongs to this process alone: children do not inherit it.

    It outlasts `exec`, which is what it is for: taken between fork and exec, it tells whether
    that very process lives, where its children would keep an `acquire` lock alive.
    """
    fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def record_is_held(path: str) -> bool:
    """Whether another process holds the record lock."""
    if not os.path.exists(path):
        return False
    descriptor = _open(path, -1)
    try:
        hold_record(descriptor)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def open_log(path: str, uid: int) -> int:
    """Open a private file to append to, owned like the locks."""
    return _open(path, uid, os.O_WRONLY | os.O_APPEND)


def _open(path: str, uid: int, flags: int = os.O_RDWR) -> int:
    """Open without following a link that somebody may have put there."""
    descriptor = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    if os.geteuid() == 0 and uid > 0:
        os.fchown(descriptor, uid, -1)
    return descriptor


def _try(descriptor: int, operation: int) -> bool:
    try:
        fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
