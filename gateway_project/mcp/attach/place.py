"""Where the gateways of one home listen for others that would attach.

Imports the standard library only: attaching must cost next to nothing.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from pathlib import Path
from typing import Final

MAX_PATH_BYTES: Final = 100
"""Of a socket's path; the smallest limit among the systems is 104, with its end."""
PRIVATE: Final = 0o700
FOR_OTHERS: Final = 0o077
SUFFIX: Final = ".sock"


class Untrusted(Exception):
    """The folder of the sockets is not ours alone; the message says what to do."""


def folder(home: Path) -> Path:
    """Return the folder of the sockets; a home with a long path has it in the temporary folder.

    Example:
        >>> folder(Path("/srv/foregate"))
        PosixPath('/srv/foregate/run')
    """
    near = home / "run"
    if len(os.fsencode(near / f"{2**22}{SUFFIX}")) <= MAX_PATH_BYTES:
        return near
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"foregate-{os.geteuid()}-{digest}"


def prepare(home: Path) -> Path:
    """Make the folder if need be and return the path for this process's own socket.

    Raises:
        OSError: If it cannot be made.
        Untrusted: If others can reach into it.
    """
    place = folder(home)
    place.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    require_ours(place)
    return place / f"{os.getpid()}{SUFFIX}"


def candidates(home: Path) -> tuple[Path, ...]:
    """Return the sockets there are, the longest serving gateway first; dead ones included."""
    place = folder(home)
    try:
        require_ours(place)
        found = [path for path in place.iterdir() if path.suffix == SUFFIX]
    except (OSError, Untrusted):
        return ()
    return tuple(sorted(found, key=_age))


def require_ours(place: Path) -> None:
    """Check that nobody else could have put a socket there.

    Raises:
        OSError: If there is no such folder.
        Untrusted: If it is not a folder of ours that is closed to others.
    """
    status = os.lstat(place)
    ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    if not ours or status.st_mode & FOR_OTHERS:
        raise Untrusted(f"{place} must be a folder of yours alone; remove it, or chmod 700 it")


def _age(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return float("inf")
