"""Append-only files in which events wait for the database; they survive the death of a process."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

FOLDER: Final = "spool"
"""Folder of the spool files in the home folder."""
SUFFIX: Final = ".spool"
UNFINISHED_SUFFIX: Final = ".new"
"""Of a file that is being created; left behind only by a crash in that moment."""
ROTATE_BYTES: Final = 4_000_000
"""Size at which a process begins a new file, so that the disk space of loaded events is freed."""
MIN_FILES: Final = 4
"""Files that the maximum size has room for at least; smaller ones are begun accordingly."""
RETRY_S: Final = 1.0
"""Seconds for which records are refused after the spool was full or could not be written."""
ABANDONED_S: Final = 3_600.0
"""Age of an unfinished file from which on nobody is creating it any more."""
_OPEN_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
"""A link leads out of the folder, and opening a pipe would wait for its writer."""


class SpoolUnavailable(OSError):
    """Records are refused: the spool is full, or could not be written a moment ago."""


class Spool:
    """The spool file of this process, in a folder shared by all processes of an installation.

    Once `append` returns, the death of the process does not lose the record; that of the machine
    may, since it is only in the page cache. The process locks its file; the lock ends with it, and
    another process then takes over the file. Thread-safe and fork-safe: a forked child begins a
    file of its own.

    Args:
        folder: Folder of the files; created on first use.
        max_bytes: Maximum size of all files; further records are refused. Each process measures it
            when it begins a file, so that other processes' open files may exceed it.
        rotate_bytes: Size at which a new file is begun.
    """

    def __init__(self, folder: Path, *, max_bytes: int, rotate_bytes: int = ROTATE_BYTES) -> None:
        self.folder = folder
        self.max_bytes = max_bytes
        self._rotate_bytes = min(rotate_bytes, max_bytes // MIN_FILES)
        self._mutex = threading.Lock()
        self._fd: int | None = None
        self._id: UUID | None = None
        self._size = 0
        self._retry_at = 0.0
        _open_spools.add(self)

    @property
    def current_file(self) -> tuple[UUID | None, int]:
        """Id of the file that this process is writing, and its bytes: complete records only."""
        with self._mutex:
            return self._id, self._size

    def append(self, record: bytes) -> None:
        """Write a record.

        Raises:
            SpoolUnavailable: If the spool is full, or a record was refused a moment ago.
            OSError: If the file cannot be written, such as when the disk is full.
        """
        with self._mutex:
            if self._fd is None and time.monotonic() < self._retry_at:
                raise SpoolUnavailable(errno.EAGAIN, "it could not be written a moment ago")
            try:
                self._write(record)
            except OSError:
                self._end_file()
                self._retry_at = time.monotonic() + RETRY_S
                raise

    def _write(self, record: bytes) -> None:
        fd = self._fd
        if fd is None or self._size + len(record) > self._rotate_bytes:
            fd = self._begin_file()
        written = os.write(fd, record)
        if written != len(record):
            os.ftruncate(fd, self._size)  # no half record may precede others
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._size += written

    def close(self) -> None:
        """Release the file, so that any process may load it; a later record begins a new one."""
        with self._mutex:
            self._end_file()

    def forget_after_fork(self) -> None:
        """In a forked child: leave the parent's file and lock to the parent."""
        self._mutex = threading.Lock()
        self._end_file()

    def _begin_file(self) -> int:
        self._end_file()
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if measure_folder(self.folder) + self._rotate_bytes > self.max_bytes:
            raise SpoolUnavailable(errno.EDQUOT, "it has reached its maximum size")
        self._id, self._fd = _create_locked(self.folder)
        self._size = 0
        return self._fd

    def _end_file(self) -> None:
        fd, self._fd, self._id, self._size = self._fd, None, None, 0
        if fd is not None:
            os.close(fd)


def _create_locked(folder: Path) -> tuple[UUID, int]:
    """Create a file that is locked from the moment others can see it."""
    spool_id = uuid4()
    unfinished = folder / f"{spool_id.hex}{UNFINISHED_SUFFIX}"
    fd = os.open(unfinished, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        unfinished.rename(folder / f"{spool_id.hex}{SUFFIX}")
    except OSError:
        os.close(fd)
        raise
    return spool_id, fd


def measure_folder(folder: Path) -> int:
    """Return the bytes of all spool files; 0 if there is no folder."""
    total = 0
    for entry in _scan(folder):
        try:
            total += entry.stat().st_size
        except FileNotFoundError:  # loaded and deleted meanwhile
            continue
    return total


def list_files(folder: Path) -> list[UUID]:
    """Return the ids of all spool files, in no particular order."""
    found = []
    for entry in _scan(folder):
        name, suffix = os.path.splitext(entry.name)
        if suffix == SUFFIX:
            try:
                found.append(UUID(hex=name))
            except ValueError:
                continue
    return found


def file_path(folder: Path, spool_id: UUID) -> Path:
    """Return the path of a spool file."""
    return folder / f"{spool_id.hex}{SUFFIX}"


def open_abandoned(folder: Path, spool_id: UUID) -> int | None:
    """Open and lock the file of a process that has ended or moved on to another one.

    Returns:
        File descriptor, to be closed by the caller; None: a process still uses or loads it, it is
        gone, or it is no file of this user.
    """
    try:
        fd = os.open(file_path(folder, spool_id), _OPEN_FLAGS)
    except OSError:  # gone, a link, a socket
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(fd)
        is_own = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        is_gone = status.st_nlink == 0 or not is_own
    except OSError:  # locked by another process
        is_gone = True
    if is_gone:
        os.close(fd)
        return None
    return fd


def delete_file(folder: Path, spool_id: UUID) -> None:
    """Delete a file durably, so that it does not reappear after a power failure."""
    file_path(folder, spool_id).unlink(missing_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def delete_unfinished(folder: Path, *, now: float) -> None:
    """Delete files whose creation a crash interrupted; they hold nothing.

    Args:
        folder: Folder of the files.
        now: Unix time in seconds.
    """
    for entry in _scan(folder):
        if entry.name.endswith(UNFINISHED_SUFFIX):
            try:
                if now - entry.stat().st_mtime > ABANDONED_S:
                    os.unlink(entry.path)
            except FileNotFoundError:
                continue


def _scan(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except FileNotFoundError:
        return


_open_spools: weakref.WeakSet[Spool] = weakref.WeakSet()


def _forget_after_fork() -> None:
    for one in list(_open_spools):
        one.forget_after_fork()


os.register_at_fork(after_in_child=_forget_after_fork)
