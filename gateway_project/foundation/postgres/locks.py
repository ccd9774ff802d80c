"""File locks of the kernel, which are released however their holder dies."""

from __future__ import annotations

import fcntl
import os
import time

POLL_S = 0.01


def acquire(path: str, *, shared: bool = False, uid: int = -1, wait_s: float = 0.0) -> int | None:
    """Acquire an advisory lock on a file, which is created if needed.

    Args:
        path: The lock's file.
        shared: Whether several processes may hold it together.
        uid: Owner of the file if this process creates it as root.
        wait_s: How long to try; at least once.

    Returns:
        The descriptor that holds the lock until it is closed in this process and in all that
        inherit it, or None if another process holds the lock.

    Raises:
        OSError: If the file cannot be opened.
    """
    deadline = time.monotonic() + wait_s
    while True:
        descriptor = _open_lock_file(path, uid)
        if _try_lock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX):
            if is_current(descriptor, path):
                return descriptor
        elif time.monotonic() >= deadline:
            os.close(descriptor)
            return None
        os.close(descriptor)
        time.sleep(POLL_S)


def is_current(descriptor: int, path: str) -> bool:
    """Whether the path still leads to the open file: it was neither replaced nor removed."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False


def is_free(path: str) -> bool:
    """Whether no process holds the lock exclusively; True if the file does not exist."""
    if not os.path.exists(path):
        return True
    descriptor = acquire(path, shared=True)
    if descriptor is None:
        return False
    os.close(descriptor)
    return True


def open_record_lock(path: str) -> int:
    """Open a file for `take_record_lock`."""
    return _open_lock_file(path, -1)


def take_record_lock(descriptor: int) -> None:
    """Take a lock that belongs to this process only: children do not inherit it.

    It survives `exec`. Taken between fork and exec, it tells whether that very process lives,
    while a lock of `acquire` would also be held by its children.
    """
    fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_record_held(path: str) -> bool:
    """Whether another process holds the record lock."""
    if not os.path.exists(path):
        return False
    descriptor = _open_lock_file(path, -1)
    try:
        take_record_lock(descriptor)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def open_log(path: str, uid: int) -> int:
    """Open a private file for appending, owned like the locks."""
    return _open_lock_file(path, uid, os.O_WRONLY | os.O_APPEND)


def _open_lock_file(path: str, uid: int, flags: int = os.O_RDWR) -> int:
    """Open without following a symbolic link that another user may have planted."""
    descriptor = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    if os.geteuid() == 0 and uid > 0:
        os.fchown(descriptor, uid, -1)
    return descriptor


def _try_lock(descriptor: int, operation: int) -> bool:
    try:
        fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
