"""Say who a process is that carries out runs, and find out whether another such one has died.

A process holds a lock on a file named by its id for as long as it lives. The kernel lets go of the
lock however the process ends, and nobody but a process that has ended leaves a file unlocked.
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
"""Another process that looks whether the file is free holds it for an instant."""
_ID: Final = re.compile(r"[0-9a-f]{32}")


class Owner:
    """This process, as the other processes of its home can tell whether it lives.

    Args:
        home: Folder of the installation.

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
        """Let others know that this process is done.

        Args:
            is_owning: Whether runs may be its own still: the file then stays, unlocked, and so
                tells the others that they can take them over.
        """
        if not is_owning:
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)


def dead(home: Path, owners: Collection[str]) -> set[str]:
    """Return those owners that are known to have ended.

    Of an owner without a file nothing is known: it may be of another home.
    """
    found = set()
    for owner in owners:
        path = home / FOLDER / f"{owner}{SUFFIX}"
        if _ID.fullmatch(owner) and path.exists() and locks.is_free(str(path)):
            found.add(owner)
    return found


def sweep(home: Path, *, owning: Collection[str]) -> int:
    """Remove the files of owners that have ended and own nothing; return how many."""
    names = {path.stem for path in (home / FOLDER).glob(f"*{SUFFIX}")}
    gone = dead(home, names - set(owning))
    for name in gone:
        with suppress(FileNotFoundError):  # another process sweeps as well
            (home / FOLDER / f"{name}{SUFFIX}").unlink()
    return len(gone)
