"""Identifies processes that execute runs, and detects dead ones.

A process locks a file named by its id for as long as it lives. The kernel releases the lock
however the process ends, and only an ended process leaves its file unlocked.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final

from gateway_project.foundation.postgres import locks

FOLDER: Final = "runs"
SUFFIX: Final = ".lock"
LOCK_WAIT_S: Final = 1.0
"""Another process that probes the lock holds it for an instant."""
_OWNER_ID: Final = re.compile(r"[0-9a-f]{32}")


class ProcessOwner:
    """The identity and liveness lock of this process.

    Raises:
        OSError: If the folder cannot be written.
    """

    def __init__(self, home: Path) -> None:
        self.id = secrets.token_hex(16)
        folder = home / FOLDER
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / f"{self.id}{SUFFIX}"
        descriptor = locks.acquire(str(self._path), wait_s=LOCK_WAIT_S)
        if descriptor is None:
            raise OSError(f"{self._path} is locked by another process; remove it and start again")
        self._descriptor = descriptor

    def close(self, *, is_owning: bool) -> None:
        """Release the lock.

        Args:
            is_owning: Whether it may still own runs: then the file stays, unlocked, which tells
                others that they may claim them.
        """
        if not is_owning:
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)


def find_dead_owners(home: Path, owners: Collection[str]) -> set[str]:
    """Return the owners known to have ended.

    Nothing is known of an owner without a file: it may belong to another home.
    """
    dead = set()
    for owner in owners:
        path = home / FOLDER / f"{owner}{SUFFIX}"
        if _OWNER_ID.fullmatch(owner) and path.exists() and locks.is_free(str(path)):
            dead.add(owner)
    return dead


def is_any_owner_alive(home: Path) -> bool:
    """Whether any process of this home that executes runs is alive."""
    return any(not locks.is_free(str(path)) for path in (home / FOLDER).glob(f"*{SUFFIX}"))


def remove_dead_owners(home: Path, *, owning: Collection[str]) -> int:
    """Remove the files of ended owners that own no runs; return the count."""
    names = {path.stem for path in (home / FOLDER).glob(f"*{SUFFIX}")}
    dead = find_dead_owners(home, names - set(owning))
    for name in dead:
        with suppress(FileNotFoundError):  # another process sweeps as well
            (home / FOLDER / f"{name}{SUFFIX}").unlink()
    return len(dead)
