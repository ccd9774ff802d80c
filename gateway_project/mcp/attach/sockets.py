"""Sockets on which the gateways of one home listen for others to attach.

Imports the standard library only: attaching must be cheap.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from pathlib import Path
from typing import Final

MAX_PATH_BYTES: Final = 100
"""Longest path of a socket; the smallest system limit is 104, including the terminator."""
PRIVATE_MODE: Final = 0o700
OTHERS_MODE_MASK: Final = 0o077
SOCKET_SUFFIX: Final = ".sock"


class UntrustedFolder(Exception):
    """Others can access the folder of the sockets; the message says what to do."""


def socket_folder(home: Path) -> Path:
    """Return the folder of the sockets: the temporary folder if the path of the home is long.

    Example:
        >>> socket_folder(Path("/srv/foregate"))
        PosixPath('/srv/foregate/run')
    """
    in_home = home / "run"
    if len(os.fsencode(in_home / f"{2**22}{SOCKET_SUFFIX}")) <= MAX_PATH_BYTES:
        return in_home
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"foregate-{os.geteuid()}-{digest}"


def prepare_socket(home: Path) -> Path:
    """Create the folder if necessary and return the path of this process's own socket.

    Raises:
        OSError: If the folder cannot be created.
        UntrustedFolder: If others can access it.
    """
    folder = socket_folder(home)
    folder.mkdir(mode=PRIVATE_MODE, parents=True, exist_ok=True)
    require_own_folder(folder)
    return folder / f"{os.getpid()}{SOCKET_SUFFIX}"


def find_sockets(home: Path) -> tuple[Path, ...]:
    """Return the existing sockets, oldest first, including those of dead processes."""
    folder = socket_folder(home)
    try:
        require_own_folder(folder)
        paths = [path for path in folder.iterdir() if path.suffix == SOCKET_SUFFIX]
    except (OSError, UntrustedFolder):
        return ()
    return tuple(sorted(paths, key=_read_mtime))


def require_own_folder(folder: Path) -> None:
    """Check that nobody else could have created a socket in a folder.

    Raises:
        OSError: If there is no such folder.
        UntrustedFolder: If it belongs to another user or is open to others.
    """
    status = os.lstat(folder)
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    if not is_own or status.st_mode & OTHERS_MODE_MASK:
        raise UntrustedFolder(
            f"{folder} must be a folder only you can access; remove it, or chmod 700 it"
        )


def _read_mtime(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return float("inf")
